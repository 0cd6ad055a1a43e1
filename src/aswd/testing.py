"""The public contract of a distance as a function, for tests of distances of one's own.

>>> from aswd.testing import check_distance
>>> "symmetry" in check_distance("swd")
True
"""

from __future__ import annotations

import copy
import io
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from aswd.distances import SlicedDistance, Wasserstein, build, options, resolved_options

_SMALL = {"num_projections": 12, "steps": 3, "seed": 0}  # where the distance has such an option and it is not given


class _Case:
    """A distance with its options, and what can be asked of it."""

    def __init__(self, name: str, given: dict[str, Any]) -> None:
        known = options(name)
        self.name = name
        self.given = {**{key: value for key, value in _SMALL.items() if key in known}, **given}
        self.takes_seed = "seed" in known
        self.seeded = resolved_options(name, **self.given).get("seed") is not None
        distance = self.build()
        self.ours = isinstance(distance, SlicedDistance | Wasserstein)
        self.batched = distance.supports_replicas
        if self.ours:
            self.any_size = self.weighted = distance.reduction == "mean"
            self.symmetric = not getattr(getattr(distance, "penalty", None), "penalty_relative", False)
            self.smooth = True
        else:
            promises = getattr(distance.module, "function", distance.module)
            self.any_size = False
            self.weighted = distance.takes("x_weights") and distance.takes("y_weights")
            self.symmetric = getattr(promises, "symmetric", False)
            self.smooth = getattr(promises, "finite_differences", True)

    def build(self, **changes: Any) -> nn.Module:
        """The distance, new, with torch's random state at a fixed point: what has no seed of its own draws from there."""
        torch.manual_seed(0)
        return build(self.name, **{**self.given, **changes})

    def samples(self, *lead: int, n: int = 12, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
        """Two clouds in three dimensions."""
        generator = torch.Generator().manual_seed(0)
        x = torch.randn(*lead, n, 3, generator=generator, dtype=torch.float64)
        y = 0.7 * torch.randn(*lead, n, 3, generator=generator, dtype=torch.float64) + 0.5
        return x.to(dtype), y.to(dtype)

    def frozen(self, x: Tensor, y: Tensor) -> Callable[[Tensor, Tensor], Tensor]:
        """The distance as a pure function: what was learned, and the random numbers to come, are the same at every call.

        A search that starts anew at every call, in evaluation mode too, is left out, and directions that depend on the samples are held:
        the gradient takes them as constants.
        """
        distance = self.build()
        maximiser = getattr(distance, "maximiser", None) if self.ours else None
        if maximiser is not None and not maximiser.warm_start:
            maximiser.steps = 0
        distance(x, y)
        distance.eval()
        held = self.ours and getattr(getattr(distance, "directions", None), "from_samples", False)
        fixed = {"directions": distance.draw(x, y)} if held else {}
        return lambda a, b: _seeded(copy.deepcopy(distance), a, b, **fixed)


def check_distance(name: str, /, **given: Any) -> list[str]:
    """Check that a distance keeps the contract that tasks rely on.

    A distance that is composed of a projection, directions and other parts must have all of the properties (symmetry not with
    ``penalty_relative``, weights and different numbers of samples not with ``reduction="sum"``). For a module or function from outside,
    which cannot promise as much,

    - *symmetry* is checked if its class has the attribute ``symmetric = True``;
    - *identity* means that D(x, x) is not above D(x, y); the value need not be zero and may be negative;
    - *weights* are checked if it takes ``x_weights`` and ``y_weights``;
    - *gradients* are compared with finite differences in evaluation mode, or, if its class has the attribute
      ``finite_differences = False`` (for example because it solves an inner problem inexactly at every call), must only be finite;
    - *replicas* are compared with single calls if its class has the attribute ``supports_replicas = True``; ``seed``, if it is an option,
      is then a list with one seed per replica;
    - *numbers of samples*, *second derivatives* and *evaluation mode* are not checked.

    Args:
        name: one of :func:`aswd.distances.available`.
        given: options, as for :func:`aswd.distances.build`; defaults here: 12 projections, 3 inner steps, seed 0.

    Returns:
        The properties that were checked.

    Raises:
        AssertionError: one does not hold; the message is one sentence that begins with the distance and the property.
        ValueError: no such distance or option.
    """
    checked = []
    with torch.random.fork_rng(devices=[]), torch.enable_grad():
        case = _Case(name, given)
        for prop in _PROPERTIES:
            if not prop.applies(case):
                continue
            try:
                prop.check(case)
            except Exception as error:
                reason = " ".join(str(error).split())
                said = reason if isinstance(error, _Broken) else f"raised {type(error).__name__}: {reason[:300]}"
                raise AssertionError(f"{name}: {prop.name}: {said}") from (None if isinstance(error, _Broken) else error)
            checked.append(prop.name)
    return checked


class _Broken(AssertionError):
    """A property that does not hold."""


def _require(holds: bool, sentence: str) -> None:
    if not holds:
        raise _Broken(sentence)


def _require_close(a: Tensor, b: Tensor, sentence: str, tolerance: float = 1e-9) -> None:
    holds = torch.allclose(a, b, rtol=tolerance, atol=tolerance)
    _require(holds, f"{sentence}; got {_shown(a)} and {_shown(b)}")


def _shown(values: Tensor) -> str:
    return f"{values.item():.9g}" if values.numel() == 1 else str([round(value, 9) for value in values.flatten().tolist()[:4]])


def _seeded(distance: nn.Module, *samples: Tensor, **extra: Tensor) -> Tensor:
    torch.manual_seed(0)
    return distance(*samples, **extra)


def _shapes(case: _Case) -> None:
    for lead in ((), (1,), (2, 3)):
        seed = {"seed": list(range(6))[: max(1, int(np.prod(lead)))]} if case.takes_seed and case.batched else {}
        values = case.build(**seed)(*case.samples(*lead))
        _require(values.shape == lead, f"leading dimensions {list(lead)} must give values of that shape; got {list(values.shape)}")


def _sizes(case: _Case) -> None:
    x, y = case.samples()
    _require(case.build()(x[:7], y).shape == (), "7 samples against 12 must give a scalar")


def _dtypes(case: _Case) -> None:
    for dtype in (torch.float32, torch.float64, torch.bfloat16) if case.ours else (torch.float32, torch.float64):
        x, y = case.samples(dtype=dtype)
        value = case.build()(x.requires_grad_(), y)
        _require(value.dtype == dtype, f"samples of {dtype} must give a value of that type; got {value.dtype}")


def _identity(case: _Case) -> None:
    x, y = case.samples()
    at_equality, apart = case.build()(x, x.clone()), case.build()(x, y)
    _require(bool(at_equality <= apart), f"D(x, x) must not be above D(x, y); got {_shown(at_equality)} and {_shown(apart)}")
    if case.ours:
        x.requires_grad_()
        value = case.build()(x, x.detach().clone())
        value.backward()
        _require(value.item() == 0, f"D(x, x) must be zero; got {_shown(value)}")
        _require(not x.grad.any(), "the gradient of D(x, x) must be zero")
        _require(apart.item() >= 0, f"D(x, y) must not be negative; got {_shown(apart)}")


def _symmetry(case: _Case) -> None:
    x, y = case.samples()
    one, other = case.build(), case.build()
    for _ in range(2):
        _require_close(_seeded(one, x, y), _seeded(other, y, x), "D(x, y) must be D(y, x)")


def _permutations(case: _Case) -> None:
    x, y = case.samples()
    one, other = case.build(), case.build()
    for _ in range(2):
        order = torch.arange(12).roll(5), torch.arange(12).flip(0)
        values = _seeded(one, x, y), _seeded(other, x[order[0]], y[order[1]])
        _require_close(*values, "the value must not depend on the order of the samples", 1e-7)


def _weights(case: _Case) -> None:
    x, y = case.samples()
    for weights in ((3 * torch.ones(12), torch.ones(12)), (torch.ones(12, dtype=x.dtype) / 12,) * 2):
        values = _seeded(case.build(), x, y), _seeded(case.build(), x, y, x_weights=weights[0], y_weights=weights[1])
        _require_close(*values, "equal weights must give the value without weights")


def _gradients(case: _Case) -> None:
    x, y = case.samples(n=6)
    x.requires_grad_()
    value = case.build()(x, y)
    value.backward()
    _require(x.grad is not None and bool(torch.isfinite(x.grad).all()), "the gradient with respect to x must be finite")
    if case.smooth:
        distance = case.frozen(*case.samples(n=6))
        inputs = (x.detach().requires_grad_(), y.requires_grad_(case.ours))
        if not torch.autograd.gradcheck(distance, inputs, atol=1e-6, rtol=1e-4, raise_exception=False):
            raise _Broken(f"the gradient must agree with finite differences; they differ by up to {_largest_difference(distance, *inputs)}")


def _second_derivatives(case: _Case) -> None:
    x, y = case.samples(n=4)
    inputs = (x.requires_grad_(), y.requires_grad_())
    right = torch.autograd.gradgradcheck(case.frozen(*case.samples(n=4)), inputs, atol=1e-6, rtol=1e-4, raise_exception=False)
    _require(right, "second derivatives must agree with finite differences of the gradient")


def _largest_difference(distance: Callable[[Tensor, Tensor], Tensor], x: Tensor, y: Tensor) -> str:
    """Between the gradient with respect to x and central differences."""
    gradient = torch.autograd.grad(distance(x, y), x)[0]
    numerical = torch.zeros_like(gradient)
    with torch.no_grad():
        for i in range(x.numel()):
            shift = torch.zeros_like(x).view(-1).index_fill_(0, torch.tensor(i), 1e-6).view_as(x)
            numerical.view(-1)[i] = (distance(x + shift, y) - distance(x - shift, y)) / 2e-6
    return f"{(gradient - numerical).abs().max():.2g}, where the largest of them is {numerical.abs().max():.2g}"


def _two_calls(case: _Case) -> None:
    x, y = case.samples()
    distance = case.build()
    x.requires_grad_()
    (distance(x, y) + distance(x, y + 1)).backward()
    other, gradient = case.build(), torch.zeros_like(x)
    for target in (y, y + 1):
        gradient += torch.autograd.grad(other(x, target), x)[0]
    _require(torch.allclose(x.grad, gradient, rtol=1e-9, atol=1e-9), "a second call must not change the gradient of the first")


def _reproducibility(case: _Case) -> None:
    x, y = case.samples()
    runs = []
    for disturbance in (1, 2):
        distance = case.build()
        if case.seeded:
            torch.manual_seed(disturbance)
        runs.append(torch.stack([distance(x, y).detach() for _ in range(3)]))
    source = "seed" if case.seeded else "random state of torch"
    _require(torch.equal(*runs), f"the same {source} must give the same values; got {_shown(runs[0])} and {_shown(runs[1])}")


def _random_state(case: _Case) -> None:
    x, y = case.samples()
    distance = case.build()
    torch_state, numpy_state = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    distance(x, y)
    untouched = torch.equal(torch.get_rng_state(), torch_state) and np.array_equal(np.random.get_state()[1], numpy_state)  # noqa: NPY002
    _require(untouched, "a distance with a seed must leave the random state of torch and numpy alone")


def _state(case: _Case) -> None:
    x, y = case.samples(dtype=torch.float32)
    distance = case.build()
    for _ in range(2):
        _seeded(distance, x, y)
    file = io.BytesIO()
    torch.save(distance.state_dict(), file)
    file.seek(0)
    restored = case.build(**({"seed": 99} if case.ours and case.takes_seed else {}))
    restored.load_state_dict(torch.load(file, weights_only=True))
    for _ in range(3):
        values = _seeded(distance, x, y), _seeded(restored, x, y)
        got = f"got {_shown(values[0])} and {_shown(values[1])}"
        _require(torch.equal(*values), f"a distance restored from its state_dict must continue with the same values; {got}")


def _replicas(case: _Case) -> None:
    x, y = case.samples(3)
    seeds = [{"seed": seed} if case.takes_seed else {} for seed in (5, 0, 11)]
    together = case.build(**({"seed": [5, 0, 11]} if case.takes_seed else {}))
    alone = [case.build(**seed) for seed in seeds]
    for _ in range(2):
        x = x.detach().requires_grad_()
        values = _seeded(together, x, y)
        values.sum().backward()
        for i, distance in enumerate(alone):
            x_i = x[i].detach().requires_grad_()
            value = _seeded(distance, x_i, y[i])
            value.backward()
            _require_close(values[i], value, f"replica {i} must have the value that it has alone", 1e-7)
            _require(torch.allclose(x.grad[i], x_i.grad, rtol=1e-7, atol=1e-7), f"replica {i} must have the gradient that it has alone")


def _evaluation(case: _Case) -> None:
    x, y = case.samples()
    distance = case.build()
    distance(x, y)
    before = copy.deepcopy(dict(distance.named_buffers()))
    values = distance.eval()(x, y + 3), distance(x, y), distance(x, y + 3)
    changed = [key for key, value in distance.named_buffers() if not torch.equal(value, before[key])]
    _require(not changed, f"evaluation mode must not change what was learned; changed: {', '.join(changed)}")
    _require(torch.equal(values[0], values[2]), "in evaluation mode the same samples must give the same value, call after call")
    _require(not list(distance.parameters()), "a distance must not hand its parameters to an optimiser: make them buffers")


def _bad_input(case: _Case) -> None:
    zeros, nan = torch.zeros(5, 2), torch.full((5, 2), float("nan"))
    for what, x, y in (
        ("x and y of different dimensions", zeros, torch.zeros(5, 3)),
        ("samples without an axis of dimensions", torch.zeros(5), zeros),
        ("no samples", torch.zeros(0, 2), zeros),
        ("samples that are whole numbers", torch.zeros(5, 2, dtype=torch.int64), zeros),
        ("samples that are not finite", nan, zeros),
    ):
        try:
            case.build()(x, y)
        except ValueError as error:
            _require("\n" not in str(error).strip(), f"{what} must be refused in one sentence; got {error}")
        except Exception as error:
            raise _Broken(f"{what} must be refused by a ValueError; got {type(error).__name__}: {error}") from None
        else:
            raise _Broken(f"{what} must be refused by a ValueError; got a value")


class _Property(NamedTuple):
    name: str
    check: Callable[[_Case], None]
    applies: Callable[[_Case], bool] = lambda case: True


_PROPERTIES = [
    _Property("shapes", _shapes),
    _Property("numbers of samples", _sizes, lambda case: case.any_size),
    _Property("dtypes", _dtypes),
    _Property("reproducibility", _reproducibility),
    _Property("random state", _random_state, lambda case: case.seeded),
    _Property("identity", _identity),
    _Property("symmetry", _symmetry, lambda case: case.symmetric),
    _Property("permutations", _permutations),
    _Property("weights", _weights, lambda case: case.weighted),
    _Property("gradients", _gradients),
    _Property("second derivatives", _second_derivatives, lambda case: case.ours),
    _Property("two calls", _two_calls),
    _Property("state_dict", _state),
    _Property("replicas", _replicas, lambda case: case.batched),
    _Property("evaluation mode", _evaluation, lambda case: case.ours),
    _Property("bad input", _bad_input),
]
