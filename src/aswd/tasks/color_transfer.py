"""Colour transfer: an image is repainted in the colours of another (appendix of the paper)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from aswd.data.palettes import Palette
from aswd.data.photograph_files import Photograph
from aswd.distances import Wasserstein
from aswd.metrics import exact_wasserstein
from aswd.tasks import color_figures
from aswd.tasks.alignment import averaged_alignment, barycentric_projection
from aswd.tasks.base import Task, exact_bytes
from aswd.tasks.batches import as_points
from aswd.tasks.configs import ColorTransferConfig
from aswd.utils.metric_history import MetricHistory


class ColorTransfer(Task):
    r"""The K colours x of the source's palette become T(x), in the colours y of the target's; the image is then repainted.

    By alignment, :math:`T(x_n) = \frac1L \sum_l y_{\sigma_l(n)}` with the matching :math:`\sigma_l` of the sorted projections along
    direction l; for the exact Wasserstein distance, the barycentric projection of its plan. By flow, :math:`T(x)` is where
    :math:`x \leftarrow \mathrm{Adam}(\nabla_x D(x, y))` leads.

    A batch is a dictionary: ``source`` and ``target``, colours ``[R, K, 3]``, or ``[K, 3]`` for all seeds, in [0, 1], and, if their
    clusters differ in size, ``source_weights`` and ``target_weights``, ``[R, K]`` or ``[K]``. The photographs themselves come from the
    data module, where it has ``photographs()`` and ``source_palettes()``.

    Metrics: ``w2``, the exact W2 between both palettes after the transfer, clusters weighted by their pixels; ``w2_of_centres``, the same
    with equal weights; ``gradient_similarity``, how much of the source's drawing is left, see
    :func:`~aswd.tasks.color_figures.gradient_similarity`; ``distance_value``, D at the last step; ``learned_norm``.

    Args:
        distance: D; an alignment needs one with directions, or the exact Wasserstein distance.
        seeds: one per replica.
        options: see :class:`~aswd.tasks.configs.ColorTransferConfig`.

    Raises:
        ValueError: an alignment by a distance whose directions are not known.
    """

    config_class = ColorTransferConfig
    headline = "w2"
    logarithmic = False
    optimises_manually = True
    batches_seeds = True
    data_kind = "pair"

    def __init__(self, distance: Any, *, seeds: Any = (0,), **options: Any) -> None:
        super().__init__(distance, seeds=seeds, **options)
        if self.config.method == "alignment" and not (isinstance(self.distance, Wasserstein) or hasattr(self.distance, "project")):
            name = getattr(self.distance, "name", type(self.distance).__name__)
            raise ValueError(f"task.method must be 'flow' for {name}, whose directions are not known; got 'alignment'")
        self.automatic_optimization = False  # an alignment has steps without a gradient
        self.register_parameter("palette", None)
        self.palettes: dict[str, Tensor] = {}  # of the batch, with weights
        self._photographs: tuple[Photograph, Photograph] | None = None
        self._source_palettes: list[Palette] = []  # of every seed
        self._values: Tensor | None = None

    @classmethod
    def problem(cls, config: ColorTransferConfig, data: Any) -> tuple[int, int, int, int]:
        return (1, data.num_colors, data.num_colors, 3) if hasattr(data, "num_colors") else super().problem(config, data)

    @classmethod
    def num_bytes(cls, config: ColorTransferConfig, data: Any, distance: nn.Module, seeds: int) -> int:
        """An exact W2 and, for an alignment, the values of both palettes along all directions."""
        _, n, m, _ = cls.problem(config, data)
        directions = getattr(getattr(distance, "directions", None), "num_projections", 1) if config.method == "alignment" else 0
        return exact_bytes(n, m) + 4 * directions * (n + m)

    @property
    def num_steps(self) -> int:
        """One for an alignment by a distance that keeps nothing from call to call."""
        learns = getattr(getattr(self.distance, "maximiser", None), "warm_start", False)
        return self.config.iterations if learns or self.config.method == "flow" else 1

    @property
    def evaluate_every(self) -> int:
        return self.config.evaluate_every

    def setup(self, stage: str) -> None:
        data = self.trainer.datamodule
        if hasattr(data, "photographs"):
            self._photographs, self._source_palettes = data.photographs(), data.source_palettes()
        self.initialise(self.first_batch())

    def initialise(self, batch: dict[str, Tensor]) -> None:
        """Take the palettes of ``batch``, and start from the source's unless there is a palette."""
        self._use(batch)
        if self.palette is None:
            self.palette = nn.Parameter(self.palettes["source"].clone())

    def _use(self, batch: dict[str, Tensor]) -> None:
        replicas = len(self.seeds)
        colours = {side: as_points(batch[side], replicas) for side in ("source", "target")}
        for side in ("source", "target"):
            weights, count = batch.get(f"{side}_weights"), colours[side].shape[1]
            weights = colours[side].new_full((count,), 1 / count) if weights is None else weights
            colours[f"{side}_weights"] = weights.expand(replicas, count)
        self.palettes = colours

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        self.palette = nn.Parameter(torch.empty_like(checkpoint["state_dict"]["palette"]))

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam([self.palette], lr=self.config.lr, betas=tuple(self.config.betas))

    def training_step(self, batch: dict[str, Tensor], batch_idx: int) -> None:
        self._use(batch)
        optimiser, flows = self.optimizers(), self.config.method == "flow"
        self.watch(self.palette, self.global_step + 1)
        with torch.set_grad_enabled(flows):
            values = self.distance(self.palette if flows else self.palettes["source"], self.palettes["target"], *self._weights())
        self.watch(values, self.global_step + 1)
        self._values = values.detach()
        if flows:
            optimiser.zero_grad()
            self.manual_backward(values.sum())
        optimiser.step()  # in an alignment it moves nothing, and counts the iteration

    def _weights(self) -> tuple[Tensor, Tensor] | tuple[()]:
        return (self.palettes["source_weights"], self.palettes["target_weights"]) if self.config.weighted else ()

    def _aligned(self) -> Tensor:
        """The sources' palettes as the distance's directions align them with the targets', ``[R, K, 3]``."""
        weights, start, target = self._weights(), self.palettes["source"], self.palettes["target"]
        if isinstance(self.distance, Wasserstein):
            pairs = zip(start, target, *weights, strict=True)
            return torch.stack([barycentric_projection(*pair, order=self.distance.order) for pair in pairs])
        u, v = self.distance.project(start, target, *weights)
        return torch.stack([averaged_alignment(*sides) for sides in zip(u, v, target, *weights, strict=True)])

    def validation_step(self, batch: dict[str, Tensor], batch_idx: int) -> None:
        self._use(batch)
        if self.config.method == "alignment":
            self.palette.copy_(self._aligned())
        self.watch(self.palette, self.global_step)
        self.stop_if_diverged()
        painted, target = self.palette.clamp(0, 1), self.palettes["target"]
        weights = {"x_weights": self.palettes["source_weights"], "y_weights": self.palettes["target_weights"]}
        metrics = {
            "w2": exact_wasserstein(painted, target, **weights),
            "w2_of_centres": exact_wasserstein(painted, target),  # as an alignment without weights counts clusters
        }
        if self._photographs is not None:
            metrics |= self._of_the_image()
        if self._values is not None:
            metrics["distance_value"] = self._values
        norm = self.learned_norm()
        self.log_metrics(metrics if norm is None else {**metrics, "learned_norm": norm})

    def _of_the_image(self) -> dict[str, Tensor]:
        """What is left of the source's drawing, for every replica."""
        source, rows = self._photographs[0], []
        for replica in range(len(self.seeds)):
            colours = self._colours(replica)
            rows.append([color_figures.gradient_similarity(source, colours), *color_figures.sharpness_and_contrast(source, colours)])
        return dict(zip(("gradient_similarity", "sharpness", "contrast"), torch.tensor(rows).T, strict=True))

    def _colours(self, replica: int) -> np.ndarray:
        """The new value of every colour of the source, ``[n, 3]``."""
        palette = self.palette[replica].detach().cpu().double().numpy()
        return color_figures.new_colours(self._photographs[0].colours, self._source_palettes[replica], palette, self.config.keep_detail)

    def result(self, replica: int = 0) -> Photograph:
        """The source, repainted."""
        return self._photographs[0].repainted(self._colours(replica))

    def samples(self, replica: int) -> dict[str, np.ndarray]:
        kept = {name: value[replica].detach().cpu().numpy() for name, value in {"palette": self.palette, **self.palettes}.items()}
        if self._photographs is None:
            return kept
        source, target = self._photographs
        images = {"image": self.result(replica), "source_image": source, "target_image": target}
        return kept | {name: np.asarray(color_figures.small(image)) for name, image in images.items()}

    def draw(self, folder: Path, metrics: MetricHistory, title: str) -> list[Path]:
        if not self.config.images or self._photographs is None:
            return []
        result = self.result()
        images = {"source": self._photographs[0], "target": self._photographs[1], title: result}
        return [
            color_figures.save(folder / "result.png", result.image()),
            color_figures.save(folder / "side_by_side.png", color_figures.side_by_side(images)),
        ]
