"""Colour transfer: a picture is repainted in the colours of another (appendix of the paper)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from aswd.data.photograph_files import Picture
from aswd.data.photographs import Photographs
from aswd.distances import Wasserstein, options
from aswd.metrics import exact_wasserstein
from aswd.tasks import color_figures
from aswd.tasks.alignment import averaged_alignment, barycentric_projection
from aswd.tasks.base import Task
from aswd.tasks.configs import ColorTransferConfig
from aswd.utils.metric_history import MetricHistory

METHODS = ("alignment", "flow")


class ColorTransfer(Task):
    r"""The K colours x of the source's palette become T(x), in the colours y of the target's; the picture is then repainted.

    Metrics: ``w2`` is the exact W2 between both palettes after the transfer, clusters weighted by their pixels; ``w2_of_centres`` the same
    with all clusters alike; ``gradient_similarity`` how much of the source's drawing is left, see
    :func:`~aswd.tasks.color_figures.gradient_similarity`.

    By alignment, :math:`T(x_n) = \frac1L \sum_l y_{\sigma_l(n)}` with the matching :math:`\sigma_l` of the sorted projections along
    direction l; for the exact Wasserstein distance, the barycentric projection of its plan. By flow, :math:`T(x)` is where
    :math:`x \leftarrow \mathrm{Adam}(\nabla_x D(x, y))` leads.

    Args:
        settings: see :class:`ColorTransferConfig`.
        data: the pictures and their palettes.
        distance: D; an alignment needs one of the family.
        seeds: one.
    """

    headline = "w2"
    logarithmic = False
    data_kind = "pair"

    def __init__(self, settings: ColorTransferConfig, data: Photographs, distance: nn.Module, seeds: Sequence[int]) -> None:
        super().__init__(distance, seeds)
        if settings.method == "alignment" and not (isinstance(distance, Wasserstein) or hasattr(distance, "project")):
            raise ValueError(
                f"task.method must be 'flow' for {getattr(distance, 'name', type(distance).__name__)}, whose directions are not known"
            )
        self.automatic_optimization = False  # an alignment has steps without a gradient
        self.settings = settings
        self.source, self.target_picture = data.pictures()
        self.source_palette, target = data.palettes()
        arrays = {
            "start": self.source_palette.centres,
            "start_weights": self.source_palette.weights,
            "target": target.centres,
            "target_weights": target.weights,
        }
        for name, array in arrays.items():  # with an axis of one replica; found again from the seed
            self.register_buffer(name, torch.from_numpy(array).float()[None], persistent=False)
        self.palette = nn.Parameter(self.start.clone())
        self._values: Tensor | None = None

    @classmethod
    def distance_defaults(cls, name: str, reading: str) -> dict[str, Any]:
        """A search that began anew at every call (Max-) would end after a few steps; here it goes on, as what others learn does."""
        return {"warm_start": True} if "warm_start" in options(name) else {}

    @property
    def num_steps(self) -> int:
        """One for an alignment by a distance that keeps nothing from call to call."""
        learns = getattr(getattr(self.distance, "maximiser", None), "warm_start", False)
        return self.settings.iterations if learns or self.settings.method == "flow" else 1

    def is_due(self, step: int) -> bool:
        return step == 1 or step % self.settings.evaluate_every == 0

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam([self.palette], lr=self.settings.lr, betas=tuple(self.settings.betas))

    def training_step(self, *_: Any) -> None:
        optimiser, flows = self.optimizers(), self.settings.method == "flow"
        self.watch(self.palette, self.global_step + 1)
        with torch.set_grad_enabled(flows):
            values = self.distance(self.palette if flows else self.start, self.target, *self._weights())
        self.watch(values, self.global_step + 1)
        self._values = values.detach()
        if flows:
            optimiser.zero_grad()
            self.manual_backward(values.sum())
        optimiser.step()  # in an alignment it moves nothing, and counts the iteration

    def _weights(self) -> tuple[Tensor, Tensor] | tuple[()]:
        return (self.start_weights, self.target_weights) if self.settings.weighted else ()

    def _aligned(self) -> Tensor:
        """The source's palette as the distance's directions align it with the target's, ``[K, 3]``."""
        weights = self._weights()
        if isinstance(self.distance, Wasserstein):
            return barycentric_projection(self.start[0], self.target[0], *(w[0] for w in weights), order=self.distance.order)
        u, v = self.distance.project(self.start, self.target, *weights)
        return averaged_alignment(u[0], v[0], self.target[0], *(w[0] for w in weights))

    @torch.no_grad()
    def evaluate(self) -> dict[str, Tensor]:
        if self.settings.method == "alignment":
            self.palette.copy_(self._aligned())
        self.watch(self.palette, self.global_step)
        self.stop_if_diverged()
        painted = self.palette.clamp(0, 1)
        similarity = color_figures.gradient_similarity(self.source, self._colours())
        found = {
            "w2": exact_wasserstein(painted, self.target, x_weights=self.start_weights, y_weights=self.target_weights),
            "w2_of_centres": exact_wasserstein(painted, self.target),  # all clusters counted the same, as an alignment without weights does
            "gradient_similarity": torch.tensor([similarity]),
            "distance_value": self._values,
        }
        norm = self.learned_norm()
        return found if norm is None else {**found, "learned_norm": norm}

    def _colours(self) -> np.ndarray:
        """What becomes of every colour of the source, ``[n, 3]``."""
        palette = self.palette[0].detach().cpu().double().numpy()
        return color_figures.new_colours(self.source.colours, self.source_palette, palette, self.settings.keep_detail)

    def result(self) -> Picture:
        """The source, repainted."""
        return self.source.repainted(self._colours())

    def samples(self, replica: int) -> dict[str, np.ndarray]:
        buffers = {"palette": self.palette, "source": self.start, "target": self.target}
        buffers |= {"source_weights": self.start_weights, "target_weights": self.target_weights}
        kept = {name: value[0].detach().cpu().numpy() for name, value in buffers.items()}
        pictures = {"picture": self.result(), "source_picture": self.source, "target_picture": self.target_picture}
        return kept | {name: np.asarray(color_figures.small(picture)) for name, picture in pictures.items()}

    def draw(self, folder: Path, metrics: MetricHistory, title: str) -> list[Path]:
        if not self.settings.pictures:
            return []
        result = self.result()
        pictures = {"source": self.source, "target": self.target_picture, title: result}
        return [
            color_figures.save(folder / "result.png", result.image()),
            color_figures.save(folder / "side_by_side.png", color_figures.side_by_side(pictures)),
        ]
