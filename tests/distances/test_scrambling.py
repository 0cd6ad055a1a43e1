"""Scrambled point sets: what a net keeps, what is random, and what is gained."""

import numpy as np
import pytest
import torch
from scipy import stats
from scipy.stats import qmc

from aswd import testing
from aswd.distances import build
from aswd.distances.point_sets import Halton, Sobol, _primes
from aswd.distances.scrambling import permuted_inverse
from aswd.distances.streams import Streams

LEVEL = 1e-4  # of all statistical tests here


def scrambled(kind, count, dim, replicas, seed=0):
    streams = Streams(list(range(seed, seed + replicas)))
    streams.prepare(replicas, torch.device("cpu"), torch.float32)
    return kind().scrambled(count, dim, streams)


def test_a_scrambled_sobol_net_keeps_its_elementary_intervals():
    """64 points: one in every 64th of each coordinate, and one in every elementary rectangle of the first two, in each replica."""
    points = scrambled(Sobol, 64, 5, 20)
    assert ((points > 0) & (points < 1)).all()
    for axis in range(5):
        strata = (points[..., axis] * 64).long().sort(1).values
        assert torch.equal(strata, torch.arange(64).expand(20, -1))
    for k in range(7):
        boxes = (points[..., 0] * 2**k).long() * 2 ** (6 - k) + (points[..., 1] * 2 ** (6 - k)).long()
        assert torch.equal(boxes.sort(1).values, torch.arange(64).expand(20, -1))


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_scrambled_halton_points_keep_their_strata(axis):
    base = int(_primes(3)[axis])
    points = scrambled(Halton, base**3, 3, 20)[..., axis]
    assert ((points > 0) & (points < 1)).all()
    assert torch.equal((points * base**3).long().sort(1).values, torch.arange(base**3).expand(20, -1))


@pytest.mark.parametrize("kind", [Sobol, Halton])
def test_every_scrambled_point_is_uniform(kind):
    """Each coordinate of points 0 and 5, over 3000 replicas."""
    points = scrambled(kind, 10, 4, 3000)
    for index in (0, 5):
        for axis in range(4):
            assert stats.kstest(points[:, index, axis].numpy(), "uniform").pvalue > LEVEL / 8


@pytest.mark.parametrize("kind", [Sobol, Halton])
def test_scrambling_is_more_than_a_shift(kind):
    """The position of one point relative to another is random too: differences, digital or modulo one, are not the same everywhere.
    (Permutations of two digits are a digital shift: not in Halton's first dimension.)
    """
    points = scrambled(kind, 16, 4, 50)[..., 1:]
    difference = (points[:, 3] - points[:, 2]) % 1
    assert (difference.std(0) > 0.01).all()
    digits = (points * 2**30).long()
    exclusive = digits[:, 3] ^ digits[:, 2]
    assert all(len(column.unique()) > 10 for column in exclusive.T)


def test_sobol_points_in_the_same_interval_are_independent_below_it():
    """As in Owen's scrambling: of two points that agree in their first digit, the next ones after the first that differs are
    independent bits. Chi-square over 2000 replicas.
    """
    digits = (scrambled(Sobol, 4, 1, 2000)[..., 0] * 2**30).long()
    plain = (torch.quasirandom.SobolEngine(1).draw(4, dtype=torch.float64)[:, 0] * 4).long()
    a, b = (i for i in range(4) if plain[i] < 2)
    exclusive = digits[:, a] ^ digits[:, b]
    assert ((exclusive >> 28) == 1).all()  # the first digit agrees, the second differs
    table = np.zeros((2, 2))
    np.add.at(table, (((exclusive >> 27) & 1).numpy(), ((exclusive >> 26) & 1).numpy()), 1)
    assert stats.chisquare(table.flatten()).pvalue > LEVEL


@pytest.mark.parametrize(("kind", "theirs", "gain"), [(Sobol, qmc.Sobol, 1000), (Halton, qmc.Halton, 30)])
def test_the_variance_of_integrals_is_that_of_scipy_s_scrambling(kind, theirs, gain):
    """Mean over 256 points of a smooth function in d = 4, 300 times: unbiased, of a variance below that of random points by the factor,
    and within a factor of 3 of scipy's. An F test at the level stated would find 1.6.
    """

    def integrals(points):
        return np.asarray((1 + (points - 0.5) * np.array([1, 0.5, 0.25, 0.125])).prod(-1).mean(-1))

    ours = integrals(scrambled(kind, 256, 4, 300).numpy())
    other = np.array([integrals(theirs(4, scramble=True, rng=np.random.default_rng(i)).random(256)) for i in range(300)])
    random = integrals(np.random.default_rng(0).random((300, 256, 4)))
    assert abs(ours.mean() - 1) < stats.norm.isf(LEVEL / 2) * ours.std() / np.sqrt(300)
    assert random.var() / ours.var() > gain
    assert 1 / 3 < ours.var() / other.var() < 3


@pytest.mark.parametrize("name", ["qsw_sobol", "qsw_halton", "qsw_equal_area"])
def test_replicas_have_scramblings_of_their_own(name):
    x, y = (torch.randn(12, 3, generator=torch.Generator().manual_seed(i)) for i in range(2))
    together = build(name, num_projections=20, randomisation="scramble", seed=[4, 9])
    alone = [build(name, num_projections=20, randomisation="scramble", seed=seed) for seed in (4, 9)]
    theta = together.draw(x.expand(2, -1, -1), y)
    assert not torch.allclose(theta[0], theta[1])
    for i, distance in enumerate(alone):
        assert torch.equal(distance.draw(x, y), theta[i])


@pytest.mark.parametrize("name", ["qsw_sobol", "qsw_halton", "qsw_equal_area"])
def test_scrambled_point_sets_keep_the_contract(name):
    assert testing.check_distance(name, randomisation="scramble") == [prop.name for prop in testing._PROPERTIES]
    x = torch.zeros(2, 12, 3, device="meta")  # where any look at a value raises
    assert build(name, num_projections=20, randomisation="scramble", seed=0)(x, x).device.type == "meta"


class Largest:
    """Streams whose permutations reverse all digits, with the largest random numbers that there can be."""

    count = 1

    def uniform(self, bound, *shape):
        return torch.linspace(bound, -bound, *shape)[None] if shape != (1,) else torch.full((1, 1), bound)


def test_permuted_inverses_stay_below_one_in_every_base():
    for base in _primes(100):
        points = permuted_inverse(torch.arange(50), int(base), Largest())
        assert points.dtype == torch.float64
        assert points.min() > 0
        assert points.max() < 1
