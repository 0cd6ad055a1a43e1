"""The estimation error against closed forms."""

import numpy as np
import pytest
import torch

from aswd.config.composition import CommandLine, plan_runs
from aswd.data.configs import MixtureConfig
from aswd.data.points import gaussian_mixture
from aswd.runs.execution import execute_run
from aswd.tasks.estimation import Estimation
from aswd.utils.errors import UserError

SMALL = ["task=estimation", "data.num_samples=30", "trainer.accelerator=cpu", "trainer.threads=1", "trainer.enable_progress_bar=false"]


def final(folder, *overrides):
    (spec,) = plan_runs(CommandLine([*SMALL, f"paths.output_dir={folder}", *overrides]))
    outcomes = execute_run(spec)
    assert {outcome.status for outcome in outcomes} == {"done"}, outcomes[0].text
    return [outcome.run.result["final"] for outcome in outcomes], [outcome.run.samples() for outcome in outcomes]


def test_the_exact_value_is_the_mean_over_all_directions():
    y = torch.randn(2, 40, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    task = Estimation({"name": "swd", "num_projections": 10}, seeds=(0, 1), pair="similar", scale=1.5, shift=2.0)
    x = torch.stack([task._partner(points, seed) for points, seed in zip(y, (0, 1), strict=True)])
    angles = torch.randn(200_000, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    theta = torch.nn.functional.normalize(angles, dim=1)
    brute = [((theta @ a.T).sort(1).values - (theta @ b.T).sort(1).values).square().mean() for a, b in zip(x, y, strict=True)]
    torch.testing.assert_close(task._exact(x, y), torch.stack(brute), rtol=0.01, atol=0)


def test_a_translation_is_exact_for_complete_orthogonal_blocks(tmp_path):
    (values,), (kept,) = final(tmp_path, "distance=osw", "distance.num_projections=10", "data.dim=10", "task.shift=3")
    assert kept["exact"] == pytest.approx(9 / 10)  # |t|^2 / d
    assert values["mse"] < 1e-10
    assert values["distance_value"] == pytest.approx(3 / np.sqrt(10))


@pytest.mark.parametrize("pair", ["similar", "normal"])
def test_the_error_of_independent_directions_falls_with_their_number(tmp_path, pair):
    options = [f"task.pair={pair}", "replicas=4", "task.iterations=50", "data.dim=3"]
    runs = [final(tmp_path, "distance=swd", f"distance.num_projections={count}", *options)[0] for count in (10, 160)]
    few, many = (np.mean([values["mse"] for values in finals]) for finals in runs)
    assert few / many == pytest.approx(16, rel=0.4)


def test_only_estimates_of_the_sliced_distance_are_taken():
    for distance in ("ebsw", "swd1", "max_swd", "gswd_circular", "aswd", "wasserstein", "rpsw"):
        with pytest.raises(UserError, match="must estimate SW_2"):
            plan_runs(CommandLine([*SMALL, f"distance={distance}"]))
    for distance in ("osw", "qsw_sobol", "swd_lcv", "swd_shcv", "msw"):
        plan_runs(CommandLine([*SMALL, f"distance={distance}"]))


def test_gaussians_have_the_spread_and_condition_that_they_are_given():
    points = gaussian_mixture(MixtureConfig(num_samples=200_000, dim=4, components=1, spread=2.0, condition=8.0), seed=3).double().numpy()
    deviations = np.sqrt(np.linalg.eigvalsh(np.cov(points.T)))
    np.testing.assert_allclose(deviations, 2.0 * np.geomspace(1 / 8, 1, 4), rtol=0.02)
    many = gaussian_mixture(MixtureConfig(num_samples=80, dim=50, components=8, spread=0.01), seed=0)
    assert torch.equal(many, gaussian_mixture(MixtureConfig(num_samples=80, dim=50, components=8, spread=0.01), seed=0))
    assert (torch.cdist(many, many) < 0.5).sum(1).eq(10).all()  # ten points around each of eight means
