"""What the tests of sweeps ask of a store, and real processes to fill it."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np

from aswd.runs import Run, RunState, records

SHORT = [
    *("data=knot", "data.num_samples=40", "distance=aswd", "distance.num_projections=10", "task.iterations=20", "task.num_frames=4"),
    *("task.pictures=false", "trainer.accelerator=cpu", "trainer.threads=1", "trainer.progress=false", "trainer.checkpoint_seconds=0"),
]


def command(*arguments):
    return [sys.executable, "-m", "aswd", *map(str, arguments)]


def start(store, *arguments, **options):
    """A sweep as a process of its own."""
    whole = command("train", "-m", *SHORT, *arguments, f"paths.output_dir={store}")
    return subprocess.Popen(whole, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def finished(store, *arguments, **options):
    """A sweep that was waited for: exit code, counts, and all that it said."""
    return ended(start(store, *arguments, **options))


def ended(process):
    out, err = process.communicate(timeout=1800)
    return process.returncode, counted(out), out + err


def counted(out):
    """The counts in the line that sums a sweep up."""
    summary = re.findall(r"^sweep: (.*)$", out, re.MULTILINE)
    return {word: int(count) for count, word in re.findall(r"(\d+) ([a-z]+)", summary[-1])} if summary else {}


def digests(store):
    """The digests of the records of all runs that are done."""
    found = {
        str(path.parent.relative_to(store)): json.loads(path.read_text()) for path in Path(store).glob("runs/*/*/*/*/seed=*/status.json")
    }
    return {name: status["digests"] for name, status in found.items() if status["status"] == "done"}


def is_untouched(store, before):
    """Whether the records that were done are what they were."""
    after = digests(store)
    return all(after.get(name) == content for name, content in before.items())


def lost(store, expected):
    """Runs that are not in the store, or not whole."""
    ours = {_place(store, row.folder): row.state for row in records(store).itertuples()}
    return [
        name
        for name in (_place(expected, folder) for folder in records(expected)["folder"])
        if ours.get(name) != RunState.DONE or Run(Path(store, name)).damage() is not None
    ]


def differing(store, expected):
    """Runs whose numbers are not the same to the last bit; of the metrics all but the pace."""
    found = []
    for folder in records(expected)["folder"]:
        theirs, ours = Path(folder), Path(store, _place(expected, folder))
        rows = [np.loadtxt(one / "metrics.csv", delimiter=",", skiprows=1, ndmin=2)[:, :-1] for one in (ours, theirs)]
        arrays = [np.load(one / "samples.npz") for one in (ours, theirs)]
        if not np.array_equal(*rows) or any(not np.array_equal(arrays[0][name], arrays[1][name]) for name in arrays[1]):
            found.append(str(ours))
    return found


def _place(store, folder):
    return str(Path(folder).relative_to(store))
