"""Where the time of a run goes."""

import gzip
import json
import time
from types import SimpleNamespace

import pytest

from aswd.bench import profile as module
from aswd.bench.profile import PREFIX, WARM_UP, PartsProfiler, part_of
from aswd.cli.main import main
from aswd.tasks.flow import Flow
from tests.runs.small import SMALL

FETCH = "[_TrainingEpochLoop].train_dataloader_next"
# Actions that Lightning starts (+) and stops (-), hooks of ours, and the seconds between each and the next.
STEP = [
    (1, "+", FETCH),
    (1, "-", FETCH),
    (1, "+", "optimiser"),
    (1, "+", "[Strategy]SingleDeviceStrategy.training_step"),
    (1, "+", "distance"),
    (3, "+", "inner loop"),
    (2, "-", "inner loop"),
    (1, "-", "distance"),
    (1, "-", "[Strategy]SingleDeviceStrategy.training_step"),
    (0, "+", "[LightningModule]Flow.on_before_backward"),
    (4, "-", "[LightningModule]Flow.on_before_backward"),
    (1, "+", "[Callback]Recorder.on_after_backward"),
    (0, "-", "[Callback]Recorder.on_after_backward"),
    (0, "+", "[LightningModule]Flow.on_after_backward"),
    (1, "-", "[LightningModule]Flow.on_after_backward"),
    (0, "-", "optimiser"),
    (0, "+", "[LightningModule]Flow.on_validation_model_eval"),
    (5, "-", "[LightningModule]Flow.on_validation_model_eval"),
    (1, "+", "distance"),  # in an evaluation, and so part of it
    (1, "-", "distance"),
    (1, "+", "[Callback]Checkpoints.on_validation_end"),
    (7, "+", "save_checkpoint"),
    (1, "-", "save_checkpoint"),
    (0, "-", "[Callback]Checkpoints.on_validation_end"),
    (0, "+", "[Strategy]SingleDeviceStrategy.on_validation_end"),
    (2, "-", "[Strategy]SingleDeviceStrategy.on_validation_end"),
]


def test_time_belongs_to_the_innermost_part(monkeypatch):
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(module, "_now", lambda: clock.now)
    trainer = SimpleNamespace(global_step=0, optimizers=[])
    profiler = PartsProfiler(1)
    profiler._lightning_module = SimpleNamespace(trainer=trainer)
    clock.now = 9.0  # the start
    for step in range(WARM_UP + 2):
        trainer.global_step = step
        for seconds, sign, action in STEP:
            (profiler.start if sign == "+" else profiler.stop)(action)
            clock.now += seconds
    trainer.global_step += 1
    profiler.start("[Callback]Recorder.on_train_end")
    clock.now += 100  # after the last step, and of no part
    profiler.stop("[Callback]Recorder.on_train_end")
    whole = sum(seconds for seconds, *_ in STEP)
    assert (profiler.start_up, profiler.plain_seconds, profiler.first_step, profiler.last_step) == (9, whole, WARM_UP + 1, WARM_UP + 2)
    assert sum(profiler.seconds.values()) == whole
    assert {part: (profiler.calls[part], seconds) for part, seconds in profiler.seconds.items()} == {
        "data": (1, 1),
        "forward": (1, 2),
        "distance": (1, 3),
        "inner loop": (1, 3),
        "backward": (1, 4),
        "optimiser": (1, 3),
        "evaluation": (1, 9),
        "checkpoint": (1, 7),
        "callbacks": (1, 1),
        "the rest": (0, 3),
    }


def test_actions_of_lightning_are_parts():
    assert part_of(FETCH) == part_of("[Strategy]DDPStrategy.batch_to_device") == "data"
    assert part_of("[Strategy]SingleDeviceStrategy.training_step") == "forward"
    assert part_of("[Callback]ModelCheckpoint{'monitor': 'a.b'}.on_train_batch_end") == "callbacks"
    assert part_of("run_training_epoch") is None
    assert part_of("[LightningModule]Flow.optimizer_step") is None


def test_a_run_is_profiled_outside_the_store(tmp_path, capsys, monkeypatch):
    validation_step = Flow.validation_step

    def slow(self, *arguments):
        time.sleep(0.05)
        return validation_step(self, *arguments)

    monkeypatch.setattr(Flow, "validation_step", slow)
    few = [*SMALL, "distance=aswd", "distance.num_projections=5"]
    assert main(["profile", *few, "--steps", "10", f"paths.output_dir={tmp_path}"]) == 0
    printed = capsys.readouterr().out
    (folder,) = (tmp_path / "profile").iterdir()
    assert folder.name.startswith("flow-swiss_roll-aswd-")
    content = json.loads((folder / "profile.json").read_text())
    parts = content["parts"]
    assert sum(part["share"] for part in parts.values()) == pytest.approx(1, abs=1e-6)
    names = ("forward", "distance", "inner loop", "backward", "optimiser")
    assert {name: parts[name]["calls"] for name in names} == dict.fromkeys(names, content["steps"]) == dict.fromkeys(names, 10)
    assert parts["data"]["calls"] == 20  # fetched, and moved to the device
    assert parts["evaluation"]["calls"] == 2  # steps 25 and 30
    assert 0.1 <= parts["evaluation"]["seconds"] < content["seconds"]
    assert all(part["seconds"] >= 0 for part in parts.values())
    assert content["seconds_unprofiled"] > 0
    assert "evaluation" in printed
    assert "Without the profiler a step took" in printed
    trace = json.loads(gzip.decompress((folder / "trace.json.gz").read_bytes()))
    labels = {event.get("name") for event in trace["traceEvents"]}
    assert {PREFIX + "distance", PREFIX + "inner loop", PREFIX + "evaluation", "aten::baddbmm"} <= labels
    assert sorted(path.name for path in tmp_path.iterdir()) == ["profile"]


def test_manual_optimization_has_the_same_parts(tmp_path, capsys):
    few = ["task=color_transfer", "task.method=flow", "data.num_colors=50", "distance=swd", "trainer.accelerator=cpu", "trainer.threads=1"]
    assert main(["profile", *few, "--steps", "3", f"paths.output_dir={tmp_path}"]) == 0
    (path,) = tmp_path.glob("profile/*/profile.json")
    parts = json.loads(path.read_text())["parts"]
    names = ("forward", "distance", "backward", "optimiser")
    assert {name: parts[name]["calls"] for name in names} == dict.fromkeys(names, 3)
    assert all(parts[name]["seconds"] > 0 for name in names)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["distance=asdw"], "distance has no choice 'asdw'"),
        (["task.iterations=5"], "task.iterations must be at least 12"),
        (["distance=swd,aswd"], "stands for several runs"),
        (["task.lr=1e30", *SMALL], "the profiled run must be done; it is failed: the loss is not finite"),
        (
            ["task=color_transfer", "data.num_colors=50", "distance=swd"],
            "the run must have at least 16 steps for --steps 5; it ended after 1",
        ),
    ],
)
def test_mistakes_are_a_sentence(arguments, why, tmp_path, capsys):
    assert main(["profile", *arguments, "--steps", "5", f"paths.output_dir={tmp_path}"]) == 2
    printed = capsys.readouterr().err
    assert why in printed
    assert "Traceback" not in printed


@pytest.mark.parametrize(("profiler", "line"), [("simple", "Mean duration (s)"), ("pytorch", "Self CPU time total")])
def test_profilers_of_lightning_report(profiler, line, tmp_path, caplog):
    assert main(["train", *SMALL, "distance=swd", f"trainer.profiler={profiler}", f"paths.output_dir={tmp_path}"]) == 0
    assert line in caplog.text
