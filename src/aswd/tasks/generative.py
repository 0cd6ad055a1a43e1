"""What the tasks that learn to generate pictures share: batches, noise, steps, samples."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from aswd.data.images import ImageData, Order
from aswd.distances import options
from aswd.tasks import image_figures
from aswd.tasks.base import Task
from aswd.tasks.parallel import average_gradients, share
from aswd.tasks.pixels import to_bytes
from aswd.utils.metric_history import MetricHistory

NETWORKS, NOISE, FIXED_NOISE = 4, 5, 6  # streams of the random numbers of a seed


def inner_loop(name: str) -> str | None:
    """What the distance ``name`` maximises in an inner loop: ``"phi"``, ``"f"``, ``"direction"`` or nothing."""
    known = set(options(name))
    if not {"steps", "lr", "betas", "warm_start"} <= known:
        return None
    return "phi" if "penalty_form" in known else "f" if "penalty" in known else "direction"


def common_defaults(name: str, steps: int) -> dict[str, Any]:
    """Options of the distance ``name`` that the released GAN code has and the DSWD's code for MNIST shares: Adam's in an inner loop of
    ``steps`` steps, and a radius of 1000.
    """
    given: dict[str, Any] = {"radius": 1000.0} if "radius" in options(name) else {}
    loop = inner_loop(name)
    if loop is None:
        return given
    lr, betas = {"phi": (0.001, (0.5, 0.999)), "f": (0.0005, (0.5, 0.999)), "direction": (0.0001, (0.9, 0.999))}[loop]
    return {**given, "steps": steps, "lr": lr, "betas": betas}


def check_fits(distance: nn.Module, count: int, dim: int) -> None:
    """Refuse a distance that cannot hold ``count`` samples a side in dimension ``dim``, before anything is allocated for it."""
    projection = getattr(distance, "projection", None)
    if projection is not None:
        samples = torch.zeros(()).expand(1, count, dim)
        try:
            projection.check(samples, samples, getattr(distance.directions, "num_projections", 1))
        except ValueError as error:
            raise ValueError(f"distance {getattr(distance, 'name', '')} cannot be used here: {error}") from None


class GenerativeTask(Task):
    """Pictures on the device, a generator that is fed noise, and grids of what it makes of the same noise at every evaluation.

    Batches and noise are functions of seed and step; a run that goes on from a checkpoint needs no state of theirs. Of several processes
    each takes its share of a batch, and the gradients are averaged.

    Args:
        settings: of the task.
        data: the pictures.
        distance: any of the family.
        seeds: one a replica.
    """

    data_kind = "images"
    several_devices = True
    curves: ClassVar[tuple[str, ...]] = ()  # metrics to draw

    def __init__(self, settings: Any, data: ImageData, distance: nn.Module, seeds: Sequence[int]) -> None:
        super().__init__(distance, seeds)
        self.automatic_optimization = False
        self.settings = settings
        images = data.images("train")
        self.orders = [Order(len(images), settings.batch_size, seed) for seed in seeds]
        self.register_buffer("images", images, persistent=False)
        fixed = torch.stack([self._noise(settings.num_samples, seed, FIXED_NOISE) for seed in seeds])
        self.register_buffer("fixed_noise", fixed, persistent=False)

    @abstractmethod
    def generate(self, noise: Tensor) -> Tensor:
        """Pictures, ``[R, n, channels, height, width]`` in the task's range, from ``noise [R, n, latent_dim]``, as they are evaluated."""

    @property
    @abstractmethod
    def pixel_range(self) -> str:
        """The range that the generator's pictures are meant in."""

    @property
    def steps_per_epoch(self) -> int:
        """Whole batches in an epoch."""
        return self.orders[0].steps_per_epoch

    @property
    def num_steps(self) -> int:
        return self.settings.iterations or self.settings.epochs * self.steps_per_epoch

    def adam(self, parameters: Iterable[Tensor]) -> torch.optim.Adam:
        """The optimiser of a network."""
        return torch.optim.Adam(parameters, lr=self.settings.lr, betas=tuple(self.settings.betas))

    def real(self, step: int) -> Tensor:
        """This process's share of the real pictures of a step, as bytes, ``[R, n, channels, height, width]``."""
        batch = torch.stack([order.batch(step) for order in self.orders])
        return self.images[share(batch, 1).to(self.device)]

    def noise(self, step: int) -> Tensor:
        """Its share of the noise, ``[R, n, latent_dim]``."""
        return share(torch.stack([self._noise(self.settings.batch_size, seed, NOISE, step) for seed in self.seeds]), 1)

    def _noise(self, count: int, seed: int, *place: int) -> Tensor:
        return torch.randn(count, self.settings.latent_dim, generator=random_numbers(self.device, seed, *place), device=self.device)

    def descend(self, loss: Tensor, optimiser: Any, parameters: Iterable[Tensor]) -> None:
        """One step of ``optimiser`` on the ``parameters`` that it has."""
        parameters = list(parameters)
        optimiser.zero_grad()
        self.manual_backward(loss)
        average_gradients(parameters)
        if self.settings.clip_grad_norm is not None:
            self.clip(parameters, self.settings.clip_grad_norm)
        optimiser.step()

    def clip(self, parameters: list[Tensor], bound: float) -> None:
        """Scale gradients so that the norm of all together is at most ``bound``."""
        nn.utils.clip_grad_norm_(parameters, bound)

    def final_pictures(self) -> np.ndarray:
        """What the generator makes of the fixed noise, uint8 ``[R, n, channels, height, width]``."""
        return to_bytes(self.generate(self.fixed_noise), self.pixel_range).cpu().numpy()

    def show(self, step: int) -> None:
        """Write the grid of the first replica's pictures."""
        if self.settings.pictures:
            folder = Path(self.trainer.default_root_dir, "pictures")
            image_figures.grid(folder / f"samples_{step:07d}.png", self.final_pictures()[0])

    def samples(self, replica: int) -> dict[str, np.ndarray]:
        return {"images": self.final_pictures()[replica], "noise": self.fixed_noise[replica].cpu().numpy()}

    def draw(self, folder: Path, metrics: MetricHistory, title: str) -> list[Path]:
        """Curves, and of the grids the last and some on the way."""
        if not self.settings.pictures:
            return []
        known = [name for name in self.curves if np.isfinite(metrics.values.get(name, [[np.nan]])).any()]
        drawn = [image_figures.curve(folder / f"{name}.png", metrics, name, title) for name in known]
        grids = [path for step in metrics.steps if (path := folder / f"samples_{step:07d}.png").exists()]
        chosen = np.unique(np.linspace(0, len(grids) - 1, min(len(grids), 6)).round().astype(int))
        return drawn + [grids[place] for place in chosen]


def random_numbers(device: torch.device, *place: int) -> torch.Generator:
    """A generator for what belongs to a seed, a stream and, it may be, a step."""
    (state,) = np.random.SeedSequence(place).generate_state(1, np.uint64)
    return torch.Generator(device).manual_seed(int(state >> np.uint64(1)))


@contextmanager
def seeded(*place: int) -> Any:
    """torch's global random numbers inside are those of ``place``; outside they are as before."""
    with torch.random.fork_rng(devices=[]):
        torch.set_rng_state(random_numbers(torch.device("cpu"), *place).get_state())
        yield
