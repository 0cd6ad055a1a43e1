"""What a step does, counted and not timed: kernels, operations and bytes, on the device ``meta``, which takes the path of a GPU.

Bounds of the time on a GPU follow from its arithmetic and its memory. Nothing is computed, so a GPU is not needed.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import softplus
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter
from torch.utils.flop_counter import FlopCounterMode

from aswd.bench.measure import chosen
from aswd.distances import build
from aswd.nets.dcgan import SIZE, Features, Generator, Head
from aswd.utils.tables import table

FLOPS, BANDWIDTH = 16.3e12, 672e9  # per second, of the RTX 6000 on which the paper measured (float32)
_SORTS = {"sort", "argsort", "topk"}
_PASSES = 4  # of a radix sort of 32-bit keys, each of which reads and writes keys and positions
# Seconds per iteration in Table 1 of the paper, CIFAR10, batch 512.
PUBLISHED = {("swd", 10): 0.34, ("swd", 1000): 0.36, ("gswd_circular", 10): 0.41, ("gswd_circular", 1000): 2.22}
PUBLISHED |= {("dswd", 10): 0.55, ("dswd", 1000): 1.30, ("aswd", 10): 0.58, ("aswd", 1000): 1.38}


class Counter(TorchDispatchMode):
    """Counts the operations that are dispatched: those that move bytes, not views."""

    def __init__(self) -> None:
        super().__init__()
        self.kernels, self.bytes, self.sorted = 0, 0, 0

    def __torch_dispatch__(self, function: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        result = function(*args, **(kwargs or {}))
        outputs = [value for value in tree_iter(result) if isinstance(value, Tensor)]
        inputs = [value for value in tree_iter((args, kwargs or {})) if isinstance(value, Tensor)]
        name = function.overloadpacket.__name__
        is_view = function.is_view or name in ("detach", "empty", "empty_like", "new_empty", "_unsafe_view", "alias")
        if outputs and not is_view:
            self.kernels += 1
            if name in _SORTS:
                self.sorted += inputs[0].numel()
                self.bytes += 2 * _PASSES * inputs[0].numel() * (4 + 8)
            else:
                self.bytes += sum(value.numel() * value.element_size() for value in [*inputs, *outputs])
        return result


@dataclass(frozen=True)
class Case:
    """One line of the table: a distance of N x d features with L directions, in the GAN together with its networks."""

    distance: str
    num_projections: int
    n: int = 512
    dim: int = 8192
    networks: bool = True

    @property
    def title(self) -> str:
        return f"{'GAN with ' if self.networks else ''}{self.distance} N={self.n} d={self.dim} L={self.num_projections}"

    def step(self) -> Callable[[], None]:
        """A step, its samples and networks on the device meta."""
        options = {"dswd": {"steps": 5}, "aswd": {"steps": 5}}.get(self.distance, {})
        distance = build(self.distance, num_projections=self.num_projections, seed=0, **options)
        return _gan_step(distance, self.n) if self.networks else _distance_step(distance, self.n, self.dim)


CASES = [
    Case("swd", 1000, 8192, 64, networks=False),
    Case("aswd", 1000, 8192, 64, networks=False),
    *(Case(name, count) for name in ("swd", "gswd_circular", "dswd", "aswd") for count in (10, 1000)),
]


def _distance_step(distance: torch.nn.Module, n: int, dim: int) -> Callable[[], None]:
    x, y = torch.empty(n, dim, device="meta", requires_grad=True), torch.empty(n, dim, device="meta")
    return lambda: distance(x, y).backward()


def _gan_step(distance: torch.nn.Module, batch: int) -> Callable[[], None]:
    """The iteration of :mod:`aswd.bench.gan`, with the distance."""
    features, head, generator = Features(64).to("meta"), Head(64).to("meta"), Generator(32, True, 64).to("meta")
    adams = [
        torch.optim.Adam(list(p), fused=False, foreach=True) for p in (generator.parameters(), [*features.parameters(), *head.parameters()])
    ]
    real, noise = torch.empty(batch, 3, SIZE, SIZE, device="meta"), torch.empty(batch, 32, device="meta")

    def step() -> None:
        fake = generator(noise)
        for images, sign in ((real, -1), (fake.detach(), 1)):
            softplus(sign * head(features(images))).mean().backward()
            adams[1].step()
        distance(features(real).flatten(1).detach(), features(fake).flatten(1)).backward()
        adams[0].step()

    return step


def count(case: Case) -> dict[str, float]:
    """Kernels, operations of matrix products and convolutions, bytes, sorted values, and the least seconds on a GPU."""
    step = case.step()
    step()  # the first call sets things up
    counter = Counter()
    with FlopCounterMode(display=False) as flops, counter:
        step()
    operations = flops.get_total_flops()
    seconds = {"arithmetic": operations / FLOPS, "memory": counter.bytes / BANDWIDTH}
    return {"kernels": counter.kernels, "flops": operations, "bytes": counter.bytes, "sorted": counter.sorted, **seconds}


def run(output: Path, rounds: int = 0, only: str | None = None) -> None:
    """Count all cases, print the table and write it as JSON; there is nothing to repeat in ``rounds``."""
    rows, found = [], []
    for case in chosen(CASES, only):
        result = count(case)
        found.append({**asdict(case), "title": case.title, **result})
        bound = max("arithmetic", "memory", key=result.get)
        published = PUBLISHED.get((case.distance, case.num_projections)) if case.networks else None
        sizes = f"{result['flops'] / 1e9:.1f}", f"{result['bytes'] / 1e9:.2f}", f"{result['sorted'] / 1e6:.1f} M"
        times = f"{1e3 * result['arithmetic']:.1f}", f"{1e3 * result['memory']:.1f}", bound
        rows.append((case.title, str(result["kernels"]), *sizes, *times, "-" if published is None else f"{1e3 * published:.0f}"))
    print(table(("step", "kernels", "GFLOP", "GB", "sorted", "ms by arithmetic", "ms by memory", "bound by", "published ms"), rows))
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps({"cases": found, "flops_per_second": FLOPS, "bytes_per_second": BANDWIDTH}, indent=2))
    print(f"\nCounted, not timed: {FLOPS / 1e12:g} TFLOP/s and {BANDWIDTH / 1e9:g} GB/s. A sort counts as {_PASSES} passes. In {output}.")
