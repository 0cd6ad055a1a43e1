r"""Markov chains of directions (Markovian sliced Wasserstein distances)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from aswd.distances.directions import Directions
from aswd.distances.one_dimensional import safe_root
from aswd.distances.problem import Slices
from aswd.distances.slicing import slice_costs
from aswd.distances.streams import Streams
from aswd.distances.zonal import MAX_KAPPA, directions_around, sample_noise, unit
from aswd.utils.checks import check_at_least, check_choice, check_number

TRANSITIONS = ("orthogonal", "random", "input_aware", "random_input_aware")


@dataclass
class MarkovChains(Directions):
    r"""L directions in chains that start at uniform ones (MSW).

    The next direction of a chain is

    - ``"orthogonal"``: uniform among those orthogonal to the last one (oMSW);
    - ``"random"``: of the von Mises-Fisher law around the last one (rMSW);
    - ``"input_aware"``: the last one after a step of gradient ascent, :math:`\theta + \eta \nabla_\theta W_k(\theta)`, normalised (iMSW);
    - ``"random_input_aware"``: of the von Mises-Fisher law around that (viMSW).

    Directions of the first two are uniform, each alone. Those of the others depend on the samples; they are constants of the gradient.

    Args:
        num_projections: L >= 1, of all chains; the last chain may be shorter.
        transition: as above.
        chain_length: directions that are used of a chain.
        burn_in: directions at the start of a chain that are not.
        thinning: after these, every so many-th direction is used.
        kappa: concentration of the von Mises-Fisher law.
        ascent: eta; W_k is that of samples with mean weights, where the authors' code has the sum over N samples.
    """

    num_projections: int = 1000
    transition: str = "orthogonal"
    chain_length: int = 10
    burn_in: int = 0
    thinning: int = 1
    kappa: float = 50.0
    ascent: float = 0.1

    def __post_init__(self) -> None:
        check_choice("transition", self.transition, TRANSITIONS)
        for field, least in (("num_projections", 1), ("chain_length", 1), ("burn_in", 0), ("thinning", 1)):
            check_at_least(field, getattr(self, field), least, whole=True)
        check_number("kappa", self.kappa, at_least=0, at_most=MAX_KAPPA)
        check_at_least("ascent", self.ascent, 0, strictly=True)

    @property
    def from_samples(self) -> bool:
        """Whether the transition depends on the samples."""
        return self.transition.endswith("input_aware")

    @property
    def is_uniform(self) -> bool:
        """Whether the transitions do not look at the samples."""
        return not self.from_samples

    def drawing_sorts(self) -> int:
        """Both sides for every step of ascent."""
        length = min(self.chain_length, self.num_projections)
        steps = self.burn_in + (length - 1) * self.thinning
        return 2 * steps * -(-self.num_projections // length) if self.from_samples else 0

    def base(self, dim: int, streams: Streams) -> Tensor:
        return self._chains(dim, streams, None)

    def base_from(self, s: Slices, streams: Streams) -> Tensor:
        return self._chains(s.x_features.shape[-1], streams, s)

    def _chains(self, dim: int, streams: Streams, s: Slices | None) -> Tensor:
        length = min(self.chain_length, self.num_projections)
        theta = streams.sphere(-(-self.num_projections // length), dim)
        states = [theta]
        for _ in range(self.burn_in + (length - 1) * self.thinning):
            states.append(self._next(states[-1], streams, s))
        used = torch.stack(states[self.burn_in :: self.thinning], 2)  # [R, chains, length, dim]
        return used.flatten(1, 2)[:, : self.num_projections]

    def _next(self, theta: Tensor, streams: Streams, s: Slices | None) -> Tensor:
        count, dim = theta.shape[1:]
        if dim == 1:
            return theta
        if self.transition == "orthogonal":
            normal = streams.normal(count, dim)
            for _ in range(2):  # twice is enough
                normal = normal - theta * torch.linalg.vecdot(theta, normal)[..., None]
            return functional.normalize(normal, dim=-1)
        if self.from_samples:
            theta = unit(theta + self.ascent * _ascent_direction(theta, s))
        if self.transition == "input_aware":
            return theta
        return directions_around(theta, sample_noise(streams, count, dim), "von_mises_fisher", self.kappa)


def _ascent_direction(theta: Tensor, s: Slices) -> Tensor:
    """Gradient of W_k between the projections with respect to the direction, for every direction."""
    with torch.enable_grad():
        theta = theta.detach().requires_grad_()
        distances = safe_root(slice_costs(s._replace(theta=theta)), s.order)
        return torch.autograd.grad(distances.sum(), theta)[0]
