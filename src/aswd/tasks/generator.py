"""A generator that descends a distance on the pixels of MNIST, without a discriminator (the paper's appendix on MNIST)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from aswd.distances import build
from aswd.metrics import exact_wasserstein
from aswd.nets.mlp import MLPGenerator
from aswd.nets.parallel import gather
from aswd.tasks.base import exact_bytes
from aswd.tasks.batches import as_images, to_bytes
from aswd.tasks.configs import GeneratorConfig
from aswd.tasks.frechet import FrechetEvaluation, find_digit_features
from aswd.tasks.generative import FIXED_NOISE, NETWORKS, GenerativeTask, check_fits
from aswd.tasks.image_task import random_numbers

_TEST, _SLICES = 7, 8  # streams of the random numbers of a seed: which test images, and along which directions


class PixelGenerator(GenerativeTask):
    r"""A perceptron G minimises :math:`D(x, G(z))` between images x in [0, 1] and its images of noise z.

    Seeds are one batch of replicas, each with its own weights, noise and, from a data module of ours, order of images.

    Metrics: ``w2``, the exact :math:`W_2` (not its square), and ``swd``, :math:`(\tfrac1L \sum_l W_2^2)^{1/2}` with means over the
    samples, both between generated and validation images. The published curves show :math:`W_2^2`, and an SWD that is summed over 10 000
    samples, 100 times this one. ``mnist_frechet``, the Frechet distance on features of a network for digits, between the same generated
    images and all validation images. ``distance_value``, D at the last step; ``learned_norm``, of what D has learned.

    Args:
        distance: D.
        seeds: one per replica.
        options: see :class:`~aswd.tasks.configs.GeneratorConfig`.
    """

    config_class = GeneratorConfig
    headline = "w2"
    batches_seeds = True
    pixel_range = "unit"
    curves = ("w2", "swd", "mnist_frechet", "distance_value")

    def __init__(self, distance: Any, *, seeds: Sequence[int] = (0,), **options: Any) -> None:
        super().__init__(distance, seeds=seeds, **options)
        self.generator: MLPGenerator | None = None
        self._test: list[Tensor] = []  # of the validation batches of an evaluation
        self._frechet: FrechetEvaluation | None = None

    @classmethod
    def check(cls, config: GeneratorConfig, data: Any, distance: nn.Module) -> None:
        size, channels = getattr(data, "size", 28), getattr(data, "channels", 1)
        if config.mnist_frechet == "true" and channels != 1:
            raise ValueError(f"task.mnist_frechet must be false for images that are not grey; got true with data={data.name}")
        check_fits(distance, config.batch_size, channels * size * size)

    @classmethod
    def problem(cls, config: GeneratorConfig, data: Any) -> tuple[int, int, int, int]:
        return 1, config.batch_size, config.batch_size, getattr(data, "channels", 1) * getattr(data, "size", 28) ** 2

    @classmethod
    def num_bytes(cls, config: GeneratorConfig, data: Any, distance: nn.Module, seeds: int) -> int:
        """Also the perceptrons with gradients and moments of Adam, the exact W2 of a seed, and the directions of the SWD."""
        dim, hidden = cls.problem(config, data)[3], config.hidden
        weights = config.latent_dim * hidden + 10 * hidden**2 + 4 * hidden * dim
        count = min(config.num_w2_samples, getattr(data, "num_test", None) or config.num_w2_samples)
        own = seeds * (16 * weights + 4 * config.num_swd_projections * dim) + exact_bytes(count, count)
        return super().num_bytes(config, data, distance, seeds) + own

    def make_networks(self, shape: tuple[int, ...]) -> None:
        c = self.config
        streams = [random_numbers(torch.device("cpu"), seed, NETWORKS) for seed in self.seeds]
        self.generator = MLPGenerator(streams, c.latent_dim, c.hidden, int(np.prod(shape)), c.output).to(self.device)
        if c.compile:
            self.generator.compile()

    def setup(self, stage: str) -> None:
        super().setup(stage)
        evaluates, option = self.trainer.is_global_zero, self.config.mnist_frechet
        features = find_digit_features(option, self.trainer.datamodule, self.shape[0]) if evaluates else None
        self._frechet = None if features is None else FrechetEvaluation(features)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return self.adam(self.generator.parameters())

    def training_step(self, batch: Any, batch_idx: int) -> Tensor:
        step, real = self.global_step, as_images(batch, len(self.seeds), self.pixel_range).flatten(2)
        fake = self.generator(self.noise(step, real.shape[1])).float()
        values = self.distance(gather(real, 1), gather(fake, 1))
        self.watch(values, step + 1)
        self._values = {"distance_value": values.detach()}
        return values.sum()  # its gradient is, for each replica, that of its own distance

    def on_before_optimizer_step(self, optimizer: torch.optim.Optimizer) -> None:
        """Clip the gradient of every replica by itself."""
        bound = self.config.clip_grad_norm
        if bound is not None:
            parameters = list(self.generator.parameters())
            norms = torch.stack([p.grad.flatten(1).square().sum(1) for p in parameters]).sum(0).sqrt()
            for parameter in parameters:
                parameter.grad *= (bound / norms.clamp_min(bound)).view(-1, 1, 1)

    @torch.no_grad()
    def generate(self, noise: Tensor) -> Tensor:
        return self.generator(noise).float().unflatten(2, self.shape)

    def on_validation_epoch_start(self) -> None:
        self._test = []

    def add_validation_batch(self, images: Tensor, labels: Tensor | None) -> None:
        self._test.append(images)
        if self._frechet is not None:
            self._frechet.add_real(to_bytes(images, "unit"))

    def evaluate(self) -> dict[str, Tensor]:
        self.save_grid()
        test = torch.cat(self._test).flatten(1)
        self._test = []
        real = test[torch.from_numpy(self._choose(len(test))).to(test.device)]
        noise = torch.stack([self.draw_noise(real.shape[1], seed, FIXED_NOISE, 1) for seed in self.seeds])
        images = self.generate(noise)
        fake = images.flatten(2)
        slices = [int(np.random.SeedSequence([seed, _SLICES]).generate_state(1)[0]) for seed in self.seeds]
        swd = build("swd", num_projections=self.config.num_swd_projections, seed=slices)  # the same directions at every evaluation
        metrics = {"w2": exact_wasserstein(fake, real), "swd": swd(fake, real)}
        if self._frechet is not None:
            self._frechet.finish_real(self.trainer.datamodule)
            metrics["mnist_frechet"] = torch.stack([self._frechet.distance([to_bytes(part, "unit")]) for part in images])
            self.details = {"mnist_frechet_details": self._frechet.details}
        return {**metrics, **self.training_metrics()}

    def _choose(self, count: int) -> np.ndarray:
        """Indices of the test images that each replica is compared with, at most ``num_w2_samples``, ``[R, n]``."""
        chosen = [np.random.default_rng([seed, _TEST]).permutation(count)[: self.config.num_w2_samples] for seed in self.seeds]
        return np.stack(chosen)
