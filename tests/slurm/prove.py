"""``make test-slurm``: a sweep with ``launcher=slurm`` on a real SLURM, with the faults of a real cluster.

A job is killed, one is cancelled, one reaches its time limit, the controller dies and is restarted; then the same command is run again. In
the end every run is in the store exactly once, with the numbers of a local run. Without ``--short`` it also leaves jobs in the queue and
adopts them, reproduces an artifact, and runs the script for Table 1.
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from aswd.runs import Run, RunState, records
from tests.launchers.stores import command, counted, differing, digests, is_untouched, lost
from tests.slurm.cluster import Cluster, DoesNotStart, obstacle

BEGIN = time.monotonic()
RUNS = 6
SWEEP = [
    *("-m", f"seed=range(0,{RUNS})", "data=knot", "distance=aswd", "distance.num_projections=10", "data.num_samples=60"),
    *("task.iterations=2000", "task.evaluate_every=100", "task.num_frames=4", "task.images=false"),
    *("trainer.accelerator=cpu", "trainer.threads=1", "trainer.enable_progress_bar=false", "trainer.checkpoint_seconds=1"),
]
ON_SLURM = ["launcher=slurm", "launcher.partition=short", "launcher.timeout_min=20", "launcher.mem_gb=1", "launcher.cpus=1"]
ON_SLURM += ["launcher.setup=['export ASWD_SETUP=read']", "launcher.poll_seconds=1"]


def main():
    """Run the proof, or print why it cannot be run here."""
    reason = obstacle()
    if reason is not None:
        print(f"make test-slurm: NOT RUN: {reason}")
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that it cleans up
    try:
        prove()
    except DoesNotStart as error:
        print(f"make test-slurm: NOT RUN: SLURM does not start here: {error}")
    return 0


def prove():
    """The sweep, its faults, and the store at the end."""
    with tempfile.TemporaryDirectory(prefix="aswd-slurm-") as folder:
        expected, store = Path(folder, "local"), Path(folder, "store")
        with Cluster(Path(folder, "cluster")) as cluster:
            foreign = cluster.foreign_sockets()
            assert not foreign, foreign
            log(f"SLURM {cluster.ask('sinfo', '--version').split()[-1]} is up, on the loopback only")
            local = subprocess.Popen(command("train", *SWEEP, f"paths.output_dir={expected}"), stdout=subprocess.DEVNULL)
            first = with_faults(cluster, store)
            second = again(store, first)
            if "--short" not in sys.argv[1:]:
                left_and_adopted(cluster, Path(folder, "left"))
                artifact(Path(folder, "artifact"))
                table1(Path(folder, "table1"))
            assert local.wait(600) == 0
        assert second == {"done": 1, "skipped": RUNS - 1}, second
        assert not lost(store, expected)
        assert not differing(store, expected)
    log(f"{RUNS} runs, 1 job killed, 1 cancelled, 1 out of time, controller restarted: 0 lost, 0 repeated, 0 differing from a local run")
    log("proved; no daemon and no file is left (the Debian packages stay installed)")


def with_faults(cluster, store):
    """The sweep with all faults; returns the digests of its records."""
    errors = store.with_name("errors")
    with errors.open("w") as file:
        process = subprocess.Popen(
            command("train", *SWEEP, *ON_SLURM, f"paths.output_dir={store}"), stdout=subprocess.PIPE, stderr=file, text=True
        )
    victims = {}
    for fault in ("killed", "cancelled", "out of time"):
        seed, job = running(store, process, victims.values())
        number = owner(store, seed)
        os.kill(number, signal.SIGSTOP)  # so that the run is not done before; SLURM wakes it with its signals
        victims[fault] = seed
        if fault == "killed":
            os.kill(number, signal.SIGKILL)
        elif fault == "cancelled":
            subprocess.run(["scancel", job], check=True)
        else:
            limited = job
            run_out_of_time(cluster, job, process)
        log(f"job {job} (seed {seed}): {fault}")
    steps = list(run_of(store, victims["out of time"]).folder.glob("checkpoints/*.ckpt"))
    assert steps, "a job out of time leaves a checkpoint"
    log(f"job {limited} is back in the queue, with its checkpoint of {max(steps).stem}")
    cluster.kill_controller(limited)
    log("the controller is dead")
    wait_until(lambda: "SLURM does not respond: waiting for it" in errors.read_text(), process, 120, "the outage was not noticed")
    cluster.start_controller()
    log("the controller is back")
    out, err = process.communicate(timeout=900)[0], errors.read_text()
    print(out, err, sep="")
    log("the sweep has ended")
    counts = counted(out)
    assert counts == {"done": RUNS - 1, "interrupted": 1}, (counts, err)
    assert process.returncode == 1, process.returncode
    assert run_of(store, victims["cancelled"]).state is RunState.INTERRUPTED
    output = "".join(path.read_text() for path in store.glob(f"sweeps/*/logs/{limited}_0_log.out"))
    assert "reaches its time limit and is requeued" in output, output
    return digests(store)


def run_out_of_time(cluster, job, process):
    """Shorten the time limit of a job until SLURM signals it and it is requeued.

    SLURM counts the time in minutes, checks it every thirty seconds, and signals a job 90 seconds before its limit, give or take those
    thirty: with one to two minutes left it does so at its next check.
    """
    minutes = int(cluster.job(job)["RunTime"].split(":")[-2])
    subprocess.run(["scontrol", "update", f"JobId={job}", f"TimeLimit={minutes + 2}"], check=True)
    complaint = f"job {job}, out of time, was not requeued"
    wait_until(lambda: int(cluster.job(job).get("Restarts", 0)) >= 1, process, 120, complaint)


def again(store, before):
    """The same command: what was finished is unchanged, what was cancelled is done."""
    done = subprocess.run(command("train", *SWEEP, *ON_SLURM, f"paths.output_dir={store}"), capture_output=True, text=True)
    print(done.stdout, done.stderr, sep="")
    log("the same command again has ended")
    assert done.returncode == 0, done.returncode
    assert is_untouched(store, before), "a finished run was repeated"
    frame = records(store)
    assert sorted(frame["seed"]) == list(range(RUNS)), "every run is there exactly once"
    assert set(frame["state"]) == {"done"}
    assert all(Run(Path(folder)).damage() is None for folder in frame["folder"])
    return counted(done.stdout)


def left_and_adopted(cluster, store):
    """Submitted without waiting; then waited for by the same command, which submits nothing."""
    short = [*SWEEP, "seed=7,8", "task.iterations=50", *ON_SLURM, f"paths.output_dir={store}"]
    held = ["launcher.wait=false", "+launcher.sbatch.hold=true"]  # so that they are still queued for the next command
    done = subprocess.run(command("train", *short, *held), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "in the queue as job" in done.stdout, done.stdout
    job = re.search(r"in the queue as job (\d+)_", done.stdout).group(1)
    before = sorted(cluster.ask("squeue", "--noheader", "--states=all", "--array", "--format=%i").split())
    status = subprocess.run(command("status", f"paths.output_dir={store}"), capture_output=True, text=True)
    assert "jobs in the queue: 2 pending" in status.stdout, status.stdout + status.stderr
    process = subprocess.Popen(command("train", *short), stdout=subprocess.PIPE, text=True)
    assert "2 jobs of an earlier command are still in the queue: waiting for them" in process.stdout.readline()
    subprocess.run(["scontrol", "release", job], check=True)
    out = process.communicate(timeout=600)[0]
    assert counted(out) == {"done": 2}, out
    assert sorted(cluster.ask("squeue", "--noheader", "--states=all", "--array", "--format=%i").split()) == before
    log("jobs that were left in the queue are adopted by the next command")


def artifact(store):
    """An artifact, with several runs per job."""
    options = ["trainer.max_steps=3", "data.num_samples=30", "trainer.accelerator=cpu", "launcher.runs_per_job=10", *ON_SLURM]
    done = subprocess.run(
        command("reproduce", "flow_main", "--scale", "smoke", f"paths.output_dir={store}", *options), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert set(records(store)["state"]) == {"done"}
    log(f"aswd reproduce flow_main: {len(records(store))} runs through SLURM")


def table1(store):
    """The script for Table 1, at smoke scale and offline."""
    script = Path(__file__).parents[2] / "scripts" / "table1_on_slurm.sh"
    options = ["launcher.gpus=0", "launcher.runs_per_job=12", "trainer.accelerator=cpu", "trainer.threads=1", *ON_SLURM]
    environment = {**os.environ, "SCALE": "smoke", "OUTPUT_DIR": str(store), "WANDB_MODE": "offline"}
    done = subprocess.run([script, *options], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert set(records(store)["state"]) == {"done"}
    assert (store / "report" / "index.html").exists()
    assert len(list(store.glob("wandb/mirror/aswd/wandb/offline-run-*"))) == len(records(store)), "one W&B run per seed"
    log(f"scripts/table1_on_slurm.sh: {len(records(store))} runs through SLURM, mirrored and reported")


def running(store, process, excluded):
    """A seed that is running and has a checkpoint, and its job."""
    jobs = {}

    def search():
        for record in store.glob("sweeps/*/sweep.json"):
            for job, (seed, *_) in json.loads(record.read_text()).get("jobs", {}).items():
                run = run_of(store, seed) if list(store.glob("runs/*/*/*/*")) else None
                if run and seed not in excluded and run.state is RunState.RUNNING and list(run.folder.glob("checkpoints/*.sha256")):
                    jobs[seed] = job
        return bool(jobs)

    wait_until(search, process, 300, "no job is running")
    seed = min(jobs)
    return seed, jobs[seed]


def run_of(store, seed):
    (folder,) = store.glob("runs/*/*/*/*")
    return Run(folder / f"seed={seed}")


def owner(store, seed):
    return json.loads(run_of(store, seed).lock.read_text())["pid"]


def wait_until(is_so, process, seconds, complaint):
    end = time.monotonic() + seconds
    while not is_so():
        if process.poll() is not None or time.monotonic() > end:
            process.terminate()
            raise AssertionError(f"{complaint}:\n{''.join(map(str, process.communicate(timeout=10)))}")
        time.sleep(0.2)


def log(text):
    print(f"test-slurm: {text} ({time.monotonic() - BEGIN:.0f} s)", flush=True)


if __name__ == "__main__":
    sys.exit(main())
