"""The compiled kernel against torch's stable sort, the numpy path and float64; and the package without it."""

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from aswd.distances import build, kernel, sorting
from aswd.distances.one_dimensional import quantile_plan, solve_rows

FOLDER = Path(kernel.__file__).with_name("native")
compiled = pytest.mark.skipif(not kernel.kernel_is_built(), reason="the kernel is built with GCC on x86-64 only")


@pytest.fixture(params=[32, 64])
def register_bytes(request, monkeypatch):
    monkeypatch.setattr(kernel, "_register_bytes", request.param)


def rows_of(count, n, seed=0):
    """Rows with ties, both zeros, denormal and infinite values."""
    torch.manual_seed(seed)
    rows = torch.randn(count, n)
    rows[:, ::3] = rows[:, ::3].round()
    rows[:, ::7] *= -0.0
    rows[:, 1::11] = 1e-41
    rows[: count // 3, 2::13] = float("inf")
    return rows


def test_it_is_built_where_there_is_a_compiler_for_it():
    has_compiler = shutil.which("g++") is not None and Path("/proc/cpuinfo").exists() and "avx2" in Path("/proc/cpuinfo").read_text()
    assert kernel.kernel_is_built() or not has_compiler


@compiled
@pytest.mark.usefixtures("register_bytes")
@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 31, 64, 100, 257, 500, 1024, 1025, 3000, 20_000])
@pytest.mark.parametrize("count", [1, 5, 17])
def test_rows_are_sorted_as_by_torch(n, count):
    rows = rows_of(count, n)
    expected = rows.sort(dim=1, stable=True)
    values, index = kernel.sort(rows, True)
    assert torch.equal(values, expected.values)
    assert torch.equal(index, expected.indices)
    assert torch.equal(kernel.sort(rows, False)[0], expected.values)


def crowded_rows(kind, count, n):
    """Rows in which values share a step of a short key: how many of them decides how the kernel sorts."""
    torch.manual_seed(6)
    z = torch.randn(count, n)
    return {
        "normal": z,
        "heavy tails": z**9,
        "an outlier": torch.cat([z[:, 1:], torch.full((count, 1), 1e30)], 1),
        "neighbouring floats": 1 + torch.randint(0, 40, (count, n)) * 2.0**-23,
        "clusters": z.round() + torch.randint(0, 5, (count, n)) * 2.0**-22,
        "denormal": z * 1e-41,
        "constant": torch.full((count, n), -3.5),
        "largest": z.sign() * 3.4e38,
        "falling": z.sort(dim=1, descending=True).values,
    }[kind]


@compiled
@pytest.mark.usefixtures("register_bytes")
@pytest.mark.parametrize("n", [2, 100, 512, 513, 8192, 8193, 30_000])
@pytest.mark.parametrize(
    "kind",
    ["normal", "heavy tails", "an outlier", "neighbouring floats", "clusters", "denormal", "constant", "largest", "falling"],
)
def test_values_that_are_close_are_sorted_as_by_torch(kind, n):
    rows = crowded_rows(kind, 20, n)
    expected = (rows + 0.0).sort(dim=1, stable=True)
    values, index = kernel.sort(rows, True)
    assert torch.equal(values, expected.values)
    assert torch.equal(index, expected.indices)


@compiled
@pytest.mark.usefixtures("register_bytes")
@pytest.mark.parametrize("order", [1.0, 1.5, 2.0, 3.0])
@pytest.mark.parametrize("n", [1, 9, 500, 2000, 8195])
def test_costs_and_slopes_agree_with_float64(n, order):
    torch.manual_seed(1)
    u, v = torch.randn(19, n), torch.randn(19, n) + 0.5
    slopes = u.clone(), v.clone()
    plan = quantile_plan(n, n, None, None, device=u.device, dtype=u.dtype)
    costs = solve_rows(*slopes, plan, order, True, True)
    exact = u.double().requires_grad_(), v.double().requires_grad_()
    lines = [side.sort(dim=1, stable=True).values for side in exact]
    reference = (lines[0] - lines[1]).abs().pow(order).mean(1)
    grads = torch.autograd.grad(reference.sum(), exact)
    torch.testing.assert_close(costs.double(), reference.detach(), rtol=1e-5, atol=1e-7)
    scale = plan.slope_scale(n, order)
    for slope, grad, sign in zip(slopes, grads, (1, -1), strict=True):
        torch.testing.assert_close(sign * scale * slope.double(), grad, rtol=1e-3, atol=2e-5 / n)


@compiled
@pytest.mark.parametrize("order", [1.0, 2.0, 2.5])
def test_long_rows_have_the_same_bits_alone_and_side_by_side(order):
    """Few of them are sorted by their digits, many in the lanes of registers."""
    u, v = rows_of(13, 9001, seed=3), rows_of(13, 9001, seed=4)
    for need_u, need_v in [(True, False), (False, True), (True, True), (False, False)]:
        together, alone = (u.clone(), v.clone()), (u.clone(), v.clone())
        costs = kernel.solve(*together, order, need_u, need_v)
        each = [kernel.solve(alone[0][i : i + 1], alone[1][i : i + 1], order, need_u, need_v) for i in range(len(u))]
        torch.testing.assert_close(torch.cat(each), costs, rtol=0, atol=0, equal_nan=True)
        for one, other in zip(alone, together, strict=True):
            torch.testing.assert_close(one, other, rtol=0, atol=0, equal_nan=True)


@compiled
@pytest.mark.usefixtures("register_bytes")
@pytest.mark.parametrize("dim", [1, 2, 3, 4, 5, 8, 11, 16, 31, 32])
@pytest.mark.parametrize(("replicas", "n", "slices"), [(1, 60, 37), (3, 9, 5), (2, 1100, 70)])
def test_slices_agree_with_float64(dim, replicas, n, slices):
    torch.manual_seed(2)
    # Multiples of 1/16, whose products are exact in float32: no rounding changes the order.
    x, y, theta = ((16 * torch.randn(replicas, count, dim)).round() / 16 for count in (n, n, slices))
    costs, sides, theta_grad = kernel.sliced(x, y, theta, 2.0, (True, True, True))
    grads = *sides.split(n, 1), theta_grad
    inputs = [tensor.double().requires_grad_() for tensor in (x, y, theta)]
    lines = [(inputs[2] @ side.mT).sort(dim=-1, stable=True).values for side in inputs[:2]]
    reference = (lines[0] - lines[1]).square().sum(-1)
    expected = torch.autograd.grad(reference.sum(), inputs, retain_graph=True)
    torch.testing.assert_close(costs.double(), reference.detach(), rtol=1e-5, atol=1e-5)
    for grad, of in zip(grads, expected, strict=True):
        torch.testing.assert_close(2 * grad.double(), of, rtol=1e-5, atol=1e-3)
    assert torch.equal(kernel.sliced(x, y, theta, 2.0, (False, True, False))[1], grads[1])
    assert torch.equal(kernel.sliced(x, y, theta, 2.0, (True, True, False), 0.5)[1], sides / 2)
    weights = torch.randn(replicas, slices)
    _, *weighted = kernel.sliced(x, y, theta, 2.0, (True, True, True), 0.5, weights)
    expected = torch.autograd.grad((weights.double() * reference).sum(), inputs)
    for grad, of in zip((*weighted[0].split(n, 1), weighted[1]), expected, strict=True):
        torch.testing.assert_close(4 * grad.double(), of, rtol=1e-5, atol=1e-3)
    other, slopes = kernel.slopes(x, y, theta, 2.0, (True, True))
    assert torch.equal(other, costs)
    for slope, grad, sign in zip(slopes, grads, (1, -1), strict=False):
        torch.testing.assert_close(sign * slope.mT @ theta, grad, rtol=1e-4, atol=1e-4)


@compiled
@pytest.mark.usefixtures("register_bytes")
@pytest.mark.parametrize("order", [1.0, 2.0, 3.0])
@pytest.mark.parametrize(("dim", "n"), [(1, 30), (2, 500), (5, 9), (32, 40)])
def test_lifted_costs_agree_with_float64(dim, n, order):
    torch.manual_seed(5)
    x, y, theta = ((16 * torch.randn(2, count, dim)).round().double() / 16 for count in (n, n, 19))
    i, j = ((theta @ side.mT).argsort(dim=-1, stable=True) for side in (x, y))
    matched = [torch.stack([points[index] for points, index in zip(side, order_, strict=True)]) for side, order_ in ((x, i), (y, j))]
    expected = (matched[0] - matched[1]).norm(dim=-1).pow(order).sum(-1)
    costs = kernel.lifted(x.float(), y.float(), theta.float(), order)
    torch.testing.assert_close(costs.double(), expected, rtol=1e-5, atol=1e-6)


@compiled
@pytest.mark.parametrize("dim", [2, 40])
def test_the_same_bits_with_every_width_of_registers(monkeypatch, dim):
    torch.manual_seed(3)
    x, y = torch.randn(100, dim), torch.randn(100, dim)
    values = []
    for width in (32, 64):
        monkeypatch.setattr(kernel, "_register_bytes", width)
        x.requires_grad_().grad = None
        value = build("swd", num_projections=50, seed=0)(x, y)
        value.backward()
        values.append((value.detach(), x.grad))
    assert all(torch.equal(a, b) for a, b in zip(*values, strict=True))


@compiled
def test_what_is_not_finite_is_not_hidden():
    x, y = torch.randn(20, 2), torch.randn(20, 2)
    theta = torch.full((1, 3, 2), 3e38)  # values overflow
    costs, *_ = kernel.sliced(x[None], y[None], theta, 2.0, (True, False, False))
    assert not torch.isfinite(costs).any()
    rows = torch.randn(4, 9)
    rows[2, 5] = float("nan")
    assert kernel.solve(rows.clone(), torch.randn(4, 9), 2.0, True, False).isnan().tolist() == [False, False, True, False]


@pytest.mark.parametrize("name", ["swd", "aswd", "dswd", "ebsw", "gswd_circular", "max_swd"])
@pytest.mark.parametrize("dim", [2, 40])  # the kernel's own products, and torch's
def test_numpy_gives_the_same_without_it(name, dim, monkeypatch):
    torch.manual_seed(4)
    x, y = torch.randn(80, dim), torch.randn(80, dim) + 0.2
    values = []
    for library in (kernel._library, None):
        monkeypatch.setattr(kernel, "_library", library)
        options = {"steps": 0} if name in ("aswd", "dswd", "max_swd") else {}  # Adam enlarges differences of rounding
        x.requires_grad_().grad = None
        value = build(name, seed=0, **options)(x, y)
        value.backward()
        values.append((value.detach(), x.grad))
    for with_kernel, without in zip(*values, strict=True):
        torch.testing.assert_close(with_kernel, without, rtol=1e-5, atol=1e-8)


def test_no_library_no_kernel(tmp_path):
    assert kernel._load(tmp_path / "rows.so") is None
    (tmp_path / "rows.so").write_text("not a library")
    assert kernel._load(tmp_path / "rows.so") is None


@compiled
def test_a_library_of_another_version_is_not_used(monkeypatch):
    assert kernel._load(kernel._FILE) is not None
    monkeypatch.setattr(kernel, "_INTERFACE", kernel._INTERFACE + 1)
    assert kernel._load(kernel._FILE) is None


@pytest.mark.parametrize("compiler", ["false", "no-such-compiler"])
def test_the_build_goes_on_without_a_compiler(tmp_path, monkeypatch, compiler):
    script = FOLDER.parents[3] / "scripts" / "build_kernel.py"
    spec = importlib.util.spec_from_file_location("build_kernel", script)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for file in FOLDER.iterdir():
        if file.suffix != ".so":
            shutil.copy(file, tmp_path)
    (tmp_path / "rows.so").write_text("of an earlier version")
    monkeypatch.setenv("CXX", compiler)
    assert module.build(tmp_path) is None
    assert not (tmp_path / "rows.so").exists()


@compiled
def test_speed_does_not_depend_on_the_order_of_imports():
    """With torch, and so numpy, imported first, the distances sort with the same code."""
    code = "import torch; from aswd.distances import kernel, sorting; x = torch.zeros(2, 3); print(sorting.use_kernel(x, 3))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"
    assert sorting.use_kernel(torch.zeros(2, 3), 3)
