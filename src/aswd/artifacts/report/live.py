"""``aswd report --live``: the page, served to this machine alone, that follows the sweeps of a store while they run."""

from __future__ import annotations

import io
import json
import os
from contextlib import suppress
from datetime import datetime
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pandas

from aswd.artifacts.report.page import page, read_sections
from aswd.artifacts.views import View, curve, curves, panel
from aswd.launchers.status import MAX_ROWS, STATES, Progress, current, notable, summary
from aswd.launchers.sweep import Planned
from aswd.runs.store import batch_name
from aswd.utils.errors import UserError
from aswd.utils.files import read_bytes

ADDRESS, PORT = "127.0.0.1", 8421
MAX_SERIES = 60
_NO_METRIC = ("step", "seed", "seconds_per_iteration")


def serve(output_dir: Path, port: int = PORT) -> int:
    """Serve the page on the loopback interface until Ctrl-C.

    Args:
        output_dir: folder of all results.
        port: of the server; 0 for any that is free.

    Returns:
        The exit code.

    Raises:
        UserError: the port is taken.
    """
    try:
        server = ThreadingHTTPServer((ADDRESS, port), partial(_Handler, Follower(output_dir)))
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UserError(f"--port must be one that is free (0 takes any); got {port}: {reason}") from None
    print(f"Live report: http://{ADDRESS}:{server.server_port} (Ctrl-C ends it)", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        print()
    finally:
        server.server_close()
    return 0


class Follower:
    """The sweeps of a store as the page shows them: their progress, and curves that grow.

    Args:
        output_dir: of the store.
    """

    def __init__(self, output_dir: Path) -> None:
        self.output_dir = output_dir
        self._lock = Lock()
        self._read: dict[Path, tuple[tuple[int, int], pandas.DataFrame]] = {}  # with the time and size of the file

    def state(self, metric: str | None = None) -> dict[str, Any]:
        """Everything that changes.

        Args:
            metric: whose curves are shown; default: the first that the runs have.
        """
        with self._lock:
            shown, now = current(self.output_dir), datetime.now().astimezone()
            groups = _by_folder(shown)
            frames = {folder: self._metrics(planned) for folder, planned in list(groups.items())[:MAX_SERIES]}
        metrics = list(dict.fromkeys(name for frame in frames.values() for name in frame if name not in _NO_METRIC))
        chosen = metric if metric in metrics else next(iter(metrics), None)
        return {
            "sweeps": [_describe(each, now) for each in shown],
            "metrics": metrics,
            "metric": chosen,
            "left_out": len(groups) - len(frames),
            "view": _curves(groups, frames, chosen) if chosen else None,
            "artifacts": max((path.stat().st_mtime_ns for path in self.output_dir.glob("artifacts/*/*/summary.json")), default=0),
        }

    def page(self) -> str:
        """The page."""
        return page(read_sections(self.output_dir), live=True)

    def _metrics(self, planned: list[Planned]) -> pandas.DataFrame:
        """The metrics so far of the seeds of one configuration, finished or running."""
        files = []
        for each in planned:
            files += [(run.record or run.folder) / "metrics.csv" for run in each.runs]
            pending = [run.seed for run in each.runs if run.record is None]
            if len(pending) > 1:  # a batch of replicas, which writes one file
                files.append(each.folder / batch_name(pending) / "metrics.csv")
        frames = [frame for file in files if not (frame := self._frame(file)).empty]
        seeds = [seed for each in planned for seed in each.seeds]
        frame = pandas.concat(frames, ignore_index=True) if frames else pandas.DataFrame(columns=["step", "seed"])
        return frame[frame["seed"].isin(seeds)].drop_duplicates(["step", "seed"], keep="last")

    def _frame(self, path: Path) -> pandas.DataFrame:
        """The whole lines of a file that may be growing; none where there is no such file."""
        try:
            info = os.stat(path)
            stamp = info.st_mtime_ns, info.st_size
            if self._read.get(path, (None,))[0] != stamp:
                content = read_bytes(path)
                self._read[path] = stamp, pandas.read_csv(io.BytesIO(content[: content.rfind(b"\n") + 1]))
            frame = self._read[path][1]
        except (OSError, ValueError):  # not there yet, or replaced at this moment
            return pandas.DataFrame()
        return frame if {"step", "seed"} <= set(frame) else pandas.DataFrame()


def _by_folder(shown: list[Progress]) -> dict[Path, list[Planned]]:
    """The planned runs by configuration."""
    groups: dict[Path, list[Planned]] = {}
    for each in shown:
        for planned in each.sweep.planned:
            groups.setdefault(planned.folder, []).append(planned)
    return groups


def _describe(progress: Progress, now: datetime) -> dict[str, Any]:
    rows = notable(progress)
    return {
        "name": str(progress.sweep.folder),
        "launcher": progress.sweep.launcher,
        "summary": summary(progress, now),
        "total": progress.counts.total(),
        "counts": {str(state): progress.counts[state] for state in STATES if progress.counts[state]},
        "rows": [[title, seed, str(state), text] for title, seed, state, text in rows[:MAX_ROWS]],
        "left_out": max(0, len(rows) - MAX_ROWS),
    }


def _curves(groups: dict[Path, list[Planned]], frames: dict[Path, pandas.DataFrame], metric: str) -> View | None:
    """A panel per task and data set, with a series per configuration; those that have not started have no points yet."""
    panels: dict[str, dict[str, dict[str, Any]]] = {}
    positive = True
    for folder, frame in frames.items():
        task, data, distance, key = folder.parts[-4:]
        series = panels.setdefault(f"{task}, {data}", {})
        label = f"{distance} ({key})" if distance in series else distance
        seeds = sorted({seed for planned in groups[folder] for seed in planned.seeds})
        values = pandas.DataFrame(index=pandas.Index([], dtype=int), columns=seeds, dtype=float)
        if metric in frame:
            values = frame.pivot(index="step", columns="seed", values=metric).reindex(columns=seeds).dropna(how="all").astype(float)
        positive &= not (values.to_numpy() <= 0).any()
        series[label] = curve(label, values.index.to_numpy(), values.to_numpy(), seeds)
    scale = "log" if positive else "linear"
    shown = [panel(title, "iteration", metric, series.values(), y_scale=scale) for title, series in panels.items()]
    return next(iter(curves("Curves so far", shown)), None)


class _Handler(BaseHTTPRequestHandler):
    """Answers with the page or with its state."""

    def __init__(self, follower: Follower, *args: Any) -> None:
        self.follower = follower
        super().__init__(*args)

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        port = self.server.server_address[1]
        if self.headers.get("Host") not in (f"{ADDRESS}:{port}", f"localhost:{port}"):  # a page from elsewhere must not read it
            self.send_error(403)
        elif address.path == "/":
            self._answer("text/html; charset=utf-8", self.follower.page())
        elif address.path == "/live.json":
            metric = parse_qs(address.query).get("metric", [None])[0]
            self._answer("application/json", json.dumps(self.follower.state(metric)))
        else:
            self.send_error(404)

    def _answer(self, kind: str, text: str) -> None:
        content = text.encode()
        self.send_response(200)
        for name, value in (("Content-Type", kind), ("Content-Length", str(len(content))), ("Cache-Control", "no-store")):
            self.send_header(name, value)
        with suppress(ConnectionError):  # the page was closed before the answer
            self.end_headers()
            self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Nothing: the terminal shows the address, and what goes wrong."""
