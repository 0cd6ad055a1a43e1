"""Checks of the arguments and results of distances: each raises one sentence with the argument, the value and what is allowed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral, Real

import torch
from torch import Tensor

from aswd.distances.chunks import shares
from aswd.distances.workers import map_chunks
from aswd.utils.checks import check_at_least, shown


def check_seed(seed: object) -> int | list[int] | None:
    """A seed as :class:`Streams` keeps it: a whole number, a list of them, or ``None``."""
    if seed is None or isinstance(seed, Real):
        return None if seed is None else _check_integer(seed, seed)
    seeds = seed.tolist() if hasattr(seed, "tolist") else list(seed) if isinstance(seed, Sequence) else [None]
    return [_check_integer(s, seed) for s in seeds] if isinstance(seeds, list) and seeds else _check_integer(None, seed)


def _check_integer(value: object, seed: object) -> int:
    if not isinstance(value, Integral) or isinstance(value, bool) or not 0 <= value < 2**32:  # the limit of torch's CPU generator
        raise ValueError(f"seed must be a whole number from 0 to 2^32 - 1, a sequence of them (one per replica) or None; got {shown(seed)}")
    return int(value)


def check_order(order: float) -> None:
    """The order k must be a real number of at least 1."""
    check_at_least("order", order, 1)


def check_samples(x: Tensor, y: Tensor, look_inside: bool) -> None:
    """Samples ``[..., N, d]`` and ``[..., M, d]`` must be floating point, finite, not empty, of the same dimension and on the same device.

    Args:
        x, y: samples.
        look_inside: check values too, which on a GPU costs a synchronisation.
    """
    for name, samples in (("x", x), ("y", y)):
        _check_float(name, samples)
        if samples.ndim < 2:
            raise ValueError(f"{name} must have the shape [..., samples, dimension]; got {list(samples.shape)}")
        if samples.numel() == 0:
            raise ValueError(f"{name} must hold at least one sample in at least one dimension; got the shape {list(samples.shape)}")
    if x.shape[-1] != y.shape[-1]:
        raise ValueError(f"x and y must have the same dimension; got x of dimension {x.shape[-1]} and y of dimension {y.shape[-1]}")
    _check_same_device(x, y)
    if look_inside:
        check_finite("x", x)
        check_finite("y", y)


def broadcast_lead(x: Tensor, y: Tensor) -> tuple[int, ...]:
    """The leading dimensions of ``x [..., N, d]`` and ``y [..., M, d]``, broadcast."""
    if x.shape[:-2] == y.shape[:-2]:  # broadcasting takes longer than some distances
        return tuple(x.shape[:-2])
    try:
        return tuple(torch.broadcast_shapes(x.shape[:-2], y.shape[:-2]))
    except RuntimeError:
        raise ValueError(
            f"the leading dimensions of x and y must be the same or broadcast; got {list(x.shape[:-2])} and {list(y.shape[:-2])}"
        ) from None


def check_result(name: str, values: object, lead: tuple[int, ...], *samples: Tensor) -> Tensor:
    """What a distance from outside returned: one value per replica, differentiable if a gradient of the samples is wanted.

    Args:
        name: of the distance.
        values: what it returned.
        lead: the leading dimensions of its samples; ``()`` for a single problem.
        samples: x and y.

    Returns:
        ``values``.

    Raises:
        ValueError: not a tensor of floating point numbers, another shape than ``lead``, or no gradient where the samples require one.
    """
    if not isinstance(values, Tensor) or not values.is_floating_point():
        got = f"a tensor of {values.dtype}" if isinstance(values, Tensor) else shown(values)
        raise ValueError(f"the distance {name!r} must return a tensor of floating point numbers; got {got}")
    if values.shape != lead:
        wanted = f"one value per replica, a tensor of shape {list(lead)}" if lead else "a scalar, a tensor of shape []"
        raise ValueError(f"the distance {name!r} must return {wanted}; got one of shape {list(values.shape)}")
    if torch.is_grad_enabled() and not values.requires_grad and any(sample.requires_grad for sample in samples):
        raise ValueError(
            f"the distance {name!r} must be differentiable with respect to its samples; got a result without a gradient "
            "(as from numpy, .item(), .detach() or torch.no_grad())"
        )
    return values


def check_rows(x: Tensor, y: Tensor, x_weights: Tensor | None, y_weights: Tensor | None) -> None:
    """Check the arguments of ``wasserstein_1d``: rows ``[..., N]`` and ``[..., M]``."""
    for name, rows in (("x", x), ("y", y)):
        _check_float(name, rows)
        if rows.ndim < 1 or rows.numel() == 0:
            raise ValueError(f"{name} must hold at least one sample on its last axis; got the shape {list(rows.shape)}")
    if x.shape[:-1] != y.shape[:-1]:
        raise ValueError(f"x and y must have the same leading dimensions; got {list(x.shape[:-1])} and {list(y.shape[:-1])}")
    _check_same_device(x, y)
    for name, rows in (("x", x), ("y", y)):
        if rows.device.type == "cpu":
            check_finite(name, rows)
    check_weights("x_weights", x_weights, x.shape, x.device, x.device.type == "cpu")
    check_weights("y_weights", y_weights, y.shape, y.device, y.device.type == "cpu")


def check_weights(name: str, weights: Tensor | None, shape: tuple[int, ...], device: torch.device, look_inside: bool) -> None:
    """Weights must broadcast to ``shape``, be non-negative, and not all be zero in any row."""
    if weights is None:
        return
    if not isinstance(weights, Tensor) or weights.is_complex() or weights.layout != torch.strided:
        raise ValueError(f"{name} must be a dense tensor of real numbers; got {_describe(weights)}")
    if weights.dtype.is_floating_point and weights.dtype not in _FLOATS:
        raise ValueError(f"{name} must be whole numbers or of a floating point type of at least 16 bits; got {weights.dtype}")
    if weights.device != device:
        raise ValueError(f"{name} must be on the device of its samples, {device}; got {weights.device}")
    try:
        fits = torch.broadcast_shapes(weights.shape, shape) == torch.Size(shape) and weights.shape[-1] == shape[-1]
    except (RuntimeError, IndexError):
        fits = False
    if not fits:
        raise ValueError(f"{name} must have one weight per sample, a shape that broadcasts to {list(shape)}; got {list(weights.shape)}")
    if look_inside:
        bad = ~torch.isfinite(weights) | (weights < 0)
        if bad.any():
            raise ValueError(f"{name} must be finite and not negative; got {weights[bad][0].item()} among its values")
        if (weights.amax(-1) == 0).any():
            raise ValueError(f"{name} must not sum to zero; got weights that are all 0")


def check_directions(directions: Tensor, lead: tuple[int, ...], dim: int, device: torch.device, look_inside: bool) -> None:
    """Directions must be ``[L, dim]`` or ``[..., L, dim]`` for samples with leading dimensions ``lead``."""
    _check_float("directions", directions)
    if directions.device != device:
        raise ValueError(f"directions must be on the device of the samples, {device}; got {directions.device}")
    wanted = f"[L, {dim}]" + (f" or {[*lead, 'L', dim]}" if lead else "")
    ok = directions.ndim >= 2 and directions.shape[-1] == dim and directions.shape[-2] >= 1
    if not ok or directions.shape[:-2] not in ((), tuple(lead)):
        raise ValueError(f"directions must have the shape {wanted} with L >= 1; got {list(directions.shape)}")
    if look_inside:
        check_finite("directions", directions)


def check_finite(name: str, values: Tensor) -> None:
    """There must be no NaN and no infinity. A finite sum proves that, ten times faster than ``isfinite`` of every value."""
    values = values.detach()
    if not all(math.isfinite(total) for total in _sums(values)):
        bad = values[~torch.isfinite(values)]
        if len(bad):
            raise ValueError(f"{name} must be finite; got {bad[0].item()}, and {len(bad)} of {values.numel()} values are not finite")


def _sums(values: Tensor) -> list[Tensor]:
    """Sums of parts of ``values``, on a CPU in threads where there are many."""
    if values.ndim < 2 or shares(values) == 1:
        return [values.sum()]
    return map_chunks(torch.sum, values.tensor_split(shares(values), -2), values.device)


_FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def _check_float(name: str, samples: Tensor) -> None:
    if not isinstance(samples, Tensor) or samples.layout != torch.strided:
        raise ValueError(f"{name} must be a dense tensor; got {_describe(samples)}")
    if samples.dtype not in _FLOATS:
        raise ValueError(f"{name} must be of a floating point type of at least 16 bits; got {samples.dtype}")


def _describe(value: object) -> str:
    return f"one of {value.dtype}, {value.layout}" if isinstance(value, Tensor) else type(value).__name__


def _check_same_device(x: Tensor, y: Tensor) -> None:
    if x.device != y.device:
        raise ValueError(f"x and y must be on the same device; got {x.device} and {y.device}")
