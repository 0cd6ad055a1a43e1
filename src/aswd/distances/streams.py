"""Random streams, one a replica.

Replica i draws from a generator of its own, so that it gets the same numbers alone as beside 49 others, and the global
random state stays out of it. The generators live on the device of the samples: nothing is copied there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from aswd.distances.checks import check_seed


class Streams:
    """Generators for R replicas, seeded one by one.

    Args:
        seed: ``s`` gives replica i the seed s + i; a sequence gives each its own; ``None`` takes one from torch's global
            random state when the first number is drawn.
    """

    def __init__(self, seed: int | Sequence[int] | None = None) -> None:
        self._seed = check_seed(seed)
        self._generators: list[torch.Generator] = []
        self._count, self._device, self._dtype = 1, torch.device("cpu"), torch.float32

    def prepare(self, count: int, device: torch.device, dtype: torch.dtype) -> None:
        """Serve ``count`` replicas on ``device`` from now on. A change of device starts the streams again from their seeds there."""
        if self._seed is None:
            self._seed = int(torch.randint(2**31, ()))
        if not isinstance(self._seed, int) and len(self._seed) != count:
            raise ValueError(f"seed has {len(self._seed)} values but the samples have {count} replicas: give one seed for each")
        if device != self._device:
            self._generators = []
        self._count, self._device, self._dtype = count, device, dtype
        if device.type == "meta":
            return
        for i in range(len(self._generators), count):
            seed = self._seed + i if isinstance(self._seed, int) else self._seed[i]
            self._generators.append(torch.Generator(device).manual_seed(seed))

    @property
    def seed(self) -> int | list[int] | None:
        """What the streams started from."""
        return self._seed

    def normal(self, *shape: int) -> Tensor:
        """Standard normal numbers, ``[R, *shape]``."""
        return self._fill(shape, torch.Tensor.normal_)

    def uniform(self, bound: float, *shape: int) -> Tensor:
        """Numbers uniform in [-bound, bound], ``[R, *shape]``."""
        return self._fill(shape, lambda out, generator: out.uniform_(-bound, bound, generator=generator))

    def sphere(self, count: int, dim: int) -> Tensor:
        """Directions uniform on the unit sphere of R^dim, ``[R, count, dim]``."""
        normal = self.normal(count, dim)
        return torch.nn.functional.normalize(normal, dim=-1, out=normal)  # in place: memory fresh from the system costs more

    def _fill(self, shape: tuple[int, ...], fill: Callable[..., Tensor]) -> Tensor:
        out = torch.empty(self._count, *shape, device=self._device, dtype=self._dtype)
        for row, generator in zip(out, self._generators, strict=False):
            fill(row, generator=generator)
        return out

    def state(self) -> dict:
        """What :meth:`restore` needs to go on with the very next number."""
        return {"seed": self._seed, "device": str(self._device), "generators": [g.get_state() for g in self._generators]}

    def restore(self, state: dict) -> None:
        """Go on where the streams of :meth:`state` stood. States of a device that is not here start again from their seeds."""
        self._seed = state["seed"]
        self._device = torch.device(state["device"])
        self._generators = []
        if self._device.type == "cuda" and not torch.cuda.is_available():
            self._device = torch.device("cpu")
            return
        for saved in state["generators"]:
            generator = torch.Generator(self._device)
            generator.set_state(saved.cpu())
            self._generators.append(generator)

    def __getstate__(self) -> dict:  # generators can be neither copied nor pickled themselves
        return self.state()

    def __setstate__(self, state: dict) -> None:
        self.__init__()
        self.restore(state)
