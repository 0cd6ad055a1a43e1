"""Claims of the papers on energy-based, quasi-random and tree slices and on SWGG, on the logarithm of W2."""

from __future__ import annotations

from aswd.artifacts.claims.answers import Answer, every, share
from aswd.artifacts.claims.evidence import Evidence
from aswd.artifacts.claims.registry import claim

_METRIC = "log10_w2"
_SIMILAR = 0.25  # in that, half an order of magnitude of the W2 squared that these papers print


def _all_below(evidence: Evidence, *pairs: tuple[str, str], by: float = 0.0) -> Answer:
    """Whether on every data set the first of each pair ends below the second, by more than ``by``."""
    answers = {data: every([evidence.below(data, *pair, _METRIC, by) for pair in pairs]) for data in evidence.data}
    factors = []
    for data in evidence.data:
        for first, second in pairs:
            interval = evidence.difference(data, first, second, _METRIC)
            if interval is not None:
                mean, low, high = (100**value for value in interval)
                factors.append(f"; {data}, {first}: W2^2 {mean:.3g} ({low:.3g} to {high:.3g}) times that of {second}")
    return share(answers).noted("".join(factors))


@claim("EBSW1", "At the published settings the EBSW of the code ends below the SW.")
def ebsw1(evidence: Evidence) -> Answer:
    """EBSW with the softmax of sums over points, below SW at the same learning rate."""
    return _all_below(evidence, ("EBSW (code)", "SW"))


@claim("EBSW2", "The EBSW of the code ends below the SW whose learning rate is sqrt(3) times as large.")
def ebsw2(evidence: Evidence) -> Answer:
    """Whether EBSW's advantage outlasts a larger step of SW."""
    return _all_below(evidence, ("EBSW (code)", "SW, lr x sqrt(3)"))


@claim("EBSW3", "The EBSW of the text (tau = 1 for a mean over points) ends below the SW by more than half an order of W2 squared.")
def ebsw3(evidence: Evidence) -> Answer:
    """EBSW with the softmax of means over points, by more than the margin below SW."""
    return _all_below(evidence, ("EBSW (text)", "SW"), by=_SIMILAR)


_FIXED = {"Spiral": "Spiral, rotated", "Equal area": "Equal area, rotated", "Gaussian mapping": "Gaussian mapping, scrambled"}


@claim("QSW1", "Randomised point sets end below the SW.")
def qsw1(evidence: Evidence) -> Answer:
    """Every randomised point set below random directions."""
    return _all_below(evidence, *((label, "SW") for label in _FIXED.values()))


@claim("QSW2", "Point sets that stay the same stop above the SW.")
def qsw2(evidence: Evidence) -> Answer:
    """Random directions below every fixed point set."""
    return _all_below(evidence, *(("SW", label) for label in _FIXED))


@claim("QSW3", "Randomised at every step, the same point sets end below themselves.")
def qsw3(evidence: Evidence) -> Answer:
    """Every randomised point set below the same one without."""
    return _all_below(evidence, *((randomised, fixed) for fixed, randomised in _FIXED.items()))


@claim("TSW1", "Trees of lines end below the SW of order 2.")
def tsw1(evidence: Evidence) -> Answer:
    """TSW-SL below the published baseline."""
    return _all_below(evidence, ("TSW-SL", "SW"))


@claim("TSW2", "Trees of lines end below the SW of order 1.")
def tsw2(evidence: Evidence) -> Answer:
    """TSW-SL below the baseline of its own order."""
    return _all_below(evidence, ("TSW-SL", "SW p=1"))


@claim("TSW3", "Trees of lines end below SWGG, the Max-SW and the LCV-SW.")
def tsw3(evidence: Evidence) -> Answer:
    """TSW-SL below the other published rivals."""
    return _all_below(evidence, *(("TSW-SL", rival) for rival in ("SWGG", "Max-SW", "LCV-SW")))


@claim("SWGG1", "SWGG ends below the SW.")
def swgg1(evidence: Evidence) -> Answer:
    """SWGG by Monte Carlo below SW."""
    return _all_below(evidence, ("SWGG (Monte Carlo)", "SW"))


@claim("SWGG2", "SWGG ends below the Max-SW.")
def swgg2(evidence: Evidence) -> Answer:
    """SWGG by Monte Carlo below Max-SW."""
    return _all_below(evidence, ("SWGG (Monte Carlo)", "Max-SW"))
