"""The inner loop of all learned distances: Adam ascent of an objective, and the state that is kept between calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.optim.adam import adam

from aswd.utils.checks import check_at_least, check_choice, is_number


@dataclass
class Maximiser:
    """Adam ascent on detached samples before a distance is evaluated.

    Args:
        steps: M >= 0 per call; 0 leaves the parameters as they are.
        lr: Adam's learning rate.
        betas: Adam's decay rates.
        warm_start: continue from the parameters and optimiser state of the last call; otherwise every call starts from new ones.
    """

    steps: int = 10
    lr: float = 0.005
    betas: tuple[float, float] = (0.999, 0.999)
    warm_start: bool = True

    def __post_init__(self) -> None:
        check_at_least("steps", self.steps, 0, whole=True)
        check_at_least("lr", self.lr, 0, strictly=True)
        check_choice("warm_start", self.warm_start, [True, False])
        betas = tuple(self.betas) if isinstance(self.betas, list | tuple) else self.betas
        if not (isinstance(betas, tuple) and len(betas) == 2 and all(is_number(b) and 0 <= b < 1 for b in betas)):
            raise ValueError(f"betas must be two numbers of at least 0 and below 1; got {self.betas!r}")
        self.betas = betas

    def ascend(
        self,
        gradients: Callable[[dict[str, Tensor]], dict[str, Tensor]],
        parameters: dict[str, Tensor],
        state: AdamState,
        constrain: Callable[[dict[str, Tensor]], None],
    ) -> None:
        """Take ``steps`` Adam steps along ``gradients``, updating ``parameters`` and Adam's ``state`` in place.

        Args:
            gradients: of the objective, from the parameters by name.
            parameters: starting point.
            state: of Adam.
            constrain: called with the parameters after every step.
        """
        names = list(parameters)
        on_cpu = all(value.device.type == "cpu" for value in parameters.values())
        for _ in range(self.steps):
            with torch.no_grad():
                grads = gradients(parameters)
                state.count += 1
                adam(
                    [parameters[name] for name in names],
                    [grads[name].contiguous() for name in names],  # the fused kernel assumes it
                    [state.first[name] for name in names],
                    [state.second[name] for name in names],
                    [],
                    [
                        torch.tensor(state.count - 1, dtype=torch.float32, device="cpu") for _ in names
                    ],  # not torch's defaults, which can be set
                    foreach=not on_cpu,
                    fused=on_cpu,
                    amsgrad=False,
                    beta1=self.betas[0],
                    beta2=self.betas[1],
                    lr=self.lr,
                    weight_decay=0.0,
                    eps=1e-8,
                    maximize=True,
                )
                constrain(parameters)


def by_autograd(objective: Callable[[dict[str, Tensor]], Tensor], parameters: dict[str, Tensor]) -> dict[str, Tensor]:
    """Gradients of an objective with one value per replica, all from one sum: replicas are independent."""
    with torch.enable_grad():
        leaves = {name: value.detach().requires_grad_() for name, value in parameters.items()}
        grads = torch.autograd.grad(objective(leaves).sum(), list(leaves.values()), materialize_grads=True)
    return dict(zip(leaves, grads, strict=True))


class AdamState:
    """Adam's state for a set of parameters: first and second moments and the number of steps taken."""

    def __init__(self, first: dict[str, Tensor], second: dict[str, Tensor], count: int = 0) -> None:
        self.first, self.second, self.count = first, second, count

    @classmethod
    def zeros_like(cls, parameters: dict[str, Tensor]) -> AdamState:
        """The state before the first step."""
        return cls(*({name: torch.zeros_like(p) for name, p in parameters.items()} for _ in range(2)))


class Learned(nn.Module):
    """What a distance keeps between calls: parameters and the moments of their optimiser, one set per replica.

    They are buffers: part of ``state_dict`` and moved by ``to(device)``, but not among the ``parameters()`` that an optimiser gets. They
    are created at the first call, when dimension and number of replicas are known, or when a state is loaded.
    """

    def __init__(self) -> None:
        super().__init__()
        self.problem: tuple[int, int] | None = None  # replicas and dimension
        self.count = 0

    def keep(self, problem: tuple[int, int], parameters: dict[str, Tensor], maximised: list[str]) -> None:
        """Store new ``parameters``, those named in ``maximised`` with zero moments."""
        self.problem, self.count = problem, 0
        for name, value in parameters.items():
            self.register_buffer(name, value)
        for name in maximised:
            self.register_buffer(f"{name}__first", torch.zeros_like(parameters[name]))
            self.register_buffer(f"{name}__second", torch.zeros_like(parameters[name]))

    def update(self, parameters: dict[str, Tensor], state: AdamState) -> None:
        """Replace the parameters and the state of their optimiser."""
        self._buffers.update(parameters)
        for which, values in (("first", state.first), ("second", state.second)):
            self._buffers.update({f"{name}__{which}": value for name, value in values.items()})
        self.count = state.count

    def forget(self) -> None:
        """Drop everything, as before the first call."""
        self._buffers.clear()
        self.problem, self.count = None, 0

    def parameters_for(self, problem: tuple[int, int], like: Tensor) -> dict[str, Tensor]:
        """The parameters, with the device and dtype of ``like``.

        Raises:
            ValueError: they were learned for other numbers of replicas or dimensions than ``problem``.
        """
        if problem != self.problem:
            (kept, kept_dim), (replicas, dim) = self.problem, problem
            raise ValueError(
                f"x must have {kept} replicas of dimension {kept_dim}, for which this distance holds learned parameters; "
                f"got {replicas} of dimension {dim}: reset() it or build another one"
            )
        if any(value.device != like.device or value.dtype != like.dtype for value in self._buffers.values()):
            self.to(device=like.device, dtype=like.dtype)
        return {name: value for name, value in self._buffers.items() if "__" not in name}

    def adam_state(self, maximised: list[str]) -> AdamState:
        """Adam's state of the parameters named: copies, so that a ``state_dict`` taken before does not change."""
        first, second = ({n: self._buffers[f"{n}__{which}"].clone() for n in maximised} for which in ("first", "second"))
        return AdamState(first, second, self.count)

    def get_extra_state(self) -> dict:
        return {"problem": self.problem, "count": self.count}

    def set_extra_state(self, state: dict) -> None:
        self.problem = None if state["problem"] is None else tuple(state["problem"])
        self.count = state["count"]

    def _load_from_state_dict(self, state_dict, prefix, *args) -> None:
        arriving = {k.removeprefix(prefix): v for k, v in state_dict.items() if k.startswith(prefix)}
        if arriving.pop("_extra_state", None) is not None:
            self._buffers.clear()
            for name, value in arriving.items():
                self.register_buffer(name, torch.empty_like(value))
        super()._load_from_state_dict(state_dict, prefix, *args)
