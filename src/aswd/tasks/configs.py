"""Options of the tasks, with their types and defaults.

They stand apart from the tasks, which import Lightning: a configuration is checked without that.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from aswd.data.priors import check_prior
from aswd.nets.mlp import OUTPUTS
from aswd.tasks.mixtures import check_mixture, check_steps, mixtures
from aswd.tasks.pixels import PIXEL_RANGES
from aswd.utils.checks import check_at_least, check_choice
from aswd.utils.fields import neutral

SOURCES = ("normal", "uniform")
DISCRIMINATOR_STEPS = ("separate", "joint")
METHODS = ("alignment", "flow")


@dataclass
class ParticleConfig:
    """Options of such a task; the defaults are those of the released flow.

    Args:
        iterations: Adam steps of the particles.
        lr: Adam's learning rate.
        betas: Adam's decay rates.
        source: the law of the particles before the first step: ``normal``, N(0, I), or ``uniform`` on [-1, 1]^d.
        source_scale: factor on the source.
        num_particles: N; default: as many as the target has points.
        evaluate_every: metrics are computed at the first iteration and at every n-th.
        images: save images of the run when it is done.
    """

    name: str
    iterations: int = 2000
    lr: float = 0.002
    betas: list[float] = field(default_factory=lambda: [0.9, 0.999])
    source: str = "normal"
    source_scale: float = 1.0
    num_particles: int | None = None
    evaluate_every: int = 5
    images: bool = neutral(True)

    def __post_init__(self) -> None:
        check_at_least("iterations", self.iterations, 1, whole=True)
        if self.iterations > 10**9:
            raise ValueError(f"iterations must be a whole number of at most 10^9; got {self.iterations}")
        check_at_least("lr", self.lr, 0, strictly=True)
        if len(self.betas) != 2 or not all(0 <= beta < 1 for beta in self.betas):
            raise ValueError(f"betas must be two numbers of at least 0 and below 1; got {self.betas}")
        check_choice("source", self.source, SOURCES)
        check_at_least("source_scale", self.source_scale, 0, strictly=True)
        if self.num_particles is not None:
            check_at_least("num_particles", self.num_particles, 1, whole=True)
        check_at_least("evaluate_every", self.evaluate_every, 1, whole=True)


@dataclass
class FlowConfig(ParticleConfig):
    """Options of the flow; the defaults are the released code's.

    Args:
        num_frames: of the animation; 0 for none.
    """

    data_kind: ClassVar[str] = "points"
    name: str = "flow"
    num_frames: int = neutral(40)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_at_least("num_frames", self.num_frames, 0, whole=True)


@dataclass
class BarycenterConfig(ParticleConfig):
    """Options of the barycenters.

    Args:
        weights: of the clouds, for one barycenter.
        grid: n, for three clouds: all weights (i, j, k) / n.
        strip: n, for two clouds: all weights (n - i, i) / n. Of weights, grid and strip one can be given; if none is: a grid of 4 for
            three clouds, a strip of 10 for two, equal weights for any other number.
        power: of the distance in the objective. 2 is what makes a barycenter; with 1, the paper's equation to the letter, the minimum is a
            median, which for two clouds is the one with the larger weight.
    """

    data_kind: ClassVar[str] = "clouds"
    name: str = "barycenter"
    iterations: int = 500
    lr: float = 0.02
    source: str = "uniform"
    evaluate_every: int = 50
    weights: list[float] | None = None
    grid: int | None = None
    strip: int | None = None
    power: float = 2.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_steps(self.weights, self.grid, self.strip)
        if self.weights is not None:
            check_mixture(self.weights)
        check_at_least("power", self.power, 1)

    def mixtures(self, num_clouds: int) -> np.ndarray:
        """The weights of all barycenters, ``[W, num_clouds]``."""
        return mixtures(self.weights, self.grid, self.strip, num_clouds)


@dataclass
class GenerativeConfig:
    """Options that the generative tasks share; the defaults are the paper's.

    Args:
        epochs: of training, by which the paper counts.
        iterations: steps, instead of epochs.
        batch_size: images per step.
        lr: Adam's learning rate.
        betas: Adam's decay rates.
        latent_dim: of the noise, which is standard normal.
        clip_grad_norm: bound on the norm of a network's gradient; default: none.
        compile: let torch compile the networks.
        num_samples: images of a grid.
        images: save a grid at every evaluation, in ``images`` below the trainer's ``default_root_dir``.
    """

    data_kind: ClassVar[str] = "images"
    name: str = ""
    epochs: int = 200
    iterations: int | None = None
    batch_size: int = 512
    lr: float = 0.0005
    betas: list[float] = field(default_factory=lambda: [0.5, 0.999])
    latent_dim: int = 32
    clip_grad_norm: float | None = None
    compile: bool = neutral(False)
    num_samples: int = neutral(64)
    images: bool = neutral(True)

    def __post_init__(self) -> None:
        for name in ("epochs", "iterations", "batch_size", "latent_dim", "num_samples"):
            if getattr(self, name) is not None:
                check_at_least(name, getattr(self, name), 1, whole=True)
        if self.batch_size < 2:
            raise ValueError(f"batch_size must be a whole number of at least 2; got {self.batch_size}")
        check_at_least("lr", self.lr, 0, strictly=True)
        if len(self.betas) != 2 or not all(0 <= beta < 1 for beta in self.betas):
            raise ValueError(f"betas must be two numbers of at least 0 and below 1; got {self.betas}")
        if self.clip_grad_norm is not None:
            check_at_least("clip_grad_norm", self.clip_grad_norm, 0, strictly=True)


@dataclass
class GanConfig(GenerativeConfig):
    """Options of the GAN; the defaults are the released code's for CIFAR10.

    Args:
        epochs: 200; the paper has 100 for CelebA.
        latent_dim: of the noise: 32 in the released code, 100 in the paper.
        last_relu: a ReLU before the generator's last convolution, as in the released code; the paper has none.
        pixel_range: of the real images: ``unit``, [0, 1], in the released code, although the generator ends in a Tanh;
            ``symmetric``, [-1, 1], is what the paper's Tanh needs.
        discriminator_steps: ``separate``: a step on real and one on generated images, as released; ``joint``: one on both.
        pretraining_steps: of the DSWD's push-forward on its penalty alone, before the first step.
        width: channels of the networks, 64 in the paper.
        evaluate_epochs: epochs between two evaluations, besides that after the first epoch.
        evaluate_every: iterations between two evaluations, instead.
        fid: ``true``, ``false``, or ``auto``: where torch sees a GPU (a CPU takes hours for one) and the weights are there or can be
            fetched.
        num_fid_samples: generated images of an FID, against all images of the train split.
        fid_weights: file of the Inception weights; default: torch's cache, into which they are fetched.
        fid_cache_dir: where the moments of the real images are kept.
    """

    name: str = "gan"
    last_relu: bool = True
    pixel_range: str = "unit"
    discriminator_steps: str = "separate"
    pretraining_steps: int = 1000
    width: int = 64
    evaluate_epochs: int = 10
    evaluate_every: int | None = None
    fid: str = "auto"
    num_fid_samples: int = 20_000
    fid_weights: str | None = neutral(None)
    fid_cache_dir: str = neutral("data/statistics")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("discriminator_steps", self.discriminator_steps, DISCRIMINATOR_STEPS)
        check_choice("pixel_range", self.pixel_range, PIXEL_RANGES)
        self.fid = check_switch("fid", self.fid)
        check_at_least("num_fid_samples", self.num_fid_samples, 2, whole=True)
        check_at_least("pretraining_steps", self.pretraining_steps, 0, whole=True)
        for name in ("width", "evaluate_epochs", "evaluate_every"):
            if getattr(self, name) is not None:
                check_at_least(name, getattr(self, name), 1, whole=True)


@dataclass
class GeneratorConfig(GenerativeConfig):
    """Options of the MNIST generator; the defaults are those of the DSWD's code, which the paper follows.

    Args:
        hidden: units of the generator's first hidden layer; the others have two and four times as many.
        output: what the generator ends in: ``relu``, as its other layers, or ``sigmoid``.
        evaluate_every: iterations between two evaluations, besides that after the first iteration.
        num_w2_samples: at most this many test images, and as many generated ones, between which W2 and SWD are computed; 10000 as
            published, which takes half a minute and 1.8 GB each time.
        num_swd_projections: directions of that SWD; 10000 as published.
        mnist_frechet: the Frechet distance on features of a network for digits: ``true``, which trains that network where it is not on
            disk, ``false``, or ``auto``: where the data are MNIST and it is.
    """

    name: str = "generator"
    hidden: int = 100
    output: str = "relu"
    evaluate_every: int = 100
    num_w2_samples: int = 2000
    num_swd_projections: int = 1000
    mnist_frechet: str = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("output", self.output, OUTPUTS)
        self.mnist_frechet = check_switch("mnist_frechet", self.mnist_frechet)
        for name in ("hidden", "evaluate_every", "num_w2_samples", "num_swd_projections"):
            check_at_least(name, getattr(self, name), 1, whole=True)


@dataclass
class SwaeConfig:
    """Options of the autoencoder; what the paper does not give is the usual public code's.

    Args:
        prior: of the code: ``ring``, ``disk``, ``square``, ``gaussian``, ``mixture`` or ``swiss_roll``.
        latent_dim: dimension of the code; 2 but for ``gaussian`` and ``mixture``.
        bce_weight: of the binary cross-entropy in the loss.
        l1_weight: of the absolute error in the loss.
        distance_weight: of the distance in the loss.
        squared: whether the distance enters the loss squared.
        normalise: mean and standard deviation by which the encoder's images, in [0, 1], are normalised.
        lr: RMSprop's learning rate.
        alpha: RMSprop's decay rate.
        batch_size: images per step, and points of the prior.
        epochs: of training.
        iterations: steps, instead of epochs.
        evaluate_every: iterations between two evaluations, besides that after the first iteration; default: an epoch.
        num_w2_samples: at most this many test codes, and as many points of the prior, between which W2 is computed.
        mnist_frechet: as of the generator, for decoded points of the prior.
        images: draw the run at its end.
    """

    data_kind: ClassVar[str] = "images"
    name: str = "swae"
    prior: str = "ring"
    latent_dim: int = 2
    bce_weight: float = 1.0
    l1_weight: float = 1.0
    distance_weight: float = 10.0
    squared: bool = True
    normalise: list[float] = field(default_factory=lambda: [0.1307, 0.3081])
    lr: float = 0.001
    alpha: float = 0.9
    batch_size: int = 500
    epochs: int = 30
    iterations: int | None = None
    evaluate_every: int | None = None
    num_w2_samples: int = 2000
    mnist_frechet: str = "auto"
    images: bool = neutral(True)

    def __post_init__(self) -> None:
        for name in ("latent_dim", "batch_size", "epochs", "iterations", "evaluate_every", "num_w2_samples"):
            if getattr(self, name) is not None:
                check_at_least(name, getattr(self, name), 1, whole=True)
        check_prior(self.prior, self.latent_dim)
        for name in ("bce_weight", "l1_weight", "distance_weight"):
            check_at_least(name, getattr(self, name), 0)
        self.mnist_frechet = check_switch("mnist_frechet", self.mnist_frechet)
        if len(self.normalise) != 2 or not self.normalise[1] > 0:
            raise ValueError(f"normalise must be a mean and a standard deviation above 0; got {self.normalise}")
        check_at_least("lr", self.lr, 0, strictly=True)
        if not 0 <= self.alpha < 1:
            raise ValueError(f"alpha must be a number of at least 0 and below 1; got {self.alpha}")


@dataclass
class ColorTransferConfig:
    """Options of the colour transfer.

    Args:
        method: ``alignment``, the paper's: matchings along the directions of the distance, averaged; or ``flow``: the palette descends
            the distance by Adam.
        iterations: calls of the distance, in each of which it learns what it learns, before its directions are used; or Adam steps.
            A distance that keeps nothing from call to call is called once for an alignment.
        lr: Adam's learning rate in the flow.
        betas: Adam's decay rates there.
        weighted: clusters count by their pixels; in the paper they all count the same.
        keep_detail: repaint a pixel with its cluster's new colour plus the pixel's offset from the old centre, so that gradients
            within and between clusters stay smooth; else, as in the paper, with the new colour alone.
        evaluate_every: metrics are taken at the first iteration, at every n-th and at the last.
        images: save the image, and source, target and result side by side.
    """

    data_kind: ClassVar[str] = "pair"
    name: str = "color_transfer"
    method: str = "alignment"
    iterations: int = 100
    lr: float = 0.01
    betas: list[float] = field(default_factory=lambda: [0.9, 0.999])
    weighted: bool = False
    keep_detail: bool = False
    evaluate_every: int = 50
    images: bool = neutral(True)

    def __post_init__(self) -> None:
        check_choice("method", self.method, METHODS)
        for name in ("iterations", "evaluate_every"):
            check_at_least(name, getattr(self, name), 1, whole=True)
        if self.iterations > 10**9:
            raise ValueError(f"iterations must be a whole number of at most 10^9; got {self.iterations}")
        check_at_least("lr", self.lr, 0, strictly=True)
        if len(self.betas) != 2 or not all(0 <= beta < 1 for beta in self.betas):
            raise ValueError(f"betas must be two numbers of at least 0 and below 1; got {self.betas}")


def check_switch(name: str, value: str | bool) -> str:
    """``true``, ``false`` or ``auto``, also from a boolean of YAML or Python.

    Raises:
        ValueError: something else.
    """
    value = str(value).lower()
    check_choice(name, value, ["auto", "true", "false"])
    return value
