"""The sliced Wasserstein autoencoder: a code that a distance holds to a prior (an appendix of the paper, after Kolouri et al. 2019)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from aswd.data.images import ImageData, Order
from aswd.data.priors import draw_prior
from aswd.distances import options
from aswd.metrics import ExactWasserstein
from aswd.nets.autoencoder import Decoder, Encoder, check_size
from aswd.tasks import swae_figures
from aswd.tasks.base import Task
from aswd.tasks.configs import SwaeConfig
from aswd.tasks.flow import held_down_defaults
from aswd.tasks.pixels import from_bytes, to_bytes
from aswd.utils.metric_history import MetricHistory

_NETWORKS, _PRIOR, _HELD_OUT = 7, 8, 9  # streams of the random numbers of a seed
_AT_ONCE = 500  # pictures, where all of a split are looked at


class Swae(Task):
    r"""Encoder :math:`\phi` and decoder :math:`\psi` descend, by RMSprop,

    .. math:: \mathrm{BCE}(\psi(\phi(x)), x) + L_1(\psi(\phi(x)), x) + w\, D^q(\phi(x), z), \quad z \sim p_z

    for a batch x of pictures in [0, 1] and as many points z of the prior. BCE (in nats) and L1 are means over pixels and pictures. The
    paper's equation has w = 1 and q = 1, the public code w = 10 and q = 2. That code also hands the *normalised* pictures to the
    cross-entropy as what is to be reconstructed, which torch refuses by now; here only the encoder sees them normalised.

    Args:
        settings: see :class:`SwaeConfig`.
        data: grey pictures.
        distance: D.
        seeds: one.
    """

    headline = "w2"
    logarithmic = False
    data_kind = "images"

    def __init__(self, settings: SwaeConfig, data: ImageData, distance: nn.Module, seeds: Sequence[int]) -> None:
        super().__init__(distance, seeds)
        self.settings, (self.seed,) = settings, seeds
        images, test = data.images("train"), data.images("test")
        self.order = Order(len(images), settings.batch_size, self.seed)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(np.random.SeedSequence([self.seed, _NETWORKS]).generate_state(1)[0]))
            self.encoder = Encoder(images.shape[-1], settings.latent_dim)
            self.decoder = Decoder(images.shape[-1], settings.latent_dim)
        self.register_buffer("images", images, persistent=False)
        self.register_buffer("test", test, persistent=False)
        # Spread over the whole split, whose halves may differ, as those of MNIST do.
        count = min(settings.num_w2_samples, len(test))
        self.register_buffer("looked_at", torch.arange(count) * len(test) // count, persistent=False)
        held_out = draw_prior(settings.prior, count, settings.latent_dim, (self.seed, _HELD_OUT))
        self.register_buffer("held_out", held_out, persistent=False)
        labels = data.labels("test")
        self.labels = None if labels is None else labels[self.looked_at].numpy()
        self.exact = ExactWasserstein()
        self._value: Tensor | None = None

    @classmethod
    def reading_defaults(cls, reading: str, data: str) -> dict[str, Any]:
        """Weight and power of the distance: the usual public code's, or those of the paper's equation."""
        return {"distance_weight": 10.0, "squared": True} if reading == "reference" else {"distance_weight": 1.0, "squared": False}

    @classmethod
    def distance_defaults(cls, name: str, reading: str) -> dict[str, Any]:
        """50 projections, as the public code has them; inner loops, which are given nowhere for this task, are the flow's for distances
        that do not go to zero: codes must differ from digit to digit, whatever the prior.
        """
        projections = {"num_projections": 50} if "num_projections" in options(name) else {}
        return projections | held_down_defaults(name, reading)

    @classmethod
    def check(cls, settings: SwaeConfig, data: Any, distance: nn.Module) -> None:
        """Grey pictures of a size that the networks have, enough of them for a batch, and no power of a power."""
        channels, count = getattr(data, "channels", 1), getattr(data, "num_train", None)
        if channels != 1:
            raise ValueError(f"data must be grey pictures for task=swae; got {data.name}, which has {channels} channels")
        try:
            check_size(data.size)
        except ValueError as error:
            raise ValueError(f"data.{error}") from None
        if count is not None and settings.batch_size > count:
            raise ValueError(f"task.batch_size must be at most the number of pictures, {count}; got {settings.batch_size}")
        if settings.squared and not getattr(distance, "root", True):
            raise ValueError("task.squared must be false with distance.root=false, which gives the power of the distance already; got true")

    @property
    def num_steps(self) -> int:
        return self.settings.iterations or self.settings.epochs * self.order.steps_per_epoch

    def is_due(self, step: int) -> bool:
        return step == 1 or step % (self.settings.evaluate_every or self.order.steps_per_epoch) == 0

    def configure_optimizers(self) -> torch.optim.Optimizer:
        parameters = [*self.encoder.parameters(), *self.decoder.parameters()]
        return torch.optim.RMSprop(parameters, lr=self.settings.lr, alpha=self.settings.alpha)

    def training_step(self, *_: Any) -> Tensor:
        s, step = self.settings, self.global_step
        pixels = from_bytes(self.images[self.order.batch(step).to(self.device)], "unit")
        code = self.encode(pixels)
        self.watch(code[None], step + 1)  # before the distance, which refuses what is not finite
        prior = draw_prior(s.prior, s.batch_size, s.latent_dim, (self.seed, _PRIOR, step), self.device)
        value = self.distance(code[None], prior[None])
        bce, l1 = reconstruction(self.decoder.logits(code), pixels)
        loss = s.bce_weight * bce + s.l1_weight * l1 + s.distance_weight * (value.square() if s.squared else value)
        self.watch(loss, step + 1)
        self._value = value.detach()
        return loss.sum()

    def encode(self, pixels: Tensor) -> Tensor:
        """Codes ``[n, latent_dim]`` of pictures in [0, 1]."""
        mean, deviation = self.settings.normalise
        return self.encoder((pixels - mean) / deviation)

    @torch.no_grad()
    def evaluate(self) -> dict[str, Tensor]:
        self.stop_if_diverged()
        codes, errors = [], torch.zeros(2, dtype=torch.float64, device=self.device)
        for part in self.test.split(_AT_ONCE):
            pixels = from_bytes(part, "unit")
            codes.append(self.encode(pixels))
            errors += len(part) / len(self.test) * torch.stack(reconstruction(self.decoder.logits(codes[-1]), pixels))
        looked_at = torch.cat(codes)[self.looked_at]
        self.watch(looked_at[None], self.global_step)
        self.stop_if_diverged()
        self.exact.reset()
        self.exact.update(looked_at[None], self.held_out[None])
        found = {"w2": self.exact.compute().reshape(1), "bce": errors[:1], "l1": errors[1:], "distance_value": self._value}
        norm = self.learned_norm()
        return found if norm is None else {**found, "learned_norm": norm}

    @torch.no_grad()
    def decode(self, codes: Tensor) -> np.ndarray:
        """Pictures of codes, uint8 ``[n, size, size]``."""
        parts = [to_bytes(self.decoder(part.to(self.device)), "unit") for part in codes.split(_AT_ONCE)]
        return torch.cat(parts)[:, 0].cpu().numpy()

    @torch.no_grad()
    def samples(self, replica: int) -> dict[str, np.ndarray]:
        """Test codes with their labels, the held-out prior, pictures of points of the prior, and those of a square of codes."""
        s, shown = self.settings, swae_figures.COLUMNS**2
        codes = torch.cat([self.encode(from_bytes(self.test[part], "unit")) for part in self.looked_at.split(_AT_ONCE)]).cpu().numpy()
        drawn = draw_prior(s.prior, shown, s.latent_dim, (self.seed, _HELD_OUT, 1))
        walk = swae_figures.square(self.held_out.cpu().numpy())
        kept = {
            "codes": codes,
            "prior": self.held_out.cpu().numpy(),
            "decoded": self.decode(drawn),
            "walk": self.decode(torch.from_numpy(walk)),
        }
        return kept if self.labels is None else {**kept, "labels": self.labels}

    def draw(self, folder: Path, metrics: MetricHistory, title: str) -> list[Path]:
        if not self.settings.pictures:
            return []
        kept = self.samples(0)
        originals = self.test[self.looked_at[: 4 * swae_figures.COLUMNS]]
        with torch.no_grad():
            again = self.decode(self.encode(from_bytes(originals, "unit")))
        return [
            swae_figures.curves(folder / "curves.png", metrics, title),
            swae_figures.latent(folder / "latent.png", kept["codes"], kept.get("labels"), kept["prior"], title),
            swae_figures.pairs(folder / "reconstructions.png", originals[:, 0].cpu().numpy(), again),
            swae_figures.sheet(folder / "decoded.png", kept["decoded"]),
            swae_figures.sheet(folder / "walk.png", kept["walk"], columns=swae_figures.WALK),
        ]


def reconstruction(logits: Tensor, pixels: Tensor) -> tuple[Tensor, Tensor]:
    """Binary cross-entropy, in nats, and absolute error of pictures given by their ``logits``, both means over pixels and pictures."""
    return functional.binary_cross_entropy_with_logits(logits, pixels), functional.l1_loss(torch.sigmoid(logits), pixels)
