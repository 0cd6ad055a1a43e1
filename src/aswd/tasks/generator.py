"""A generator that descends a distance on the pixels of MNIST, without a discriminator (the paper's appendix on MNIST)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from aswd.data.images import ImageData
from aswd.distances import build
from aswd.metrics import exact_wasserstein
from aswd.nets.mlp import MLPGenerator
from aswd.tasks.configs import GeneratorConfig
from aswd.tasks.generative import (
    FIXED_NOISE,
    NETWORKS,
    GenerativeTask,
    check_fits,
    common_defaults,
    inner_loop,
    random_numbers,
)
from aswd.tasks.parallel import gathered
from aswd.tasks.pixels import from_bytes

_TEST, _SLICES = 7, 8  # streams of a seed: which test pictures are compared with, and along which directions
NUM_W2_SAMPLES = 2000


class PixelGenerator(GenerativeTask):
    r"""A perceptron G minimises :math:`D(x, G(z))` between pictures x in [0, 1] and what it makes of noise z.

    Seeds are one batch of replicas, each with weights, noise and an order of pictures of its own.

    Metrics: ``w2``, the exact :math:`W_2` (not its square), and ``swd``, :math:`(\tfrac1L \sum_l W_2^2)^{1/2}` with means over the
    samples, both between generated and test pictures. The published curves show :math:`W_2^2`, and an SWD that is summed over 10 000
    samples, 100 times this one.

    Args:
        settings: see :class:`GeneratorConfig`.
        data: pictures.
        distance: D.
        seeds: one a replica.
    """

    headline = "w2"
    logarithmic = False
    batches_seeds = True
    pixel_range = "unit"
    curves = ("w2", "swd", "distance_value")

    def __init__(self, settings: GeneratorConfig, data: ImageData, distance: nn.Module, seeds: Sequence[int]) -> None:
        super().__init__(settings, data, distance, seeds)
        s, self.shape = settings, self.images.shape[1:]
        streams = [random_numbers(torch.device("cpu"), seed, NETWORKS) for seed in seeds]
        self.generator = MLPGenerator(streams, s.latent_dim, s.hidden, self.shape.numel(), s.output)
        if s.compile:
            self.generator.compile()
        test = data.images("test")
        count = min(NUM_W2_SAMPLES, len(test)) if s.num_w2_samples is None else s.num_w2_samples
        if count > len(test):
            raise ValueError(f"task.num_w2_samples must be at most the number of test pictures, {len(test)}; got {count}")
        chosen = [np.random.default_rng([seed, _TEST]).permutation(len(test))[:count] for seed in seeds]
        self.register_buffer("test_images", test[torch.from_numpy(np.stack(chosen))].flatten(2), persistent=False)
        slices = [int(np.random.SeedSequence([seed, _SLICES]).generate_state(1)[0]) for seed in seeds]
        self._swd = {"num_projections": s.num_swd_projections, "seed": slices}
        self._values: Tensor | None = None

    @classmethod
    def distance_defaults(cls, name: str, reading: str) -> dict[str, Any]:
        """Those of the DSWD's code: M = 10, lambda = 1 for the DSWD, a radius of 1000. The ASWD's M and lambda are given nowhere: the
        inner loop is that of the GAN but for M, and lambda that of the distance itself.
        """
        return common_defaults(name, steps=10) | ({"penalty": 1.0} if inner_loop(name) == "f" else {})

    @classmethod
    def check(cls, settings: GeneratorConfig, data: Any, distance: nn.Module) -> None:
        size = getattr(data, "size", 28)
        check_fits(distance, settings.batch_size, getattr(data, "channels", 1) * size * size)

    def is_due(self, step: int) -> bool:
        return step == 1 or step % self.settings.evaluate_every == 0

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return self.adam(self.generator.parameters())

    def training_step(self, *_: Any) -> None:
        step = self.global_step
        real = from_bytes(self.real(step).flatten(2), self.pixel_range)
        fake = self.generator(self.noise(step)).float()
        values = self.distance(gathered(real, 1), gathered(fake, 1))
        self.watch(values, step + 1)
        self.descend(values.sum(), self.optimizers(), self.generator.parameters())
        self._values = values.detach()

    def clip(self, parameters: list[Tensor], bound: float) -> None:
        """Of every replica for itself."""
        norms = torch.stack([p.grad.flatten(1).square().sum(1) for p in parameters]).sum(0).sqrt()
        for parameter in parameters:
            parameter.grad *= (bound / norms.clamp_min(bound)).view(-1, 1, 1)

    @torch.no_grad()
    def generate(self, noise: Tensor) -> Tensor:
        return self.generator(noise).unflatten(2, self.shape)

    def evaluate(self) -> dict[str, Tensor]:
        self.stop_if_diverged()
        self.show(self.global_step)
        count = self.test_images.shape[1]
        noise = torch.stack([self._noise(count, seed, FIXED_NOISE, 1) for seed in self.seeds])
        fake, real = self.generate(noise).flatten(2), from_bytes(self.test_images, self.pixel_range)
        # A distance of its own, begun anew: the same directions at every evaluation.
        found = {"w2": exact_wasserstein(fake, real), "swd": build("swd", **self._swd)(fake, real), "distance_value": self._values}
        norm = self.learned_norm()
        return found if norm is None else {**found, "learned_norm": norm}
