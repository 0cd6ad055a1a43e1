"""Artifacts as YAML files declare them: ``artifact/<paper>/<name>.yaml``, or ``artifact/<name>.yaml`` for one of no paper.

They are in our configs, in ``--config-dir`` folders and in plug-in packages.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any

import yaml

from aswd.artifacts.papers import FILE as PAPER_FILE
from aswd.artifacts.papers import Paper, load_paper
from aswd.config import config_dir
from aswd.utils.checks import check_at_least, check_choice, nearest
from aswd.utils.errors import UserError
from aswd.utils.plugins import config_dirs as plugin_config_dirs

SCALES = ("smoke", "laptop", "paper")  # of our own artifacts
_KINDS = ("Figure", "Table", "Study")


@dataclass(frozen=True)
class Series:
    """One curve or column: a distance, with overrides, under a label."""

    label: str
    distance: str
    overrides: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check_texts("overrides", self.overrides)


@dataclass(frozen=True)
class Scale:
    """The effort.

    Args:
        seeds: their number.
        num_projections: directions, for distances that have this option.
        overrides: of all runs.
        data: a part of the data sets.
        judges: whether claims are judged, or the names of those that are; none at a scale that only checks that everything runs.
    """

    seeds: int
    num_projections: int | None = None
    overrides: tuple[str, ...] = ()
    data: tuple[str, ...] | None = None
    judges: bool | tuple[str, ...] = True

    def __post_init__(self) -> None:
        check_at_least("seeds", self.seeds, 1, whole=True)
        if isinstance(self.judges, tuple):
            _check_texts("judges", self.judges)
        else:
            check_choice("judges", self.judges, [True, False])
        _check_texts("overrides", self.overrides)
        if self.data is not None:
            _check_texts("data", self.data)


@dataclass(frozen=True)
class Artifact:
    """A figure or table.

    Args:
        name: the name of its file.
        file: where it is declared.
        about: one sentence for listings: the first comment of the file.
        paper: whose folder the file is in, if it is in one.
        draw: a module of ``aswd.artifacts.drawing``, or the dotted name of a function ``draw(artifact, cells, heading) -> Figure``.
        task: task of all runs.
        metric: whose final values are compared; ``log10_<metric>`` is its logarithm, ``<metric>_squared`` its square, ``<metric>@500``
            its value after 500 steps.
        data: data sets.
        series: what is compared on each of them.
        scales: by name.
        title: of the figure.
        number: in the paper, or any text.
        claims: names of claims, or dotted names of functions.
        also: further metrics of the table.
        published: values of the paper: data -> label -> value, or data -> label -> metric -> value.
        options: of what plans its own runs, which says what they are.
    """

    name: str
    file: Path
    about: str
    draw: str
    task: str
    metric: str
    data: tuple[str, ...]
    series: tuple[Series, ...]
    scales: dict[str, Scale]
    paper: Paper | None = None
    title: str = ""
    number: str = ""
    claims: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    published: dict[str, dict[str, Any]] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def caption(self) -> str:
        """Number and title, as far as there are any."""
        return ": ".join(part for part in (self.number, self.title) if part) or self.name

    def scale(self, name: str) -> Scale:
        """One of the scales.

        Raises:
            UserError: there is no scale of that name.
        """
        if name not in self.scales:
            raise UserError(f"--scale must be one of {', '.join(self.scales)} for {self.name}; got {name!r}")
        return self.scales[name]

    def published_value(self, data: str, label: str, metric: str) -> float | None:
        """The value in the paper, if there is one."""
        value = self.published.get(data, {}).get(label)
        return value.get(metric) if isinstance(value, dict) else value if metric == self.metric else None


def split_label(label: str) -> tuple[str, int | None]:
    """Method and number of directions of a label.

    >>> split_label("GSWD poly 3 L=10"), split_label("Exact")
    (('GSWD poly 3', 10), ('Exact', None))
    """
    method, _, count = label.partition(" L=")
    return (method, int(count)) if count.isdecimal() else (label, None)


def artifacts(config_dirs: Sequence[str] = ()) -> list[Artifact]:
    """All artifacts, by papers: ours in the order of years, and within a paper in its own order, then those from outside.

    Args:
        config_dirs: folders of the user's, from ``--config-dir``.

    Raises:
        UserError: one of the files is not valid.
    """
    files = _files(config_dirs)
    return sorted((_load(name, files) for name in files), key=lambda each: order_key(each.name, each.number, each.paper))


def artifact_names(config_dirs: Sequence[str] = ()) -> list[str]:
    """Names of all artifacts, in the same order."""
    return [artifact.name for artifact in artifacts(config_dirs)]


def load(name: str, config_dirs: Sequence[str] = ()) -> Artifact:
    """The artifact ``name``.

    Raises:
        UserError: there is no artifact of that name, or its file is not valid.
    """
    files = _files(config_dirs)
    if name not in files:
        raise UserError(f"there is no artifact {name!r}: {nearest(name, files)}")
    return _load(name, files)


def order_key(name: str, number: str, paper: Paper | None) -> tuple:
    """Sorts artifacts: ours first; those of no paper last; papers by year; in a paper of ours figures, tables and studies by number."""
    outside = name not in _files_in(config_dir())
    match = None if outside else re.fullmatch(rf"({'|'.join(_KINDS)}) (\d+)([a-z]?)", number)  # 14a before 14b
    place = (len(_KINDS), 0, "") if match is None else (_KINDS.index(match[1]), int(match[2]), match[3])
    return outside, paper is None, *((paper.year, paper.title) if paper else (0, "")), *place, name


def _files(config_dirs: Sequence[str]) -> dict[str, Path]:
    """The file of every artifact.

    Raises:
        UserError: a name is taken twice, so that results of different artifacts would share a folder, or stands for all of them.
    """
    files: dict[str, Path] = {}
    for folder in (config_dir(), *plugin_config_dirs(), *map(Path, config_dirs)):
        for name, path in _files_in(folder).items():
            known = files.setdefault(name, path)
            if known.resolve() != path.resolve():
                raise UserError(f"{path} must have another name: {name} is the artifact in {known}")
            if name == "all":
                raise UserError(f"{path} must have another name: aswd reproduce all stands for all artifacts")
    return files


def _files_in(folder: Path) -> dict[str, Path]:
    """The artifacts in a folder of configurations: those of no paper, and those of its papers."""
    files: dict[str, Path] = {}
    of_papers = (path for path in sorted(folder.glob("artifact/*/*.yaml")) if path.name != PAPER_FILE)
    for path in (*sorted(folder.glob("artifact/*.yaml")), *of_papers):
        if path.stem in files:
            raise UserError(f"{path} must have another name: {path.stem} is the artifact in {files[path.stem]}")
        files[path.stem] = path
    return files


def _load(name: str, files: dict[str, Path]) -> Artifact:
    path, content = files[name], _content(name, files)
    known = {f.name for f in fields(Artifact)} - {"name", "file", "about", "paper"}
    for key in content:
        if key not in known:
            raise UserError(f"{path}: {key} is not an option of an artifact: {nearest(key, [*known, 'like'])}")
    for key in ("draw", "task", "metric", "data", "series", "scales"):
        if not content.get(key):
            raise UserError(f"{path}: {key} must be given a value")
    for key, kind in (("series", list), ("scales", dict), ("published", dict), ("options", dict)):
        if not isinstance(content.get(key, kind()), kind):
            raise UserError(f"{path}: {key} must be a {'list' if kind is list else 'group of options'}; got {content[key]!r}")
    content["series"] = tuple(_part(path, f"series[{i}]", Series, entry) for i, entry in enumerate(content["series"]))
    content["scales"] = {str(scale): _part(path, f"scales.{scale}", Scale, entry) for scale, entry in content["scales"].items()}
    labels = [series.label for series in content["series"]]
    if len(set(labels)) < len(labels):
        raise UserError(f"{path}: series must have different labels; got {', '.join(labels)}")
    try:
        for key in ("data", "claims", "also"):
            if key in content:
                content[key] = tuple(content[key]) if isinstance(content[key], list) else content[key]
                _check_texts(key, content[key])
        for key in ("draw", "task", "metric", "title", "number"):
            if not isinstance(content.get(key, ""), str | int):
                raise ValueError(f"{key} must be a text; got {content[key]!r}")
            content[key] = str(content.get(key, ""))
    except ValueError as error:
        raise UserError(f"{path}: {error}") from None
    text = path.read_text(encoding="utf-8").splitlines()
    about = text[0].removeprefix("#").strip() if text and text[0].startswith("#") else content["title"]
    paper = None if path.parent.name == "artifact" else load_paper(path.parent)
    return Artifact(name=name, file=path, about=about, paper=paper, **content)


def _content(name: str, files: dict[str, Path], inheriting: tuple[str, ...] = ()) -> dict[str, Any]:
    """The options of a file over those of the artifact that it is ``like``; scales are inherited one by one."""
    path = files[name]
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise UserError(f"{path} cannot be read: {' '.join(str(error).split())}") from None
    if not isinstance(content, dict):
        raise UserError(f"{path} must consist of options; got {content!r}")
    like = content.pop("like", None)
    if like is None:
        return content
    if like in (name, *inheriting):
        raise UserError(f"{path}: like must not lead back to the artifact itself; got {' -> '.join([*inheriting, name, like])}")
    if like not in files:
        raise UserError(f"{path}: like must be the name of an artifact; got {like!r}: {nearest(str(like), files)}")
    inherited = _content(like, files, (*inheriting, name))
    scales = content.get("scales", {})
    if isinstance(scales, dict) and isinstance(inherited.get("scales"), dict):
        scales = {**inherited["scales"], **scales}
    return {**inherited, **content, "scales": scales}


def _part(path: Path, key: str, kind: type, entry: Any) -> Any:
    """A series or a scale."""
    names = [f.name for f in fields(kind)]
    required = [f.name for f in fields(kind) if f.default is MISSING]
    if not isinstance(entry, dict):
        raise UserError(f"{path}: {key} must be a group of options ({', '.join(names)}); got {entry!r}")
    for name in entry:
        if name not in names:
            raise UserError(f"{path}: {key}.{name} is not an option: {nearest(name, names)}")
    for name in required:
        if entry.get(name) is None:
            raise UserError(f"{path}: {key}.{name} must be given a value")
    texts = {name: str(entry[name]) for name in ("label", "distance") if name in entry}
    try:
        return kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in entry.items()} | texts)
    except ValueError as error:
        raise UserError(f"{path}: {key}.{error}") from None


def _check_texts(name: str, values: Any) -> None:
    if not isinstance(values, tuple) or not all(isinstance(value, str) for value in values):
        raise ValueError(f"{name} must be a list of texts; got {list(values) if isinstance(values, tuple) else values!r}")
