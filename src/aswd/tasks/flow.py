"""The sliced Wasserstein flow: particles that descend a distance to a target (section 4.1 of the paper)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from aswd.metrics import exact_wasserstein
from aswd.tasks import flow_figures
from aswd.tasks.base import exact_bytes
from aswd.tasks.batches import as_points
from aswd.tasks.configs import FlowConfig
from aswd.tasks.particles import ParticleTask
from aswd.utils.metric_history import MetricHistory


class Flow(ParticleTask):
    r"""N particles follow :math:`x \leftarrow \mathrm{Adam}(\nabla_x D(x, y))`, or descend by SGD, towards the points y of a target.

    A batch is a target ``[R, N, d]``, or ``[N, d]`` for all seeds; see :func:`~aswd.tasks.batches.as_points`. The particles start from
    ``source_points()`` of the data module where it has some, else from what the options say. Metrics: ``w2``, the exact W2 to the
    target; ``distance_value``, D at the last step; ``learned_norm``, of what D has learned.

    Args:
        distance: D.
        seeds: one per replica.
        options: see :class:`~aswd.tasks.configs.FlowConfig`.
    """

    config_class = FlowConfig
    data_kind = "points"

    def __init__(self, distance: Any, *, seeds: Any = (0,), **options: Any) -> None:
        super().__init__(distance, seeds=seeds, **options)
        # Closer together at the beginning, where the particles move fastest.
        steps = (self.config.iterations * np.linspace(0, 1, max(self.config.num_frames, 2)) ** 2).round().astype(int)
        self.frame_steps = np.unique(steps).tolist() if self.config.num_frames else []
        self.frames: dict[int, Tensor] = {}  # by step, [N, d], of the first replica only: nobody looks at fifty animations
        self.target: Tensor | None = None

    @classmethod
    def check(cls, config: FlowConfig, data: Any, distance: nn.Module) -> None:
        if config.num_particles is not None and getattr(data, "source", None) is not None:
            raise ValueError(f"task.num_particles must be left out where data.source gives the particles; got {config.num_particles}")

    @classmethod
    def problem(cls, config: FlowConfig, data: Any) -> tuple[int, int, int, int]:
        if not hasattr(data, "target_shape"):
            return super().problem(config, data)
        count = data.count("source") if getattr(data, "source", None) is not None else config.num_particles or data.target_shape[0]
        return 1, count, *data.target_shape

    @classmethod
    def num_bytes(cls, config: FlowConfig, data: Any, distance: nn.Module, seeds: int) -> int:
        """Particles with gradient and moments of Adam, the exact W2 of a seed, and frames with the steps at which they are taken."""
        _, n, m, dim = cls.problem(config, data)
        frames = min(config.num_frames, config.iterations + 1) * n * dim * 4 + config.num_frames * 16
        return 16 * seeds * n * dim + exact_bytes(n, m) + frames

    def setup(self, stage: str) -> None:
        self.target = as_points(self.first_batch(), len(self.seeds))
        if self.particles is None:
            source = getattr(self.trainer.datamodule, "source_points", lambda: None)()
            self.initialise(self.target, None if source is None else as_points(source, len(self.seeds)))

    def initialise(self, target: Tensor, source: Tensor | None = None) -> None:
        """Make the particles.

        Args:
            target: ``[R, N, d]``.
            source: where they start, ``[R, M, d]``; default: drawn as the options say.
        """
        self.target = target
        self.start_from(self.draw_sources(self.config.num_particles or target.shape[1], target.shape[2]) if source is None else source)

    def training_step(self, batch: Any, batch_idx: int) -> Tensor:
        self.target = as_points(batch, len(self.seeds))
        self._keep_frame()
        self.watch(self.particles, self.global_step + 1)  # a gradient may have spoiled what the loss did not show
        values = self.distance(self.particles, self.target)
        self.watch(values, self.global_step + 1)
        self._values = values.detach()
        return self.config.loss_factor * values.sum()  # its gradient is, for each replica, that of its own distance

    def validation_step(self, batch: Any, batch_idx: int) -> None:
        self.watch(self.particles, self.global_step)
        self.stop_if_diverged()
        self.log_metrics({"w2": exact_wasserstein(self.particles, as_points(batch, len(self.seeds))), **self.training_metrics()})

    def _keep_frame(self) -> None:
        step = self.global_step
        if step in self.frame_steps and step not in self.frames:
            self.frames[step] = self.particles[0].detach().clone()

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        self._keep_frame()
        checkpoint["frames"] = self.frames

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Take the frames; their number is neutral, and may have been another."""
        super().on_load_checkpoint(checkpoint)
        self.frames = {step: frame for step, frame in checkpoint["frames"].items() if step in self.frame_steps}

    def _taken_frames(self) -> tuple[np.ndarray, list[int]]:
        """Frames ``[F, N, d]`` and their steps; a run whose number of frames has changed midway has gaps."""
        self._keep_frame()
        steps = sorted(self.frames)
        shape = self.particles.shape[1:]
        return torch.stack([self.frames[step].cpu() for step in steps] or [torch.empty(0, *shape)]).reshape(-1, *shape).numpy(), steps

    def samples(self, replica: int) -> dict[str, np.ndarray]:
        kept = {"particles": self.particles[replica].detach().cpu().numpy(), "target": self.target[replica].cpu().numpy()}
        if replica == 0:
            frames, steps = self._taken_frames()
            kept |= {"frames": frames, "frame_steps": np.array(steps, dtype=np.int64)}
        return kept

    def draw(self, folder: Path, metrics: MetricHistory, title: str) -> list[Path]:
        if not self.config.images:
            return []
        images = [flow_figures.curve(folder / "w2.png", metrics, title)]
        frames, steps = self._taken_frames()
        if steps:
            target = self.target[0].cpu().numpy()
            images.append(flow_figures.strip(folder / "particles.png", frames, steps, target, title))
            images.append(flow_figures.animation(folder / "particles.gif", frames, target))
        return images
