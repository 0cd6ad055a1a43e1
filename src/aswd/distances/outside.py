"""Distances that are not built of the parts in this package: any module of x and y, and how it is called."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from aswd.distances.checks import broadcast_lead, check_result, check_samples


class OutsideDistance(nn.Module):
    """A module from outside with the call of every distance, its samples and results checked.

    The module is called with ``x [N, d]`` and ``y [M, d]`` and returns a scalar: replicas are evaluated one after the other. A class with
    the attribute ``supports_replicas = True`` is called with all leading dimensions, ``x [..., N, d]``, and returns a tensor ``[...]``.
    Weights and directions are handed on by name where the module takes them. Other attributes are those of the module.

    Args:
        name: the distance's name, for messages.
        module: called with x and y.
    """

    def __init__(self, name: str, module: nn.Module) -> None:
        super().__init__()
        self.name, self.module = name, module
        self.supports_replicas = bool(getattr(module, "supports_replicas", False))

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name == "module":
                raise
            return getattr(self.module, name)

    def forward(
        self,
        x: Tensor,
        y: Tensor,
        x_weights: Tensor | None = None,
        y_weights: Tensor | None = None,
        directions: Tensor | None = None,
    ) -> Tensor:
        """The distance between ``x [..., N, d]`` and ``y [..., M, d]``, of shape ``[...]``.

        Raises:
            ValueError: bad samples, weights or directions that the module does not take, or a result that is not one value per replica.
        """
        check_samples(x, y, look_inside=isinstance(x, Tensor) and x.device.type == "cpu")
        lead = broadcast_lead(x, y)
        named = {"x_weights": x_weights, "y_weights": y_weights, "directions": directions}
        extra = {key: value for key, value in named.items() if value is not None}
        for key in extra:
            if not self.takes(key):
                raise ValueError(f"{key} must be left out: the distance {self.name!r} does not take it")
        if self.supports_replicas or not lead:
            return check_result(self.name, self.module(x, y, **extra), lead, x, y)

        def flat(tensor: Tensor, kept: int) -> Tensor:
            return tensor.expand(*lead, *tensor.shape[-kept:]).reshape(-1, *tensor.shape[-kept:])

        per_replica = {key: flat(value, 2 if key == "directions" else 1) for key, value in extra.items()}
        values = []
        for i, (x_i, y_i) in enumerate(zip(flat(x, 2), flat(y, 2), strict=True)):
            value = self._evaluate(x_i, y_i, {key: tensor[i] for key, tensor in per_replica.items()})
            values.append(check_result(self.name, value, (), x_i, y_i))
        return torch.stack(values).reshape(lead)

    def _evaluate(self, x: Tensor, y: Tensor, extra: dict[str, Tensor]) -> Tensor:
        try:
            return self.module(x, y, **extra)
        except Exception as error:
            error.add_note(
                f"The distance {self.name!r} was called with x {list(x.shape)}, one replica: "
                "if it is written for x [..., N, d], give its class the attribute supports_replicas = True."
            )
            raise

    def takes(self, argument: str) -> bool:
        """Whether the module can be called with this argument."""
        called = self.module.function if isinstance(self.module, FunctionDistance) else self.module.forward
        parameters = inspect.signature(called).parameters
        return argument in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


class FunctionDistance(nn.Module):
    """A function ``f(x, y, **options)`` as a module."""

    def __init__(self, function: Callable[..., Tensor], options: dict[str, Any]) -> None:
        super().__init__()
        self.function, self.options = function, options
        self.supports_replicas = bool(getattr(function, "supports_replicas", False))

    def forward(self, x: Tensor, y: Tensor, **extra: Tensor) -> Tensor:
        """The function's value."""
        return self.function(x, y, **extra, **self.options)

    def extra_repr(self) -> str:
        return ", ".join([self.function.__name__, *(f"{key}={value!r}" for key, value in self.options.items())])
