"""`sample_tail`: rows of one group, real then synthetic, until the tail of CD looks exponential."""

from __future__ import annotations

import math
import time
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from fairstats.ground import checks
from fairstats.ground.checks import SeedOrGenerator
from fairstats.ground.errors import InputError
from fairstats.ground.groups import group_index
from fairstats.ground.predictions import as_features, favourable_probability
from fairstats.ground.progress import under_way
from fairstats.ground.results import Result
from fairstats.ground.serialise import serialisable
from fairstats.methods.ecd.discrimination import Attribute, find_attribute, flipped_scores
from fairstats.methods.ecd.generators import FittedGenerator, as_people, fit_generator
from fairstats.methods.ecd.sample import GroupSample
from fairstats.numerics.evt import exponentiality_test
from fairstats.numerics.evt.distributions import Floats


@serialisable()
class Look:
    """One look at the tail, of n values, by the exponentiality test (no p-value for the paper's
    rules).

    `confidence_level`: 1 less the level of this look; `reason`: why there was nothing to test.
    """

    n: int
    statistic: float
    pvalue: float
    confidence_level: float
    passed: bool
    reason: str


@serialisable(eq=False)
class TailSample(Result):
    """Rows of one group (`sample`: real rows first, then synthetic ones) and the `looks` at their
    tail.

    `status` is "passed" (one look, or all those planned), "passed at the first look" of several
    allowed, "passed by stopping rule, no error guarantee", "not passed: …", or "degenerate: …".
    `confidence_level` is over all looks.
    """

    title: ClassVar[str] = "Tail sample"
    backend: ClassVar[str] = "numpy"
    lacks: ClassVar[dict[str, str]] = {
        **dict.fromkeys(
            ("comparisons", "estimate", "std_error", "confidence_interval", "__getitem__"),
            "it holds the rows of one group; fs.ecd(CounterfactualSample.of_groups(…), …) compares"
            " groups",
        ),
        "verdict": "how the sampling ended is .status, and whether the tail passed is .passed",
        "plot": "draw it with CounterfactualSample.of_groups(…).plot()",
    }

    attribute: str
    sample: GroupSample
    looks: tuple[Look, ...]
    status: str
    test: str
    stop: str
    confidence_level: float
    max_looks: int
    k_min: int
    k_max: int
    generator: str
    seconds: float
    seed: int | None

    @property
    def passed(self) -> bool:
        """Whether the tail was not shown heavier than exponential when sampling stopped."""
        if not self.looks or self.looks[-1].reason:
            return False
        if self.stop == "all_looks":
            all_taken = len(self.looks) == self.max_looks
            return all_taken and all(look.passed for look in self.looks)
        return self.looks[-1].passed

    @property
    def statistic(self) -> float:
        """Statistic of the last look."""
        return self.looks[-1].statistic if self.looks else math.nan

    @property
    def pvalue(self) -> float:
        """p-value of the last look; NaN for the paper's rules."""
        return self.looks[-1].pvalue if self.looks else math.nan

    def rows(self) -> list[dict[str, Any]]:
        """One row per look."""
        result: list[dict[str, Any]] = []
        for look in self.looks:
            result.append(
                {
                    "metric": "exponential tail",
                    "group": self.sample.group,
                    "statistic": look.statistic,
                    "pvalue": look.pvalue,
                    "n": look.n,
                    "method": self.test,
                    "backend": self.backend,
                    "confidence_level": look.confidence_level,
                    "passed": look.passed,
                }
            )
        return result

    def sentences(self) -> list[str]:
        """How it ended."""
        n = self.sample.n_synthetic
        count = len(self.looks)
        if n:
            made = f"{n:,} synthetic ones by {self.generator}"
        else:
            made = "no synthetic ones"
        looks = f"{count} look{'' if count == 1 else 's'} of at most {self.max_looks}"
        if self.test == "max_cv":
            looks += (
                f", each at level {_one_sided_level(self.confidence_level) / self.max_looks:.3g}"
            )
        return [
            f"{self.sample.group}: {self.status}. {self.sample.n_real:,} real rows and {made},"
            f" {looks}."
        ]

    def notes(self) -> list[str]:
        """How it ended, and what that means."""
        lines = self.sentences()
        if self.passed:
            lines.append("Passing means: not shown heavier than exponential.")
        if self.sample.n_synthetic:
            lines.append(
                "With synthetic rows the tail is that of the generator's law, not of the"
                " population."
            )
        if self.test != "max_cv":
            lines.append(
                "The paper's rule has no error level: see sample_tail for how often it passes."
            )
        return lines


def _one_sided_level(confidence_level: float) -> float:
    """Level of a test from the confidence level: 0.05, not 0.050000000000000044."""
    return round(1.0 - confidence_level, 12)


def status_words(looks: Sequence[Look], ended: str, stop: str, max_looks: int) -> str:
    """How the sampling ended."""
    if not looks:
        return f"not passed: {ended} before the first look"
    if looks[-1].reason:
        return looks[-1].reason
    if stop == "all_looks":
        if failed := sum(not look.passed for look in looks):
            return f"not passed: {failed} of {len(looks)} looks found it heavier than exponential"
        if len(looks) == max_looks:
            return "passed"
        return f"not passed: {ended} after {len(looks)} looks"
    if not looks[-1].passed:
        return f"not passed: {ended}"
    if len(looks) > 1:
        return "passed by stopping rule, no error guarantee"
    return "passed" if max_looks == 1 else "passed at the first look"


def sample_tail(
    predict: Any,
    data: Any,
    *,
    sensitive_features: Any,
    group: Any,
    values: Any = None,
    generator: Any = None,
    k_min: int = 10,
    k_max: int = 50,
    batch: int = 1_000,
    max_looks: int = 20,
    timeout: float | None = None,
    test: str = "max_cv",
    confidence_level: float = 0.95,
    stop: str = "first_pass",
    pos_label: Hashable | None = None,
    label_values: Any = None,
    n_resamples: int = 9_999,
    rng: SeedOrGenerator = None,
    progress: bool = True,
) -> TailSample:
    """Sample counterfactual discrimination of one group until its tail passes the exponentiality
    test.

    The first look is at the group's real rows. While the test fails, a batch of synthetic rows is
    added and the test is made again, up to a number of looks or a time: Algorithm 1 of Monjezi et
    al. (see `ecd`), which prints ``while t ≤ T OR Passed``; read: AND NOT passed.

    Parameters
    ----------
    predict, sensitive_features, values, pos_label, label_values
        As for `counterfactual_discrimination`; of several other values the best counts.
    data : DataFrame, or array where no generator is given
        Real rows, of all groups.
    group : value
        The group to sample.
    generator : None, "smoothed_bootstrap", "gaussian_copula", or object
        What makes synthetic rows, fitted to those of the group: None for a single look at the real
        ones; or an object with ``fit(frame)`` and ``sample(n)``, such as CTGAN and TVAE of the
        package ctgan.
    k_min, k_max : int
        Numbers of largest values whose coefficients of variation are looked at.
    batch, max_looks : int
        Synthetic rows added between looks; looks in all, the first included.
    timeout : float, optional
        Seconds after which no further batch is made; the real rows are looked at in any case.
    test : {"max_cv", "paper_raw", "paper_excess"}
        "max_cv": max over k of the standardised coefficient of variation of excesses, against a
        heavier tail, with a simulated critical value. The paper's rules, CV_k < 1 + 1/(4k) for
        every k, have no level: on raw values a tail with ξ ≤ .1 passes always and ξ = .5 71% of the
        time; on excesses an exponential tail passes 24% and ξ = .3 4% of the time, and if repeated
        until it passes, 78% and 24% in 20 looks, 86% and 32% in 50.
    confidence_level : float
        1 − α, with α the level over all looks: each is made at α/max_looks (one look: α).
    stop : {"first_pass", "all_looks"}
        "first_pass" is Algorithm 1. A pass at a later look is one by stopping rule, and the result
        says so: with 20 looks 99% of the tails with ξ = .3 and 93% of those with ξ = .5 get there.
        "all_looks" makes every look and passes if none rejects: rejection of an exponential tail
        then has probability at most α.
    n_resamples : int
        Simulated exponential samples of the test.
    rng : None, int or Generator
        Seeds test and built-in generators.
    progress : bool, default True
        Whether a terminal shows a bar once it takes more than two seconds.

    Returns
    -------
    TailSample
        Its `sample` goes into `CounterfactualSample.of_groups`, and from there into `ecd`.

    Raises
    ------
    InputError
        A group that is not there, a generator that raises, k_max not below the number of rows
        without a generator, predictions that are no probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> import fairstats as fs
    >>> r = np.random.default_rng(1)
    >>> people = pd.DataFrame({"sex": r.choice(["F", "M"], 800), "pay": r.gamma(2.0, 1.0, 800)})
    >>> def model(x):
    ...     return np.clip(0.2 + 0.02 * x["pay"] * (x["sex"] == "M"), 0, 1).to_numpy()
    >>> found = fs.sample_tail(model, people, sensitive_features="sex", group="F", rng=1)
    >>> found.status
    'passed'
    """
    checks.check_choice("test", test, ("max_cv", "paper_raw", "paper_excess"))
    checks.check_choice("stop", stop, ("first_pass", "all_looks"))
    checks.check_whole("k_max", k_max, low=checks.check_whole("k_min", k_min, low=2))
    if timeout is not None:
        checks.check_number("timeout", timeout, low=0, open_low=True, cure="seconds: 600")
    checks.check_confidence_level(confidence_level)
    checks.check_whole("batch", batch, low=1)
    checks.check_whole("max_looks", max_looks, low=1)
    checks.check_whole("n_resamples", n_resamples, low=99, cure="9999")
    checks.check_flag("progress", progress)
    table = as_features(data, "data")
    attribute = find_attribute(table, sensitive_features, values)
    level = group_index(attribute.labels, group, "group")
    random, seed = checks.as_generator(rng)
    real = np.flatnonzero(attribute.codes == level)
    fitted = None
    if generator is not None:
        fitted = fit_generator(generator, as_people(data, "data").iloc[real], random)
    elif real.size <= k_max:
        got = f"{k_max} for {real.size:,} rows of {attribute.labels[level]!r}"
        cure = "a smaller k_max, or a generator"
        raise InputError("k_max", got=got, allowed="less than the number of rows", cure=cure)
    else:
        max_looks = 1
    rows = _GroupRows(favourable_probability(predict, pos_label, label_values), attribute, level)
    rows.add(table.rows(real), table.labels_of(real))
    # so many that the level of one look is resolved
    least = int(np.ceil(20 / (_one_sided_level(confidence_level) / max_looks)))
    n_resamples = max(n_resamples, least) if test == "max_cv" else 99
    rule = {
        "k_min": k_min,
        "k_max": k_max,
        "rule": test,
        "confidence_level": confidence_level,
        "max_looks": max_looks,
        "n_resamples": n_resamples,
        "rng": random,
    }
    started = time.monotonic()
    looks, status = _take_looks(rows, fitted, rule, batch, timeout, stop, progress)
    return TailSample(
        attribute=attribute.name,
        sample=rows.sample(),
        looks=tuple(looks),
        status=status_words(looks, status, stop, max_looks),
        test=test,
        stop=stop,
        confidence_level=float(confidence_level),
        max_looks=max_looks,
        k_min=int(k_min),
        k_max=int(k_max),
        generator="none" if fitted is None else fitted.name,
        seconds=time.monotonic() - started,
        seed=seed,
    )


class _GroupRows:
    """Rows of one group, real then synthetic: CD to the best other value, scores, labels."""

    def __init__(self, probability: Any, attribute: Attribute, level: int) -> None:
        self.probability = probability
        self.attribute = attribute
        self.level = level
        self.cd = np.zeros(0)
        self.actual = np.zeros(0)
        self.labels: list[Any] = []
        self.n_synthetic = 0

    def add(self, data: Any, labels: Any = None) -> None:
        """Further rows; synthetic ones have no labels."""
        table = as_features(data, "data")
        flipped_attribute = replace(self.attribute, codes=np.full(table.n_rows, self.level))
        actual, flipped = flipped_scores(self.probability, table, flipped_attribute)
        self.cd = np.concatenate([self.cd, (flipped - actual[:, None]).max(axis=1)])
        self.actual = np.concatenate([self.actual, actual])
        if labels is None:
            labels = [f"synthetic {self.n_synthetic + j + 1}" for j in range(table.n_rows)]
            self.n_synthetic += table.n_rows
        self.labels += list(labels)

    def sample(self) -> GroupSample:
        """The group with its values."""
        name = self.attribute.labels[self.level]
        pairing = "other" if self.attribute.turns == 1 else "worst"
        rows = np.array(self.labels, dtype=object)
        return GroupSample._of(name, pairing, self.cd, rows, self.actual, None, self.n_synthetic)


def _take_looks(
    rows: _GroupRows,
    fitted: FittedGenerator | None,
    rule: dict[str, Any],
    batch: int,
    timeout: float | None,
    stop: str,
    progress: bool,
) -> tuple[list[Look], str]:
    """Looks at the tail, a batch of synthetic rows between them, and how it ended."""
    looks = list[Look]()
    started = time.monotonic()
    max_looks = rule["max_looks"]
    with under_way("looks at the tail", total=max_looks, shown=progress) as work:
        while len(looks) < max_looks:
            has_begun = bool(looks) or rows.n_synthetic > 0
            if has_begun and timeout is not None and time.monotonic() - started > timeout:
                return looks, "timed out"
            if looks or rows.cd.size <= rule["k_max"]:
                if fitted is None:
                    break
                rows.add(fitted.sample(batch))
                if rows.cd.size <= rule["k_max"]:
                    continue
            looks.append(
                _take_look(
                    rows.cd, 1.0 - _one_sided_level(rule["confidence_level"]) / max_looks, rule
                )
            )
            work.advance()
            if looks[-1].reason or (stop == "first_pass" and looks[-1].passed):
                break
    return looks, "looks used up"


def _take_look(cd: Floats, level: float, rule: dict[str, Any]) -> Look:
    """One look at the tail as it is so far: whether the test of its shape passes."""
    n_values = int(cd.size)
    try:
        test_result = exponentiality_test(cd, **rule)
    except InputError as problem:
        if problem.argument != "x":
            raise
        return Look(
            n=n_values,
            statistic=math.nan,
            pvalue=math.nan,
            confidence_level=level,
            passed=False,
            reason=f"degenerate: {problem.got}",
        )
    return Look(
        n=n_values,
        statistic=test_result.statistic,
        pvalue=test_result.pvalue,
        confidence_level=level,
        passed=test_result.passed,
        reason="",
    )
