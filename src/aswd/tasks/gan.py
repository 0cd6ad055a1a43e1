"""The sliced GAN: a generator that descends a distance between features of real and generated images (section 4.2 of the paper)."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus
from torch.nn.parallel import DistributedDataParallel

from aswd.data.images import ImageData
from aswd.distances import CosinePenalty
from aswd.metrics.fid import FrechetInceptionDistance, Inception, MissingWeights
from aswd.nets.dcgan import SIZE, Features, Generator, Head
from aswd.nets.parallel import average_gradients, gather, total, world_size
from aswd.tasks.batches import as_images, to_bytes
from aswd.tasks.configs import GanConfig
from aswd.tasks.frechet import FrechetEvaluation
from aswd.tasks.generative import FIXED_NOISE, NETWORKS, GenerativeTask, check_fits
from aswd.tasks.image_task import seeded


class Gan(GenerativeTask):
    r"""The generator G minimises :math:`D(h(x), h(G(z)))`, features h and head maximise the usual log-likelihood,

    .. math:: E \log \sigma(\mathrm{head}(h(x))) + E \log (1 - \sigma(\mathrm{head}(h(G(z))))).

    One iteration: with G(z) computed once, h and head take their step on real images, then theirs on generated ones (or one step on
    both); then the features of both are computed **again**, with h as it now is, and G takes its step. The released code takes G's
    gradient through features from before and between the steps on h, which current versions of torch refuse, for h has changed
    under them. ``global_step`` counts the steps of G.

    Convolutions follow the trainer's precision; the distance is always computed in float32.

    Metrics: ``distance_value``, ``loss_real`` and ``loss_fake`` of the last step; ``learned_norm``, of what D has learned; ``fid``, against
    the train split of a data module of ours, else against the validation batches.

    Args:
        distance: D.
        seeds: a single one.
        options: see :class:`~aswd.tasks.configs.GanConfig`.
    """

    config_class = GanConfig
    optimises_manually = True
    curves = ("fid", "distance_value", "loss_real", "loss_fake")

    def __init__(self, distance: Any, *, seeds: Sequence[int] = (0,), **options: Any) -> None:
        super().__init__(distance, seeds=seeds, **options)
        self.automatic_optimization = False
        c = self.config
        with seeded(self.seeds[0], NETWORKS):
            self.features, self.head = Features(c.width), Head(c.width)
            self.generator = Generator(c.latent_dim, c.last_relu, c.width)
        if c.compile:
            for network in (self.features, self.head, self.generator):
                network.compile()
        inception = _find_inception(c)
        self._fid = None if inception is None else FrechetEvaluation(inception, FrechetInceptionDistance)
        self.headline = "distance_value" if self._fid is None else "fid"

    @classmethod
    def check(cls, config: GanConfig, data: Any, distance: nn.Module) -> None:
        size = getattr(data, "size", SIZE)
        _check_shape(getattr(data, "channels", 3), size, size)
        check_fits(distance, config.batch_size, 8 * config.width * 16)

    @classmethod
    def problem(cls, config: GanConfig, data: Any) -> tuple[int, int, int, int]:
        return 1, config.batch_size, config.batch_size, 8 * config.width * 16

    @classmethod
    def num_bytes(cls, config: GanConfig, data: Any, distance: nn.Module, seeds: int) -> int:
        """Also the convolutions of both networks with gradients and moments of Adam, and what one of them keeps of a batch."""
        weights = 16 * config.width * (2 * 42 * config.width + 8 * config.latent_dim)
        return super().num_bytes(config, data, distance, seeds) + 16 * weights + 4 * config.batch_size * 1920 * config.width

    @property
    def pixel_range(self) -> str:
        return self.config.pixel_range

    @property
    def evaluate_epochs(self) -> int:
        return self.config.evaluate_epochs

    def is_evaluated_besides(self, step: int) -> bool:
        """After the first step, or the first epoch where evaluations are counted in epochs."""
        return step == (self.trainer.num_training_batches if self.config.evaluate_every is None else 1)

    def make_networks(self, shape: tuple[int, ...]) -> None:
        """Check the shape: the networks, made already, are for one only."""
        _check_shape(*shape)

    def configure_optimizers(self) -> list[torch.optim.Optimizer]:
        return [self.adam(self.generator.parameters()), self.adam(self._discriminator())]

    def _discriminator(self) -> list[Tensor]:
        return [*self.features.parameters(), *self.head.parameters()]

    def on_train_start(self) -> None:
        if self.global_step == 0:
            self.pretrain()

    def pretrain(self) -> None:
        """Train the DSWD's push-forward on its penalty alone: between equal samples there is nothing else to maximise."""
        steps, former = self.config.pretraining_steps, getattr(self.distance, "maximiser", None)
        if steps and isinstance(getattr(self.distance, "penalty", None), CosinePenalty):
            self.distance.maximiser = replace(former, steps=steps)
            zeros = torch.zeros(1, 1, 8 * self.config.width * 16, device=self.device)
            self.distance(zeros, zeros)
            self.distance.maximiser = former

    def training_step(self, batch: Any, batch_idx: int) -> None:
        step = self.global_step
        # The discriminator's optimiser as it is: Lightning would count its steps, too.
        generator_adam, discriminator_adam = self.optimizers()[0], self.optimizers(use_pl_optimizer=False)[1]
        real = as_images(batch, 1, self.pixel_range)[0].to(self.dtype)
        fake = self.generator(self.noise(step, len(real))[0])
        losses = self._discriminate(real, fake.detach(), discriminator_adam)
        self.features.requires_grad_(False)  # its gradient is not needed
        value = self.distance(self._gather_features(real), self._gather_features(fake))
        self.watch(value, step + 1)
        self._descend(value.sum(), generator_adam, self.generator.parameters())
        self.features.requires_grad_(True)
        self._values = {**losses, "distance_value": value.detach()}

    def _discriminate(self, real: Tensor, fake: Tensor, optimiser: torch.optim.Optimizer) -> dict[str, Tensor]:
        """Steps of h and head: -log sigma(a) = softplus(-a), and -log(1 - sigma(a)) = softplus(a)."""
        losses = {}
        for name, images, sign in (("loss_real", real, -1), ("loss_fake", fake, 1)):
            losses[name] = softplus(sign * self.head(self.features(images)).float()).mean()
            if self.config.discriminator_steps == "separate":
                self._descend(losses[name], optimiser, self._discriminator())
        if self.config.discriminator_steps == "joint":
            self._descend(losses["loss_real"] + losses["loss_fake"], optimiser, self._discriminator())
        return {name: total(loss.detach()[None]) / world_size() for name, loss in losses.items()}

    def _descend(self, loss: Tensor, optimiser: Any, parameters: Iterable[Tensor]) -> None:
        """One step of ``optimiser`` on the ``parameters`` that it has."""
        parameters = list(parameters)
        optimiser.zero_grad()
        # DDP's hooks expect one backward pass through all parameters; here are three, through some each.
        model = self.trainer.model
        with model.no_sync() if isinstance(model, DistributedDataParallel) else nullcontext():
            self.manual_backward(loss)
        average_gradients(parameters)
        if self.config.clip_grad_norm is not None:
            nn.utils.clip_grad_norm_(parameters, self.config.clip_grad_norm)
        optimiser.step()

    def _gather_features(self, images: Tensor) -> Tensor:
        """Features of the whole batch, ``[1, N, d]`` in float32."""
        return gather(self.features(images).float())[None]

    @torch.no_grad()
    def generate(self, noise: Tensor) -> Tensor:
        training = self.generator.training
        self.generator.eval()
        parts = [self.generator(part) for part in noise[0].split(self.config.batch_size)]
        self.generator.train(training)
        return torch.cat(parts)[None]

    def setup(self, stage: str) -> None:
        super().setup(stage)
        if self._fid is not None:
            self._fid.real = None  # the data may be others

    def add_validation_batch(self, images: Tensor, labels: Tensor | None) -> None:
        if self._fid is not None and not isinstance(self.trainer.datamodule, ImageData):
            self._fid.add_real(to_bytes(images, "unit"))

    def evaluate(self) -> dict[str, Tensor]:
        self.save_grid()
        metrics = self.training_metrics()
        if self._fid is None:
            return metrics
        data = self.trainer.datamodule
        if isinstance(data, ImageData):
            self._fid.use_train_split(data, self.config.fid_cache_dir, str(self.device))
        else:
            self._fid.finish_real(data)
        value = self._fid.distance(self._fid_samples())
        self.details = {"fid_details": self._fid.details}
        return {**metrics, "fid": value[None]}

    def _fid_samples(self) -> Iterator[Tensor]:
        """Batches of ``num_fid_samples`` generated images, uint8 ``[n, 3, 64, 64]``, from the same noise every time."""
        c = self.config
        for start in range(0, c.num_fid_samples, c.batch_size):
            noise = self.draw_noise(min(c.batch_size, c.num_fid_samples - start), self.seeds[0], FIXED_NOISE, 1, start)
            yield to_bytes(self.generate(noise[None])[0], self.pixel_range)


def _find_inception(config: GanConfig) -> Inception | None:
    """The network of FID; ``None`` where FID is off, or is ``auto`` and there is no GPU or no weights."""
    if config.fid == "false" or (config.fid == "auto" and not torch.cuda.is_available()):
        return None
    try:
        return Inception(config.fid_weights)
    except MissingWeights as error:
        if config.fid == "true":
            raise
        print(f"aswd: no FID in this run: {error}", file=sys.stderr)
        return None


def _check_shape(channels: int, height: int, width: int) -> None:
    if (channels, height, width) != (3, SIZE, SIZE):
        kind = {1: "grey", 3: "colour"}.get(channels, f"{channels}-channel")
        raise ValueError(f"data must be colour images of {SIZE} x {SIZE} pixels for task=gan; got {kind} ones of {height} x {width}")
