"""Launchers in this process: invalid options, slots, records of sweeps."""

import json

import pytest

from aswd.cli.main import main
from aswd.config.composition import CommandLine, plan_runs
from aswd.launchers.base import launch
from aswd.launchers.pool import PoolConfig, Slot, divide, visible_gpus
from aswd.launchers.slurm import SlurmConfig
from aswd.launchers.sweep import sweeps
from aswd.runs.signals import StopRequest
from aswd.utils.errors import UserError
from tests.runs.small import SMALL, small_spec


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["launcher=pool", "launcher.workers=0"], "launcher.workers must be a whole number of at least 1; got 0"),
        (["launcher=pool", "launcher.workers=all"], "launcher.workers must be a whole number or null; got 'all'"),
        (["launcher=pool", "launcher.runs_per_gpu=0"], "launcher.runs_per_gpu must be a whole number of at least 1; got 0"),
        (["launcher=pool", "launcher.retries=-1"], "launcher.retries must be a whole number of at least 0; got -1"),
        (["launcher=pool", "launcher.partition=gpu"], "launcher.partition is not an option"),
        (["launcher.name=slrm"], "launcher must be a known name; got 'slrm': did you mean slurm?"),
        (["launcher=slurm", "launcher.timeout_min=0"], "launcher.timeout_min must be a whole number of at least 1; got 0"),
        (
            ["launcher=slurm", "launcher.timeout_min=1"],
            "launcher.signal_seconds must be less than timeout_min, which is 60 seconds; got 90",
        ),
        (["launcher=slurm", "launcher.mem_gb=0"], "launcher.mem_gb must be a number above 0; got 0.0"),
        (["launcher=slurm", "launcher.mem_gb=16G"], "launcher.mem_gb must be a number or null; got '16G'"),
        (["launcher=slurm", "launcher.setup=module load cuda"], "launcher.setup must be a list of texts; got 'module load cuda'"),
        (
            ["launcher=slurm", "+launcher.sbatch={--qos: long}"],
            "launcher.sbatch must have option names without leading dashes, such as qos; got '--qos'",
        ),
        (["launcher=slurm", "launcher.sbatch=3"], "launcher.sbatch must be a group of options"),
        (["hydra/launcher=joblib"], "hydra/launcher=joblib must be left out: launcher=NAME says how"),
    ],
)
def test_mistakes_raise_one_sentence(arguments, sentence, tmp_path, capsys):
    assert main(["train", *SMALL, f"paths.output_dir={tmp_path}", *arguments]) == 2
    captured = capsys.readouterr()
    assert sentence in captured.err
    assert captured.err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_slurm_is_refused_where_there_is_none(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["train", *SMALL, f"paths.output_dir={tmp_path}", "launcher=slurm"]) == 2
    assert (
        "launcher=slurm must be used on a machine that submits jobs to SLURM: the command sbatch was not found" in capsys.readouterr().err
    )


def test_a_sweep_has_one_launcher(tmp_path):
    runs = plan_runs(CommandLine([*SMALL, "launcher=local,pool", f"paths.output_dir={tmp_path}"], multirun=True))
    with pytest.raises(UserError, match="launcher must be the same for all runs of a sweep"):
        launch(runs, StopRequest(), lambda *_: None)


def test_the_launcher_does_not_change_the_key(tmp_path):
    keys = {small_spec(tmp_path, f"launcher={name}").key for name in ("local", "pool", "slurm")}
    assert len(keys) == 1


@pytest.mark.parametrize("runs_per_gpu", [1, 2, 3])
def test_no_gpu_has_more_runs_than_runs_per_gpu(runs_per_gpu):
    for gpus in (1, 2, 4):
        slots = divide(PoolConfig(runs_per_gpu=runs_per_gpu), 100, 16, 0, [str(n) for n in range(gpus)])
        assert len(slots) == gpus * runs_per_gpu
        assert max([slot.gpu for slot in slots].count(str(n)) for n in range(gpus)) == runs_per_gpu
        assert sum(slot.threads for slot in slots) <= 16
        assert len({slot.number for slot in slots}) == len(slots)


def test_cores_are_divide():
    assert len(divide(PoolConfig(), 100, 8, 0, [])) == 8
    assert divide(PoolConfig(workers=2), 100, 8, 0, []) == [Slot(0, 4), Slot(1, 4)]
    assert divide(PoolConfig(workers=2), 100, 8, 3, []) == [Slot(0, 3), Slot(1, 3)]
    assert len(divide(PoolConfig(), 3, 8, 0, [])) == 3
    assert divide(PoolConfig(), 3, 2, 8, []) == [Slot(0, 8)]
    assert len(divide(PoolConfig(workers=1), 3, 8, 0, ["0", "1"])) == 1


def test_a_slot_s_environment_shows_its_gpu_only():
    assert Slot(0, 2, "5").environment({"PATH": "x"}) | {"OMP_NUM_THREADS": "2", "CUDA_VISIBLE_DEVICES": "5"} == Slot(
        0, 2, "5"
    ).environment({"PATH": "x"})
    assert "CUDA_VISIBLE_DEVICES" not in Slot(0, 2).environment({})
    assert visible_gpus({"CUDA_VISIBLE_DEVICES": "GPU-a, GPU-b"}, 2) == ["GPU-a", "GPU-b"]


def test_a_sweep_leaves_a_record_and_a_single_run_none(tmp_path):
    results = []
    runs = plan_runs(
        CommandLine([*SMALL, "trainer.max_steps=2", "distance=swd", "seed=0,1", f"paths.output_dir={tmp_path}"], multirun=True)
    )
    outcomes = launch(runs, StopRequest(), lambda index, outcomes: results.append((index, [outcome.status for outcome in outcomes])))
    assert results == [(0, ["done"]), (1, ["done"])]
    assert [outcome.run.seed for outcome in outcomes] == [0, 1]
    (sweep,) = sweeps(tmp_path)
    assert not sweep.is_running
    assert {"began", "ended"} <= set(sweep.content)
    assert [run.folder for planned in sweep.planned for run in planned.runs] == [run.seed_folder(run.seeds[0]) for run in runs]
    assert [planned.steps for planned in sweep.planned] == [2, 2]
    launch(runs[:1], StopRequest(), lambda *_: None)
    assert len(list(sweeps(tmp_path))) == 1


def test_two_sweeps_in_one_second_have_two_records(tmp_path):
    from aswd.launchers.sweep import SweepRecord

    records = [SweepRecord([small_spec(tmp_path)]) for _ in range(3)]
    assert len({record.folder for record in records}) == 3
    assert all(sweep.is_running for sweep in sweeps(tmp_path))
    for record in records:
        record.close()
    assert not any(sweep.is_running for sweep in sweeps(tmp_path))


def test_a_damaged_record_is_skipped(tmp_path):
    folder = tmp_path / "sweeps" / "2022-01-01_00-00-00"
    folder.mkdir(parents=True)
    sound = {"began": "2022-01-01T00:00:00", "launcher": "pool", "planned": [{"title": "x", "folder": "y", "seeds": [0], "steps": 3}]}
    damages = [{"began": "x"}, {"began": 3}, {"planned": 3}, {"planned": [3]}, {"planned": [{}]}, {"launcher": []}, {"jobs": 3}]
    damages += [{"jobs": {"1": [7]}}, {"planned": [{**sound["planned"][0], "steps": "many"}]}]
    for text in ("", "[]", "[" * 100_000, *(json.dumps({**sound, **damage}) for damage in damages)):
        (folder / "sweep.json").write_text(text)
        assert list(sweeps(tmp_path)) == [], text[:100]
        assert main(["status", f"paths.output_dir={tmp_path}"]) == 0
    (folder / "sweep.json").write_text(json.dumps(sound))
    assert len(list(sweeps(tmp_path))) == 1
    assert main(["status", f"paths.output_dir={tmp_path}"]) == 0


def test_settings_of_a_cluster_are_plain():
    assert SlurmConfig(sbatch={"qos": "long", "mail-type": "END"}).sbatch["qos"] == "long"
