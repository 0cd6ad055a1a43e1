"""Runs of the store replayed to W&B, read back from what was written."""

import os
import sys
from dataclasses import replace

import numpy as np
import pandas
import pytest

from aswd.cli.main import main
from aswd.runs.execution import execute_run
from aswd.runs.store import Run
from aswd.tracking.replay import summary
from tests.runs.small import small_spec
from tests.wandb_files import media_of, read_wandb, summary_of, wandb_files

pytestmark = pytest.mark.usefixtures("without_wandb_key")


KEY = "0123456789abcdef" * 3  # of nobody


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A store with three seeds that ran as replicas, one that ran alone, and one that failed."""
    folder = tmp_path_factory.mktemp("store")
    batch = small_spec(folder, "replicas=3", "reading=paper", distance="aswd")
    single = small_spec(folder, "seed=7", "data=knot")
    assert {outcome.status for spec in (batch, single) for outcome in execute_run(spec)} == {"done"}
    failed = small_spec(folder, "data=heart")
    Run.of(failed, 0).write_config("reading: reference\n")
    Run.of(failed, 0).fail("no W2 today", "Traceback ...", 3)
    return folder, batch, single, failed


@pytest.fixture
def store(filled, tmp_path):
    """A copy of it for the taking."""
    import shutil

    folder, *specs = filled
    shutil.copytree(folder / "runs", tmp_path / "runs")
    return tmp_path, *(replace(spec, paths=replace(spec.paths, output_dir=str(tmp_path))) for spec in specs)


def sync(folder, *arguments):
    return main(["wandb", "sync", f"paths.output_dir={folder}", *arguments])


def test_every_seed_is_a_run_of_its_own_also_of_a_batch(store, capsys):
    folder, batch, single, failed = store
    assert sync(folder) == 0
    out = capsys.readouterr().out
    assert "5 replayed" in out
    assert "wandb leet" in out
    files = wandb_files(folder)
    seeds = [(batch, 0), (batch, 1), (batch, 2), (single, 7), (failed, 0)]
    assert set(files) == {f"{spec.key}-seed-{seed}" for spec, seed in seeds}

    found = read_wandb(files[f"{batch.key}-seed-1"])
    (run,) = [one for one in found["run"] if "display_name" in one]
    assert run["display_name"] == "flow swiss_roll aswd iterations=30 num_samples=40 num_projections=10 seed 1"
    assert run["run_group"] == f"flow/swiss_roll/aswd/{batch.key}"
    assert run["job_type"] == "flow"
    assert set(run["tags"]) == {"flow", "swiss_roll", "aswd", "paper"}
    config = run["config"]["update"]
    assert config["distance"]["name"] == "aswd"
    assert config["key"] == batch.key
    assert config["seed"] == 1
    assert "particles_gif" not in media_of(found)  # pictures of a batch are of its first seed

    record = pandas.read_csv(Run.of(batch, 1).folder / "metrics.csv")
    rows = [row["item"] for row in found["history"] if "w2" in row["item"]]
    assert [row["trainer/global_step"] for row in rows] == record["step"].tolist() == [1, 5, 10, 15, 20, 25, 30]
    for name in ("w2", "distance_value", "learned_norm", "seconds_per_iteration"):
        assert [row[name] for row in rows] == record[name].tolist()
    totals = summary_of(found)
    result = Run.of(batch, 1).result
    assert totals["best/w2"] == record["w2"].min()
    assert totals["last/w2"] == totals["final/w2"] == result["final"]["w2"]
    assert totals["final/log10_w2"] == result["final"]["log10_w2"]
    assert totals["wall_time"] == result["wall_time"]
    assert totals["time_per_iteration"] == record["seconds_per_iteration"].median()
    assert not found["exit"][0].get("exit_code")

    first = media_of(read_wandb(files[f"{batch.key}-seed-0"]))
    assert {name for name, kind in first.items() if kind == "image-file"} == {"w2_png", "particles_png", "samples"}
    assert first["particles_gif"] == "video-file"
    assert first["results"] == "table-file"

    (ending,) = read_wandb(files[f"{failed.key}-seed-0"])["exit"]
    assert ending["exit_code"] == 1


def test_repeating_adds_nothing_and_a_changed_record_takes_the_place_of_the_old_one(store, capsys):
    folder, _, single, _ = store
    assert sync(folder, "data=knot") == 0
    before = wandb_files(folder)
    assert sync(folder, "data=knot") == 0
    assert "1 replayed before" in capsys.readouterr().out
    assert wandb_files(folder) == before

    former = Run.of(single, 7).result["finished"]
    assert execute_run(replace(single, force=True))[0].status == "done"
    assert sync(folder, "data=knot") == 0
    assert "1 replayed" in capsys.readouterr().out
    after = list(folder.rglob("*.wandb"))
    assert [path.name for path in after] == [f"run-{single.key}-seed-7.wandb"]
    found = read_wandb(after[0])
    assert len([row for row in found["history"] if "w2" in row["item"]]) == 7
    assert summary_of(found)["wall_time"] == Run.of(single, 7).result["wall_time"]
    assert former


def test_tags_and_labels_of_an_artifact_stay(store):
    from aswd.tracking.sync import sync as replay

    folder, _, single, _ = store
    replay(folder, "aswd", None, "offline", ["data=knot"], ["mine"], series={single.key: {"flow_main": "Linear"}})
    execute_run(replace(single, force=True))
    replay(folder, "aswd", None, "offline", ["data=knot"], [])
    (path,) = wandb_files(folder).values()
    (run,) = [one for one in read_wandb(path)["run"] if "display_name" in one]
    assert {"flow_main", "mine"} <= set(run["tags"])
    assert run["config"]["update"]["series_flow_main"] == "Linear"


def test_filters_are_columns_of_the_runs(store, capsys):
    folder, batch, *_ = store
    assert sync(folder, "distance=aswd", "seed=0,2", "distance.num_projections=10") == 0
    assert set(wandb_files(folder)) == {f"{batch.key}-seed-0", f"{batch.key}-seed-2"}
    capsys.readouterr()
    assert sync(folder, "distnce=aswd") == 2
    assert capsys.readouterr().err.startswith("aswd wandb: distnce is not a column of the runs: did you mean distance")
    assert sync(folder, "data=moons") == 0
    assert "no finished runs" in capsys.readouterr().out


def test_no_key_gets_to_the_disk(store, monkeypatch):
    folder, *_ = store
    monkeypatch.setenv("WANDB_API_KEY", KEY)
    assert sync(folder, "--mode", "offline", "data=knot") == 0
    assert (
        execute_run(small_spec(folder, "data=moons", "task.iterations=2", "logger=wandb", "logger.wandb.mode=offline"))[0].status == "done"
    )
    paths = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    assert any(path.suffix == ".wandb" for path in paths)
    assert not [path for path in paths if KEY.encode() in path.read_bytes()]


def test_no_secret_of_an_option_or_of_the_environment_is_in_any_file(tmp_path, monkeypatch, capsys):
    """In records, of done and failed runs, in W&B's files, in what is printed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("WANDB_API_KEY", KEY)
    monkeypatch.setenv("SERVICE_TOKEN", "token-of-the-environment")
    (tmp_path / "mine_with_secrets.py").write_text(
        "import os\nfrom pytorch_lightning import Callback\nfrom pytorch_lightning.loggers import CSVLogger\n"
        "class Log(CSVLogger):\n    def __init__(self, api_key, save_dir='logs'):\n        super().__init__(save_dir)\n"
        "class Call(Callback):\n    def __init__(self, password, fail=False):\n        self.fail = fail\n"
        "    def on_train_start(self, *_):\n        if self.fail:\n"
        "            raise ValueError('refused ' + os.environ['SERVICE_TOKEN'] + ' ' + os.environ['WANDB_API_KEY'])\n"
    )
    own = ["logger=wandb", "logger.wandb.mode=offline", "+logger.mine._target_=mine_with_secrets.Log", "+logger.mine.api_key=key-of-mine"]
    own += ["+callbacks.mine._target_=mine_with_secrets.Call", "+callbacks.mine.password=password-of-mine"]
    small = [
        "distance=swd",
        "task.iterations=2",
        "data.num_samples=20",
        "trainer.enable_progress_bar=false",
        f"paths.output_dir={tmp_path}",
    ]
    assert main(["train", *small, *own]) == 0
    assert main(["train", *small, *own, "+callbacks.mine.fail=true"]) == 1
    assert main(["train", *small, *own, "--cfg", "job"]) == 0
    assert main(["wandb", "sync", "--mode", "offline", f"paths.output_dir={tmp_path}"]) == 0
    said = capsys.readouterr()
    files = [path for path in tmp_path.rglob("*") if path.is_file() and not path.is_symlink() and path.suffix not in (".py", ".pyc")]
    assert {"config.yaml", "error.txt", "result.json"} <= {path.name for path in files}
    for secret in (KEY, "token-of-the-environment", "key-of-mine", "password-of-mine"):
        assert secret not in said.out + said.err
        assert not [path for path in files if secret.encode() in path.read_bytes()], secret
    assert "refused *** ***" in said.err


def test_a_refusal_is_a_sentence(store, monkeypatch, capsys):
    folder, *_ = store
    assert sync(folder, "--mode", "online") == 2
    assert "there is no key of W&B" in capsys.readouterr().err
    monkeypatch.setenv("WANDB_API_KEY", "tooshort")
    assert sync(folder, "--mode", "online") == 1
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 2  # it is not asked for every run
    assert said[0].startswith("aswd wandb: W&B refused ")
    assert "tooshort" not in said[0]


def test_a_server_that_is_not_there_is_a_sentence(store, monkeypatch, capsys):
    folder, *_ = store
    monkeypatch.setattr("aswd.tracking.replay.TIMEOUT", 1)
    monkeypatch.setenv("WANDB_API_KEY", KEY)
    monkeypatch.setenv("WANDB_BASE_URL", "http://127.0.0.1:9")
    assert sync(folder) == 1
    assert "refused" in capsys.readouterr().err
    assert not list(folder.rglob("*.wandb"))


def test_wandb_that_is_absent_is_a_sentence(store, monkeypatch, capsys):
    folder, *_ = store
    monkeypatch.setitem(sys.modules, "wandb", None)
    assert sync(folder) == 2
    said = capsys.readouterr().err
    assert said.startswith("aswd wandb: W&B is not installed (")
    assert said.count("\n") == 1


def test_a_damaged_record_is_left_out(store, capsys):
    folder, _, single, _ = store
    with (Run.of(single, 7).folder / "metrics.csv").open("a") as file:
        file.write("tampered\n")
    assert sync(folder, "data=knot") == 1
    assert "metrics.csv has changed since it was written" in capsys.readouterr().err
    assert not list(folder.rglob("*.wandb"))


def test_two_at_once_are_one(store, capsys):
    from aswd.runs.locks import Locks

    folder, *_ = store
    locks = Locks()
    assert locks.acquire(folder / "wandb" / "sync.lock")
    try:
        assert sync(folder) == 2
    finally:
        locks.release()
    assert "another process is replaying this store" in capsys.readouterr().err


def test_values_that_were_not_taken_are_passed_over():
    values = {"fid": np.array([np.nan, 30.0, np.nan, 20.0, 25.0, np.nan]), "none": np.full(6, np.nan)}
    assert summary(range(6), values, "fid") == {"last/fid": 25.0, "min/fid": 20.0, "best/fid": 20.0, "best/step": 3}


def test_what_the_user_has_set_stays(monkeypatch, tmp_path):
    from aswd.tracking.session import keep_files_in

    monkeypatch.setenv("WANDB_CACHE_DIR", "/elsewhere")
    keep_files_in(tmp_path)
    assert os.environ["WANDB_CACHE_DIR"] == "/elsewhere"
    assert os.environ["WANDB_DATA_DIR"] == str(tmp_path / "wandb" / "data")
