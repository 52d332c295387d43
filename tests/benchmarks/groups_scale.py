"""Cost by groups, rows and calls, and memory of resampling: `python -m tests.benchmarks.groups_scale`.

Writes one line of JSON for each public call to `groups_scale.jsonl`: processor seconds of one BLAS
thread, those of a peer in the same run where there is one, the peak of all arrays above the input
(tracemalloc), and the load of the machine. Names or parts of names measure these calls only, and
replace their lines. `--page` writes the tables that `vignettes/scale.md` shows of that record.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
import tracemalloc
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit

import fairstats as fs
from fairstats.ground.values import factorize
from fairstats.numerics.evt import fit_gpd, goodness_of_fit
from fairstats.numerics.rates import exact_table
from fairstats.numerics.rates.exact import exact_row, forget_rows

RECORD = Path(__file__).with_name("groups_scale.jsonl")
PAGE = Path(__file__).parents[2] / "vignettes" / "scale.md"
#: Where the table stands in the page.
BEGIN = "<!-- groups_scale: begin -->"
END = "<!-- groups_scale: end -->"
N_ROWS = 100_000
GROUPS = (2, 20, 200)
#: Sizes of single rows with exact tests.
EXACT_SIZES = ((20, 20), (50, 50), (100, 100), (30, 2_000), (100, 20_000), (500, 20_000))


#: A call without arguments.
Ask = Callable[[], Any]
#: What the lines of the page's tables are about, in this order.
AXES = ("groups", "growth", "rows", "resamples", "calls", "memory")
#: What stands above a table.
HEADINGS = {
    "growth": "Growth with groups of 20,000 rows, and the exponent from 20 to 80 groups:",
    "memory": "Memory of resampling:",
}
#: Groups whose growth is measured, of so many rows.
GROWING_GROUPS = (5, 20, 80)
GROWING_ROWS = 20_000


@dataclass(frozen=True)
class Case:
    """A call to be measured.

    `axis`: the table it stands in; `repetitions`: of short calls, of which the least counts;
    `memory`: whether its arrays are measured, by a second call; `arrays_alone`: whether exact tests
    do without compiled loops, as they do where numba is missing; `peer`: what is measured beside it,
    by its name.
    """

    call: str
    axis: str
    groups: int
    rows: int
    make: Callable[[], Ask]
    repetitions: int = 1
    memory: bool = True
    arrays_alone: bool = False
    peer: str = ""
    make_peer: Callable[[], Ask] | None = None


def measure_seconds(ask: Ask, repetitions: int) -> float:
    """Processor seconds of a call; of short ones the least of several, after one that loads what is
    loaded once.
    """
    if repetitions > 1:
        ask()
    times = []
    for _ in range(repetitions):
        start = time.process_time()
        ask()
        times.append(time.process_time() - start)
    return min(times)


def measure_megabytes(ask: Ask) -> float:
    """The megabytes of a call's arrays at their most."""
    tracemalloc.start()
    ask()
    megabytes = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    return megabytes


def make_rows(n_groups: int, n_rows: int, *, unlike: bool = False) -> dict[str, Any]:
    """Group, score, label and decision of so many rows; of unlike groups rates from .1 to .7."""
    rng = np.random.default_rng(1)
    group = rng.integers(0, n_groups, n_rows)
    score = rng.random(n_rows)
    if unlike:
        shifts = rng.normal(-1.0, 0.6, n_groups)
        score = expit(rng.normal(shifts[group], 1.2))
    label = (rng.random(n_rows) < score).astype(int)
    return {
        "group": group,
        "score": score,
        "label": label,
        "chosen": (score > 0.5).astype(int),
        "features": rng.normal(size=(n_rows, 4)) if n_rows <= 10**5 else None,
    }


def parity_of(n_groups: int, n_rows: int, **options: Any) -> Callable[[], Ask]:
    """Differences of selection rates."""

    def make() -> Ask:
        rows = make_rows(n_groups, n_rows)
        asked = {"y_pred": rows["chosen"], "sensitive_features": rows["group"], **options}
        return lambda: fs.demographic_parity_difference(**asked)

    return make


def metric_frame_of(n_groups: int, n_rows: int) -> Callable[[], Ask]:
    """Fairlearn's point estimates of the same rates, without intervals."""

    def make() -> Ask:
        from fairlearn.metrics import MetricFrame, selection_rate

        rows = make_rows(n_groups, n_rows)

        def ask() -> Any:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return MetricFrame(
                    metrics=selection_rate,
                    y_true=rows["label"],
                    y_pred=rows["chosen"],
                    sensitive_features=rows["group"],
                ).difference()

        return ask

    return make


def audit_of(
    n_groups: int,
    n_rows: int,
    *,
    score: bool,
    unlike: bool = False,
    **options: Any,
) -> Callable[[], Ask]:
    """Audits with labels, or with a score."""

    def make() -> Ask:
        rows = make_rows(n_groups, n_rows, unlike=unlike)
        frame = pd.DataFrame({name: rows[name] for name in ("group", "score", "label", "chosen")})
        columns = {"y_true": "label", "y_pred": "chosen", "sensitive_features": "group"}
        if score:
            columns["score"] = "score"
        return lambda: fs.audit(frame, rng=1, **columns, **options)

    return make


def scores_of(
    function: Callable[..., Any], n_groups: int, n_rows: int, **options: Any
) -> Callable[[], Ask]:
    """ABROCA or MADD."""

    def make() -> Ask:
        rows = make_rows(n_groups, n_rows)
        columns = [rows["score"]] if function is fs.madd else [rows["label"], rows["score"]]
        asked = {"sensitive_features": rows["group"], "rng": 1, **options}
        return lambda: function(*columns, **asked)

    return make


def maddlib_of(n_rows: int) -> Callable[[], Ask]:
    """MADD of two groups in 1 … 1,000 bins by the authors' package, without intervals and tests."""

    def make() -> Ask:
        from maddlib.evaluation import MADD

        rows = make_rows(2, n_rows)
        sides = {}
        for group in (0, 1):
            sides[f"pred_proba_sf{group}"] = rows["score"][rows["group"] == group]
        return lambda: [MADD(1 / n_bins, **sides) for n_bins in range(1, 1_001)]

    return make


#: What a tally counts: columns by argument.
PARTS: dict[str, dict[str, str]] = {
    "labels": {"y_true": "label", "y_pred": "chosen"},
    "scores": {"y_true": "label", "score": "rounded"},
    "numbers": {"outcome": "score"},
    "errors": {"outcome": "score", "predicted": "guess"},
}


def tally_of(n_rows: int, engine: str, part: str) -> tuple[Callable[[], Ask], Callable[[], Ask]]:
    """A tally in an engine, and the engine's own grouping without our checks.

    Of labels and scores the counts, of numbers their mean, standard deviation and skewness.
    """
    names = ["group", *PARTS[part].values()]

    def table() -> Any:
        rows = make_rows(20, n_rows)
        rows["rounded"] = np.round(rows["score"], 3)
        rows["guess"] = np.random.default_rng(2).random(n_rows)
        frame = pd.DataFrame({name: rows[name] for name in names})
        if engine == "polars":
            import polars

            return polars.DataFrame(frame).lazy()
        import duckdb

        return duckdb.from_df(frame)

    def make() -> Ask:
        counted = table()
        return lambda: fs.tally(counted, sensitive_features="group", **PARTS[part])

    def make_peer() -> Ask:
        counted = table()
        is_counted = part in ("labels", "scores")
        if engine == "polars":
            import polars

            score = polars.col("score")
            values = {"outcome": score}
            if part == "errors":
                residual = polars.col("guess") - score
                values |= {"residual": residual, "absolute": residual.abs(), "square": residual**2}
            moments = [polars.len()]
            for name, value in values.items():
                moments += [
                    value.mean().alias(f"{name}_mean"),
                    value.std().alias(f"{name}_sd"),
                    value.skew().alias(f"{name}_skew"),
                ]
            if is_counted:
                return lambda: counted.group_by(names).agg(polars.len()).collect()
            return lambda: counted.group_by("group").agg(moments).collect()
        columns = ", ".join(f'"{name}"' for name in names)
        if is_counted:
            return lambda: counted.aggregate(f"{columns}, count(*)").fetchall()
        sql_values = ["score"]
        if part == "errors":
            sql_values += ["guess - score", "abs(guess - score)", "(guess - score) ** 2"]
        sums = ", ".join(f"avg({x}), stddev_samp({x}), skewness({x})" for x in sql_values)
        return lambda: counted.aggregate(f'"group", count(*), {sums}').fetchall()

    return make, make_peer


def fit_of(n_values: int, backend: str) -> Callable[[], Ask]:
    """A generalised Pareto distribution and its standard errors."""

    def make() -> Ask:
        values = np.random.default_rng(1).exponential(size=n_values)
        return lambda: fit_gpd(values, threshold=0.0, backend=backend).std_error

    return make


def fit_in_r_of(n_values: int, call: str) -> Callable[[], Ask]:
    """The same by an R package, called within this process."""

    def make() -> Ask:
        from rpy2 import robjects

        fit = robjects.r(f"function(x) {call}")
        values = np.random.default_rng(1).exponential(size=n_values)
        in_r = robjects.FloatVector(values)
        return lambda: fit(in_r)

    return make


def hfm_of(n_rows: int, n_resamples: int) -> Callable[[], Ask]:
    """HFM of two groups with permutations."""

    def make() -> Ask:
        rows = make_rows(2, n_rows)
        columns = (rows["features"], rows["label"], rows["chosen"])
        asked = {"sensitive_features": rows["group"], "n_resamples": n_resamples, "rng": 1}
        return lambda: fs.hfm(*columns, **asked)

    return make


def adverse_impact_of(n_groups: int, n_rows: int, **options: Any) -> Callable[[], Ask]:
    """Adverse impact by one attribute."""

    def make() -> Ask:
        rows = make_rows(n_groups, n_rows)
        frame = pd.DataFrame({"group": rows["group"].astype(str), "chosen": rows["chosen"]})
        return lambda: fs.adverse_impact(frame, selected="chosen", race="group", **options)

    return make


def texts_of(n_rows: int) -> Callable[[], Ask]:
    """Groups as NumPy's own texts."""

    def make() -> Ask:
        names = np.array(["white", "black", "asian", "other"])
        texts = np.random.default_rng(1).choice(names, n_rows)
        return lambda: factorize(texts, "group")

    return make


def pandas_texts_of(n_rows: int) -> Callable[[], Ask]:
    """The same by pandas."""

    def make() -> Ask:
        names = np.array(["white", "black", "asian", "other"])
        texts = np.random.default_rng(1).choice(names, n_rows)
        return lambda: pd.factorize(texts.astype(object))

    return make


def tables_of(n_tables: int) -> tuple[np.ndarray, ...]:
    """Counts (k, n, k₀, n₀) of many pairs of rates."""
    rng = np.random.default_rng(1)
    n, n0 = rng.integers(20, 2_000, (2, n_tables))
    return rng.binomial(n, 0.3), n, rng.binomial(n0, 0.4), n0


def intervals_of(n_tables: int) -> Callable[[], Ask]:
    """Score intervals of many tables in one call."""

    def make() -> Ask:
        tables = tables_of(n_tables)
        return lambda: fs.rates.contrast_interval(*tables, contrast="difference")

    return make


def one_by_one_of(n_tables: int) -> Callable[[], Ask]:
    """Statsmodels' score interval of one table after the other (of ratios; of differences its
    limits are wrong).
    """

    def make() -> Ask:
        from statsmodels.stats.proportion import confint_proportions_2indep

        tables = [tuple(map(int, table)) for table in zip(*tables_of(n_tables), strict=True)]

        def ask() -> list[Any]:
            return [
                confint_proportions_2indep(*table, compare="ratio", method="score")
                for table in tables
            ]

        return ask

    return make


def exact_rows_of(n: int, n_reference: int) -> Callable[[], Ask]:
    """Single exact rows of ten tables each of a ratio and of a difference: p-values and limits."""

    def make() -> Ask:
        rng = np.random.default_rng(1)
        asked = []
        for _ in range(10):
            rate = rng.uniform(0.05, 0.95)
            k = int(rng.binomial(n, rate))
            k_reference = int(rng.binomial(n_reference, min(rate * rng.uniform(0.8, 1.3), 0.98)))
            table = (k, n, k_reference, n_reference)
            asked.append((table, "ratio", (0.8, 1.25, 1.0)))
            asked.append((table, "difference", (-0.1, 0.1, 0.0)))

        def ask() -> None:
            for table, contrast, (low, high, equal) in asked:
                forget_rows()
                exact_row(
                    *table,
                    contrast=contrast,
                    low=low,
                    high=high,
                    equal=equal,
                    bound_level=0.95,
                    confidence_level=0.95,
                )

        return ask

    return make


def exact_metric_of_rows() -> Ask:
    """A metric of 100 rows that exact tests judge, computed anew each time."""
    rows = make_rows(2, 100)

    def ask() -> Any:
        forget_rows()
        return fs.demographic_parity_difference(
            y_pred=rows["chosen"], sensitive_features=rows["group"]
        )

    return ask


#: Two groups that are counted already: selected and not, and by labels, too.
SELECTIONS = {"a": (20, 30), "b": (31, 19)}
CONFUSIONS = {"a": (20, 5, 10, 15), "b": (31, 4, 9, 6)}


def counts_of(function: Callable[..., Any], counts: Any, method: str) -> Callable[[], Ask]:
    """One metric of counts."""
    return lambda: lambda: function(counts=counts, method=method)


def parity_of_columns(container: Callable[[Any], Any]) -> Callable[[], Ask]:
    """The difference of 100 rows in columns of some container, groups as texts."""

    def make() -> Ask:
        rows = make_rows(2, 100)
        group = container(np.array(["black", "white"])[rows["group"]])
        chosen = container(rows["chosen"])
        return lambda: fs.demographic_parity_difference(
            y_pred=chosen, sensitive_features=group, method="mee"
        )

    return make


#: Public calls of two groups of 100 rows: of the rows of `make_rows`.
SMALL: dict[str, Callable[[dict[str, Any]], Any]] = {
    "`disparate_impact`": lambda rows: fs.disparate_impact(
        rows["chosen"], sensitive_features=rows["group"]
    ),
    "`group_metric` of true positive rates": lambda rows: fs.group_metric(
        rows["label"], rows["chosen"], metric="tpr", sensitive_features=rows["group"]
    ),
    "`means`": lambda rows: fs.means(rows["score"], sensitive_features=rows["group"]),
    "`scores`": lambda rows: fs.scores(
        rows["label"], rows["score"], sensitive_features=rows["group"]
    ),
    "`calibration`": lambda rows: fs.calibration(
        rows["label"], rows["score"], sensitive_features=rows["group"]
    ),
}


def small_of(call: str) -> Callable[[], Ask]:
    """One of the calls above."""

    def make() -> Ask:
        rows = make_rows(2, 100)
        return lambda: SMALL[call](rows)

    return make


def interval_and_test_of_one() -> Ask:
    """Statsmodels' interval and test of the same table."""
    from statsmodels.stats.proportion import confint_proportions_2indep, test_proportions_2indep

    def ask() -> Any:
        interval = confint_proportions_2indep(20, 50, 31, 50, compare="ratio", method="score")
        return interval, test_proportions_2indep(20, 50, 31, 50, compare="diff", method="score")

    return ask


def set_distance_of(n_rows: int) -> tuple[Callable[[], Ask], Callable[[], Ask]]:
    """Hausdorff distance of 50 tight blobs in 10 dimensions, and SciPy's."""

    def halves() -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(1)
        centres = rng.normal(size=(50, 10)) * 10
        points = centres[rng.integers(0, 50, n_rows)] + rng.normal(size=(n_rows, 10)) * 0.01
        return points[: n_rows // 2], points[n_rows // 2 :]

    def make() -> Ask:
        first, second = halves()
        return lambda: fs.set_distance(first, second)

    def make_peer() -> Ask:
        from scipy.spatial.distance import directed_hausdorff

        first, second = halves()
        return lambda: max(
            directed_hausdorff(first, second)[0], directed_hausdorff(second, first)[0]
        )

    return make, make_peer


def goodness_of(n_values: int) -> Callable[[], Ask]:
    """Goodness of fit of so many exceedances, 199 samples simulated and fitted."""

    def make() -> Ask:
        values = np.random.default_rng(1).exponential(size=n_values)
        fit = fit_gpd(values, threshold=0.0)
        return lambda: goodness_of_fit(fit, n_resamples=199, rng=1)

    return make


def cases_by_groups() -> list[Case]:
    """What grows with the groups; 200,000 rows where they are shared by hundreds."""
    cases = []
    for n_groups in GROUPS:
        sizes = {"axis": "groups", "groups": n_groups, "rows": N_ROWS}
        for name, function in (("abroca", fs.abroca), ("madd", fs.madd)):
            make = scores_of(function, n_groups, N_ROWS, reference=0)
            beside: dict[str, Any] = {}
            if function is fs.madd and n_groups == min(GROUPS):
                beside = {
                    "peer": "maddlib, 1,000 bandwidths, no interval, no test",
                    "make_peer": maddlib_of(N_ROWS),
                }
            cases.append(Case(f"`{name}` against a reference", make=make, **beside, **sizes))
        make = parity_of(n_groups, N_ROWS, agg="max")
        peer = {"peer": "fairlearn, no interval", "make_peer": metric_frame_of(n_groups, N_ROWS)}
        cases.append(
            Case('`demographic_parity_difference`, `agg="max"`', make=make, **peer, **sizes)
        )
    for n_groups in GROUPS:
        sizes = {"axis": "groups", "groups": n_groups, "rows": 2 * N_ROWS, "memory": False}
        for words, score in (("labels", False), ("a score", True)):
            make = audit_of(n_groups, 2 * N_ROWS, score=score, method="koopman")
            cases.append(Case(f"`audit` with {words}, no exact tests", make=make, **sizes))
        for words, unlike in (("alike", False), ("unlike", True)):
            make = audit_of(n_groups, 2 * N_ROWS, score=False, unlike=unlike)
            case = f"`audit` with labels, exact tests, rates {words}"
            cases.append(Case(case, make=make, **sizes))
            if n_groups == GROUPS[-1] and not unlike:
                cases.append(Case(f"{case}, arrays alone", make=make, arrays_alone=True, **sizes))
    sizes = {"axis": "groups", "groups": 100, "rows": 2 * N_ROWS}
    make = parity_of(100, 2 * N_ROWS, comparisons="all", method="mee")
    cases.append(Case("all pairs, no exact tests", make=make, **sizes))
    for comparisons in ("reference", "all"):
        make = scores_of(fs.madd, 100, 2 * N_ROWS, comparisons=comparisons)
        words = {"reference": "against a reference", "all": "of all pairs"}[comparisons]
        cases.append(Case(f"`madd` {words}", make=make, memory=False, **sizes))
    sizes = {"axis": "groups", "groups": 500, "rows": 2 * N_ROWS}
    make = parity_of(500, 2 * N_ROWS, agg="max")
    cases.append(Case('`demographic_parity_difference`, `agg="max"`', make=make, **sizes))
    make = adverse_impact_of(500, 2 * N_ROWS, method="koopman")
    cases.append(Case("`adverse_impact`, no exact tests", make=make, **sizes))
    return cases


def cases_by_rows() -> list[Case]:
    """What grows with the rows."""
    cases = []
    for n_rows in (10**3, 10**4, 10**5, 10**6, 10**7):
        peer: dict[str, Any] = {}
        if n_rows <= 10**6:  # beyond it the peer takes a minute
            peer = {"peer": "fairlearn, no interval", "make_peer": metric_frame_of(2, n_rows)}
        make = parity_of(2, n_rows)
        repetitions = 5 if n_rows <= 10**5 else 1
        sizes = {"axis": "rows", "groups": 2, "rows": n_rows, "repetitions": repetitions}
        cases.append(Case("`demographic_parity_difference`", make=make, **peer, **sizes))
    for engine, words in (("duckdb", "DuckDB, `GROUP BY`"), ("polars", "polars, `group_by`")):
        for part in PARTS:
            for n_rows in (10**5, 10**6, 10**7) if part == "labels" else (10**7,):
                make, make_peer = tally_of(n_rows, engine, part)
                cases.append(
                    Case(
                        f"`tally` of {part} by {words.partition(',')[0]}",
                        axis="rows",
                        groups=20,
                        rows=n_rows,
                        make=make,
                        repetitions=3,
                        memory=False,
                        peer=words,
                        make_peer=make_peer,
                    )
                )
    for n_rows in (10**3, 10**4):
        for backend, call, words in (
            ("scipy", "evd::fpot(x, 0)", "evd, `fpot`"),
            ("r", 'extRemes::fevd(x, threshold = 0, type = "GP")', "extRemes, `fevd`"),
        ):
            by = "SciPy" if backend == "scipy" else "extRemes"
            cases.append(
                Case(
                    f"`evt.fit_gpd` by {by}",
                    axis="rows",
                    groups=1,
                    rows=n_rows,
                    make=fit_of(n_rows, backend),
                    repetitions=5,
                    memory=False,
                    peer=words,
                    make_peer=fit_in_r_of(n_rows, call),
                )
            )
    cases.append(
        Case(
            "groups of NumPy texts (`factorize`)",
            axis="rows",
            groups=4,
            rows=10**6,
            make=texts_of(10**6),
            repetitions=5,
            peer="pandas, of objects",
            make_peer=pandas_texts_of(10**6),
        )
    )
    for n_rows in (3_000, 30_000):
        make, make_peer = set_distance_of(n_rows)
        cases.append(
            Case(
                "`set_distance` of 50 blobs, 10 features",
                axis="rows",
                groups=2,
                rows=n_rows,
                make=make,
                repetitions=5,
                peer="SciPy, `directed_hausdorff`",
                make_peer=make_peer,
            )
        )
    make = hfm_of(N_ROWS, 199)
    sizes = {"axis": "rows", "groups": 2, "rows": N_ROWS, "memory": False}
    cases.append(Case("`hfm`, 199 permutations", make=make, **sizes))
    return cases


def cases_by_calls() -> list[Case]:
    """Small calls, of which there are many."""
    sizes = {"axis": "calls", "groups": 2, "rows": 100, "repetitions": 9}
    # of nine calls of a third of a millisecond a busy machine slows each
    quick = {**sizes, "repetitions": 99}
    metrics = parity_of(2, 100, method="mee")
    cases = [
        Case("`demographic_parity_difference`, no exact test", make=metrics, **quick),
        Case("`demographic_parity_difference`", make=parity_of(2, 100), **quick),
        Case(
            "the same of counts, no exact test",
            make=counts_of(fs.demographic_parity_difference, SELECTIONS, "mee"),
            peer="statsmodels, interval and test",
            make_peer=interval_and_test_of_one,
            **quick,
        ),
        Case(
            "`disparate_impact` of counts, no exact test",
            make=counts_of(fs.disparate_impact, SELECTIONS, "koopman"),
            **quick,
        ),
        Case(
            "`equal_opportunity_difference` of counts, no exact test",
            make=counts_of(fs.equal_opportunity_difference, CONFUSIONS, "mee"),
            **quick,
        ),
        Case(
            "`demographic_parity_difference` of NumPy texts, no exact test",
            make=parity_of_columns(np.asarray),
            **quick,
        ),
        Case(
            "`demographic_parity_difference` of pandas columns, no exact test",
            make=parity_of_columns(pd.Series),
            **quick,
        ),
        *[Case(call, make=small_of(call), **quick) for call in SMALL],
        Case("`abroca`", make=scores_of(fs.abroca, 2, 100), **sizes),
        Case("`madd`", make=scores_of(fs.madd, 2, 100), **sizes),
        Case("`hfm`, 999 permutations", make=hfm_of(100, 999), **sizes),
        Case("`audit` with a score", make=audit_of(2, 100, score=True), **sizes),
    ]
    for words, arrays_alone in (("", False), (", arrays alone", True)):
        cases.append(
            Case(
                f"`demographic_parity_difference`, exact tests{words}",
                make=exact_metric_of_rows,
                arrays_alone=arrays_alone,
                **sizes,
            )
        )
        for n, n_reference in EXACT_SIZES:
            cases.append(
                Case(
                    f"20 exact rows, {n:,} beside {n_reference:,}{words}",
                    axis="calls",
                    groups=2,
                    rows=n + n_reference,
                    make=exact_rows_of(n, n_reference),
                    repetitions=5,
                    memory=False,
                    arrays_alone=arrays_alone,
                )
            )
    make = scores_of(fs.madd, 2, 100, permutations="search")
    sizes["repetitions"] = 3
    cases.append(Case('`madd`, `permutations="search"`', make=make, **sizes))
    cases.append(
        Case(
            "`rates.contrast_interval`, 10⁶ tables",
            axis="calls",
            groups=2,
            rows=10**6,
            make=intervals_of(10**6),
            memory=False,
            peer="statsmodels, 10³ tables one by one",
            make_peer=one_by_one_of(10**3),
        )
    )
    return cases


def cases_of_memory() -> list[Case]:
    """Resampling of many values."""
    cases = []
    for n_values in (1_000, 10_000, 100_000):
        sizes = {"axis": "memory", "groups": 1, "rows": n_values}
        make = goodness_of(n_values)
        cases.append(Case("`goodness_of_fit`, 199 samples", make=make, **sizes))
    sizes = {"axis": "memory", "groups": 2, "rows": N_ROWS // 5}
    cases.append(Case("`hfm`, 19 permutations", make=hfm_of(N_ROWS // 5, 19), **sizes))
    sizes["rows"] = N_ROWS
    for name, function in (("abroca", fs.abroca), ("madd", fs.madd)):
        cases.append(Case(f"`{name}`", make=scores_of(function, 2, N_ROWS), **sizes))
    return cases


#: Public calls whose cost may grow with the groups: of the rows of `make_rows`.
GROWING: dict[str, Callable[[dict[str, Any]], Any]] = {
    "`decompose`": lambda rows: fs.decompose(
        rows["score"],
        sensitive_features=rows["group"],
        circumstances=rows["circumstances"],
    ),
    "`calibration`": lambda rows: fs.calibration(
        rows["label"], rows["score"], sensitive_features=rows["group"]
    ),
    "`scores`": lambda rows: fs.scores(
        rows["label"], rows["score"], sensitive_features=rows["group"]
    ),
    "`means`": lambda rows: fs.means(rows["score"], sensitive_features=rows["group"]),
    '`means`, `simultaneous="max-z"`': lambda rows: fs.means(
        rows["score"], sensitive_features=rows["group"], simultaneous="max-z"
    ),
    "`prediction_errors`": lambda rows: fs.prediction_errors(
        rows["score"], rows["chosen"], sensitive_features=rows["group"]
    ),
    "`group_metric` of true positive rates": lambda rows: fs.group_metric(
        rows["label"], rows["chosen"], metric="tpr", sensitive_features=rows["group"]
    ),
    "`equalized_odds_difference`": lambda rows: fs.equalized_odds_difference(
        rows["label"], rows["chosen"], sensitive_features=rows["group"]
    ),
    "`demographic_parity_difference` against all rows": lambda rows: (
        fs.demographic_parity_difference(
            y_pred=rows["chosen"], sensitive_features=rows["group"], comparisons="overall"
        )
    ),
    "`demographic_parity_difference` in five strata": lambda rows: fs.demographic_parity_difference(
        y_pred=rows["chosen"], sensitive_features=rows["group"], strata=rows["stratum"]
    ),
    "`demographic_parity_difference` of two attributes crossed": lambda rows: (
        fs.demographic_parity_difference(
            y_pred=rows["chosen"],
            sensitive_features=np.stack([rows["group"] % 5, rows["group"] // 5], axis=1),
        )
    ),
    "`conditional_accuracy`": lambda rows: fs.conditional_accuracy(
        rows["label"], rows["chosen"], sensitive_features=rows["group"]
    ),
    "`compare_models`": lambda rows: fs.compare_models(
        rows["label"], rows["chosen"], rows["label"], sensitive_features=rows["group"], rng=1
    ),
    "`adverse_impact`": lambda rows: fs.adverse_impact(
        pd.DataFrame({"race": rows["group"].astype(str), "chosen": rows["chosen"]}),
        selected="chosen",
        race="race",
    ),
    "`um_posterior`": lambda rows: fs.um_posterior(
        rows["label"], rows["chosen"], sensitive_features=rows["group"], rng=1
    ),
    "`subgroups`, as a tree": lambda rows: fs.subgroups(
        pd.DataFrame({name: rows[name].astype(str) for name in ("group", "stratum", "chosen")}),
        attributes=["group", "stratum"],
        y_pred="chosen",
        pos_label="1",
        search="tree",
        rng=1,
    ),
    "`abroca`": lambda rows: fs.abroca(
        rows["label"], rows["score"], sensitive_features=rows["group"], rng=1
    ),
    "`madd` against a reference": lambda rows: fs.madd(
        rows["score"], sensitive_features=rows["group"], reference=0, rng=1
    ),
}


def growing_of(call: str, n_groups: int) -> Callable[[], Ask]:
    """One of the calls above, whose exact rows are computed anew each time."""

    def make() -> Ask:
        rows = make_rows(n_groups, GROWING_ROWS)
        rng = np.random.default_rng(2)
        rows["stratum"] = rng.integers(0, 5, GROWING_ROWS)
        rows["circumstances"] = pd.DataFrame({"x": rng.normal(size=GROWING_ROWS)})

        def ask() -> Any:
            forget_rows()
            return GROWING[call](rows)

        return ask

    return make


def cases_of_growth() -> list[Case]:
    """Public calls of 5, 20 and 80 groups."""
    cases = []
    for call in GROWING:
        for n_groups in GROWING_GROUPS:
            cases.append(
                Case(
                    call,
                    axis="growth",
                    groups=n_groups,
                    rows=GROWING_ROWS,
                    make=growing_of(call, n_groups),
                    repetitions=3,
                    memory=False,
                )
            )
    return cases


def cases_by_resamples() -> list[Case]:
    """The same calls with 10 times as many resamples."""
    cases = []
    for n_resamples in (999, 9_999):
        for name, function in (("abroca", fs.abroca), ("madd", fs.madd)):
            make = scores_of(function, 2, 2_000, n_resamples=n_resamples)
            words = f"`{name}`, {n_resamples:,} resamples"
            sizes = {"axis": "resamples", "groups": 2, "rows": 2_000, "repetitions": 3}
            cases.append(Case(words, make=make, memory=False, **sizes))
        make = hfm_of(500, n_resamples)
        words = f"`hfm`, {n_resamples:,} permutations"
        sizes = {"axis": "resamples", "groups": 2, "rows": 500}
        cases.append(Case(words, make=make, memory=False, **sizes))
    return cases


def all_cases() -> list[Case]:
    """Every call, by the axes of the page."""
    return [
        *cases_by_groups(),
        *cases_of_growth(),
        *cases_by_rows(),
        *cases_by_resamples(),
        *cases_by_calls(),
        *cases_of_memory(),
    ]


def measure(case: Case) -> dict[str, Any]:
    """The line of a call."""
    exact_table._BEFORE_LOOPS = math.inf if case.arrays_alone else 0
    forget_rows()
    ask = case.make()
    entry: dict[str, Any] = {
        "axis": case.axis,
        "call": case.call,
        "groups": case.groups,
        "rows": case.rows,
        "seconds": float(f"{measure_seconds(ask, case.repetitions):.3g}"),
    }
    if case.memory:
        entry["megabytes"] = float(f"{measure_megabytes(ask):.3g}")
    if case.make_peer is not None:
        entry["peer"] = case.peer
        peer_seconds = measure_seconds(case.make_peer(), max(case.repetitions, 2))
        entry["peer_seconds"] = float(f"{peer_seconds:.3g}")
    entry["load"] = round(os.getloadavg()[0], 1)
    return entry


def make_table_of_growth(record: Sequence[dict[str, Any]]) -> str:
    """One line a call: its seconds by groups, and the exponent between the last two."""
    seconds: dict[str, dict[int, float]] = {}
    for entry in record:
        if entry["axis"] == "growth":
            seconds.setdefault(entry["call"], {})[entry["groups"]] = entry["seconds"]
    header = " | ".join(f"{groups} groups, CPU s" for groups in GROWING_GROUPS)
    lines = [
        HEADINGS["growth"],
        "",
        f"| call | {header} | exponent |",
        "|---|" + "---|" * (len(GROWING_GROUPS) + 1),
    ]
    for call, by_groups in seconds.items():
        some, many = GROWING_GROUPS[-2:]
        exponent = math.log(by_groups[many] / by_groups[some]) / math.log(many / some)
        cells = " | ".join(f"{by_groups[groups]:.2g}" for groups in GROWING_GROUPS)
        lines.append(f"| {call} | {cells} | {exponent:.2f} |")
    return "\n".join(lines)


def make_table(record: Sequence[dict[str, Any]]) -> str:
    """The tables of the page: one of each axis, one line a call and size."""
    parts = []
    for axis in AXES:
        if axis == "growth":
            parts.append(make_table_of_growth(record))
            continue
        lines = [
            HEADINGS.get(axis, f"By {axis}:"),
            "",
            "| call | groups | rows | CPU s | a peer, CPU s | arrays, MB | load |",
            "|---|---|---|---|---|---|---|",
        ]
        for entry in record:
            if entry["axis"] != axis:
                continue
            megabytes = f"{entry['megabytes']:.0f}" if "megabytes" in entry else ""
            peer = f"{entry['peer']}: {entry['peer_seconds']:.2g}" if "peer" in entry else ""
            lines.append(
                f"| {entry['call']} | {entry['groups']} | {entry['rows']:,} |"
                f" {entry['seconds']:.2g} | {peer} | {megabytes} | {entry['load']:.0f} |"
            )
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def read_record() -> list[dict[str, Any]]:
    """The measurements, by the axes of the page."""
    if not RECORD.exists():
        return []
    return [json.loads(line) for line in RECORD.read_text(encoding="utf-8").splitlines()]


def key_of(entry: Any) -> tuple[Any, ...]:
    """What a line is about."""
    if isinstance(entry, Case):
        return entry.axis, entry.call, entry.groups, entry.rows
    return entry["axis"], entry["call"], entry["groups"], entry["rows"]


def write_page() -> str:
    """The page with the tables of the record between its two marks."""
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    return f"{before}{BEGIN}\n{make_table(read_record())}\n{END}{after}"


def main() -> None:
    """Measure, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("calls", nargs="*", help="parts of the names of calls; default: all")
    parser.add_argument("--axis", choices=AXES, help="calls of one table only")
    parser.add_argument("--page", action="store_true", help="write vignettes/scale.md")
    options = parser.parse_args()
    if options.page:
        PAGE.write_text(write_page(), encoding="utf-8")
        return
    cases = all_cases()
    audit_of(2, 1_000, score=True)()()  # loads what is loaded once
    exact_table._BEFORE_LOOPS = 0
    exact_metric_of_rows()()
    for case in cases:
        chosen = not options.calls or any(part in case.call for part in options.calls)
        if not chosen or options.axis not in (None, case.axis):
            continue
        entry = measure(case)
        sys.stdout.write(json.dumps(entry) + "\n")
        sys.stdout.flush()
        known = {key_of(line): line for line in read_record()}
        known[key_of(entry)] = entry
        # in the order of the page; what is no case any more goes
        kept = [known[key_of(each)] for each in cases if key_of(each) in known]
        RECORD.write_text("".join(json.dumps(line) + "\n" for line in kept), encoding="utf-8")


if __name__ == "__main__":
    main()
