"""Limits at every look beside those of R's safestats, on the same streams.

`tests/reference/safestats_two_proportions.json` holds fifteen streams of 200 pairs of rows and what
safestats 0.8.7 says of them (Turner, Ly, Grünwald 2021: e-values with a plug-in prior, in blocks of
one row of each group). The procedures differ, so their numbers do: what must agree is which
streams differ, and, where nobody errs, that the limits have values in common.
"""

from __future__ import annotations

import json
import math
import warnings
from pathlib import Path
from typing import Any

import pytest

import fairstats as fs
from fairstats.ground.errors import InsufficientEvidenceWarning

RECORD = Path(__file__).parents[2] / "reference" / "safestats_two_proportions.json"
STREAMS = json.loads(RECORD.read_text(encoding="utf-8"))["streams"]
LOOKS = (50, 100, 200)


def look(stream: dict[str, Any], n_pairs: int, method: Any) -> Any:
    """The difference b − a after so many pairs."""
    counts = {}
    for group in ("a", "b"):
        selected = stream[group][:n_pairs].count("1")
        counts[group] = (selected, n_pairs - selected)
    planned = {"planned": 400} if method == "anytime" else {}
    return fs.demographic_parity_difference(
        counts=counts, reference="a", method=method, margin=0.05, **planned
    )


@pytest.fixture(scope="module", params=["anytime-exact", "anytime"])
def looks(request: Any) -> tuple[str, list[list[Any]]]:
    """What a method says of every stream at every look."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InsufficientEvidenceWarning)
        found = [[look(stream, n, request.param) for n in LOOKS] for stream in STREAMS]
    return request.param, found


def test_the_same_streams_differ(looks: Any) -> None:
    """Where safestats rejects equality, so do we, at most 2.5 times as late; nowhere else."""
    _, found = looks
    for stream, of_stream in zip(STREAMS, found, strict=True):
        rejected = [result.pvalue <= 0.05 for result in of_stream]
        first = stream["first_rejection"]
        if stream["rates"][0] == stream["rates"][1]:
            assert not any(rejected)
            assert first is None
        elif first is not None:
            late_enough = [n >= 2.5 * first or n == LOOKS[-1] for n in LOOKS]
            assert rejected[late_enough.index(True)]


def test_limits_of_both_have_values_in_common(looks: Any) -> None:
    """Ours by counts, any order of arrival; safestats' by blocks, as a running intersection."""
    method, found = looks
    misses = 0
    ratios = []
    for stream, of_stream in zip(STREAMS, found, strict=True):
        truth = stream["rates"][1] - stream["rates"][0]
        missed = False
        for place, result in enumerate(of_stream):
            low, high = result.confidence_interval
            if math.isnan(low):
                continue
            missed = missed or not low <= truth <= high
            width = stream["high"][place] - stream["low"][place]
            assert max(low, stream["low"][place]) <= min(high, stream["high"][place])
            ratios.append((high - low) / width)
        misses += missed
    # it may ever miss the truth in one stream of twenty
    assert misses <= 1
    ratios.sort()
    middle = ratios[len(ratios) // 2]
    if method == "anytime-exact":
        assert 1.0 < middle < 1.6
    else:
        assert 0.8 < middle < 1.4
