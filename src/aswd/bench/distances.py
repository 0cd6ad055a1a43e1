"""The benchmark of the distances: ratios to the plain version and to POT, inside one process, at one thread and at two."""

from __future__ import annotations

import json
import math
import platform
import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from aswd.bench import yardsticks
from aswd.bench.measure import chosen, gain_of_two_processes, interleaved_medians, peak_memory
from aswd.distances import build, slice_gradients
from aswd.distances.kernel import kernel_is_built
from aswd.distances.workers import map_chunks
from aswd.utils.progress import progress_bar
from aswd.utils.tables import table


@dataclass(frozen=True)
class Case:
    """One line of the table, and what it is expected to reach."""

    distance: str
    n: int
    dim: int
    num_projections: int
    replicas: int = 1
    plain_bar: float | None = None
    pot_bar: float | None = None
    with_pot: bool = False
    swd_bar: float | None = None  # at most this many times SWD of the same size, which it is then compared with alone
    threads_bar: float | None = None  # at least this many times faster with two threads
    sorts_bar: float | None = None  # at most this many times numpy's two sorts, of float64 and of float32

    @property
    def title(self) -> str:
        """What the table calls it."""
        many = f"{self.replicas} replicas of " if self.replicas > 1 else ""
        return f"{many}{self.distance} N={self.n} d={self.dim} L={self.num_projections}"

    def alternatives(self) -> dict[str, Callable[[], object]]:
        """Forward and backward to x: ours, the plain version, and POT where it has the distance."""
        torch.manual_seed(0)
        x = torch.randn(self.replicas, self.n, self.dim, requires_grad=True)
        y = torch.randn(self.replicas, self.n, self.dim) + 1
        if self.swd_bar is not None:
            runs = {"ours": (ours(self, x, y), 1), "swd": (ours(replace(self, distance="swd"), x, y), 1)}
        else:
            one, other = ours(self, x, y), plain(self, x, y)
            runs = {"ours": (one, 1), "ours_2": (one, 2), "plain": (other, 1), "plain_2": (other, 2)}
        if self.with_pot:
            runs["pot"] = pot(self, x, y), 1
        found = {name: lambda run=run, threads=threads: _to_x(run, x, threads) for name, (run, threads) in runs.items()}
        return found if self.sorts_bar is None else found | {"sorts": sorts(self)}


RADIUS, STEPS = 1000.0, 10
CASES = [
    Case("swd", 500, 2, 1000, plain_bar=8, pot_bar=20, with_pot=True, threads_bar=1.5, sorts_bar=1.6),
    Case("swd", 500, 2, 10, with_pot=True),
    Case("swd", 512, 784, 1000, plain_bar=2, with_pot=True),
    Case("swd", 512, 8192, 1000, with_pot=True),
    Case("swd", 8192, 64, 1000, plain_bar=8, pot_bar=40, with_pot=True, threads_bar=1.8),
    Case("swd", 65536, 64, 10, plain_bar=4, with_pot=True, threads_bar=1.5),
    Case("swd", 500, 2, 100, replicas=50, with_pot=True),
    Case("aswd", 500, 2, 1000, plain_bar=6, threads_bar=1.8),
    Case("aswd", 500, 2, 100, replicas=50, plain_bar=8, threads_bar=1.8),
    Case("aswd", 500, 2, 10, replicas=50, plain_bar=10),
    Case("gswd_circular", 512, 784, 1000, plain_bar=200),
    *(Case(name, 500, 2, 1000, swd_bar=1.25) for name in ("osw", "qsw_sobol", "qsw_halton", "ebsw", "swd_lcv", "swd_ucv", "swd_shcv")),
    *(Case(name, 500, 3, 1000, swd_bar=1.25) for name in ("qsw_spiral", "qsw_equal_area")),
    *(Case(name, 8192, 64, 1000, swd_bar=1.25) for name in ("osw", "qsw_sobol", "ebsw", "swd_lcv", "swd_ucv")),
    Case("min_swgg", 500, 2, 1000, swd_bar=2),
    Case("min_swgg", 512, 784, 1000, swd_bar=2),
]


def _to_x(run: Callable[[], Tensor], x: Tensor, threads: int = 1) -> None:
    if torch.get_num_threads() != threads:
        torch.set_num_threads(threads)
    x.grad = None
    run().sum().backward()


def sorts(case: Case) -> Callable[[], None]:
    """numpy's sorts of the values of both sides alone, the one that has to keep track of positions in float64."""
    values = np.random.default_rng(0).standard_normal((case.num_projections, case.n))
    sides = values, values.astype(np.float32)
    copies = [side.copy() for side in sides]

    def run() -> None:
        for side, copy in zip(sides, copies, strict=True):
            np.copyto(copy, side)
            copy.sort(axis=1)

    return run


def ours(case: Case, x: Tensor, y: Tensor) -> Callable[[], Tensor]:
    """The distance of this package."""
    options = {"aswd": {"steps": STEPS}, "gswd_circular": {"radius": RADIUS}}.get(case.distance, {})
    distance = build(case.distance, num_projections=case.num_projections, seed=0, **options)
    return lambda: distance(x, y)


def plain(case: Case, x: Tensor, y: Tensor) -> Callable[[], Tensor]:
    """The plain version."""
    if case.distance == "aswd":
        distance = yardsticks.PlainASWD(case.replicas, case.dim, case.num_projections, STEPS)
        return lambda: distance(x, y)
    if case.distance == "gswd_circular":
        return lambda: yardsticks.circular(x, y, case.num_projections, RADIUS)
    return lambda: yardsticks.swd(x, y, case.num_projections)


def pot(case: Case, x: Tensor, y: Tensor) -> Callable[[], Tensor]:
    """POT's sliced distance, a replica at a time."""
    import ot

    def run() -> Tensor:
        thetas = functional.normalize(torch.randn(case.replicas, case.num_projections, case.dim), dim=-1)
        pairs = zip(x, y, thetas, strict=True)
        return torch.stack([ot.sliced_wasserstein_distance(xs, ys, projections=theta.T) for xs, ys, theta in pairs])

    return run


def circular_call(which: str, small: bool) -> None:
    """One call of the circular distance, for the measurement of its memory in a process of its own."""
    torch.set_num_threads(1)
    case = Case("gswd_circular", 8 if small else 512, 8 if small else 784, 8 if small else 1000)
    x = torch.randn(1, case.n, case.dim, requires_grad=True)
    _to_x({"ours": ours, "plain": plain}[which](case, x, torch.randn(1, case.n, case.dim)), x)


def one_thread_call(case: Case) -> Callable[[], object]:
    """Ours at one thread, for a process of its own."""
    torch.set_num_threads(1)
    return case.alternatives()["ours"]


def serial_share(rounds: int, on_round: Callable[[], None]) -> float:
    """Share of a call, N=8192 d=64 L=1000, that is spent outside of the chunks that threads share; the median of ``rounds``."""
    inside, shares = [0.0], []

    def timed_chunks(function: Callable, chunks: Iterable, device: torch.device) -> list:
        start = time.perf_counter()
        results = map_chunks(function, chunks, device)
        inside[0] += time.perf_counter() - start
        return results

    (call,) = [run for name, run in Case("swd", 8192, 64, 1000).alternatives().items() if name == "ours"]
    with patch.object(slice_gradients, "map_chunks", timed_chunks):
        for _ in range(rounds):
            inside[0], start = 0.0, time.perf_counter()
            call()
            whole = time.perf_counter() - start
            shares.append(1 - inside[0] / whole)
            on_round()
    return statistics.median(shares)


def growth(rounds: int, on_round: Callable[[], None]) -> dict[int, float]:
    """Seconds of SWD (d = 64, L = 100) for N = 2^13 .. 2^16."""
    sizes = [2**power for power in range(13, 17)]
    cases = {str(n): Case("swd", n, 64, 100).alternatives()["ours"] for n in sizes}
    medians = interleaved_medians(cases, rounds, on_round=on_round)
    return {n: medians[str(n)][0] for n in sizes}


def run(output: Path, rounds: int = 7, only: str | None = None) -> None:
    """Run the benchmark, print its table and write it as JSON."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        _run(output, rounds, chosen(CASES, only), whole=only is None)
    finally:
        torch.set_num_threads(threads)


def _run(output: Path, rounds: int, cases: list[Case], whole: bool) -> None:
    rows = []
    shared = sum(case.threads_bar is not None for case in cases)
    with progress_bar(total=(len(cases) + 2 * whole) * rounds + shared, unit="round") as bar:
        for case in cases:
            bar.set_description(case.title)
            medians = interleaved_medians(case.alternatives(), rounds, on_round=bar.update)
            rows.append({**asdict(case), "title": case.title} | {name: {"seconds": m, "rounds": n} for name, (m, n) in medians.items()})
        bar.set_description("two processes")
        for row in rows:
            if row["threads_bar"] is not None:
                row["processes"] = gain_of_two_processes(one_thread_call, Case(**{each.name: row[each.name] for each in fields(Case)}))
                bar.update()
        if whole:
            bar.set_description("growth with N")
            times = growth(rounds, bar.update)
            bar.set_description("serial share")
            serial = serial_share(rounds, bar.update)
            bar.set_description("memory of the circular distance")
            memory = {which: peak_memory(circular_call, which) for which in ("ours", "plain")}
    print(table(("case", "plain", "POT", "SWD", "ours", "to plain", "to POT", "of SWD", ""), map(_line, rows)))
    in_threads = [row for row in rows if "ours_2" in row]
    if in_threads:
        print(
            "\nWith two threads\n"
            + table(("case", "plain", "ours", "to plain", "of ratio", "plain", "ours", "limit", ""), map(_thread_line, in_threads))
        )
        print("of ratio: of that at one thread; then how many times faster than with one")
        print("limit: how many times the calls of one process two processes make here, with one thread each")
    for row in rows:
        if "sorts" in row:
            share, bar = row["ours"]["seconds"] / row["sorts"]["seconds"], row["sorts_bar"]
            print(f"\n{row['title']}: {share:.2f} times numpy's two sorts alone: {_met(share <= bar)} (at most {bar})")
    report = {"cases": rows, "torch": torch.__version__, "machine": platform.processor() or platform.machine()}
    report["kernel"] = kernel_is_built()
    if whole:
        print(f"\nOutside of chunks, swd N=8192 d=64 L=1000: {100 * serial:.1f} %: {_met(serial <= 0.05)} (at most 5 %)")
        share = memory["ours"] / memory["plain"]
        print(f"\nMemory of circular N=512 d=784 L=1000: plain {memory['plain'] / 2**30:.2f} GiB, ours {memory['ours'] / 2**30:.3f} GiB,")
        print(f"  {share:.4f} of it: {_met(share <= 0.01)} (at most 0.01)")
        first, last = min(times), max(times)
        expected = last * math.log(last) / (first * math.log(first))
        print("\nGrowth of SWD d=64 L=100: " + ", ".join(f"N={n} {1e3 * t:.0f} ms" for n, t in times.items()))
        factor = times[last] / times[first]
        print(f"  factor {factor:.1f}, where N log N gives {expected:.1f} and N^2 gives {(last / first) ** 2:.0f}")
        report |= {"circular_memory": memory, "growth": times, "serial_share": serial}
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps(report, indent=2))
    print(f"\nSeconds and ratios are in {output}. Medians, forward and backward to x, alternatives taking turns.")


def _met(holds: bool) -> str:
    return "ok" if holds else "MISSED"


def _thread_line(row: dict) -> tuple[str, ...]:
    plain, plain_2, mine, mine_2 = (row[name]["seconds"] for name in ("plain", "plain_2", "ours", "ours_2"))
    kept, faster = plain_2 / mine_2 / (plain / mine), mine / mine_2
    bars = {"0.9 of ratio": kept >= 0.9}
    if row["threads_bar"] is not None:
        bars[f"{row['threads_bar']:g}x"] = faster >= row["threads_bar"]
    missed = [name for name, holds in bars.items() if not holds]
    times = [f"{1e3 * seconds:.2f} ms" for seconds in (plain_2, mine_2)]
    ratios = [f"{plain_2 / mine_2:.1f}x", f"{kept:.2f}", f"{plain / plain_2:.2f}x", f"{faster:.2f}x"]
    ratios.append(f"{row['processes']:.2f}x" if "processes" in row else "-")
    return row["title"], *times, *ratios, f"MISSED {', '.join(missed)}" if missed else "ok"


def _line(row: dict) -> tuple[str, ...]:
    seconds = {name: row[name]["seconds"] for name in ("plain", "pot", "swd", "ours") if name in row}
    ratios = {name: seconds[name] / seconds["ours"] for name in ("plain", "pot") if name in seconds}
    bars = {name: row[f"{name}_bar"] for name in (*ratios, *(["swd"] if "swd" in seconds else [])) if row[f"{name}_bar"] is not None}
    missed = [f"{bars[name]:g}x {name}" for name, ratio in ratios.items() if name in bars and ratio < bars[name]]
    share = seconds["ours"] / seconds["swd"] if "swd" in seconds else None
    if share is not None and share > bars["swd"]:
        missed.append(f"at most {bars['swd']:g}x SWD")
    verdict = f"MISSED {', '.join(missed)}" if missed else "ok" if bars else ""
    times = [f"{1e3 * seconds[name]:.2f} ms" if name in seconds else "-" for name in ("plain", "pot", "swd", "ours")]
    factors = [f"{ratios[name]:.1f}x" if name in ratios else "-" for name in ("plain", "pot")]
    return (row["title"], *times, *factors, "-" if share is None else f"{share:.2f}", verdict)
