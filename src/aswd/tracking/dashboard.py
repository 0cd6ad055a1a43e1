"""``aswd wandb dashboard``: a saved W&B workspace for each data set of an artifact."""

from __future__ import annotations

import hashlib
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aswd.tracking.media import images_in, media_name
from aswd.tracking.naming import label_of
from aswd.tracking.replay import RESULTS, SAMPLES
from aswd.tracking.session import STEP, imported, is_online, sentence
from aswd.utils.errors import UserError
from aswd.utils.files import read_json, write_json


@dataclass(frozen=True)
class Member:
    """Runs of one data set and one series: the label of the series, the W&B group and the key of the runs, and their folder."""

    data: str
    label: str
    group: str
    key: str
    folder: Path


@dataclass(frozen=True)
class Comparison:
    """What a dashboard shows.

    Args:
        name: under which the runs have their labels, see :func:`aswd.tracking.naming.label_of`.
        title: of the workspaces.
        setting: what tells it from others of the same title, in parentheses after it.
        task: of all runs.
        metric: which they are compared by.
        members: the runs.
        folder: name that tells it from others of the same name.
        facts: further entries of the JSON file.
    """

    name: str
    title: str
    setting: str
    task: str
    metric: str
    members: list[Member]
    folder: str
    facts: dict[str, Any]


def dashboard(comparison: Comparison, output_dir: Path, project: str, entity: str | None, mode: str) -> int:
    """Build one workspace per data set, save them if there is a server, and write them as JSON in any case.

    Raises:
        UserError: wandb-workspaces is not installed, or the server refuses.
    """
    wandb = imported(output_dir)
    online = is_online(mode)
    path = Path(output_dir, "wandb", "dashboards", f"{comparison.name}-{comparison.folder}.json")
    if online and entity is None:
        entity = _default_entity(wandb)
    known = (read_json(path) or {}).get("workspaces", [])
    former = {each["name"]: each.get("id", "") for each in known if isinstance(each, dict)} if isinstance(known, list) else {}
    written = []
    for data in dict.fromkeys(member.data for member in comparison.members):
        title = _name(f"{comparison.title}, {data} ({comparison.setting})")
        made = workspace(comparison, title, [member for member in comparison.members if member.data == data], project, entity)
        address = _save(made, former.get(title, "")) if online else None
        written.append({**specification(made), "url": address, "id": made._internal_id})
        if address:
            print(f"{title}: {address}")
    write_json(path, {**comparison.facts, "workspaces": written})
    if not online:
        print(f"{len(written)} workspaces were written to {path}; none was saved in W&B, since this is offline:")
        print("log in (wandb login), send the runs (aswd wandb sync), and the same command saves them")
    return 0


def workspace(comparison: Comparison, title: str, members: list[Member], project: str, entity: str | None) -> Any:
    """The workspace of one data set: curves by series with seeds averaged, final values and tables, images.

    Raises:
        UserError: wandb-workspaces is not installed.
    """
    try:
        import wandb_workspaces.reports.v2 as panels
        import wandb_workspaces.workspaces as spaces
        from wandb_workspaces import expr
    except ImportError as error:
        raise UserError(f"dashboards need wandb-workspaces ({error}): pip install 'aswd[wandb-dashboard]'") from None
    label = label_of(comparison.name)
    averaged = {"groupby": panels.Config(label), "groupby_aggfunc": "mean", "groupby_rangefunc": "stderr"}
    metric, logarithmic = comparison.metric.removeprefix("log10_"), comparison.metric.startswith("log10_")

    def curve(name: str, text: str, log_y: bool) -> Any:
        return panels.LinePlot(title=text, x=STEP, y=[name], log_y=log_y, title_x="iteration", max_runs_to_show=1000, **averaged)

    def bars(name: str, text: str) -> Any:
        return panels.BarPlot(title=text, metrics=[name], max_runs_to_show=1000, **averaged)

    curves = [
        curve(metric, f"{metric} by distance, mean of the seeds", logarithmic),
        curve("distance_value", "the distance itself", True),
        curve("seconds_per_iteration", "seconds per iteration", False),
    ]
    finals = [bars(f"final/{comparison.metric}", f"final {comparison.metric}"), bars(f"best/{metric}", f"best {metric}")]
    finals += [bars("time_per_iteration", "time per iteration, s"), panels.WeavePanelSummaryTable(table_name=RESULTS)]
    images = [panels.MediaBrowser(title=key, media_keys=[key], num_columns=3) for key in _media(members)]
    made = spaces.Workspace(
        entity=entity or "",
        project=project,
        name=title,
        sections=[
            spaces.Section(name="Curves by distance", panels=curves, is_open=True),
            spaces.Section(name="Final values", panels=[*finals, panels.RunComparer(diff_only="split")], is_open=True),
            spaces.Section(name="Samples", panels=images, is_open=True),
        ],
        settings=spaces.WorkspaceSettings(x_axis=STEP, max_runs=1000),
        runset_settings=spaces.RunsetSettings(
            filters=expr.And(expr.Metric("Group").isin([member.group for member in members]), expr.Metric("JobType") == comparison.task),
            groupby=[expr.Config(label)],
            order=[expr.Ordering(expr.Summary(f"final/{comparison.metric}"))],
            pinned_columns=[f"summary:final/{comparison.metric}", f"summary:best/{metric}", "summary:wall_time"],
        ),
    )
    made._internal_name = f"nw-{hashlib.sha256(title.encode()).hexdigest()[:11]}-v"  # the same view every time
    return made


def specification(made: Any) -> dict[str, Any]:
    """What is sent to a server, as plain containers."""
    view = made._to_model()
    return {
        "name": made.name,
        "entity": made.entity,
        "project": made.project,
        "spec": view.spec.model_dump(by_alias=True, exclude_none=True),
    }


def _name(text: str) -> str:
    """The text without symbols, such as =, which W&B refuses in the name of a workspace.

    >>> _name("Figure 2: Flows, knot (smoke, task.lr=0.1)")
    'Figure 2: Flows, knot (smoke, task.lr 0.1)'
    """
    return "".join(" " if unicodedata.category(character).startswith("S") else character for character in text)


def _media(members: list[Member]) -> list[str]:
    """Names of the images of the runs, as far as they are in the store."""
    names = [media_name(path) for member in members for folder in sorted(member.folder.glob("seed*/images")) for path in images_in(folder)]
    return list(dict.fromkeys([SAMPLES, *names]))


def _default_entity(wandb: Any) -> str:
    try:
        return wandb.Api(timeout=15).default_entity
    except Exception as error:
        raise UserError(f"W&B refused to say who you are ({sentence(error)}): --entity NAME, or --mode offline") from None


def _save(made: Any, known: str) -> str:
    made._internal_id = known
    try:
        return made.save().url
    except Exception as error:
        raise UserError(f"W&B refused the workspace {made.name!r} ({sentence(error)}); --mode offline writes it down") from None
