"""Cells of decompositions of gaps: intervals of the gap, of what is explained, and of the rest.

Truths are integrals over the circumstances, which are drawn as well: of a million rows that are
drawn once, or in closed form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from fairstats.ground.multiplicity import normal_quantile
from fairstats.methods.rates.numbers.bootstrap import NO_DRAWS, BootstrapContrast
from fairstats.numerics.means.decomposition import (
    COEFFICIENTS,
    GroupRows,
    Regression,
    Split,
    draw_splits,
    split_gap,
)
from tests.calibration.study import Cell, Counts

#: Rows that a truth is computed from.
_MANY = 400_000
_RESAMPLES = 199


class Setting(NamedTuple):
    """A regression, sizes of group and reference, rows of a cluster, errors about the mean."""

    words: str
    regression: Regression
    n: int
    n_reference: int
    noise: Callable[[np.random.Generator, int], np.ndarray]
    cluster: int = 1

    def draw(self, rng: np.random.Generator, n: int, *, of_group: bool) -> GroupRows:
        """Rows with two circumstances: a number, and one of three kinds."""
        n_units = -(-n // self.cluster)
        unit = np.repeat(np.arange(n_units), self.cluster)[:n]
        shared = rng.normal(size=n_units)[unit] if self.cluster > 1 else np.zeros(n)
        number = rng.normal(0.5 if of_group else 0.0, 1.0, n)
        kind = rng.choice(3, n, p=(0.5, 0.3, 0.2) if of_group else (0.3, 0.4, 0.3))
        linear = 0.5 * number - 0.6 * (kind == 1) + 0.4 * (kind == 2) - 0.3 * of_group
        if self.regression == "logistic":
            y = (rng.random(n) < expit(linear)).astype(np.float64)
        else:
            y = linear + (1 + 0.5 * np.abs(number)) * self.noise(rng, n) + 0.7 * shared
        circumstances = np.column_stack([number, kind == 1, kind == 2]).astype(np.float64)
        offset = 0 if of_group else 10_000_000
        return GroupRows(y=y, circumstances=circumstances, weight=np.ones(n), unit=unit + offset)

    def truth(self) -> dict[str, float]:
        """Each part, with the true regression of the reference at circumstances of both."""
        rng = np.random.default_rng(1)
        means = {}
        for of_group in (True, False):
            x = self.draw(rng, _MANY, of_group=of_group).circumstances
            linear = x @ np.array([0.5, -0.6, 0.4])
            link = expit if self.regression == "logistic" else (lambda value: value)
            means[of_group] = float(link(linear).mean())
            if of_group:
                own = float(link(linear - 0.3).mean())
        values = np.array([own, means[True], means[False]])
        return {part: float(weights @ values) for part, weights in COEFFICIENTS.items()}


def _normal(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.normal(size=n)


def _exponential(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.exponential(size=n) - 1


SETTINGS = (
    Setting("normal errors, 40/400", "linear", 40, 400, _normal),
    Setting("normal errors, 400/60", "linear", 400, 60, _normal),
    Setting("exponential errors, 100/1,000", "linear", 100, 1_000, _exponential),
    Setting("0/1, 40/400", "logistic", 40, 400, _normal),
    Setting("0/1, 400/100", "logistic", 400, 100, _normal),
    Setting("clusters of 10, 300/600", "linear", 300, 600, _normal, cluster=10),
)


def simulate(
    setting: Setting,
    rng: np.random.Generator,
    runs: int,
    parts: tuple[str, ...] = tuple(COEFFICIENTS),
) -> dict[str, Counts]:
    """Coverage and one-sided misses of 95% intervals of every part."""
    truth = setting.truth()
    found: dict[str, list[tuple[bool, bool]]] = {part: [] for part in parts}
    for _ in range(runs):
        split = split_gap(
            setting.draw(rng, setting.n, of_group=True),
            setting.draw(rng, setting.n_reference, of_group=False),
            setting.regression,
        )
        if not isinstance(split, Split):
            continue
        for part in parts:
            estimate, std_error = split.contrast(part)
            reach = normal_quantile(0.975, split.degrees_of_freedom[part]) * std_error
            found[part].append((truth[part] < estimate - reach, truth[part] > estimate + reach))
    counts = {}
    for part, misses in found.items():
        above, below = np.array(misses).sum(axis=0).tolist()
        n = len(misses)
        counts[part] = {
            "coverage": (n - below - above, n),
            "below": (below, n),
            "above": (above, n),
        }
    return counts


def _cell(setting: Setting, part: str) -> Cell:
    def run(rng: np.random.Generator, runs: int) -> Counts:
        return simulate(setting, rng, runs, parts=(part,))[part]

    method = f"decompose(regression='{setting.regression}'), {part}"
    return Cell("means", method, f"{setting.words} rows", run, 2_000, "conservative")


def _cell_of_bootstrap(setting: Setting, runs: int) -> Cell:
    """The rest by the studentised bootstrap: each sample takes tenths of a second."""

    def run(rng: np.random.Generator, runs: int) -> Counts:
        truth = setting.truth()["rest"]
        wrong = dict.fromkeys(("above", "below", "false violated", "false satisfied"), 0)
        answered = 0
        for _ in range(runs):
            group = setting.draw(rng, setting.n, of_group=True)
            reference = setting.draw(rng, setting.n_reference, of_group=False)
            split = split_gap(group, reference, setting.regression)
            if not isinstance(split, Split):
                continue
            draws = draw_splits(split, group, reference, setting.regression, _RESAMPLES, rng)
            drawn = BootstrapContrast(draws["rest"], NO_DRAWS, logarithms=False, studentised=True)
            answered += 1
            low, high = drawn.limits(normal_quantile(0.975))
            wrong["above"] += low > truth
            wrong["below"] += high < truth
            # at a margin that is the truth every verdict is false
            low, high = drawn.limits(normal_quantile(0.95))
            wrong["false violated"] += low > truth
            wrong["false satisfied"] += high < truth
        counts = {measure: (float(number), answered) for measure, number in wrong.items()}
        held = answered - wrong["above"] - wrong["below"]
        counts["coverage"] = (float(held), answered)
        return counts

    method = f"decompose(regression='{setting.regression}', method='bootstrap'), rest"
    words = f"{setting.words} rows, {_RESAMPLES} resamples"
    return Cell("means", method, words, run, runs, "conservative")


def _cells() -> Iterator[Cell]:
    for setting in SETTINGS:
        for part in ("explained", "rest"):
            yield _cell(setting, part)
    for setting in SETTINGS:
        # a logistic regression takes four times as long
        yield _cell_of_bootstrap(setting, 600 if setting.regression == "logistic" else 1_000)


CELLS = tuple(_cells())
