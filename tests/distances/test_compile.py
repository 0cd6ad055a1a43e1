"""Inside a compiled model."""

import pytest
import torch
from torch import nn

from aswd.distances import wasserstein_1d
from tests.distances.small import small


class Model(nn.Module):
    def __init__(self, name):
        super().__init__()
        torch.manual_seed(0)
        self.layer, self.distance = nn.Linear(3, 3), small(name)

    def forward(self, x, y):
        return 2 * self.distance(torch.relu(self.layer(x)), self.layer(y)) + 1


@pytest.mark.slow
def test_the_solver_on_the_line():
    u, v = torch.randn(50), torch.randn(30)
    compiled = torch.compile(lambda a, b: 2 * wasserstein_1d(torch.relu(a), b), backend="aot_eager")
    torch.testing.assert_close(compiled(u, v), 2 * wasserstein_1d(torch.relu(u), v))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["swd", "gswd_poly3", "gswd_circular", "max_gswd_nn1", "dswd", "aswd", "max_swd", "wasserstein"])
def test_values_and_gradients_equal_eager_ones(name):
    x, y = torch.randn(20, 3), torch.randn(20, 3)
    eager, compiled = Model(name), Model(name)
    run = torch.compile(compiled, backend="aot_eager")
    for _ in range(2):
        a, b = eager(x, y), run(x, y)
        a.backward()
        b.backward()
        torch.testing.assert_close(b, a, rtol=1e-5, atol=1e-6)
        torch.testing.assert_close(compiled.layer.weight.grad, eager.layer.weight.grad, rtol=1e-5, atol=1e-6)
