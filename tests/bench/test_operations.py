"""Counted operations against those known in closed form."""

import json

import pytest

from aswd.bench import operations


def test_the_matrix_products_of_swd_are_counted():
    n, dim, count = 96, 20, 30
    result = operations.count(operations.Case("swd", count, n, dim, networks=False))
    assert result["flops"] == 3 * 2 * n * dim * count  # two projections, and one pulled back to x
    assert result["sorted"] == 2 * n * count
    assert result["bytes"] > 2 * 4 * n * dim
    assert 10 < result["kernels"] < 60


def test_a_step_of_the_gan_does_the_same_whatever_the_batch():
    one, two = (operations.count(operations.Case("aswd", 10, n=n)) for n in (4, 8))
    assert one["kernels"] == two["kernels"]
    assert one["flops"] < two["flops"]


def test_the_table(tmp_path, capsys):
    operations.run(tmp_path / "bench" / "operations.json", only="swd N=8192")
    (case,) = json.loads((tmp_path / "bench" / "operations.json").read_text())["cases"]
    assert case["memory"] == pytest.approx(case["bytes"] / operations.BANDWIDTH)
    assert "bound by" in capsys.readouterr().out
