"""Threads: the same bits for any number of them, failures, and nothing left behind."""

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from aswd.distances import available, build, kernel, wasserstein_1d
from aswd.distances.workers import map_chunks, one_torch_thread, worker_count, workers
from tests.distances.small import small

CPU = torch.device("cpu")
SIZES = [(1, 300, 2, 200), (3, 70, 2, 40), (1, 300, 24, 200), (1, 9000, 24, 10), (1, 40000, 20, 7)]


@pytest.fixture
def torch_threads():
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


def evaluated(name, replicas, n, dim, count):
    torch.manual_seed(0)
    x, y = torch.randn(replicas, n, dim, requires_grad=True), torch.randn(replicas, n, dim) + 0.3
    distance = build(name, seed=0, **({"num_projections": count} if name.startswith(("swd", "aswd", "ebsw", "dswd", "gswd_c")) else {}))
    values = torch.stack([distance(x, y) for _ in range(2)])
    values.sum().backward()
    return values.detach(), x.grad


@pytest.mark.parametrize("with_kernel", [True, False])
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("name", ["swd", "aswd", "dswd", "ebsw", "gswd_circular"])
def test_the_same_bits_for_any_number_of_threads(name, size, with_kernel, torch_threads, monkeypatch):
    if not with_kernel:
        monkeypatch.setattr(kernel, "_library", None)
    results = []
    for count in (1, 2, 4):
        torch_threads(count)
        results.append(evaluated(name, *size))
    for value, grad in results[1:]:
        assert torch.equal(value, results[0][0])
        assert torch.equal(grad, results[0][1])


@pytest.mark.parametrize("name", available())
def test_every_distance_has_the_same_bits_for_any_number_of_threads(name, torch_threads):
    results = []
    for count in (1, 2, 4):
        torch_threads(count)
        torch.manual_seed(0)
        x, y = torch.randn(2, 40, 3, requires_grad=True), torch.randn(2, 40, 3) + 0.3
        distance = small(name)
        values = torch.stack([distance(x, y) for _ in range(2)])
        values.sum().backward()
        results.append((values.detach(), x.grad))
    for value, grad in results[1:]:
        assert torch.equal(value, results[0][0])
        assert torch.equal(grad, results[0][1])


def test_rows_have_the_same_bits_for_any_number_of_threads():
    u, v = torch.randn(500, 700), torch.randn(500, 900)
    with workers(1):
        one = wasserstein_1d(u, v)
    with workers(4):
        assert torch.equal(wasserstein_1d(u, v), one)


def test_chunks_are_worked_on_in_several_threads_and_returned_in_order():
    together = threading.Barrier(3)

    def work(item):
        together.wait(10)  # three at once, or this fails
        return item, threading.get_ident(), torch.is_grad_enabled(), worker_count()

    with workers(3):
        results = map_chunks(work, range(6), CPU)
    assert [item for item, *_ in results] == list(range(6))
    assert len({ident for _, ident, *_ in results}) == 3
    assert not any(grad for _, _, grad, _ in results)
    assert {count for *_, count in results} == {1}  # a chunk starts no threads of its own


def test_torch_uses_one_thread_in_every_thread(torch_threads):
    torch_threads(2)
    together = threading.Barrier(3)

    def work(_):
        torch.ones(100_000).add_(1)  # large enough for torch to ask for its number of threads
        together.wait(10)
        return torch.get_num_threads()

    with workers(3):
        assert map_chunks(work, range(3), CPU) == [1, 1, 1]
        assert map_chunks(work, range(3), CPU) == [1, 1, 1]


def test_a_failure_of_a_chunk_is_raised_and_the_next_call_works():
    def fail(item):
        if item == 3:
            raise ZeroDivisionError(item)
        return item

    with workers(2):
        with pytest.raises(ZeroDivisionError):
            map_chunks(fail, range(50), CPU)
        assert map_chunks(lambda item: item, range(5), CPU) == list(range(5))


def test_torch_has_its_threads_back(torch_threads):
    torch_threads(2)
    seen = []

    def fail():
        with one_torch_thread():
            seen.append((torch.get_num_threads(), worker_count()))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert seen == [(1, 2)]
    assert (torch.get_num_threads(), worker_count()) == (2, 2)
    x = torch.randn(50, 2)
    build("aswd", num_projections=20, seed=0)(x, x + 1)
    assert torch.get_num_threads() == 2


def test_two_threads_of_the_caller_at_once():
    """Threads of the kernel serve one caller at a time, and the other works alone: the same bits."""
    x, y = torch.randn(300, 2), torch.randn(300, 2)

    def evaluate(_):
        return [build("swd", num_projections=500, seed=0)(x, y).item() for _ in range(20)]

    with workers(3), ThreadPoolExecutor(2) as callers:
        results = [value for values in callers.map(evaluate, range(2)) for value in values]
    assert len(set(results)) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_process_has_threads_of_its_own(torch_threads):
    """As the workers of a DataLoader: threads do not survive a fork."""
    with workers(2):
        x, y = torch.randn(300, 2), torch.randn(300, 2)
        expected = build("swd", num_projections=500, seed=0)(x, y).item()
        child = os.fork()
        if child == 0:
            torch_threads(1)
            os._exit(0 if build("swd", num_projections=500, seed=0)(x, y).item() == expected else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_threads_that_start_meanwhile_have_torchs_threads(torch_threads):
    torch_threads(2)
    seen = []
    with one_torch_thread():
        assert torch.get_num_threads() == 1
        thread = threading.Thread(target=lambda: seen.append(torch.get_num_threads()))
        thread.start()
        thread.join()
    assert seen == [2]


@pytest.mark.parametrize(
    "name", ["swd", "osw", "qsw_sobol", "db_tsw", "ebsw", "aswd", "aswd_planar", "dswd", "max_swd", "max_gswd_nn2", "gswd_nn3"]
)
def test_the_same_bits_in_many_dimensions(name, torch_threads):
    results = []
    for count in (1, 2, 3, 4):
        torch_threads(count)
        results.append(evaluated(name, 2, 60, 300, 30))
    for value, grad in results[1:]:
        assert torch.equal(value, results[0][0])
        assert torch.equal(grad, results[0][1])


@pytest.mark.parametrize("name", ["swd", "gswd_circular"])
def test_the_same_bits_where_threads_share_passes_over_the_samples(name, torch_threads):
    results = []
    for count in (1, 2, 4):
        torch_threads(count)
        results.append(evaluated(name, 1, 3000, 300, 70))
    for value, grad in results[1:]:
        assert torch.equal(value, results[0][0])
        assert torch.equal(grad, results[0][1])


def test_a_value_that_is_not_finite_among_many():
    x = torch.zeros(3000, 300)
    distance = build("swd", num_projections=2, seed=0)
    for bad in (torch.inf, torch.nan):
        for at in (0, 1500, 2999):
            x[at, 7] = bad
            with workers(2), pytest.raises(ValueError, match=f"^x must be finite; got {bad}, and 1 of 900000 values are not finite$"):
                distance(x, torch.zeros_like(x))
            x[at, 7] = 0
    assert distance(torch.full_like(x, 1e36), x) > 0  # although the sum is infinite


@pytest.mark.parametrize("name", ["swd", "swd_lcv", "gswd_circular"])
@pytest.mark.parametrize("size", [(50, 3, 20), (3000, 300, 4)], ids=str)
def test_a_graph_that_is_kept_gives_the_same_gradient_again(name, size):
    """The last backward pass through a graph scales gradients in their own memory."""
    n, dim, count = size
    x, y = torch.randn(n, dim, requires_grad=True), torch.randn(n, dim, requires_grad=True)
    value = build(name, num_projections=count, seed=0)(x, y)
    first = torch.autograd.grad(value, (x, y), retain_graph=True)
    kept = [grad.clone() for grad in first]
    doubled = torch.autograd.grad(2 * value, (x, y), retain_graph=True)
    for i, again in enumerate(torch.autograd.grad(value, (x, y))):
        assert torch.equal(first[i], kept[i])
        assert torch.equal(doubled[i], 2 * kept[i])
        assert torch.equal(again, kept[i])
    with pytest.raises(RuntimeError, match="second time"):
        torch.autograd.grad(value, (x, y))


def test_a_distance_works_while_the_interpreter_exits():
    code = """
import atexit, torch
from aswd.distances import build
torch.set_num_threads(2)
x = torch.randn(300, 2)
distance = build("swd", num_projections=500, seed=0)
atexit.register(lambda: print(float(distance(x, x + 1)) > 0))
distance(x, x + 1)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == ("True", "")


@pytest.mark.parametrize("count", [0, -1, 1.5, True])
def test_a_number_of_threads_that_there_cannot_be(count):
    with pytest.raises(ValueError, match="count must be a whole number of at least 1; got"), workers(count):
        pass
