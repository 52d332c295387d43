"""Cells of quantiles, calibration slopes and intercepts beside everybody within strata.

By the public functions. In every stratum all rows have one law, or laws with one median, and all
scores are calibrated, so that the group is as everybody is; the margin is 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

import fairstats as fs
from tests.calibration.mean_strata import groups_in_strata, public_cell
from tests.calibration.means import EXPONENTIAL, NORMAL, Law
from tests.calibration.study import Cell

_Sizes = Sequence[tuple[int, int]]


def _of_group(result: Any) -> Any:
    """With the row of the first group alone."""
    stratified = SimpleNamespace(comparisons=(result.stratified["g"],))
    return SimpleNamespace(stratified=stratified)


def _quantiles(
    law: Law,
    sizes: _Sizes,
    scale: float = 1.0,
    cluster: int = 1,
) -> Cell:
    """Medians; the group's numbers lie `scale` times as far from 0, `cluster` rows share half."""
    group, stratum = groups_in_strata(sizes)
    unit = np.arange(group.size) // cluster

    def make(rng: np.random.Generator) -> Any:
        numbers = law.draw(rng, (group.size,))
        if cluster > 1:
            numbers = (numbers + law.draw(rng, (unit[-1] + 1,))[unit]) / np.sqrt(2)
        numbers = np.where(group == "g", scale, 1.0) * numbers * (1 + 0.5 * stratum) + stratum
        options: dict[str, Any] = {} if cluster == 1 else {"cluster": unit}
        result = fs.means(
            numbers,
            sensitive_features=group,
            strata=stratum,
            statistic="median",
            comparisons="overall",
            **options,
        )
        return _of_group(result)

    words = f"{law.words}, {_words(sizes)}"
    if scale != 1:
        words += f", scale {scale:g}"
    if cluster > 1:
        words += f", clusters of {cluster}"
    name = "means(strata=, statistic='median', comparisons='overall')"
    return public_cell(name, words, make, 1_000)


def _fits(metric: str, sizes: _Sizes) -> Cell:
    group, stratum = groups_in_strata(sizes)

    def make(rng: np.random.Generator) -> Any:
        score = np.clip(rng.beta(2, 3, group.size), 0.01, 0.99)
        result = fs.calibration(
            (rng.random(group.size) < score).astype(int),
            score,
            sensitive_features=group,
            strata=stratum,
            metric=metric,  # type: ignore[arg-type]
            comparisons="overall",
        )
        return _of_group(result)

    name = f"calibration(strata=, metric='{metric}', comparisons='overall')"
    return public_cell(name, f"beta(2, 3), {_words(sizes)}", make, 1_000)


def _words(sizes: _Sizes) -> str:
    if len(set(sizes)) == 1:
        return f"{len(sizes)} × {sizes[0][0]}/{sizes[0][1]}"
    return ", ".join(f"{own}/{others}" for own, others in sizes)


def _cells() -> Iterator[Cell]:
    opposite = [(100, 25), (50, 60), (25, 100)]
    yield _quantiles(EXPONENTIAL, opposite)
    yield _quantiles(NORMAL, [(30, 150)] * 3, scale=2.0)
    yield _fits("slope", [(80, 300)] * 3)
    yield _fits("intercept", [(250, 80), (120, 120), (80, 250)])
    yield _quantiles(EXPONENTIAL, [(30, 150)] * 3)
    yield _quantiles(NORMAL, [(100, 200)] * 3, cluster=4)
    yield _fits("slope", [(250, 80), (120, 120), (80, 250)])
    yield _fits("intercept", [(80, 300)] * 3)


CELLS = tuple(_cells())
