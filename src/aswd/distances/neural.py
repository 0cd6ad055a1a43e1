"""The neural projection of GSW-NN."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from aswd.distances.layers import Parameters, apply_layer, join, linear_layer, product, root
from aswd.distances.projections import Linear
from aswd.distances.streams import Streams
from aswd.utils.checks import check_at_least


@dataclass
class Neural(Linear):
    """The l-th output of an MLP with LeakyReLU (GSW-NN); its directions are the rows of its last layer.

    Args:
        num_projections: L, the number of outputs.
        depth: hidden layers, >= 1.
        width: units per hidden layer.
    """

    num_projections: int = 1000
    depth: int = 1
    width: int = 32
    _slope = 0.01  # of LeakyReLU below zero

    def __post_init__(self) -> None:
        for name in ("num_projections", "depth", "width"):
            check_at_least(name, getattr(self, name), 1, whole=True)

    def initialise(self, dim: int, streams: Streams) -> dict[str, Tensor]:
        parameters, fan_in = {}, dim
        for layer in range(self.depth):
            parameters |= linear_layer(streams, fan_in, self.width, f"hidden{layer}_")
            fan_in = self.width
        return parameters | linear_layer(streams, fan_in, self.num_projections, "last_")

    def own_directions(self, parameters: Parameters) -> Tensor:
        return parameters["last_weight"]  # its bias shifts both sides equally, which changes no distance

    def own_gradients(self, theta_grad: Tensor) -> dict[str, Tensor]:
        return {"last_weight": theta_grad, "last_bias": torch.zeros_like(theta_grad[..., 0])}

    def features(self, x: Tensor, parameters: Parameters) -> Tensor:
        return self.traced(x, parameters)[0]

    def traced(self, x: Tensor, parameters: Parameters) -> tuple[Tensor, list[Tensor]]:
        inputs = []
        for layer in range(self.depth):
            inputs.append(x)
            x = functional.leaky_relu(apply_layer(x, parameters, f"hidden{layer}_"), self._slope)
        return x, inputs

    @property
    def closed_form(self) -> bool:
        """Not of subclasses, which may override anything."""
        return type(self) is Neural

    outputs_features = False  # the output is that of the last layer

    def parameter_gradients(
        self, x: Tensor, features: Tensor, trace: list[Tensor], features_grad: Tensor, parameters: Parameters
    ) -> dict[str, Tensor]:
        grads, output, grad = {}, features, features_grad.mT  # samples on the contiguous axis
        for layer in reversed(range(self.depth)):
            torch.ops.aten.leaky_relu_backward.grad_input(grad, output.mT, self._slope, True, grad_input=grad)  # in place
            grads |= {f"hidden{layer}_weight": product(grad, trace[layer]), f"hidden{layer}_bias": grad.sum(2)}
            if layer:
                output, grad = trace[layer], product(parameters[f"hidden{layer}_weight"].mT, grad)
        return grads

    def output_norm(self, features: Tensor, parameters: Parameters) -> Tensor:
        last = torch.cat([parameters["last_weight"], parameters["last_bias"][..., None]], -1)
        inputs = join(features, torch.ones_like(features[..., :1]))
        return root(((inputs @ (last.mT @ last)) * inputs).sum(-1))
