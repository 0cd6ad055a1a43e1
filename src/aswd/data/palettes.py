"""The palette of an image: its colours gathered around a number of centres by mini-batch k-means."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.spatial import cKDTree

from aswd.data.photograph_files import Photograph

SAMPLE = 100_000  # pixels at most that k-means looks at


@dataclass(frozen=True)
class Palette:
    """Clusters of the colours of an image.

    Args:
        centres: ``[K, 3]``, each the mean of the pixels of its cluster.
        weights: ``[K]``, the share of the image's pixels in each cluster, all above zero.
        labels: ``[n]``, the cluster of every colour of the image.
    """

    centres: np.ndarray
    weights: np.ndarray
    labels: np.ndarray


def palette_of(image: Photograph, num_colors: int, seed: int) -> Palette:
    """The palette of an image, kept in memory for the next run.

    Raises:
        ValueError: the image has fewer colours than there are to be clusters.
    """
    return _palette(_Keyed(image), num_colors, seed)


def cluster(colours: np.ndarray, counts: np.ndarray, num_colors: int, seed: int) -> Palette:
    """``num_colors`` clusters of ``colours [n, 3]``, each colour of so many pixels as ``counts [n]`` says.

    Mini-batch k-means looks at a sample of the pixels, at most :data:`SAMPLE`. All colours then go to the nearest centre; a centre that
    gets none moves to where the error is largest; and at last each centre becomes the mean of its pixels.
    """
    seen = counts > 0
    if seen.sum() < num_colors:
        raise ValueError(f"must be at most the number of colours of each image, here {seen.sum()}; got {num_colors}")
    tree = cKDTree(_fit(colours[seen], counts[seen], num_colors, seed))
    while True:
        gaps, labels = tree.query(colours, workers=-1)
        empty = np.flatnonzero(np.bincount(labels[seen], minlength=num_colors) == 0)
        if not len(empty):
            break
        worst = np.argsort(-(counts * gaps**2), kind="stable")[: len(empty)]
        centres = tree.data.copy()
        centres[empty] = colours[worst]
        tree = cKDTree(centres)
    sizes = np.bincount(labels, counts, num_colors)
    centres = np.stack([np.bincount(labels, counts * channel, num_colors) / sizes for channel in colours.T], 1)
    return Palette(centres, sizes / sizes.sum(), labels)


def _fit(colours: np.ndarray, counts: np.ndarray, num_colors: int, seed: int) -> np.ndarray:
    from sklearn.cluster import MiniBatchKMeans
    from threadpoolctl import threadpool_limits

    if len(colours) == num_colors:
        return colours
    total = counts.sum()
    taken = counts if total <= SAMPLE else np.random.default_rng(seed).multinomial(SAMPLE, counts / total)
    with threadpool_limits(1):  # sums in another order would make another palette of the same seed
        means = MiniBatchKMeans(num_colors, batch_size=max(4096, 3 * num_colors), n_init=1, random_state=seed)
        return means.fit(np.repeat(colours, taken, axis=0)).cluster_centers_


@dataclass(frozen=True)
class _Keyed:
    """An image that is known by the digest of its file."""

    image: Photograph

    def __hash__(self) -> int:
        return hash(self.image.digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Keyed) and self.image.digest == other.image.digest


@lru_cache(maxsize=8)
def _palette(keyed: _Keyed, num_colors: int, seed: int) -> Palette:
    image = keyed.image
    return cluster(image.colours, image.counts, num_colors, seed)
