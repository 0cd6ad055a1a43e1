"""``make test-faults``: real sweeps under injected faults.

Afterwards no run is lost, none differs, and finished ones are unchanged. test_faults.py does the same with fewer runs.
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.launchers.stores import command, count_done, differing, digests, ended, finished, is_untouched, lost, start

RETRIES = "launcher.retries=3"


def workers_of(process):
    """The process ids of the workers of a pool."""
    workers = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
            if parent == process.pid and b"aswd.launchers.worker" in stat.with_name("cmdline").read_bytes():
                workers.append(int(stat.parent.name))
        except OSError:
            continue
    return workers


def kill(number):
    try:
        os.kill(number, signal.SIGKILL)
    except ProcessLookupError:
        return 0
    return 1


def reference(folder, runs):
    """The same sweep without faults, one run after the other."""
    code, counts, text = finished(folder, f"seed=range(0,{runs})")
    assert (code, counts) == (0, {"done": runs}), text


def part_of(expected, runs, folder):
    """The first runs of a store, as a store."""
    for seed in range(runs):
        (source,) = expected.glob(f"runs/*/*/*/*/seed={seed}")
        shutil.copytree(source, folder / source.relative_to(expected))


def killed_workers(store, runs, kills, rng):
    """A sweep in a pool, of which random workers are killed after random numbers of finished runs."""
    moments = sorted(rng.randrange(max(1, runs - 2)) for _ in range(kills))
    made, starts = 0, 0
    while True:
        starts += 1
        process = start(store, f"seed=range(0,{runs})", "launcher=pool", "launcher.workers=2", RETRIES)
        while process.poll() is None:
            if made < kills and count_done(store) >= moments[made] and (there := workers_of(process)):
                time.sleep(rng.random() * 0.5)
                made += kill(rng.choice(there))
            time.sleep(0.1)
        code, _, text = ended(process)
        assert "Traceback" not in text, text
        if made >= kills and code == 0:
            return made, starts
        assert starts < 10 + kills // 10, text


def killed_sweeps(store, runs, kills, launcher, rng):
    """The command itself killed: the workers of a pool notice it and exit."""
    for turn in range(kills):
        process = start(store, f"seed=range(0,{runs})", f"launcher={launcher}")
        goal, end = min(runs - 1, (turn + 1) * runs // (kills + 1)), time.monotonic() + 300 + 10 * runs
        while process.poll() is None and count_done(store) < goal and time.monotonic() < end:
            time.sleep(0.1)
        time.sleep(rng.random() * 0.3)
        there = workers_of(process)
        before = digests(store)
        assert kill(process.pid)
        process.communicate()
        end = time.monotonic() + 60
        while any(Path(f"/proc/{number}").exists() and time.monotonic() < end for number in there):
            time.sleep(0.05)
        assert not any(Path(f"/proc/{number}").exists() for number in there), "a worker of the pool outlived its sweep"
        assert is_untouched(store, before)
    return complete(store, runs, launcher)


def complete(store, runs, launcher="pool"):
    """One more start completes the rest."""
    before = digests(store)
    code, counts, text = finished(store, f"seed=range(0,{runs})", f"launcher={launcher}")
    assert code == 0, text
    assert counts == {state: count for state, count in (("done", runs - len(before)), ("skipped", len(before))) if count}, (
        counts,
        len(before),
    )
    assert is_untouched(store, before)
    return counts


@contextmanager
def small_disk(folder, size):
    """A small file system, and a function that resizes it; ``None`` where none can be mounted."""
    folder.mkdir()
    mounted = os.geteuid() == 0 and subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder]).returncode == 0
    try:
        yield (lambda new: subprocess.run(["mount", "-o", f"remount,size={new}", folder], check=True)) if mounted else None
    finally:
        if mounted:
            subprocess.run(["umount", folder], check=True)


def full_disk(folder, runs, launcher, expected):
    """The disk is full in the middle of a sweep, and has space again for the next start."""
    room = sum(path.stat().st_blocks * 512 for path in expected.rglob("*")) // 2
    with small_disk(folder, room) as resize:
        limit = None if resize else _no_large_files
        code, counts, text = finished(folder, f"seed=range(0,{runs})", f"launcher={launcher}", preexec_fn=limit)
        assert code == 1, text
        assert counts.get("failed", 0) >= 1, text
        assert "No space left on device" in text or "File too large" in text, text
        assert "Traceback" not in text, text
        if resize:
            resize("200m")
        complete(folder, runs, launcher)
        assert not lost(folder, expected)
        assert not differing(folder, expected)
        return counts


def _no_large_files():
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))


def unreadable_folder(store, runs, launcher):
    """The folder of one run is unreadable: that run fails with the reason, and the others are done."""
    finished(store, "seed=0", "trainer.max_steps=20")
    (parent,) = store.glob("runs/*/*/*/*")
    blocked = parent / "seed=1"
    if os.geteuid() == 0:  # root ignores permissions
        blocked.write_text("a file where a folder should be\n")
    else:
        blocked.mkdir(mode=0)
    before = digests(store)
    code, counts, text = finished(store, f"seed=range(0,{runs})", f"launcher={launcher}")
    assert code == 1, text
    assert counts == {"done": runs - 1 - len(before), "failed": 1, **({"skipped": len(before)} if before else {})}, text
    assert "Traceback" not in text, text
    if blocked.is_dir():
        blocked.chmod(0o700)
    else:
        blocked.unlink()
    return complete(store, runs, launcher)


def faketime(install=False):
    """The library that fakes the clock of a process; ``None`` where it is not and cannot be installed."""
    if install and os.geteuid() == 0 and shutil.which("apt-get") and faketime() is None:
        command = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", "libfaketime"]
        with suppress(subprocess.TimeoutExpired):
            subprocess.run(command, capture_output=True, timeout=180, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})
    return next(iter(Path("/usr/lib").glob("*/faketime/libfaketime.so.1")), None)


def jumping_clock(store, runs, launcher, rng):
    """The clock jumps by days, back and forth; so do the times of the locks, as another machine would see them."""
    clock, library = store.parent / "clock", faketime()
    clock.write_text("+0\n")
    faked = {"LD_PRELOAD": str(library), "FAKETIME_TIMESTAMP_FILE": str(clock), "DONT_FAKE_MONOTONIC": "1", "FAKETIME_NO_CACHE": "1"}
    environment = {**os.environ, **(faked if library else {})}
    process = start(store, f"seed=range(0,{runs})", f"launcher={launcher}", env=environment)
    jumps = 0
    while process.poll() is None:
        days = rng.choice([-3, -1, 1, 3])
        clock.write_text(f"{days:+d}d\n")
        for lock in store.glob("runs/*/*/*/*/seed=*/lock"):
            try:
                os.utime(lock, (time.time() + days * 86400,) * 2)
            except OSError:
                continue
        jumps += 1
        time.sleep(0.3)
    code, counts, text = ended(process)
    assert (code, counts) == (0, {"done": runs}), text
    return jumps, library is not None


def two_at_once(store, runs):
    """Two sweeps over the same runs at the same time: every run is done by one of them."""
    both = [start(store, f"seed=range(0,{runs})", "launcher=pool", "launcher.workers=2") for _ in range(2)]
    results = [ended(process) for process in both]
    assert all(code == (3 if "running" in counts else 0) for code, counts, _ in results), results
    assert sum(counts.get("done", 0) for _, counts, _ in results) == runs, results
    return [counts for _, counts, _ in results]


def main():
    """Inject all faults."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=int, default=1, help="10: a thousand runs and a hundred kills")
    parser.add_argument("--runs", type=int, help="default: 100 times the scale")
    parser.add_argument("--kills", type=int, help="of workers; default: 10 times the scale, at least 20")
    parser.add_argument("--few", type=int, help="runs for the faults other than killed workers; default: 10 times the scale")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    options.runs, few = options.runs or 100 * options.scale, options.few or 10 * options.scale
    options.kills = max(20, 10 * options.scale) if options.kills is None else options.kills
    options.runs = max(options.runs, few)
    rng = random.Random(options.seed)
    faketime(install=True)
    folder = Path(tempfile.mkdtemp(prefix="aswd-faults-"))
    try:
        begin = time.monotonic()
        reference(folder / "expected", options.runs)
        log(f"{options.runs} runs, one after the other: {time.monotonic() - begin:.0f} s")
        begin = time.monotonic()
        kills, starts = killed_workers(folder / "pool", options.runs, options.kills, rng)
        gone, other = lost(folder / "pool", folder / "expected"), differing(folder / "pool", folder / "expected")
        log(f"launcher=pool: {options.runs} runs, {kills} kills, {starts} starts: {len(gone)} lost, {len(other)} differing", begin)
        assert not gone
        assert not other
        part_of(folder / "expected", few, folder / "few")
        for launcher in ("local", "pool"):
            begin, store = time.monotonic(), folder / f"killed-{launcher}"
            killed_sweeps(store, few, 3, launcher, rng)
            check(store, folder / "few", f"launcher={launcher}: {few} runs, the command killed 3 times", begin)
            begin = time.monotonic()
            counts = full_disk(folder / f"disk-{launcher}", few, launcher, folder / "few")
            log(f"launcher={launcher}: {few} runs on a full disk ({counts}), then with space: 0 lost, 0 differing", begin)
            begin, store = time.monotonic(), folder / f"unreadable-{launcher}"
            unreadable_folder(store, few, launcher)
            check(store, folder / "few", f"launcher={launcher}: {few} runs, an unreadable folder", begin)
            begin, store = time.monotonic(), folder / f"clock-{launcher}"
            jumps, faked = jumping_clock(store, few, launcher, rng)
            how = "" if faked else " (of the locks only: libfaketime is not installed)"
            check(store, folder / "few", f"launcher={launcher}: {few} runs, {jumps} jumps of the clock{how}", begin)
        begin = time.monotonic()
        counts = two_at_once(folder / "two", few)
        check(folder / "two", folder / "few", f"two sweeps over the same {few} runs at once ({counts[0]}, {counts[1]})", begin)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


def check(store, expected, what, begin):
    gone, other = lost(store, expected), differing(store, expected)
    log(f"{what}: {len(gone)} lost, {len(other)} differing", begin)
    assert not gone
    assert not other
    assert subprocess.run(command("clean", "--yes", f"paths.output_dir={store}"), capture_output=True).returncode == 0
    assert not lost(store, expected), "aswd clean removed a result"


def log(text, begin=None):
    print(f"test-faults: {text}" + ("" if begin is None else f" ({time.monotonic() - begin:.0f} s)"), flush=True)


if __name__ == "__main__":
    sys.exit(main())
