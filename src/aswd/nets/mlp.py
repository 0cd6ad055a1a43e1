"""The generator of the MNIST experiment, for many replicas at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

OUTPUTS = {"relu": torch.relu, "sigmoid": torch.sigmoid}
HIDDEN = (1, 2, 4)  # widths, in units of the first


class MLPGenerator(nn.Module):
    """R perceptrons ``latent_dim -> hidden -> 2 hidden -> 4 hidden -> dim`` with ReLU, each with its own weights.

    They are drawn as torch's linear layers draw theirs, uniform in +-1/sqrt(fan_in), replica r from its own generator.

    Args:
        generators: of random numbers, one per replica.
        latent_dim: of the noise.
        hidden: units of the first hidden layer.
        dim: pixels of an image.
        output: what the last layer ends in: ``relu``, as the others, or ``sigmoid``.
    """

    def __init__(self, generators: Sequence[torch.Generator], latent_dim: int, hidden: int, dim: int, output: str = "relu") -> None:
        super().__init__()
        sizes = [latent_dim, *(factor * hidden for factor in HIDDEN), dim]
        self.output = output
        self.weights, self.biases = nn.ParameterList(), nn.ParameterList()
        for fan_in, fan_out in pairwise(sizes):
            bound = 1 / math.sqrt(fan_in)
            weight, bias = torch.empty(len(generators), fan_out, fan_in), torch.empty(len(generators), 1, fan_out)
            for tensor in (weight, bias):
                for row, generator in zip(tensor, generators, strict=True):
                    row.uniform_(-bound, bound, generator=generator)
            self.weights.append(weight)
            self.biases.append(bias)

    def forward(self, noise: Tensor) -> Tensor:
        """``[R, N, latent_dim]`` to ``[R, N, dim]``."""
        x = noise
        for layer, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            x = torch.baddbmm(bias, x, weight.mT)
            x = torch.relu(x) if layer < len(HIDDEN) else OUTPUTS[self.output](x)
        return x
