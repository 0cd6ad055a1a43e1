"""Where the time of a run goes."""

import gzip
import json
import time
from types import SimpleNamespace

import pytest

from aswd.bench.profile import attribute
from aswd.bench.profile_labels import PARTS, PREFIX, part_of
from aswd.cli.main import main
from aswd.distances.maximiser import Maximiser
from aswd.runs.recorder import Recorder
from aswd.tasks.flow import Flow
from tests.runs.small import SMALL


def event(name, start, end):
    return SimpleNamespace(name=name, time_range=SimpleNamespace(start=start * 1e6, end=end * 1e6))


def test_time_belongs_to_the_innermost_part():
    events = [
        event("Optimizer.step#Adam.step", 0, 10),
        event(PREFIX + "forward", 1, 6),
        event(PREFIX + "distance", 2, 5),
        event("aten::mm", 2.5, 4),
        event(PREFIX + "inner loop", 3, 4),
        event(PREFIX + "backward", 6, 8),
        event(PREFIX + "evaluation", 11, 15),
        event(PREFIX + "distance", 12, 14),  # in an evaluation, and so part of it
    ]
    spent = {part: (one.calls, one.seconds) for part, one in attribute(events).items() if one.calls}
    assert spent == {
        "optimiser": (1, pytest.approx(3)),
        "forward": (1, pytest.approx(2)),
        "distance": (1, pytest.approx(2)),
        "inner loop": (1, pytest.approx(1)),
        "backward": (1, pytest.approx(2)),
        "evaluation": (1, pytest.approx(4)),
    }


def test_only_labels_are_parts():
    assert part_of("aten::mm") is None
    assert all(part_of(PREFIX + part) == part for part in PARTS)


def test_a_run_is_profiled_away_from_the_store(tmp_path, capsys, monkeypatch):
    former = Flow.training_step, Flow.validation_step, Maximiser.ascend, Recorder.on_train_end
    fast = Flow.validation_step

    def validation_step(self, batch, batch_idx):
        time.sleep(0.05)
        return fast(self, batch, batch_idx)

    monkeypatch.setattr(Flow, "validation_step", validation_step)
    few = [*SMALL, "distance=aswd", "distance.num_projections=5"]
    assert main(["profile", *few, "--steps", "10", f"paths.output_dir={tmp_path}"]) == 0
    said = capsys.readouterr().out
    (folder,) = (tmp_path / "profile").iterdir()
    found = json.loads((folder / "profile.json").read_text())
    parts = found["parts"]
    assert sum(part["share"] for part in parts.values()) == pytest.approx(1, abs=1e-6)
    assert {name: parts[name]["calls"] for name in ("forward", "distance", "inner loop", "backward", "optimiser")} == dict.fromkeys(
        ("forward", "distance", "inner loop", "backward", "optimiser"), 10
    )
    assert parts["evaluation"]["calls"] == 2  # steps 25 and 30
    assert 0.1 <= parts["evaluation"]["seconds"] < found["seconds"]
    assert all(part["seconds"] >= 0 for part in parts.values())
    assert "evaluation" in said
    trace = json.loads(gzip.decompress((folder / "trace.json.gz").read_bytes()))
    names = {one.get("name") for one in trace["traceEvents"]}
    assert {PREFIX + "distance", PREFIX + "inner loop", PREFIX + "evaluation"} <= names
    assert not (tmp_path / "runs").exists()
    monkeypatch.undo()
    assert (Flow.training_step, Flow.validation_step, Maximiser.ascend, Recorder.on_train_end) == former  # all labels are gone
    assert "on_train_batch_start" not in vars(Recorder)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["distance=asdw"], "distance has no choice 'asdw'"),
        (["task.iterations=5"], "task.iterations must be at least 12"),
        (["distance=swd,aswd"], "stands for several runs"),
        (["task.lr=1e30", *SMALL], "the run that was to be profiled is not done but failed: the loss is not finite"),
    ],
)
def test_mistakes_are_a_sentence(arguments, why, tmp_path, capsys):
    assert main(["profile", *arguments, "--steps", "5", f"paths.output_dir={tmp_path}"]) == 2
    said = capsys.readouterr().err
    assert why in said
    assert "Traceback" not in said
