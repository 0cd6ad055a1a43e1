"""The runs of an artifact, cell by cell, and what the store knows of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas

from aswd.artifacts.declaration import Artifact, Series
from aswd.config.composition import CommandLine, plan_runs
from aswd.config.run import PathConfig, RunConfig
from aswd.data.registry import data_config
from aswd.distances import options
from aswd.runs import Run, RunState
from aswd.utils.errors import UserError


@dataclass(frozen=True)
class Cell:
    """One data set and one series of an artifact: the runs of all seeds of its scale."""

    data: str
    label: str
    spec: RunConfig

    def finals(self, metric: str) -> dict[int, float]:
        """The final value of every seed that is done."""
        results = {seed: Run.of(self.spec, seed).result for seed in self.spec.seeds}
        return {seed: result["final"][metric] for seed, result in results.items() if metric in result.get("final", {})}

    def curves(self, metric: str) -> tuple[np.ndarray, np.ndarray] | None:
        """Steps, and the metric at them as ``[steps, seeds]``, of the seeds that are done; ``None`` before any is.

        ``log10_w2`` is the logarithm of ``w2``. Steps at which the metric was not taken are left out.
        """
        column = metric.removeprefix("log10_")
        frames = [pandas.read_csv(Run.of(self.spec, seed).folder / "metrics.csv") for seed in self.done]
        frames = [frame[["step", column]].dropna() for frame in frames if column in frame]
        if not frames:
            return None
        values = np.stack([frame[column].to_numpy() for frame in frames], 1)
        values = np.log10(np.maximum(values, np.finfo(float).tiny)) if column != metric else values
        return frames[0]["step"].to_numpy(), values

    def samples(self, seed: int) -> dict[str, np.ndarray]:
        """What a seed that is done ended with."""
        with np.load(Run.of(self.spec, seed).folder / "samples.npz") as content:
            return dict(content)

    @property
    def done(self) -> list[int]:
        """The seeds that are done."""
        return [seed for seed in self.spec.seeds if Run.of(self.spec, seed).state is RunState.DONE]

    def failures(self) -> dict[int, str]:
        """Why seeds failed."""
        found = {seed: Run.of(self.spec, seed) for seed in self.spec.seeds}
        return {seed: run.status["reason"] for seed, run in found.items() if run.state is RunState.FAILED}


def cells(artifact: Artifact, scale_name: str, reading: str, output_dir: str, overrides: list[str] | None = None) -> list[Cell]:
    """All cells of an artifact at a scale, series by series.

    Raises:
        UserError: an override that does not fit.
    """
    scale = artifact.scale(scale_name)
    for one in overrides or []:
        if one.lstrip("+~").partition("=")[0] in ("task", "data", "distance", "reading"):  # else cells would have the wrong names
            raise UserError(f"{one} must be left out: {artifact.name} has its own; aswd train runs others, --reading is for the reading")
    fixed = [f"task={artifact.task}", f"reading={reading}", f"replicas={scale.seeds}", *scale.overrides]
    shown = scale.data or artifact.data
    found = []
    for series in artifact.series:
        own = [*_of_series(series, scale.num_projections), *(overrides or [])]
        spec = None
        for data in shown:
            # Toy targets differ in their name only: to compose each again would take a tenth of a second.
            if spec is not None and data_config(data) is type(spec.data) and spec.data.kind == "points":
                spec = replace(spec, data=replace(spec.data, name=data))
            else:
                spec = _spec(output_dir, [*fixed, f"data={data}", *own])
            found.append(Cell(data, series.label, spec))
    return found


def _spec(output_dir: str, overrides: list[str]) -> RunConfig:
    (spec,) = plan_runs(CommandLine(overrides))
    return replace(spec, paths=PathConfig(output_dir))


def _of_series(series: Series, num_projections: int) -> list[str]:
    directions = [f"distance.num_projections={num_projections}"] if "num_projections" in options(series.distance) else []
    return [f"distance={series.distance}", *directions, *series.overrides]
