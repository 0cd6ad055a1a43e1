"""``aswd train`` as a user has it: Hydra, sweeps, mistakes, signals, kills."""

import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from aswd.cli.main import main
from aswd.runs import Run, RunState, records
from tests.runs.small import SMALL

FEW = [*SMALL, "distance.num_projections=10"]


def train(folder, *arguments):
    return main(["train", *FEW, f"paths.output_dir={folder}", *arguments])


@pytest.mark.parametrize(
    ("argument", "sentence"),
    [
        ("data=knott", "data has no choice 'knott': did you mean knot?"),
        ("distance=asdw", "distance has no choice 'asdw': did you mean aswd"),
        ("task=gan_", "task has no choice 'gan_'"),
        ("distance.num_projection=3", "distance.num_projection is not an option: did you mean distance.num_projections"),
        ("task.itertions=3", "task.itertions is not an option: did you mean task.iterations"),
        ("+task.foo=3", "task.foo is not an option"),
        ("sed=3", "sed is not an option: did you mean seed"),
        ("+sed=3", "sed is not an option: did you mean seed"),
        ("task.iterations.x=3", "task.iterations.x is not an option: task.iterations is a value and has no options"),
        ("distance.num_projections=0", "distance.num_projections must be a whole number of at least 1; got 0"),
        ("distance.num_projections=many", "distance.num_projections must be a whole number; got 'many'"),
        ("+distance.seed=3", "distance.seed must be left to the run"),
        ("task.iterations=1.5", "task.iterations must be a whole number; got 1.5"),
        ("task.lr=-1", "task.lr must be a number above 0; got -1.0"),
        ("task.source=cauchy", "task.source must be one of 'normal', 'uniform', 'sphere'; got 'cauchy'"),
        ("task.betas=[1,2,3]", "task.betas must be a list of 2 numbers of at least 0 and below 1; got [1.0, 2.0, 3.0]"),
        ("data.dim=1", "data.dim must be a whole number of at least 2; got 1"),
        ("reading=papr", "reading has no choice 'papr': did you mean paper?"),
        ("seed=-1", "seed must be a whole number of at least 0; got -1"),
        ("seed=4294967296", "seed must leave the last replica's seed below 2^32"),
        ("replicas=0", "replicas must be a whole number of at least 1; got 0"),
        ("force=maybe", "force must be true or false; got 'maybe'"),
        ("trainer.max_steps=0", "trainer.max_steps must be a whole number of at least 1; got 0"),
        ("logger=wand", "logger has no choice 'wand': did you mean wandb?"),
        ("launcher=nowhere", "launcher has no choice 'nowhere'"),
        ("experiment=flow", "experiment has no choice 'flow': did you mean flow_quick?"),
        ("data=knot,heart", "a sweep needs -m"),
        ("distance", "'distance' is not understood: write OPTION=VALUE"),
        ("=3", "'=3' is not understood: write OPTION=VALUE"),
        ("~x", "x is not an option: known are: callbacks, data"),
        ("~/x", "'~/x' is not understood"),
        ("task.lr=1 2", "task.lr must be a number; got '1 2'"),
        ("task.lr=a=b", "task.lr must be a number; got 'a=b'"),
        ("task.lr=~/x", "task.lr must be a number; got '~/x'"),
        ("task.betas=[1,2", "task.betas has a value that is not understood: '[1,2'; put it in quotes"),
        ("+experiment=flow_quick", "+experiment=flow_quick must be written experiment=flow_quick"),
        ("--package=distance", "--package distance must be used with --cfg job"),
        (
            "trainer.limit_train_batches=0.5",
            "trainer.limit_train_batches must be a whole number for data=swiss_roll",
        ),
        ("trainer.limit_val_batches=0.5", "trainer.limit_val_batches must leave at least one of 1 batches"),
        ("trainer.overfit_batches=0.5", "trainer.overfit_batches must be a whole number"),
        ("trainer.plugins=foo", "trainer.plugins must be a list of _target_s"),
        ("--foo", "unknown argument --foo"),
        ("paths.output_dir=/proc/here", "paths.output_dir must be a folder that can be written to; got '/proc/here'"),
        ("paths.output_dir=", "paths.output_dir must be a folder; got an empty text"),
        ("~seed", "seed must be given a value"),
        ("~launcher", "launcher must be given a value"),
        ("seed=???", "seed must be given a value"),
        ("seed=${foo}", "invalid configuration"),
        ("task.lr=${oc.env:NO_SUCH_VARIABLE}", "task.lr must be a number; got '${oc.env:NO_SUCH_VARIABLE}'"),
        ("+data=knot", "+data=knot must be written data=knot"),
        ("launcher.name=nowhere", "launcher must be a known name; got 'nowhere'"),
        ("task.iterations=99999999999999999999999", "task.iterations must be a whole number"),
        ("task.betas=x", "task.betas must be a list of numbers; got 'x'"),
        ("trainer.max_steps=x", "trainer.max_steps must be a whole number or null; got 'x'"),
        ("--config-name=foo", "--config-name must be left out"),
        ("--config-dir=/nowhere", "--config-dir must be a folder that can be read; got '/nowhere': No such file or directory"),
        ("paths.output_dir=null", "paths.output_dir must be a text; got None"),
        ("source=a.png", "source is now called data.source"),
        ("task.pictures=false", "task.pictures is now called task.images"),
        ("trainer.progress=false", "trainer.progress is now called trainer.enable_progress_bar"),
        ("logger.project=mine", "logger.project is now called logger.wandb.project"),
        ("hydra.run.dir=/tmp/x", "hydra.run.dir=/tmp/x must be left out: paths.output_dir=DIR"),
        ("hydra.sweep.dir=/tmp/x", "paths.output_dir=DIR"),
        ("hydra.job.chdir=true", "hydra.job.chdir=true must be left out"),
        ("hydra/launcher=joblib", "launcher=NAME says how"),
        ("+hydra.sweeper.params.seed=1", "+hydra.sweeper.params.seed=1 must be left out"),
        ("hydra.verbose=true", "must be left out"),
        ("trainer.strategy=nonsense", "trainer: "),
        ("trainer.precision=17", "trainer.precision must be one of"),
        ("trainer.devices=0", "trainer.devices must be a whole number of at least 1"),
        ("+callbacks.mine.x=3", "callbacks.mine must have a _target_, as in +callbacks.mine._target_=my_module.MyClass"),
        (
            "+callbacks.mine._target_=nowhere.Thing",
            "callbacks.mine._target_ must name a class or function that can be imported; got 'nowhere.Thing'",
        ),
        ("+logger.mine._target_=pytorch_lightning.loggers.Nothing", "logger.mine._target_ must name a class"),
        ("callbacks=early_stoping", "callbacks has no choice 'early_stoping': did you mean early_stopping?"),
        ("plugins=nowhere.py", "plugins must be Python files or names of modules; got 'nowhere.py'"),
    ],
)
def test_a_mistake_ends_in_one_sentence_before_any_work(argument, sentence, tmp_path, capsys):
    assert train(tmp_path, argument) == 2
    captured = capsys.readouterr()
    assert sentence in captured.err
    assert captured.err.startswith("aswd train: ")
    assert captured.err.count("\n") == 1
    assert captured.out == ""
    assert not list(tmp_path.rglob("*.yaml"))


def test_a_mistake_in_one_run_of_a_sweep_is_found_before_the_first(tmp_path, capsys):
    assert train(tmp_path, "-m", "distance=aswd,swd", "distance.penalty=0.1") == 2
    assert "distance.penalty is not an option" in capsys.readouterr().err
    assert train(tmp_path, "-m", "seed=0,1,x") == 2
    assert "seed must be a whole number; got 'x'" in capsys.readouterr().err
    assert records(tmp_path).empty


def test_an_empty_range_is_a_mistake_and_a_glob_is_not(tmp_path, capsys):
    assert train(tmp_path, "-m", "seed=range(0,0)") == 2
    assert "the sweep has no runs" in capsys.readouterr().err
    assert train(tmp_path, "-m", "distance=glob(sw*)", "trainer.max_steps=2") == 0


def test_a_distance_in_a_folder_of_one_s_own(tmp_path, capsys):
    folder = tmp_path / "my configs" / "distance"
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text("name: swd\nnum_projections: 7\n")
    assert main(["train", *SMALL, f"--config-dir={folder.parent}", "distance=mine", f"paths.output_dir={tmp_path / 'out'}"]) == 0
    (record,) = records(tmp_path / "out").to_dict("records")
    assert record["distance.num_projections"] == 7
    assert main(["train", *SMALL, f"--config-dir={folder.parent}", "distance=mne", f"paths.output_dir={tmp_path / 'out'}"]) == 2
    assert "did you mean mine" in capsys.readouterr().err
    (folder / "broken.yaml").write_text("name: [")
    assert main(["train", *SMALL, f"--config-dir={folder.parent}", "distance=broken", f"paths.output_dir={tmp_path / 'out'}"]) == 2
    assert "broken.yaml cannot be read: expected the node content" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"name: swd\nx: " + 5000 * b"[" + 5000 * b"]", "it is nested too deeply"),
        (b"name:\n\t- x", "found character '\\t' that cannot start any token, line 2"),
        (b"name: swd\nname: aswd", "found duplicate key name, line 2"),
        (b"name: caf\xe9", "'utf-8' codec can't decode byte 0xe9"),
        (b"name: !!python/object/apply:os.system [ls]", "could not determine a constructor for the tag"),
        (None, "Is a directory"),
    ],
)
def test_a_configuration_file_that_cannot_be_read_is_named(content, reason, tmp_path, capsys):
    path = tmp_path / "distance" / "mine.yaml"
    path.parent.mkdir()
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)
    assert train(tmp_path / "out", f"--config-dir={tmp_path}", "distance=mine") == 2
    error = capsys.readouterr().err
    assert error.startswith(f"aswd train: {path} cannot be read: {reason}")
    assert error.count("\n") == 1


def test_a_distance_from_outside_is_tried_before_any_work(tmp_path, capsys):
    (tmp_path / "wrong.py").write_text(
        "from aswd.distances import register\n"
        "@register('per_sample')\ndef per_sample(x, y): return (x - y).square().sum(-1)\n"
        "@register('detached')\ndef detached(x, y): return (x.detach() - y).square().mean()\n"
        "@register('crashing')\ndef crashing(x, y): return x @ y\n"
        "@register('means')\ndef means(x, y): return (x.mean(0) - y.mean(0)).square().sum()\n"
    )
    sentences = {
        "per_sample": "distance: the distance 'per_sample' must return a scalar, a tensor of shape []; got one of shape [40]",
        "detached": "distance: the distance 'detached' must be differentiable",
        "crashing": "distance: 'crashing' fails for x [1, 40, 2] and y [1, 40, 2]: RuntimeError: mat1 and mat2",
    }
    own = [f"plugins={tmp_path / 'wrong.py'}", f"paths.output_dir={tmp_path / 'out'}", *SMALL]
    for name, sentence in sentences.items():
        assert main(["train", *own, f"distance={name}"]) == 2
        error = capsys.readouterr().err
        assert sentence in error
        assert error.count("\n") == 1
        assert not (tmp_path / "out").exists()
    assert main(["train", *own, "distance=means"]) == 0


def test_a_signal_while_a_record_is_written_stops_the_sweep_after_it(tmp_path, capsys, monkeypatch):
    from aswd.tasks.flow import Flow

    def draw(self, *_):
        os.kill(os.getpid(), signal.SIGINT)
        return []

    monkeypatch.setattr(Flow, "draw", draw)
    assert train(tmp_path, "-m", "seed=range(0,3)") == 130
    captured = capsys.readouterr()
    assert "sweep: 1 done, 2 not started" in captured.out
    assert "stopped; the same command resumes" in captured.err


def test_callbacks_of_lightning_by_name(tmp_path):
    assert (
        train(
            tmp_path,
            "distance=swd",
            "callbacks=early_stopping",
            "callbacks.early_stopping.patience=1",
            "callbacks.early_stopping.min_delta=9",
        )
        == 0
    )
    (stopped,) = records(tmp_path).to_dict("records")
    assert stopped["steps"] < 30
    assert (
        train(tmp_path, "distance=swd", "seed=1", "trainer.log_every_n_steps=5", "callbacks=[model_checkpoint,learning_rate_monitor]") == 0
    )
    (kept,) = (row for row in records(tmp_path).to_dict("records") if row["seed"] == 1)
    assert kept["steps"] == 30
    assert list(Path(kept["folder"]).rglob("epoch=*.ckpt"))
    assert "lr-Adam" in next(Path(kept["folder"]).rglob("logs/metrics.csv")).read_text()


def test_gpu_is_refused_where_there_is_none(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert train(tmp_path, "trainer=gpu") == 2
    assert "trainer.accelerator must be 'cpu' or 'auto' on this machine" in capsys.readouterr().err


def test_a_run_says_what_came_of_it_and_where(tmp_path, capsys):
    assert train(tmp_path, "distance=swd", "data=heart", "seed=3") == 0
    out = capsys.readouterr().out
    assert "flow heart swd seed 3: done, log10_w2" in out
    assert str(tmp_path / "runs" / "flow" / "heart" / "swd") in out
    assert train(tmp_path, "distance=swd", "data=heart", "seed=3") == 0
    assert "finished before, skipped" in capsys.readouterr().out


def test_a_sweep_goes_on_after_a_failure_and_sums_up(tmp_path, capsys, monkeypatch):
    from aswd.tasks.flow import Flow

    real = Flow.validation_step

    def validation_step(self, *batch):
        if self.seeds == [1] and self.distance.name == "swd":
            raise RuntimeError("a cosmic ray")
        return real(self, *batch)

    with monkeypatch.context() as patch:
        patch.setattr(Flow, "validation_step", validation_step)
        assert train(tmp_path, "-m", "distance=swd,aswd", "seed=range(0,2)") == 1
    captured = capsys.readouterr()
    assert "sweep: 3 done, 1 failed" in captured.out
    assert "[4/4]" in captured.out
    assert "RuntimeError: a cosmic ray (the traceback is in its error.txt)" in captured.err
    frame = records(tmp_path)
    assert sorted(frame["state"]) == ["done", "done", "done", "failed"]
    assert main(["list", "runs", f"paths.output_dir={tmp_path}"]) == 0
    listed = capsys.readouterr().out
    assert "RuntimeError: a cosmic ray" in listed
    assert train(tmp_path, "-m", "distance=swd,aswd", "seed=range(0,2)") == 0
    assert "sweep: 1 done, 3 skipped" in capsys.readouterr().out


def test_help_is_for_newcomers(capsys):
    assert main(["train", "--help"]) == 0
    text = capsys.readouterr().out
    for word in (
        "aswd train -m distance=swd,dswd,aswd",
        "reading=paper",
        "replicas=50",
        "distance: aswd",
        "iterations: 2000",
        "force=true",
    ):
        assert word in text
    assert main([]) == 0
    assert "train" in capsys.readouterr().out


def test_configuration_can_be_printed(capsys):
    assert main(["train", "--cfg", "job", "data=knot"]) == 0
    assert "name: knot" in capsys.readouterr().out


@pytest.mark.slow
def test_shell_completion_knows_groups_and_choices():
    def complete(line):
        state = f'COMP_LINE="{line}"; COMP_POINT=${{#COMP_LINE}}; COMP_WORDS=({line}); COMP_CWORD=1'
        script = f'eval "$(aswd completion)"; {state}; _aswd; echo "${{COMPREPLY[@]}}"'
        environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
        return subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=environment, check=True).stdout.split()

    assert complete("aswd tr") == ["train"]
    assert "data=knot" in complete("aswd train data=kn")
    assert "distance=aswd_planar" in complete("aswd train task=flow distance=aswd_p")


LONG = [*FEW, "distance=aswd", "data=knot", "task.iterations=400", "task.images=false", "trainer.checkpoint_seconds=0.1"]


def start(folder, *overrides):
    command = [sys.executable, "-m", "aswd", "train", *LONG, f"paths.output_dir={folder}", *overrides]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def steps_done(folder):
    """The last step in the metrics of a run that is going on; 0 before there are any."""
    for path in Path(folder).glob("runs/*/*/*/*/seed=0/metrics.csv"):
        rows = path.read_text().splitlines()
        return int(rows[-1].split(",")[0]) if len(rows) > 1 else 0
    return 0


def wait_for(process, folder, step):
    end = time.monotonic() + 90
    while steps_done(folder) < step and process.poll() is None:
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.slow
def test_killed_again_and_again_a_run_ends_with_the_same_bits(tmp_path):
    """Real processes, killed at random moments; then one stopped by SIGTERM and one by Ctrl-C; this one makes the rest, and all at once."""
    random.seed(0)
    assert main(["train", *LONG, f"paths.output_dir={tmp_path / 'whole'}"]) == 0
    (expected,) = (Run(folder) for folder in (tmp_path / "whole").glob("runs/*/*/*/*/seed=0"))
    folder = tmp_path / "parts"
    run = Run(folder / expected.folder.relative_to(tmp_path / "whole"))
    for turn, number in enumerate((signal.SIGKILL, signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)):
        process = start(folder)
        wait_for(process, folder, 60 * (turn + 1))
        time.sleep(random.random() * 0.2)
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
        assert run.state is RunState.INTERRUPTED, err
        if number == signal.SIGKILL:
            assert process.returncode == -number
        else:
            assert process.returncode == 128 + number
            assert "stopped; the same command resumes from the checkpoint" in err
            assert "Traceback" not in err
    assert main(["train", *LONG, f"paths.output_dir={folder}"]) == 0
    for name in ("particles", "frames", "target"):
        np.testing.assert_array_equal(np.load(run.folder / "samples.npz")[name], np.load(expected.folder / "samples.npz")[name])
    rows = [np.loadtxt(r.folder / "metrics.csv", delimiter=",", skiprows=1)[:, :-1] for r in (run, expected)]
    np.testing.assert_array_equal(*rows)


def test_a_longer_run_than_a_finished_one_says_that_it_starts_anew(tmp_path, capsys):
    from tests.runs.small import SMALL

    def train(*options):
        assert main(["train", "distance=swd", *SMALL, f"paths.output_dir={tmp_path}", *options]) == 0
        return capsys.readouterr().out

    assert "starts from the beginning" not in train("replicas=2")
    out = train("task.iterations=40")
    assert "the finished run with iterations=30 is another one: that with iterations=40 starts from the beginning" in out
    assert "starts from the beginning" not in train("task.iterations=40")  # finished
    assert "starts from the beginning" not in train("task.iterations=40", "task.lr=0.1")
    skipped = train("replicas=2")
    assert re.search(r"2 seeds: finished before, skipped \(force=true runs it again\), mean log10_w2 -?\d", skipped)


@pytest.mark.slow
def test_of_two_processes_with_the_same_run_one_does_it_and_the_other_says_so(tmp_path):
    first = start(tmp_path, "task.iterations=100000")
    wait_for(first, tmp_path, 5)
    second = start(tmp_path, "task.iterations=100000")
    out, _ = second.communicate(timeout=60)
    assert second.returncode == 3
    assert "already running in another process: skipped" in out
    first.send_signal(signal.SIGTERM)
    assert first.wait(60) == 128 + signal.SIGTERM


def test_a_folder_in_the_place_of_a_result_is_damage(tmp_path, capsys):
    line = ["train", *SMALL, f"paths.output_dir={tmp_path}"]
    assert main(line) == 0
    (result,) = tmp_path.glob("runs/**/result.json")
    result.unlink()
    result.mkdir()
    assert main(line) == 0
    assert "is damaged (result.json cannot be read: Is a directory)" in capsys.readouterr().err
    assert result.is_file()
