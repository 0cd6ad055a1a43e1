"""Claims of the papers on energy-based and quasi-random slices, on trees of lines and on SWGG, judged on the logarithm of W2."""

from __future__ import annotations

from aswd.artifacts.claims.answers import Answer, every, share
from aswd.artifacts.claims.evidence import Evidence
from aswd.artifacts.claims.registry import claim

METRIC = "log10_w2"
SIMILAR = 0.25  # half an order of magnitude of the squared W2, which these papers print


def _below(evidence: Evidence, *pairs: tuple[str, str], by: float = 0.0) -> Answer:
    """Whether on every data set the first of each pair ends below the second."""
    return share({data: every([evidence.below(data, *pair, METRIC, by) for pair in pairs]) for data in evidence.data})


@claim("EBSW1", "At the published settings, the EBSW of the code ends below the SW.")
def ebsw1(evidence: Evidence) -> Answer:
    """EBSW with the softmax of sums over points, below SW at the same learning rate."""
    return _below(evidence, ("EBSW (code)", "SW"))


@claim("EBSW2", "The EBSW of the code also ends below the SW whose learning rate is sqrt(3) times as large.")
def ebsw2(evidence: Evidence) -> Answer:
    """Whether EBSW's advantage outlasts a larger step of SW."""
    return _below(evidence, ("EBSW (code)", "SW, lr x sqrt(3)"))


@claim("EBSW3", "The EBSW of the text ends below the SW by more than half an order of magnitude of the squared W2.")
def ebsw3(evidence: Evidence) -> Answer:
    """EBSW with the softmax of means over points, far below SW."""
    return _below(evidence, ("EBSW (text)", "SW"), by=SIMILAR)


_RANDOMISED = {"Spiral": "Spiral, rotated", "Equal area": "Equal area, rotated", "Gaussian mapping": "Gaussian mapping, scrambled"}


@claim("QSW1", "Randomised point sets end below the SW.")
def qsw1(evidence: Evidence) -> Answer:
    """Every randomised point set below random directions."""
    return _below(evidence, *((randomised, "SW") for randomised in _RANDOMISED.values()))


@claim("QSW2", "Point sets that stay the same end above the SW.")
def qsw2(evidence: Evidence) -> Answer:
    """Random directions below every fixed point set."""
    return _below(evidence, *(("SW", fixed) for fixed in _RANDOMISED))


@claim("QSW3", "Randomised at every step, point sets end below where they end if they stay the same.")
def qsw3(evidence: Evidence) -> Answer:
    """Every randomised point set below the same one without."""
    return _below(evidence, *((randomised, fixed) for fixed, randomised in _RANDOMISED.items()))


@claim("TSW1", "Trees of lines end below the SW of order 2, SWGG, the Max-SW and the LCV-SW.")
def tsw1(evidence: Evidence) -> Answer:
    """TSW-SL below its published rivals."""
    return _below(evidence, *(("TSW-SL", rival) for rival in ("SW", "SWGG", "Max-SW", "LCV-SW")))


@claim("TSW2", "Trees of lines also end below the SW of order 1, which is their own.")
def tsw2(evidence: Evidence) -> Answer:
    """TSW-SL below the baseline of its order."""
    return _below(evidence, ("TSW-SL", "SW p=1"))


@claim("SWGG1", "SWGG ends below the SW and the Max-SW.")
def swgg1(evidence: Evidence) -> Answer:
    """SWGG by Monte Carlo below its published rivals."""
    return _below(evidence, ("SWGG (Monte Carlo)", "SW"), ("SWGG (Monte Carlo)", "Max-SW"))
