"""The sliced GAN: a generator that descends a distance between features of real and generated pictures (section 4.2 of the paper)."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from aswd.data.images import ImageData
from aswd.distances import CosinePenalty
from aswd.metrics.fid import FrechetInceptionDistance, Inception, MissingWeights
from aswd.metrics.reference import reference
from aswd.nets.dcgan import SIZE, Features, Generator, Head
from aswd.tasks.configs import GanConfig
from aswd.tasks.generative import FIXED_NOISE, NETWORKS, GenerativeTask, check_fits, common_defaults, inner_loop, seeded
from aswd.tasks.parallel import gathered, summed, world_size
from aswd.tasks.pixels import from_bytes, to_bytes

DISCRIMINATOR_STEPS = ("separate", "joint")


class Gan(GenerativeTask):
    r"""The generator G minimises :math:`D(h(x), h(G(z)))`, features h and head maximise the usual log-likelihood,

    .. math:: E \log \sigma(\mathrm{head}(h(x))) + E \log (1 - \sigma(\mathrm{head}(h(G(z))))).

    One iteration: with G(z) computed once, h and head take their step on real pictures, then theirs on generated ones (or one step on
    both); then the features of both are computed **again**, with h as it now is, and G takes its step. The released code takes G's
    gradient through features from before and between the steps on h, which current versions of torch refuse, for h has changed
    under them.

    Convolutions follow ``trainer.precision``; the distance is always computed in float32.

    Args:
        settings: see :class:`GanConfig`.
        data: colour pictures of 64 x 64.
        distance: D.
        seeds: a single one.
    """

    logarithmic = False
    curves = ("fid", "distance_value", "loss_real", "loss_fake")

    def __init__(self, settings: GanConfig, data: ImageData, distance: nn.Module, seeds: Sequence[int]) -> None:
        super().__init__(settings, data, distance, seeds)
        _check_pictures("data must be", *self.images.shape[1:])
        s = settings
        with seeded(self.seeds[0], NETWORKS):
            self.features, self.head = Features(s.width), Head(s.width)
            self.generator = Generator(s.latent_dim, s.last_relu, s.width)
        if s.compile:
            for network in (self.features, self.head, self.generator):
                network.compile()
        self._losses: dict[str, Tensor] = {}
        self._data, self._inception = data, _inception(settings)
        self._fid_record: dict[str, Any] = {}
        self.headline = "distance_value" if self._inception is None else "fid"

    @classmethod
    def distance_defaults(cls, name: str, reading: str) -> dict[str, Any]:
        """Those of the released GAN: M = 5, a lambda of 0.5 against sums over the samples where the text has 1.01, a radius of 1000."""
        given = common_defaults(name, steps=5)
        if name.startswith("aswd") and inner_loop(name) == "phi":
            given |= {"penalty": 0.5, "objective": "sum"} if reading == "reference" else {"penalty": 1.01}
        return given

    @classmethod
    def reading_defaults(cls, reading: str, data: str) -> dict[str, Any]:
        released, faces = reading == "reference", data == "celeba"
        return {
            "epochs": 100 if faces else 200,
            "evaluate_epochs": 5 if faces else 10,
            "latent_dim": 32 if released else 100,
            "last_relu": released,
            "pixel_range": "unit" if released else "symmetric",
        }

    @classmethod
    def check(cls, settings: GanConfig, data: Any, distance: nn.Module) -> None:
        size = getattr(data, "size", SIZE)
        _check_pictures("data must be", getattr(data, "channels", 3), size, size)
        check_fits(distance, settings.batch_size, 8 * settings.width * 16)

    @property
    def pixel_range(self) -> str:
        return self.settings.pixel_range

    def is_due(self, step: int) -> bool:
        if self.settings.evaluate_every is not None:
            return step == 1 or step % self.settings.evaluate_every == 0
        epoch, rest = divmod(step, self.steps_per_epoch)
        return rest == 0 and (epoch == 1 or epoch % self.settings.evaluate_epochs == 0)

    def configure_optimizers(self) -> list[torch.optim.Optimizer]:
        return [self.adam(self.generator.parameters()), self.adam(self._discriminator())]

    def _discriminator(self) -> list[Tensor]:
        return [*self.features.parameters(), *self.head.parameters()]

    def on_train_start(self) -> None:
        if self.global_step == 0:
            self.pretrain()

    def pretrain(self) -> None:
        """Train the DSWD's push-forward on its penalty alone: between equal samples there is nothing else to maximise."""
        steps, former = self.settings.pretraining_steps, getattr(self.distance, "maximiser", None)
        if steps and isinstance(getattr(self.distance, "penalty", None), CosinePenalty):
            self.distance.maximiser = replace(former, steps=steps)
            nothing = torch.zeros(1, 1, 8 * self.settings.width * 16, device=self.device)
            self.distance(nothing, nothing)
            self.distance.maximiser = former

    def training_step(self, *_: Any) -> None:
        step = self.global_step
        generator_adam, discriminator_adam = self.optimizers()[0], self.optimizers(use_pl_optimizer=False)[1]
        real = from_bytes(self.real(step)[0], self.settings.pixel_range)
        fake = self.generator(self.noise(step)[0])
        self._discriminate(real, fake.detach(), discriminator_adam)
        self.features.requires_grad_(False)  # its gradient would be thrown away
        value = self.distance(self._gathered_features(real), self._gathered_features(fake))
        self.watch(value, step + 1)
        self.descend(value.sum(), generator_adam, self.generator.parameters())
        self.features.requires_grad_(True)
        self._losses["distance_value"] = value.detach()

    def _discriminate(self, real: Tensor, fake: Tensor, optimiser: torch.optim.Optimizer) -> None:
        """Steps of h and head: -log sigma(a) = softplus(-a), and -log(1 - sigma(a)) = softplus(a)."""
        losses = {}
        for name, pictures, sign in (("loss_real", real, -1), ("loss_fake", fake, 1)):
            losses[name] = softplus(sign * self.head(self.features(pictures)).float()).mean()
            if self.settings.discriminator_steps == "separate":
                self.descend(losses[name], optimiser, self._discriminator())
        if self.settings.discriminator_steps == "joint":
            self.descend(losses["loss_real"] + losses["loss_fake"], optimiser, self._discriminator())
        self._losses = {name: summed(loss.detach()[None]) / world_size() for name, loss in losses.items()}

    def _gathered_features(self, pictures: Tensor) -> Tensor:
        """Features of the whole batch, ``[1, N, d]`` in float32."""
        return gathered(self.features(pictures).float())[None]

    @torch.no_grad()
    def generate(self, noise: Tensor) -> Tensor:
        self.generator.eval()
        parts = [self.generator(part) for part in noise[0].split(self.settings.batch_size)]
        self.generator.train()
        return torch.cat(parts)[None]

    def evaluate(self) -> dict[str, Tensor]:
        self.stop_if_diverged()
        self.show(self.global_step)
        found = dict(self._losses)
        norm = self.learned_norm()
        if norm is not None:
            found["learned_norm"] = norm
        if self._inception is not None:
            found["fid"] = self._fid()
        return found

    def _fid(self) -> Tensor:
        """FID of ``num_fid_samples`` pictures from the same noise every time, ``[1]``."""
        s = self.settings
        real = reference(self._data, self._inception, s.fid_cache_dir, device=str(self.device))
        metric = FrechetInceptionDistance(real, self._inception, sync_on_compute=False).to(self.device)  # one process alone evaluates
        for start in range(0, s.num_fid_samples, s.batch_size):
            noise = self._noise(min(s.batch_size, s.num_fid_samples - start), self.seeds[0], FIXED_NOISE, 1, start)
            metric.update(to_bytes(self.generate(noise[None])[0], self.pixel_range))
        value = metric.compute()[None]
        self._fid_record = metric.record()
        return value

    def record(self) -> dict[str, Any]:
        """How FID was taken."""
        return {"fid_taken": self._fid_record} if self._fid_record else {}


def _inception(settings: GanConfig) -> Inception | None:
    """The network of FID; ``None`` where there is to be no FID, or ``auto`` finds no weights, and then says so."""
    if settings.fid == "false" or (settings.fid == "auto" and not torch.cuda.is_available()):
        return None
    try:
        return Inception(settings.fid_weights)
    except MissingWeights as error:
        if settings.fid == "true":
            raise
        print(f"aswd: no FID in this run: {error}", file=sys.stderr)
        return None


def _check_pictures(what: str, channels: int, height: int, width: int) -> None:
    if (channels, height, width) != (3, SIZE, SIZE):
        kind = "grey" if channels == 1 else f"{channels}-channel"
        kind = "colour" if channels == 3 else kind
        raise ValueError(f"{what} colour pictures of {SIZE} x {SIZE} pixels for task=gan; got {kind} ones of {height} x {width}")
