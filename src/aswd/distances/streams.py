"""Random streams, one per replica.

Each replica has its own generator, so that it gets the same numbers alone as in a batch of 50, independently of the global
random state. The generators are on the device of the samples: no numbers are copied to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from aswd.distances.checks import check_seed
from aswd.distances.chunks import over_samples


def _normalise_(vectors: Tensor) -> Tensor:
    """As ``torch.nn.functional.normalize``, in place: newly allocated memory costs more."""
    return vectors.div_(torch.linalg.vector_norm(vectors, dim=-1, keepdim=True).clamp_min_(1e-12))


class Streams:
    """Generators for R replicas, seeded one by one.

    Args:
        seed: ``s`` gives replica i the seed s + i; a sequence gives one per replica; ``None`` draws one from torch's global
            random state when the first number is needed.
    """

    def __init__(self, seed: int | Sequence[int] | None = None) -> None:
        self._seed = check_seed(seed)
        self._generators: list[torch.Generator] = []
        self._count, self._device, self._dtype = 1, torch.device("cpu"), torch.float32

    def prepare(self, count: int, device: torch.device, dtype: torch.dtype) -> None:
        """Set the number of replicas, device and dtype of the next numbers. A change of device restarts the streams from their seeds."""
        self._choose_seed()
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

    def restarted(self) -> Streams:
        """New streams from the same seed; these stay where they are."""
        self._choose_seed()
        return Streams(self._seed)

    def _choose_seed(self) -> None:
        if self._seed is None:
            self._seed = int(torch.randint(2**31, ()))

    @property
    def seed(self) -> int | list[int] | None:
        """The seed that the streams started from."""
        return self._seed

    @property
    def count(self) -> int:
        """R."""
        return self._count

    @property
    def kind(self) -> tuple[torch.device, torch.dtype]:
        """Device and dtype of the numbers."""
        return self._device, self._dtype

    def normal(self, *shape: int) -> Tensor:
        """Standard normal numbers, ``[R, *shape]``."""
        return self._fill(shape, torch.Tensor.normal_)

    def integers(self, bound: int, *shape: int) -> Tensor:
        """Whole numbers uniform from 0 to ``bound - 1``, ``[R, *shape]``."""
        return self._fill(shape, lambda out, generator: out.random_(0, bound, generator=generator), torch.int64)

    def uniform(self, bound: float, *shape: int) -> Tensor:
        """Numbers uniform in [-bound, bound], ``[R, *shape]``."""
        return self._fill(shape, lambda out, generator: out.uniform_(-bound, bound, generator=generator))

    def sphere(self, count: int, dim: int) -> Tensor:
        """Directions uniform on the unit sphere of R^dim, ``[R, count, dim]``."""
        normal = self.normal(count, dim)
        over_samples(lambda some: _normalise_(normal[:, some]), normal)
        return normal

    def _fill(self, shape: tuple[int, ...], fill: Callable[..., Tensor], dtype: torch.dtype | None = None) -> Tensor:
        out = torch.empty(self._count, *shape, device=self._device, dtype=dtype or self._dtype)
        rows = [out] if self._count == 1 else out
        for row, generator in zip(rows, self._generators, strict=False):
            fill(row, generator=generator)
        return out

    def state(self) -> dict:
        """State from which :meth:`restore` continues with the next number."""
        return {"seed": self._seed, "device": str(self._device), "generators": [g.get_state() for g in self._generators]}

    def restore(self, state: dict) -> None:
        """Continue from a :meth:`state`; if its device is not available, restart from its seeds on the CPU."""
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

    def __getstate__(self) -> dict:  # generators can be neither copied nor pickled
        return self.state()

    def __setstate__(self, state: dict) -> None:
        self.__init__()
        self.restore(state)
