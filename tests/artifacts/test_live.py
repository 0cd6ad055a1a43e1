"""The page that follows a sweep while it runs."""

import base64
import json
import signal
import subprocess
import sys
import threading
from functools import partial
from http.client import HTTPConnection
from http.server import ThreadingHTTPServer

import numpy as np
import pytest

from aswd.artifacts.report.live import ADDRESS, Follower, serve
from aswd.cli.main import main
from aswd.launchers.sweep import SweepRecord
from aswd.runs import Run
from aswd.runs.locks import Locks
from aswd.runs.store import batch_name
from aswd.utils.errors import UserError
from tests.artifacts.browser import BROWSER, Browser
from tests.launchers.test_status import finish
from tests.runs.small import small_spec


@pytest.fixture
def store(tmp_path):
    """A sweep of one configuration: seed 0 is done, seeds 1 and 2 run as a batch, seed 3 has failed, seed 4 waits."""
    spec = small_spec(tmp_path)
    batch = spec.with_seeds([1, 2])
    record, locks = SweepRecord([spec.with_seeds([0]), batch, spec.with_seeds([3]), spec.with_seeds([4])]), Locks()
    finish(Run.of(spec, 0))
    for seed in batch.seeds:
        Run.of(spec, seed).write_config("seeds: [1, 2]\n")
        locks.acquire(Run.of(spec, seed).lock)
    growing = spec.folder / batch_name(batch.seeds) / "metrics.csv"
    growing.parent.mkdir()
    growing.write_text("step,seed,w2\n10,1,0.75\n10,2,0.5\n20,1,0.25\n20,2,0.1")  # the last number is not written to its end
    Run.of(spec, 3).fail("RuntimeError: <b>a cosmic ray</b>", "Traceback\n", 3)
    yield tmp_path, growing
    locks.release()
    record.close()


def unpack(packed):
    return np.frombuffer(base64.b64decode(packed["data"]), packed["type"]).reshape(packed["shape"])


def test_the_state_has_progress_failures_and_the_whole_lines_of_growing_curves(store):
    folder, growing = store
    follower = Follower(folder)
    state = json.loads(json.dumps(follower.state()))
    (sweep,) = state["sweeps"]
    assert sweep["counts"] == {"done": 1, "running": 2, "failed": 1, "waiting": 1}
    assert ["flow swiss_roll swd", 3, "failed", "RuntimeError: <b>a cosmic ray</b>"] in sweep["rows"]
    assert (state["metrics"], state["metric"]) == (["w2"], "w2")
    (panel,) = state["view"]["panels"]
    (series,) = panel["series"]
    assert (panel["title"], series["label"], series["seeds"]) == ("flow, swiss_roll", "swd", [0, 1, 2, 3, 4])
    nan = np.nan
    np.testing.assert_array_equal(unpack(series["x"]), [10, 20, 30])
    np.testing.assert_array_equal(
        unpack(series["values"]), [[nan, nan, 0.5], [0.75, 0.25, nan], [0.5, nan, nan], [nan, nan, nan], [nan, nan, nan]]
    )
    with growing.open("a") as file:
        file.write("25\n")
    (series,) = follower.state()["view"]["panels"][0]["series"]
    np.testing.assert_array_equal(unpack(series["values"])[2], np.float32([0.5, 0.125, nan]))
    growing.write_text("")  # as it is for a moment when a run resumes
    assert follower.state("no such metric")["metric"] == "w2"


def test_a_store_without_sweeps_is_a_page_that_says_so(tmp_path):
    state = Follower(tmp_path).state()
    assert (state["sweeps"], state["view"], state["artifacts"]) == ([], None, 0)
    assert 'id="live"' in Follower(tmp_path).page()


def test_a_port_that_is_taken_and_options_that_do_not_fit_are_sentences(tmp_path, capsys):
    with (
        ThreadingHTTPServer((ADDRESS, 0), None) as taken,
        pytest.raises(UserError, match=r"--port must be one that is free \(0 takes any\)"),
    ):
        serve(tmp_path, taken.server_port)
    for arguments, sentence in (
        (["--port", "80"], "--port must be used with --live; got 80"),
        (["--live", "--port", "70000"], "--port must be one that is free (0 takes any); got 70000"),
        (["--live", "--from", "x"], "--from must be left out with --live"),
    ):
        assert main(["report", *arguments, f"paths.output_dir={tmp_path}"]) == 2
        assert capsys.readouterr().err.startswith(f"aswd report: {sentence}")


@pytest.fixture
def command(store):
    """The command as people start it, and its port."""
    call = [sys.executable, "-m", "aswd", "report", "--live", "--port", "0", f"paths.output_dir={store[0]}"]
    heeds = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # which a shell's background jobs, and so their tests, ignore
    with subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=heeds) as process:
        watchdog = threading.Timer(120, process.kill)
        watchdog.start()
        yield process, int(process.stdout.readline().split()[2].rpartition(":")[2])
        watchdog.cancel()
        process.kill()


@pytest.mark.slow
def test_the_server_answers_this_machine_alone_and_ends_cleanly(command):
    process, port = command

    def status(path, **headers):
        connection = HTTPConnection(ADDRESS, port, timeout=60)
        connection.request("GET", path, headers=headers)
        return connection.getresponse().status

    assert [status(path) for path in ("/", "/live.json", "/live.json?metric=w2", "/../etc/passwd")] == [200, 200, 200, 404]
    assert status("/live.json", Host="elsewhere.example") == 403
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine to open the page with")
def test_curves_grow_in_a_real_browser(store, command, tmp_path):
    growing = store[1]
    with Browser(tmp_path / "browser") as browser:
        browser.open(f"http://{ADDRESS}:{command[1]}/")
        browser.wait("document.querySelector('#live-curves .scatterlayer .trace')")
        assert "RuntimeError: <b>a cosmic ray</b>" in browser.evaluate("document.getElementById('sweeps').textContent")
        browser.evaluate("document.querySelector('[data-name=each]').click()")
        points = "document.querySelector('#live-curves .plot').data[1].y.filter(Number.isFinite).length"
        browser.wait(f"{points} === 2")
        with growing.open("a") as file:
            file.write("\n25,1,0.125\n25,2,0.125\n")
        browser.wait(f"{points} === 3")
        assert browser.evaluate("document.querySelector('[data-name=each]').getAttribute('aria-checked')") == "true"
        assert browser.errors == []
