"""Sweeps as real processes, and comparisons of the stores that they fill."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np

from aswd.runs import Run, RunState, records

SHORT = [
    *("data=knot", "data.num_samples=40", "distance=aswd", "distance.num_projections=10", "task.iterations=20", "task.num_frames=4"),
    *(
        "task.images=false",
        "trainer.accelerator=cpu",
        "trainer.threads=1",
        "trainer.enable_progress_bar=false",
        "trainer.checkpoint_seconds=0",
    ),
]


def command(*arguments):
    return [sys.executable, "-m", "aswd", *map(str, arguments)]


def start(store, *arguments, **options):
    """Start a sweep as a process."""
    whole = command("train", "-m", *SHORT, *arguments, f"paths.output_dir={store}")
    return subprocess.Popen(whole, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def finished(store, *arguments, **options):
    """Exit code, counts and output of a sweep."""
    return ended(start(store, *arguments, **options))


def ended(process):
    """Exit code, counts and output of a process that was started, when it has ended."""
    out, err = process.communicate(timeout=5400)
    return process.returncode, counted(out), out + err


def counted(out):
    """The counts in the last line of a sweep."""
    summary = re.findall(r"^sweep: (.*)$", out, re.MULTILINE)
    return {state: int(count) for count, state in re.findall(r"(\d+) ([a-z]+)", summary[-1])} if summary else {}


def digests(store):
    """The digests of the records of all finished runs."""
    statuses = {
        str(path.parent.relative_to(store)): json.loads(path.read_text()) for path in Path(store).glob("runs/*/*/*/*/seed=*/status.json")
    }
    return {name: status["digests"] for name, status in statuses.items() if status["status"] == "done"}


def count_done(store):
    """The number of runs that have a status: cheap, for polling."""
    return sum(1 for _ in Path(store).glob("runs/*/*/*/*/seed=*/status.json"))


def is_untouched(store, before):
    """Whether the records that were finished before are unchanged."""
    after = digests(store)
    return all(after.get(name) == content for name, content in before.items())


def lost(store, expected):
    """Runs that are missing in the store, or damaged."""
    ours = {_relative(store, row.folder): row.state for row in records(store).itertuples()}
    return [
        name
        for name in (_relative(expected, folder) for folder in records(expected)["folder"])
        if ours.get(name) != RunState.DONE or Run(Path(store, name)).damage() is not None
    ]


def differing(store, expected):
    """Runs whose numbers are not bitwise equal; of the metrics all but the speed."""
    runs = []
    for folder in records(expected)["folder"]:
        theirs, ours = Path(folder), Path(store, _relative(expected, folder))
        rows = [np.loadtxt(run / "metrics.csv", delimiter=",", skiprows=1, ndmin=2)[:, :-1] for run in (ours, theirs)]
        arrays = [np.load(run / "samples.npz") for run in (ours, theirs)]
        if not np.array_equal(*rows) or any(not np.array_equal(arrays[0][name], arrays[1][name]) for name in arrays[1]):
            runs.append(str(ours))
    return runs


def _relative(store, folder):
    return str(Path(folder).relative_to(store))
