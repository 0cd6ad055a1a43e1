"""The folder of an artifact at one reading and scale: figure, data, tables, verdicts."""

from __future__ import annotations

import hashlib
import shlex
from dataclasses import asdict, dataclass
from pathlib import Path

import pandas
from matplotlib.figure import Figure

from aswd.artifacts import tables
from aswd.artifacts.claims import Verdict
from aswd.artifacts.declaration import Artifact
from aswd.artifacts.kinds import kind
from aswd.utils.files import write_atomically, write_json, write_text
from aswd.utils.tables import table


@dataclass(frozen=True)
class Page:
    """Where an artifact is written to, and what stands above it."""

    artifact: Artifact
    scale: str
    reading: str
    overrides: list[str]
    output_dir: Path

    @property
    def heading(self) -> str:
        """Above the figure: a picture says what it is of."""
        changed = f", {' '.join(self.changes)}" if self.changes else ""
        return f"{self.artifact.number}: {self.artifact.title} (reading {self.reading}, scale {self.scale}{changed})"

    @property
    def changes(self) -> list[str]:
        """The overrides that change the numbers, and so make another artifact of it."""
        neutral = ("trainer=", "trainer.", "logger", "launcher", "paths")
        return [one for one in self.overrides if one.startswith("trainer.max_steps") or not one.startswith(neutral)]

    @property
    def folder(self) -> Path:
        """One for every reading, scale and set of changes: they are never mixed."""
        mark = "-" + hashlib.sha256(" ".join(sorted(self.changes)).encode()).hexdigest()[:6] if self.changes else ""
        return self.output_dir / "artifacts" / self.artifact.name / f"{self.reading}-{self.scale}{mark}"

    def write(self, figure: Figure, frame: pandas.DataFrame, curves: pandas.DataFrame, verdicts: list[Verdict], facts: dict) -> None:
        """Figure, data and verdicts; those are printed too."""
        folder = self.folder
        for name in ("figure.png", "figure.pdf"):
            write_atomically(folder / name, lambda partial: figure.savefig(partial, dpi=110))
        write_text(folder / "table.csv", frame.to_csv(index=False))
        write_text(folder / "curves.csv", curves.to_csv(index=False))
        write_text(folder / "table.md", tables.markdown(frame))
        write_text(folder / "table.tex", getattr(kind(self.artifact.draw), "latex", tables.latex)(frame, self.heading))
        own = {name: getattr(self.artifact, name) for name in ("title", "number", "about", "metric")}
        arguments = [self.artifact.name, "--scale", self.scale, "--reading", self.reading, *self.overrides]
        content = {"artifact": self.artifact.name, **own, "reading": self.reading, "scale": self.scale, "changes": self.changes}
        content |= {"command": shlex.join(["aswd", "reproduce", *arguments]), "verdicts": [asdict(verdict) for verdict in verdicts]}
        own_rows = frame[frame["metric"] == self.artifact.metric]
        content |= {"runs": int(own_rows["n"].sum()), "of": int(own_rows["of"].sum()), **facts}
        write_json(folder / "outcome.json", content)
        print(table(("claim", "verdict", "numbers"), [(v.claim, v.verdict, v.numbers) for v in verdicts]))
        print(f"Figure, tables and verdicts: {folder}")
