"""make demo: Figure 2 at the scale demo, its particles as an animation, a table, the verdict and the report."""

from __future__ import annotations

import contextlib
import io
import json
import sys
import time
from pathlib import Path

import numpy as np
import pandas

from aswd.artifacts.declaration import load
from aswd.cli.main import main as aswd
from aswd.tasks.flow_figures import side_by_side
from aswd.utils.tables import table

TARGET, LABELS = "knot", {"ASWD": "ASWD", "Linear": "SWD (Linear)"}


class Progress(io.TextIOBase):
    """One line in place of the many of ``aswd reproduce``."""

    def write(self, text: str) -> int:
        if text.startswith("[") and sys.stderr.isatty():
            print(f"\r  {text.strip():<70}\r", end="", file=sys.stderr, flush=True)
        return len(text)


def main(output_dir: str = "outputs", *options: str) -> int:
    """Run and show the demo; the exit code."""
    where, start = f"paths.output_dir={output_dir}", time.monotonic()
    artifact = load("flow_main")
    seeds, grid = artifact.scale("demo").seeds, f"{len(artifact.data)} targets x {len(artifact.series)} distances"
    print(f"{artifact.caption}, small: {grid} x {seeds} seeds; about a minute on two cores", flush=True)
    with contextlib.redirect_stdout(Progress()):
        code = aswd(["reproduce", "flow_main", "--scale", "demo", "launcher=pool", "trainer.enable_progress_bar=false", where, *options])
    if code:
        return code
    seconds = time.monotonic() - start
    with contextlib.redirect_stdout(io.StringIO()):
        aswd(["report", where])
    (folder,) = (path.parent for path in Path(output_dir, "artifacts", "flow_main").glob("reference-demo*/summary.json"))
    print(f"\nlog10 of the W2 that is left, means (lower is better); made in {seconds:.0f} s\n")
    frame = pandas.read_csv(folder / "table.csv")
    means = frame.pivot(index="label", columns="data", values="mean").sort_values("knot")
    print(table(("", *means.columns), [(LABELS.get(name, name), *(f"{value:.2f}" for value in row)) for name, row in means.iterrows()]))
    for verdict in json.loads((folder / "summary.json").read_text())["verdicts"]:
        if verdict["verdict"] != "no verdict":
            print(f"\n{verdict['claim']}: {verdict['text']}\n    {verdict['verdict']}, {verdict['numbers'].partition(' (')[0]}")
    print(f"\n  {animate(frame, folder / 'particles.gif')}  particles on their way, ASWD beside SWD")
    print(f"  {folder / 'figure.png'}  the figure")
    print(f"  {Path(output_dir, 'report', 'index.html')}  the report: open it in a browser")
    print("\nNext, after source .venv/bin/activate:")
    print("  aswd train data=heart distance=aswd                 one run, with images")
    print("  aswd train -m data=heart distance=swd,ebsw,db_tsw   others: aswd list distances")
    print("  python examples/own_distance.py                     one of your own, beside SWD")
    return 0


def animate(frame: pandas.DataFrame, path: Path) -> Path:
    """The particles of the first seed of both distances, side by side; ``frame`` is the artifact's table."""
    folders = frame[frame["data"] == TARGET].set_index("label")["folder"]
    samples = {name: np.load(Path(folders[label], "seed=0", "samples.npz")) for label, name in LABELS.items()}
    first = next(iter(samples.values()))
    return side_by_side(path, {name: each["frames"] for name, each in samples.items()}, first["target"], first["frame_steps"])


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
