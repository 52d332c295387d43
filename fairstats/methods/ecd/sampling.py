"""`sample_tail`: rows of one group, real then synthetic, until the tail of CD looks exponential."""

from __future__ import annotations

import time
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from fairstats.ground.encoding import label_text
from fairstats.ground.errors import InputError
from fairstats.ground.features import as_features
from fairstats.ground.predictions import favourable_probability
from fairstats.ground.randomness import as_generator
from fairstats.ground.results import check_choice
from fairstats.methods.ecd.flips import flipped_scores
from fairstats.methods.ecd.generators.adapter import fit_generator
from fairstats.methods.ecd.generators.columns import as_people
from fairstats.methods.ecd.protected import Protected, find_protected
from fairstats.methods.ecd.sample import GroupSample
from fairstats.methods.ecd.tail_sample import Look, TailSample, status_words
from fairstats.numerics.evt.checks import as_count
from fairstats.numerics.evt.exponentiality import exponentiality_test

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["sample_tail"]

#: Name of each test here → rule of `exponentiality_test`.
TESTS = {"max_cv": "max_cv", "paper_raw": "paper_raw", "paper_excess": "paper_excess"}
_BLOCK = 100_000


def sample_tail(
    predict: Any,
    data: Any,
    *,
    protected: Any,
    group: Any,
    values: Any = None,
    generator: Any = None,
    k_min: int = 10,
    k_max: int = 50,
    batch: int = 1_000,
    max_looks: int = 20,
    timeout: float | None = None,
    test: str = "max_cv",
    alpha: float = 0.05,
    stop: str = "first_pass",
    favorable_label: Hashable | None = None,
    n_resamples: int = 9_999,
    rng: Any = None,
    progress: bool = False,
) -> TailSample:
    """Sample counterfactual discrimination of one group until its tail passes the exponentiality test.

    The first look is at the group's real rows. While the test fails, a batch of synthetic rows is added and
    the test is made again, up to a number of looks or a time. (Algorithm 1 of Monjezi et al. prints ``while t
    ≤ T OR Passed``; read: AND NOT passed.)

    Parameters
    ----------
    predict, protected, values, favorable_label
        As for `counterfactual_discrimination`; of several other values the best counts.
    data : DataFrame, or array where no generator is given
        Real rows, of all groups.
    group : value
        The group to sample.
    generator : None, "smoothed_bootstrap", "gaussian_copula", or object
        What makes synthetic rows: None for a single look at the real ones; or an object with ``fit(frame)``
        and ``sample(n)``, such as CTGAN and TVAE of the package ctgan. It is fitted to the rows of the group.
    k_min, k_max : int
        Numbers of largest values whose coefficients of variation are looked at.
    batch : int
        Synthetic rows added between looks.
    max_looks : int
        Looks in all, the first included.
    timeout : float, optional
        Seconds after which no further batch is made; the real rows are looked at in any case.
    test : {"max_cv", "paper_raw", "paper_excess"}
        "max_cv": max over k of the standardised coefficient of variation of excesses, against a heavier tail,
        with a simulated critical value. The paper's rules, CV_k < 1 + 1/(4k) for every k, have no level: on
        raw values a tail with ξ ≤ .1 passes always and ξ = .5 71% of the time; on excesses an exponential
        tail passes 24% and ξ = .3 4% of the time, and if repeated until it passes, 78% and 24% in 20 looks,
        86% and 32% in 50.
    alpha : float
        Level over all looks: each is made at alpha/max_looks (one look: alpha).
    stop : {"first_pass", "all_looks"}
        "first_pass" is Algorithm 1. A pass at a later look is one by stopping rule, and the result says so:
        with 20 looks 99% of the tails with ξ = .3 and 93% of those with ξ = .5 get there.
        "all_looks" makes every look and passes if none rejects: rejection of an exponential tail then has
        probability at most alpha.
    n_resamples : int
        Simulated exponential samples of the test.
    rng : None, int or Generator
        Seeds test and built-in generators.
    progress : bool

    Returns
    -------
    TailSample
        Its `sample` goes into `CounterfactualSample.of_groups`, and from there into `ecd`.

    Raises
    ------
    InputError
        A group that is not there, a generator that raises, k_max not below the number of rows without a
        generator, predictions that are no probabilities.

    References
    ----------
    Monjezi, V., Kreinovich, V., Trivedi, A., Tizpaz-Niari, S. Fairness Testing through Extreme Value Theory,
    Algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> import fairstats as fs
    >>> r = np.random.default_rng(1)
    >>> people = pd.DataFrame({"sex": r.choice(["F", "M"], 800), "pay": r.gamma(2.0, 1.0, 800)})
    >>> def model(x):
    ...     return np.clip(0.2 + 0.02 * x["pay"] * (x["sex"] == "M"), 0, 1).to_numpy()
    >>> found = fs.sample_tail(model, people, protected="sex", group="F", rng=1)
    >>> found.status
    'passed'
    """
    settings = _checked(test, stop, k_min, k_max, batch, max_looks, timeout, alpha)
    table = as_features(data, "data")
    attribute = find_protected(table, protected, values)
    level = _level_of(attribute, group)
    probability = favourable_probability(predict, favorable_label)
    random, seed = as_generator(rng)
    real = np.flatnonzero(attribute.codes == level)
    fitted = None
    if generator is not None:
        frame = as_people(data, "data").iloc[real]
        fitted = fit_generator(generator, frame, random)
    elif real.size <= k_max:
        raise InputError(
            "k_max",
            got=f"{k_max} for {real.size:,} rows of {attribute.labels[level]!r}",
            allowed="less than the number of rows",
            cure="a smaller k_max, or generator='gaussian_copula'",
        )
    looks_allowed = settings["max_looks"] if fitted is not None else 1
    own = Protected(attribute.name, attribute.labels, attribute.codes[real], attribute.columns)
    cd, actual = _evaluate(probability, table.rows(real), own)
    rows: list[Any] = list(table.labels_of(real))
    n_synthetic = 0
    looks: list[Look] = []
    started = time.monotonic()
    status = "looks used up"
    bar = _bar(looks_allowed, progress)
    while len(looks) < looks_allowed:
        begun = bool(looks) or n_synthetic > 0
        if begun and timeout is not None and time.monotonic() - started > timeout:
            status = "timed out"
            break
        if len(looks) or cd.size <= k_max:
            if fitted is None:
                break
            made = fitted.sample(settings["batch"])
            codes = np.full(len(made), level)
            more, scores = _evaluate(
                probability, made, Protected(attribute.name, attribute.labels, codes, attribute.columns)
            )
            cd, actual = np.concatenate([cd, more]), np.concatenate([actual, scores])
            rows += [f"synthetic {n_synthetic + j + 1}" for j in range(len(made))]
            n_synthetic += len(made)
            if cd.size <= k_max:
                continue
        looks.append(_look(cd, settings, looks_allowed, n_resamples, random))
        bar.update()
        if looks[-1].reason or (settings["stop"] == "first_pass" and looks[-1].passed):
            break
    bar.close()
    made_of = GroupSample.of(
        attribute.labels[level],
        "other" if len(attribute.labels) == 2 else "worst",
        cd,
        np.array(rows, dtype=object),
        actual,
        None,
        n_synthetic,
    )
    return TailSample(
        attribute=attribute.name,
        sample=made_of,
        looks=tuple(looks),
        status=status_words(looks, status, settings["stop"], looks_allowed),
        test=test,
        stop=settings["stop"],
        alpha=float(alpha),
        max_looks=looks_allowed,
        k_min=int(k_min),
        k_max=int(k_max),
        generator="none" if fitted is None else fitted.name,
        seconds=time.monotonic() - started,
        seed=seed,
    )


def _checked(
    test: Any, stop: Any, k_min: Any, k_max: Any, batch: Any, max_looks: Any, timeout: Any, alpha: Any
) -> dict[str, Any]:
    check_choice("test", test, tuple(TESTS))
    check_choice("stop", stop, ("first_pass", "all_looks"))
    least = as_count("k_min", k_min, least=2)
    as_count("k_max", k_max, least=least)
    if timeout is not None and not (isinstance(timeout, (int, float)) and timeout > 0):
        raise InputError("timeout", got=repr(timeout), allowed="a number of seconds above 0", cure="600")
    if not (isinstance(alpha, (int, float)) and 0 < alpha < 1):
        raise InputError("alpha", got=repr(alpha), allowed="a number between 0 and 1", cure="0.05")
    return {
        "rule": TESTS[test],
        "stop": stop,
        "k_min": int(k_min),
        "k_max": int(k_max),
        "batch": as_count("batch", batch, least=1),
        "max_looks": as_count("max_looks", max_looks, least=1),
        "alpha": float(alpha),
    }


def _level_of(attribute: Protected, group: Any) -> int:
    name = label_text(group)
    if name not in attribute.labels:
        raise InputError(
            "group",
            got=repr(group),
            allowed=f"a value of {attribute.name}: {', '.join(map(repr, attribute.labels))}",
            cure="check the spelling",
        )
    return attribute.labels.index(name)


def _evaluate(probability: Any, data: Any, attribute: Protected) -> tuple[Floats, Floats]:
    """CD to the best other value, and the score as it is."""
    table = as_features(data, "data")
    actual, flipped = flipped_scores(probability, table, attribute, _BLOCK, False)
    return (flipped - actual[:, None]).max(axis=1), actual


def _look(
    cd: Floats, settings: dict[str, Any], looks: int, n_resamples: int, rng: np.random.Generator
) -> Look:
    share = settings["alpha"] / looks
    try:
        found = exponentiality_test(
            cd,
            k_min=settings["k_min"],
            k_max=settings["k_max"],
            rule=settings["rule"],
            alpha=share,
            n_resamples=max(n_resamples, int(np.ceil(20 / share))) if settings["rule"] == "max_cv" else 99,
            rng=rng,
        )
    except InputError as problem:
        if problem.argument != "x":
            raise
        return Look(int(cd.size), float("nan"), float("nan"), share, False, f"degenerate: {problem.got}")
    return Look(int(cd.size), found.statistic, found.pvalue, share, found.passed, "")


def _bar(total: int, progress: bool) -> Any:
    from tqdm import tqdm

    return tqdm(total=total, desc="looks at the tail", disable=not progress, leave=False)
