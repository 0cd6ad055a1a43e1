"""Options of the tasks, with their types and defaults.

They stand apart from the tasks, which import Lightning: a configuration is checked without that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aswd.data.priors import check_prior
from aswd.nets.mlp import OUTPUTS
from aswd.tasks.batches import PIXEL_RANGES
from aswd.tasks.mixtures import check_mixture, check_steps, mixtures, num_mixtures
from aswd.utils.fields import SWITCH, Options, neutral, option

MAX_STEPS = 10**9
SOURCES = ("normal", "uniform", "sphere")


def _betas(*default: float) -> list[float]:
    return option(list(default), length=2, at_least=0, below=1)


@dataclass
class ParticleConfig(Options):
    """Options of such a task; the defaults are those of the released flow.

    Args:
        iterations: steps of the particles.
        optimizer: ``adam`` or ``sgd``.
        lr: the learning rate.
        betas: Adam's decay rates.
        source: the law of the particles before the first step: ``normal``, N(0, I), ``uniform`` on [-1, 1]^d, or ``sphere``, uniform on
            the unit sphere.
        source_scale: factor on the source.
        num_particles: N; default: as many as the target has points.
        evaluate_every: metrics are computed at the first iteration, at every n-th and at the last.
        evaluate_at: further iterations at which they are computed.
        images: save images of the run when it is done.
    """

    name: str
    iterations: int = option(2000, at_least=1, at_most=MAX_STEPS)
    optimizer: str = option("adam", choices=("adam", "sgd"), before="adam")
    lr: float = option(0.002, above=0)
    betas: list[float] = _betas(0.9, 0.999)
    source: str = option("normal", choices=SOURCES)
    source_scale: float = option(1.0, above=0)
    num_particles: int | None = option(None, at_least=1)
    evaluate_every: int = option(5, at_least=1)
    evaluate_at: list[int] = option([], at_least=1, before=[])
    images: bool = neutral(True)


@dataclass
class FlowConfig(ParticleConfig):
    """Options of the flow; the defaults are the released code's.

    Args:
        loss_factor: the particles descend this factor times the distance.
        num_frames: of the animation; 0 for none.
    """

    data_kind: ClassVar[str] = "points"
    name: str = "flow"
    loss_factor: float = option(1.0, above=0, before=1.0)
    num_frames: int = neutral(40, at_least=0)


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
    iterations: int = option(500, at_least=1, at_most=MAX_STEPS)
    lr: float = option(0.02, above=0)
    source: str = option("uniform", choices=SOURCES)
    evaluate_every: int = option(50, at_least=1)
    weights: list[float] | None = None
    grid: int | None = option(None, at_least=1)
    strip: int | None = option(None, at_least=1)
    power: float = option(2.0, at_least=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_steps(self.weights, self.grid, self.strip)
        if self.weights is not None:
            check_mixture(self.weights)

    def num_mixtures(self, num_clouds: int) -> int:
        """How many barycenters there are."""
        return num_mixtures(self.weights, self.grid, self.strip, num_clouds)

    def mixtures(self, num_clouds: int) -> np.ndarray:
        """The weights of all barycenters, ``[W, num_clouds]``."""
        return mixtures(self.weights, self.grid, self.strip, num_clouds)


@dataclass
class EstimationConfig(Options):
    """Options of the estimation error.

    Args:
        iterations: estimates per seed.
        pair: what the points y of the data set are compared with: ``similar``, scale y + shift, where SW_2 is known in closed form, or
            ``normal``, as many points of N(0, I), where it is computed with many directions.
        scale: of the similar cloud.
        shift: of the similar cloud, the length of a vector of random direction.
        reference_projections: directions of the reference value of a normal pair.
        evaluate_every: metrics are computed at the first iteration and at every n-th.
    """

    data_kind: ClassVar[str] = "points"
    name: str = "estimation"
    iterations: int = option(20, at_least=1, at_most=MAX_STEPS)
    pair: str = option("similar", choices=("similar", "normal"))
    scale: float = option(1.0, above=0)
    shift: float = option(1.0, at_least=0)
    reference_projections: int = option(2**15, at_least=1)
    evaluate_every: int = option(20, at_least=1)


@dataclass
class GenerativeConfig(Options):
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
    epochs: int = option(200, at_least=1)
    iterations: int | None = option(None, at_least=1, at_most=MAX_STEPS)
    batch_size: int = option(512, at_least=2)
    lr: float = option(0.0005, above=0)
    betas: list[float] = _betas(0.5, 0.999)
    latent_dim: int = option(32, at_least=1)
    clip_grad_norm: float | None = option(None, above=0)
    compile: bool = neutral(False)
    num_samples: int = neutral(64, at_least=1)
    images: bool = neutral(True)


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
    pixel_range: str = option("unit", choices=tuple(PIXEL_RANGES))
    discriminator_steps: str = option("separate", choices=("separate", "joint"))
    pretraining_steps: int = option(1000, at_least=0)
    width: int = option(64, at_least=1)
    evaluate_epochs: int = option(10, at_least=1)
    evaluate_every: int | None = option(None, at_least=1)
    fid: str = option("auto", choices=SWITCH)
    num_fid_samples: int = option(20_000, at_least=2)
    fid_weights: str | None = neutral(None, path=True)
    fid_cache_dir: str = neutral("data/statistics", path=True)


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
    hidden: int = option(100, at_least=1)
    output: str = option("relu", choices=tuple(OUTPUTS))
    evaluate_every: int = option(100, at_least=1)
    num_w2_samples: int = option(2000, at_least=1)
    num_swd_projections: int = option(1000, at_least=1)
    mnist_frechet: str = option("auto", choices=SWITCH)


@dataclass
class SwaeConfig(Options):
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
    latent_dim: int = option(2, at_least=1)
    bce_weight: float = option(1.0, at_least=0)
    l1_weight: float = option(1.0, at_least=0)
    distance_weight: float = option(10.0, at_least=0)
    squared: bool = True
    normalise: list[float] = option([0.1307, 0.3081], length=2)
    lr: float = option(0.001, above=0)
    alpha: float = option(0.9, at_least=0, below=1)
    batch_size: int = option(500, at_least=1)
    epochs: int = option(30, at_least=1)
    iterations: int | None = option(None, at_least=1, at_most=MAX_STEPS)
    evaluate_every: int | None = option(None, at_least=1)
    num_w2_samples: int = option(2000, at_least=1)
    mnist_frechet: str = option("auto", choices=SWITCH)
    images: bool = neutral(True)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_prior(self.prior, self.latent_dim)
        if not (np.isfinite(self.normalise).all() and self.normalise[1] > 0):
            raise ValueError(f"normalise must be a mean and a standard deviation above 0; got {self.normalise}")


@dataclass
class ColorTransferConfig(Options):
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
    method: str = option("alignment", choices=("alignment", "flow"))
    iterations: int = option(100, at_least=1, at_most=MAX_STEPS)
    lr: float = option(0.01, above=0)
    betas: list[float] = _betas(0.9, 0.999)
    weighted: bool = False
    keep_detail: bool = False
    evaluate_every: int = option(50, at_least=1)
    images: bool = neutral(True)
