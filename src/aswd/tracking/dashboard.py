"""``aswd wandb dashboard``: a saved W&B workspace for each data set of an artifact."""

from __future__ import annotations

import hashlib
import unicodedata
from pathlib import Path
from typing import Any

from aswd.artifacts.declaration import Artifact
from aswd.artifacts.page import Page
from aswd.tracking.naming import Names, images_in, label_of, media_name
from aswd.tracking.replay import RESULTS, SAMPLES
from aswd.tracking.series import Member, members
from aswd.tracking.session import STEP, imported, is_online, sentence
from aswd.utils.errors import UserError
from aswd.utils.files import read_json, write_json


def dashboard(page: Page, project: str, entity: str | None, mode: str) -> int:
    """Build the workspaces of an artifact, save them where there is a server, and write them down as JSON in any case.

    Raises:
        UserError: an option that makes no sense; wandb-workspaces is not installed; the server refuses.
    """
    artifact, output_dir = page.artifact, page.output_dir
    found = members(page)
    wandb = imported(output_dir)
    online = is_online(mode)
    path = Path(output_dir, "wandb", "dashboards", f"{artifact.name}-{page.folder.name}.json")
    if online and entity is None:
        entity = _default_entity(wandb)
    former = {one["name"]: one.get("id", "") for one in (read_json(path) or {}).get("workspaces", [])}
    written = []
    for data in dict.fromkeys(member.data for member in found):
        title = _name(f"{artifact.number}: {artifact.title}, {data} ({', '.join([page.reading, page.scale, *page.changes])})")
        made = workspace(artifact, title, [member for member in found if member.data == data], project, entity)
        address = _save(made, former.get(title, "")) if online else None
        written.append({**specification(made), "url": address, "id": made._internal_id})
        if address:
            print(f"{title}: {address}")
    write_json(
        path, {"artifact": artifact.name, "scale": page.scale, "reading": page.reading, "changes": page.changes, "workspaces": written}
    )
    if not online:
        print(f"{len(written)} workspaces were written down in {path}; none was saved, since this is offline:")
        print("log in (wandb login), send the runs (aswd wandb sync), and the same command saves them")
    return 0


def workspace(artifact: Artifact, title: str, found: list[Member], project: str, entity: str | None) -> Any:
    """The workspace of one data set: curves by series with seeds averaged, final values and tables, pictures.

    Raises:
        UserError: wandb-workspaces is not installed.
    """
    try:
        import wandb_workspaces.reports.v2 as panels
        import wandb_workspaces.workspaces as spaces
        from wandb_workspaces import expr
    except ImportError as error:
        raise UserError(f"dashboards need wandb-workspaces ({error}): pip install 'aswd[wandb-dashboard]'") from None
    label = label_of(artifact.name)
    averaged = {"groupby": panels.Config(label), "groupby_aggfunc": "mean", "groupby_rangefunc": "stderr"}
    metric, logarithmic = artifact.metric.removeprefix("log10_"), artifact.metric.startswith("log10_")

    def curve(name: str, text: str, log_y: bool) -> Any:
        return panels.LinePlot(title=text, x=STEP, y=[name], log_y=log_y, title_x="iteration", max_runs_to_show=1000, **averaged)

    def bars(name: str, text: str) -> Any:
        return panels.BarPlot(title=text, metrics=[name], max_runs_to_show=1000, **averaged)

    groups = [Names(artifact.task, one.data, one.distance, one.key, [0], "").group for one in found]
    curves = [
        curve(metric, f"{metric} by distance, mean of the seeds", logarithmic),
        curve("distance_value", "the distance itself", True),
        curve("seconds_per_iteration", "seconds per iteration", False),
    ]
    finals = [bars(f"final/{artifact.metric}", f"final {artifact.metric}"), bars(f"best/{metric}", f"best {metric}")]
    finals += [bars("time_per_iteration", "time per iteration, s"), panels.WeavePanelSummaryTable(table_name=RESULTS)]
    pictures = [panels.MediaBrowser(title=key, media_keys=[key], num_columns=3) for key in _media(found)]
    made = spaces.Workspace(
        entity=entity or "",
        project=project,
        name=title,
        sections=[
            spaces.Section(name="Curves by distance", panels=curves, is_open=True),
            spaces.Section(name="Final values", panels=[*finals, panels.RunComparer(diff_only="split")], is_open=True),
            spaces.Section(name="Samples", panels=pictures, is_open=True),
        ],
        settings=spaces.WorkspaceSettings(x_axis=STEP, max_runs=1000),
        runset_settings=spaces.RunsetSettings(
            filters=expr.And(expr.Metric("Group").isin(groups), expr.Metric("JobType") == artifact.task),
            groupby=[expr.Config(label)],
            order=[expr.Ordering(expr.Summary(f"final/{artifact.metric}"))],
            pinned_columns=[f"summary:final/{artifact.metric}", f"summary:best/{metric}", "summary:wall_time"],
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
    return "".join(" " if unicodedata.category(one).startswith("S") else one for one in text)


def _media(found: list[Member]) -> list[str]:
    """Names of the pictures that the runs have, by what is in the store."""
    names = [media_name(path) for one in found for folder in sorted(one.folder.glob("seed*/images")) for path in images_in(folder)]
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
