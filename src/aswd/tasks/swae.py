"""The sliced Wasserstein autoencoder: a code that a distance holds to a prior (an appendix of the paper, after Kolouri et al. 2019)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from aswd.data.priors import draw_prior
from aswd.metrics import ExactWasserstein
from aswd.nets.autoencoder import Decoder, Encoder, check_size
from aswd.nets.parallel import gather
from aswd.tasks import swae_figures
from aswd.tasks.base import exact_bytes
from aswd.tasks.batches import as_images, from_bytes, to_bytes
from aswd.tasks.configs import SwaeConfig
from aswd.tasks.frechet import FrechetEvaluation, find_digit_features
from aswd.tasks.image_task import ImageTask
from aswd.utils.metric_history import MetricHistory

_NETWORKS, _PRIOR, _HELD_OUT = 7, 8, 9  # streams of the random numbers of a seed
_CHUNK = 500  # codes decoded at a time
_NUM_PAIRS = 4 * swae_figures.COLUMNS  # originals drawn beside their reconstructions


class Swae(ImageTask):
    r"""Encoder :math:`\phi` and decoder :math:`\psi` descend, by RMSprop,

    .. math:: \mathrm{BCE}(\psi(\phi(x)), x) + L_1(\psi(\phi(x)), x) + w\, D^q(\phi(x), z), \quad z \sim p_z

    for a batch x of grey images in [0, 1] and as many points z of the prior. BCE (in nats) and L1 are means over pixels and images. The
    paper's equation has w = 1 and q = 1, the public code w = 10 and q = 2. That code also gives the *normalised* images to the
    cross-entropy as the target of the reconstruction, which torch refuses by now; here only the encoder sees them normalised.

    Metrics, on the validation images: ``w2``, the exact :math:`W_2` between their codes and the prior; ``bce`` and ``l1``;
    ``mnist_frechet``, the Frechet distance on features of a network for digits, between them and decoded samples of the prior;
    ``distance_value``, D at the last step; ``learned_norm``, of what D has learned.

    Args:
        distance: D.
        seeds: a single one.
        options: see :class:`~aswd.tasks.configs.SwaeConfig`.
    """

    config_class = SwaeConfig
    headline = "w2"

    def __init__(self, distance: Any, *, seeds: Sequence[int] = (0,), **options: Any) -> None:
        super().__init__(distance, seeds=seeds, **options)
        (self.seed,) = self.seeds
        self.encoder: Encoder | None = None
        self.decoder: Decoder | None = None
        self.exact = ExactWasserstein(sync_on_compute=False)  # one process alone evaluates
        self.shown: dict[str, Tensor] = {}  # codes, labels and originals of the last evaluation, on the host
        self._seen: dict[str, list[Tensor]] = {}  # of the validation batches of an evaluation
        self._frechet: FrechetEvaluation | None = None
        self._value: Tensor | None = None

    @classmethod
    def check(cls, config: SwaeConfig, data: Any, distance: nn.Module) -> None:
        """Grey images of a size that the networks have, enough of them for a batch, and no power of a power."""
        channels = getattr(data, "channels", 1)
        if channels != 1:
            raise ValueError(f"data must be grey images for task=swae; got {data.name}, which has {channels} channels")
        try:
            check_size(data.size)
        except ValueError as error:
            raise ValueError(f"data.{error}") from None
        if config.squared and not getattr(distance, "root", True):
            raise ValueError("task.squared must be false with distance.root=false, which gives the power of the distance already; got true")

    @classmethod
    def problem(cls, config: SwaeConfig, data: Any) -> tuple[int, int, int, int]:
        return 1, config.batch_size, config.batch_size, config.latent_dim

    @classmethod
    def num_bytes(cls, config: SwaeConfig, data: Any, distance: nn.Module, seeds: int) -> int:
        """Also an exact W2."""
        count = min(config.num_w2_samples, getattr(data, "num_test", None) or config.num_w2_samples)
        return super().num_bytes(config, data, distance, seeds) + exact_bytes(count, count)

    def make_networks(self, shape: tuple[int, ...]) -> None:
        channels, height, width = shape
        if channels != 1 or height != width:
            raise ValueError(f"images must be grey and square for the autoencoder; got {channels} channels of {height} x {width}")
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(np.random.SeedSequence([self.seed, _NETWORKS]).generate_state(1)[0]))
            self.encoder = Encoder(width, self.config.latent_dim).to(self.device)
            self.decoder = Decoder(width, self.config.latent_dim).to(self.device)

    def setup(self, stage: str) -> None:
        super().setup(stage)
        evaluates, option = self.trainer.is_global_zero, self.config.mnist_frechet
        features = find_digit_features(option, self.trainer.datamodule, self.shape[0]) if evaluates else None
        self._frechet = None if features is None else FrechetEvaluation(features)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        parameters = [*self.encoder.parameters(), *self.decoder.parameters()]
        return torch.optim.RMSprop(parameters, lr=self.config.lr, alpha=self.config.alpha)

    def training_step(self, batch: Any, batch_idx: int) -> Tensor:
        c, step = self.config, self.global_step
        pixels = as_images(batch, 1)[0]
        code = self.encode(pixels)
        self.watch(code[None], step + 1)  # before the distance, which refuses what is not finite
        codes = gather(code)
        prior = draw_prior(c.prior, len(codes), c.latent_dim, (self.seed, _PRIOR, step), self.device)
        value = self.distance(codes[None], prior[None])
        bce, l1 = reconstruction_errors(self.logits(code), pixels)
        loss = c.bce_weight * bce + c.l1_weight * l1 + c.distance_weight * (value.square() if c.squared else value)
        self.watch(loss, step + 1)
        self._value = value.detach()
        return loss.sum()

    def encode(self, pixels: Tensor) -> Tensor:
        """Codes ``[n, latent_dim]`` in float32 of images in [0, 1]."""
        mean, deviation = self.config.normalise
        return self.encoder(((pixels - mean) / deviation).to(self.dtype)).float()

    def logits(self, code: Tensor) -> Tensor:
        """Decoded images before the sigmoid, in float32."""
        return self.decoder.logits(code.to(self.dtype)).float()

    def on_validation_epoch_start(self) -> None:
        self._seen = {"codes": [], "labels": [], "images": [], "errors": []}

    def add_validation_batch(self, images: Tensor, labels: Tensor | None) -> None:
        codes, seen = self.encode(images), self._seen
        errors = torch.stack(reconstruction_errors(self.logits(codes), images)).double()
        seen["codes"].append(codes)
        seen["errors"].append(len(images) * errors)
        seen["images"].append(to_bytes(images, "unit").cpu())
        if labels is not None:
            seen["labels"].append(labels.cpu())
        if self._frechet is not None:
            self._frechet.add_real(to_bytes(images, "unit"))

    def evaluate(self) -> dict[str, Tensor]:
        c, seen = self.config, {name: torch.cat(parts) for name, parts in self._seen.items() if parts and name != "errors"}
        total, count = len(seen["codes"]), min(c.num_w2_samples, len(seen["codes"]))
        errors = torch.stack(self._seen["errors"]).sum(0) / total
        # Spread over the whole split, whose halves may differ, as those of MNIST do.
        chosen = torch.arange(count) * total // count
        codes = seen["codes"].cpu()[chosen]
        self.watch(codes[None].to(self.device), self.global_step)
        self.stop_if_diverged()
        self.shown = {"codes": codes, "originals": seen["images"][chosen[:_NUM_PAIRS], 0]}
        if "labels" in seen:
            self.shown["labels"] = seen["labels"][chosen]
        prior = self._held_out()
        self.exact.reset()
        self.exact.update(codes[None], prior[None])
        metrics = {"w2": self.exact.compute().reshape(1), "bce": errors[:1], "l1": errors[1:]}
        if self._frechet is not None:
            self._frechet.finish_real(self.trainer.datamodule)
            metrics["mnist_frechet"] = self._frechet.distance([self._decode(prior)])[None]
            self.details = {"mnist_frechet_details": self._frechet.details}
        if self._value is not None:
            metrics["distance_value"] = self._value
        norm = self.learned_norm()
        return metrics if norm is None else {**metrics, "learned_norm": norm}

    def _held_out(self) -> Tensor:
        """Points of the prior that the codes of the last evaluation are compared with, on the host."""
        count = len(self.shown["codes"]) if self.shown else self.config.num_w2_samples
        return draw_prior(self.config.prior, count, self.config.latent_dim, (self.seed, _HELD_OUT))

    @torch.no_grad()
    def _decode(self, codes: Tensor) -> Tensor:
        """Images of codes, uint8 ``[n, 1, size, size]``."""
        return torch.cat([to_bytes(self.decoder(part.to(self.device, self.dtype)), "unit") for part in codes.split(_CHUNK)])

    def decode(self, codes: Tensor) -> np.ndarray:
        """Images of codes, uint8 ``[n, size, size]``."""
        return self._decode(codes)[:, 0].cpu().numpy()

    def samples(self, replica: int) -> dict[str, np.ndarray]:
        """Validation codes of the last evaluation with their labels, the held-out prior, decoded points of the prior and of a square."""
        c, prior = self.config, self._held_out()
        drawn = draw_prior(c.prior, swae_figures.COLUMNS**2, c.latent_dim, (self.seed, _HELD_OUT, 1))
        walk = torch.from_numpy(swae_figures.square(prior.numpy()))
        shown = {name: self.shown[name].numpy() for name in ("codes", "labels") if name in self.shown}
        return {**shown, "prior": prior.numpy(), "decoded": self.decode(drawn), "walk": self.decode(walk)}

    @torch.no_grad()
    def draw(self, folder: Path, metrics: MetricHistory, title: str) -> list[Path]:
        if not self.config.images:
            return []
        kept, originals = self.samples(0), self.shown["originals"]
        decoded = self.decode(self.encode(from_bytes(originals[:, None].to(self.device), "unit")))
        return [
            swae_figures.curves(folder / "curves.png", metrics, title),
            swae_figures.latent(folder / "latent.png", kept["codes"], kept.get("labels"), kept["prior"], title),
            swae_figures.pairs(folder / "reconstructions.png", originals.numpy(), decoded),
            swae_figures.sheet(folder / "decoded.png", kept["decoded"]),
            swae_figures.sheet(folder / "walk.png", kept["walk"], columns=swae_figures.WALK),
        ]

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        super().on_save_checkpoint(checkpoint)
        checkpoint["shown"] = self.shown

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        super().on_load_checkpoint(checkpoint)
        self.shown = checkpoint["shown"]


def reconstruction_errors(logits: Tensor, pixels: Tensor) -> tuple[Tensor, Tensor]:
    """Binary cross-entropy, in nats, and absolute error of images given by their ``logits``, both means over pixels and images."""
    return functional.binary_cross_entropy_with_logits(logits, pixels), functional.l1_loss(torch.sigmoid(logits), pixels)
