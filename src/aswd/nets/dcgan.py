"""The networks of the GAN (the paper's appendix on network architecture), after those of the DSWD's authors.

Kernels are 4 x 4. What the paper does not say is as in the DCGAN, which they are: stride 2 and padding 1 (the layers between vectors and
4 x 4 images: stride 1, no padding), convolutions without bias. Weights have torch's own initialisation.
"""

from __future__ import annotations

from torch import Tensor, nn

from aswd.nets.batch_norm import BatchNorm2d

SIZE = 64  # pixels per side


class Features(nn.Sequential):
    """h: images ``[N, 3, 64, 64]`` to features ``[N, 8 width * 4 * 4]`` in (-1, 1), 8192 of them for the paper's width 64.

    Args:
        width: channels of the first layer.
    """

    def __init__(self, width: int = 64) -> None:
        layers: list[nn.Module] = [nn.Conv2d(3, width, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True)]
        for factor in (1, 2, 4):
            layers += [nn.Conv2d(factor * width, 2 * factor * width, 4, 2, 1, bias=False), BatchNorm2d(2 * factor * width)]
            layers += [nn.LeakyReLU(0.2, inplace=True) if factor < 4 else nn.Tanh()]
        super().__init__(*layers, nn.Flatten())


class Head(nn.Sequential):
    """D without its Sigmoid, which the loss contains: features to the log-odds that an image is real, ``[N]``.

    Args:
        width: that of the features.
    """

    def __init__(self, width: int = 64) -> None:
        super().__init__(nn.Unflatten(1, (8 * width, 4, 4)), nn.Conv2d(8 * width, 1, 4, bias=False), nn.Flatten(0))


class Generator(nn.Module):
    """G: ``[N, latent_dim]`` to images ``[N, 3, 64, 64]`` in (-1, 1).

    Args:
        latent_dim: 100 in the paper, 32 in the released code.
        last_relu: whether a ReLU stands before the last convolution, as in the released code and all layers before; the paper has none.
        width: channels before the last convolution.
    """

    def __init__(self, latent_dim: int, last_relu: bool, width: int = 64) -> None:
        super().__init__()
        layers: list[nn.Module] = [nn.ConvTranspose2d(latent_dim, 8 * width, 4, 1, 0, bias=False)]
        for factor in (8, 4, 2, 1):
            layers += [BatchNorm2d(factor * width)]
            layers += [nn.ReLU(inplace=True)] if factor > 1 or last_relu else []
            layers += [nn.ConvTranspose2d(factor * width, factor * width // 2 if factor > 1 else 3, 4, 2, 1, bias=False)]
        self.layers = nn.Sequential(*layers, nn.Tanh())

    def forward(self, noise: Tensor) -> Tensor:
        return self.layers(noise[:, :, None, None])
