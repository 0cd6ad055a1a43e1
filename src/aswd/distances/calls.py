"""What a sliced distance can be called for: its value, its objective, projections, directions and plan."""

from __future__ import annotations

from torch import Tensor, nn

from aswd.distances.modes import eager


class Calls(nn.Module):
    """The public calls of a sliced distance, all with the same arguments."""

    @eager
    def forward(
        self,
        x: Tensor,
        y: Tensor,
        x_weights: Tensor | None = None,
        y_weights: Tensor | None = None,
        directions: Tensor | None = None,
    ) -> Tensor:
        """The distance between ``x [..., N, d]`` and ``y [..., M, d]``, of shape ``[...]``.

        Args:
            x, y: samples; leading dimensions are replicas and broadcast.
            x_weights, y_weights: ``[..., N]`` and ``[..., M]``, normalised to sum one; default: uniform.
            directions: ``[L, D]`` or ``[..., L, D]``, used instead of random ones, in the inner loop too; the DSWD pushes them forward;
                the Max- distances take the maximum over them instead of searching; vDSW uses them as they are.
        """
        return self._solve(x, y, x_weights, y_weights, directions, "value")

    @eager
    def objective(
        self,
        x: Tensor,
        y: Tensor,
        x_weights: Tensor | None = None,
        y_weights: Tensor | None = None,
        directions: Tensor | None = None,
    ) -> Tensor:
        """The objective of the inner loop at the current parameters, ``[...]``: the distance, scaled as there, minus the penalty."""
        return self._solve(x, y, x_weights, y_weights, directions, "objective")

    @eager
    def project(
        self,
        x: Tensor,
        y: Tensor,
        x_weights: Tensor | None = None,
        y_weights: Tensor | None = None,
        directions: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """The projections of both sides, ``[..., L, N]`` and ``[..., L, M]``, that a call in evaluation mode would compare.

        Nothing is changed: learned parameters are used and not updated; directions are drawn from the start of the streams, searched
        (Max-) or given.
        """
        return self._solve(x, y, x_weights, y_weights, directions, "projections")

    @eager
    def draw(
        self,
        x: Tensor,
        y: Tensor,
        x_weights: Tensor | None = None,
        y_weights: Tensor | None = None,
        directions: Tensor | None = None,
    ) -> Tensor:
        """The directions ``[..., L, D]`` that a call in evaluation mode would use, as in :meth:`project`."""
        return self._solve(x, y, x_weights, y_weights, directions, "directions")

    @eager
    def plan(
        self,
        x: Tensor,
        y: Tensor,
        x_weights: Tensor | None = None,
        y_weights: Tensor | None = None,
        directions: Tensor | None = None,
    ) -> Tensor:
        """The transport plan whose cost the distance is, ``[..., N, M]``, at the parameters and directions of evaluation mode.

        Raises:
            ValueError: the distance has none: its slices are compared on the line.
        """
        return self._solve(x, y, x_weights, y_weights, directions, "plan")

    def _solve(
        self,
        x: Tensor,
        y: Tensor,
        x_weights: Tensor | None,
        y_weights: Tensor | None,
        directions: Tensor | None,
        wanted: str,
    ) -> Tensor | tuple[Tensor, Tensor]:
        raise NotImplementedError
