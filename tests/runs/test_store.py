"""Records: whole or not there, and known when they are spoiled."""

import json
import os
import time

import numpy as np
import pandas
import pytest

from aswd.config.run import key_of
from aswd.runs import curves, records
from aswd.runs.store import RECORD_FILES, Run, RunState, batch_name
from aswd.utils.files import read_json, write_atomically, write_text
from aswd.utils.metric_history import MetricHistory
from aswd.utils.statistics import mean_and_band


def finished(folder, seed=3):
    run = Run(folder / f"seed={seed}")
    run.write_config("task: {}\n")
    metrics = MetricHistory([seed])
    metrics.add(1, {"w2": [0.5]})
    metrics.add(5, {"w2": [0.1 + 0.2]})
    run.finish(
        metrics,
        {"particles": np.zeros((3, 2))},
        {"final": {"w2": 0.1 + 0.2}, "reading": "reference", "settings": {"distance": {"penalty": 0.1}}},
    )
    return run


def test_a_record_tells_its_state(tmp_path):
    run = Run(tmp_path / "seed=3")
    assert run.state is RunState.NEW
    run.write_config("a: 1\n")
    assert run.state is RunState.INTERRUPTED
    run.fail("ValueError: no", "Traceback ...", 7)
    assert run.state is RunState.FAILED
    assert run.status["step"] == 7
    assert (run.folder / "error.txt").read_text() == "Traceback ..."
    run = finished(tmp_path)
    assert run.state is RunState.DONE
    assert run.damage() is None
    assert not (run.folder / "error.txt").exists()


@pytest.mark.parametrize("name", ["config.yaml", "metrics.csv", "samples.npz", "result.json"])
@pytest.mark.parametrize("how", ["cut", "changed", "gone"])
def test_damage_is_seen_named_and_set_aside(tmp_path, name, how):
    run = finished(tmp_path)
    path = run.folder / name
    content = path.read_bytes()
    {"cut": lambda: path.write_bytes(content[:-3]), "changed": lambda: path.write_bytes(content[:-1] + b"?"), "gone": path.unlink}[how]()
    assert run.state is RunState.DAMAGED
    assert (run.record, run.result, run.samples(), run.headline) == (None, {}, {}, None)
    assert name in run.set_aside_if_damaged()
    assert run.state is RunState.INTERRUPTED if name != "config.yaml" or how != "gone" else RunState.NEW
    assert len(list(run.folder.glob("status.json.damaged-*"))) == 1


def test_half_a_status_is_no_status(tmp_path):
    run = finished(tmp_path)
    status = run.folder / "status.json"
    status.write_text(status.read_text()[:-4])
    assert run.state is RunState.DAMAGED
    assert "status.json" in run.set_aside_if_damaged()
    assert run.state is RunState.INTERRUPTED


@pytest.mark.parametrize("text", ["{}", "[]", '{"status": "weird"}', '{"status": "done"}', '{"status": "done", "digests": []}', "\x00"])
def test_a_status_that_makes_no_sense_is_none(tmp_path, text):
    run = finished(tmp_path)
    (run.folder / "status.json").write_text(text)
    assert run.status is None
    assert run.state is RunState.DAMAGED
    assert "status.json" in run.set_aside_if_damaged()


def test_an_edit_is_seen_whatever_the_time_stamps_say(tmp_path):
    run = finished(tmp_path)
    path = run.folder / "result.json"
    text, info = path.read_text(), path.stat()
    time.sleep(max(0.0, info.st_ctime + 2.1 - time.time()))  # from then on its digest is remembered
    assert run.is_done
    path.write_text(text.replace("0.3", "9.3"))
    os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns))
    assert path.stat().st_size == info.st_size
    assert run.damage() == "result.json has changed since it was written"


@pytest.mark.parametrize("name", ["status.json", "metrics.csv"])
@pytest.mark.parametrize("what", ["device", "pipe", "folder", "deep"])
def test_what_is_no_file_is_damaged_and_never_waited_for(tmp_path, name, what):
    run = finished(tmp_path / "runs" / "flow" / "knot" / "swd" / "abc")
    path = run.folder / name
    path.unlink()
    {
        "device": lambda: path.symlink_to("/dev/zero"),
        "pipe": lambda: os.mkfifo(path),
        "folder": path.mkdir,
        "deep": lambda: path.write_text("[" * 100_000),
    }[what]()
    assert run.state is RunState.DAMAGED
    assert records(tmp_path)["state"].tolist() == ["damaged"]
    assert name in records(tmp_path)["reason"][0]
    assert name in run.set_aside_if_damaged()


def test_a_finished_record_stays_until_there_is_another(tmp_path):
    folder = tmp_path / "runs" / "flow" / "knot" / "swd" / "abc"
    run = finished(folder)
    before = {name: (run.folder / name).read_bytes() for name in RECORD_FILES}
    run.start_over()
    run.write_config("task: {again: 1}\n")
    write_text(run.folder / "metrics.csv", "step,seed,w2\n1,3,0.7\n")

    def is_served():
        assert {name: (run.record / name).read_bytes() for name in RECORD_FILES} == before
        frame = records(tmp_path)
        assert (frame["state"].tolist(), frame["w2"].tolist()) == (["done"], [0.1 + 0.2])
        assert curves(frame)["w2"].tolist() == [0.5, 0.1 + 0.2]
        return frame["reason"][0]

    assert run.state is RunState.INTERRUPTED
    assert is_served() == "finished before; executed again: interrupted"
    run.fail("ValueError: no", "Traceback ...", 7)
    assert run.state is RunState.FAILED
    assert is_served() == "finished before; executed again: failed, ValueError: no"
    run.start_over()  # again
    assert is_served()
    finished(folder)
    assert run.record == run.folder
    assert not (run.folder / "former").exists()


def test_a_frame_is_made_of_any_store(tmp_path):
    folder = tmp_path / "runs" / "flow" / "knot" / "swd" / "abc"
    for seed, name in enumerate(("result.json", "metrics.csv")):
        (finished(folder, seed).folder / name).unlink()
    (finished(folder, 2).folder / "result.json").write_text('{"final": 3}')
    (folder / "seed=abc").mkdir()
    finished(folder, 3)
    frame = records(tmp_path)
    assert frame["state"].tolist() == ["damaged", "damaged", "damaged", "done"]
    assert curves(frame)["seed"].tolist() == [3, 3]


def test_a_write_that_fails_leaves_what_was_there(tmp_path):
    path = tmp_path / "file.txt"
    write_text(path, "before")

    def fail(partial):
        partial.write_text("half")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        write_atomically(path, fail)
    assert path.read_text() == "before"
    assert [f.name for f in tmp_path.iterdir()] == ["file.txt"]
    (tmp_path / "bad.json").write_text("{")
    assert read_json(tmp_path / "bad.json") is None


def test_numbers_survive_the_csv_to_the_last_bit(tmp_path):
    metrics = MetricHistory([4, 7])
    rng = np.random.default_rng(0)
    for step in (1, 5, 10):
        metrics.add(step, {"w2": rng.random(2), "distance_value": rng.random(2) * 1e-30})
    write_text(tmp_path / "metrics.csv", metrics.to_csv())
    frame = pandas.read_csv(tmp_path / "metrics.csv")
    assert frame["seed"].tolist() == [4, 7] * 3
    assert frame[frame["seed"] == 7]["w2"].tolist() == [row[1] for row in metrics.values["w2"]]
    assert metrics.of(7).to_csv().splitlines()[1:] == [line for line in metrics.to_csv().splitlines() if line.split(",")[1] == "7"]
    assert metrics.last(4) == {"w2": metrics.values["w2"][-1][0], "distance_value": metrics.values["distance_value"][-1][0]}


def test_records_are_a_frame(tmp_path):
    assert records(tmp_path).empty
    folder = tmp_path / "runs" / "flow" / "knot" / "swd" / "abc"
    finished(folder, 10)
    finished(folder, 9)
    Run(folder / "seed=11").fail("ValueError: no", "...", None)
    frame = records(tmp_path)
    assert frame["seed"].tolist() == [9, 10, 11]
    assert frame["state"].tolist() == ["done", "done", "failed"]
    assert frame["w2"].tolist()[:2] == [0.1 + 0.2] * 2
    assert frame["distance.penalty"].tolist()[:2] == [0.1, 0.1]
    assert frame["reason"].tolist()[2] == "ValueError: no"
    rows = curves(frame)
    assert rows[["seed", "step"]].values.tolist() == [[9, 1], [9, 5], [10, 1], [10, 5]]
    assert set(rows["distance"]) == {"swd"}


def test_equal_identities_have_equal_keys():
    key = key_of({"a": {"x": 2.0, "betas": (0.5, 1)}})
    assert key == key_of({"a": {"betas": [0.5, 1.0], "x": 2}})
    assert key != key_of({"a": {"x": 2.5, "betas": (0.5, 1)}})
    assert key == json.loads(json.dumps(key))


def test_batches_have_names_of_their_own():
    assert batch_name([4]) == "seed=4"
    assert batch_name([4, 5, 6]) == "seeds=4-6"
    assert batch_name([4, 6]) != batch_name([4, 5, 6])


def test_band_is_scipy_s_interval():
    from scipy import stats

    values = np.random.default_rng(0).normal(size=(5, 12))
    _, low, high = mean_and_band(values, axis=1)
    expected = stats.t.interval(0.95, 11, loc=values.mean(1), scale=stats.sem(values, axis=1))
    np.testing.assert_allclose((low, high), expected)
    assert [float(v) for v in mean_and_band(np.array([3.0]))] == [3.0, 3.0, 3.0]
