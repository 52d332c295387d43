"""Speed of the rates, each figure beside its peer in the same run: ``pytest
tests/benchmarks/test_rates.py --benchmark-enable``.

Skipped in the suite. The peer is fairlearn's `MetricFrame`, which gives the bare point estimates.
Times are processor times: nothing here runs in threads, so on an idle machine they are the wall
clock, and on a busy one they stay right."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import fisher_exact

import fairstats as fs
from fairstats.numerics.rates.exact import exact_row, forget_rows

fairlearn = pytest.importorskip("fairlearn.metrics", reason="fairlearn is not installed")

pytestmark = [
    pytest.mark.benchmark(timer=time.process_time),
    pytest.mark.filterwarnings("ignore::FutureWarning:fairlearn"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:fairlearn"),
]
MILLION = 1_000_000
NAMES = np.array(["Asian-Pac-Islander", "Black", "Other", "White"])


def columns(n: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels, predictions and group codes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n, dtype=np.int8).astype(np.int64)
    p = np.where(rng.random(n) < 0.8, y, 1 - y)
    return y, p, rng.choice(4, n, p=[0.05, 0.2, 0.05, 0.7])


def everything(counts: fs.ConfusionCounts) -> list[Any]:
    """All ratios and differences of two rates, signed and largest, with intervals, tests and
    verdicts.
    """
    return [
        fs.disparate_impact(counts=counts),
        *(fs.conditional_accuracy(counts=counts, label=v) for v in (0, 1)),
        *(fs.conditional_use_accuracy(counts=counts, prediction=v) for v in (0, 1)),
        *(
            function(counts=counts, agg=agg)
            for agg in (None, "max")
            for function in (
                fs.demographic_parity_difference,
                fs.equal_opportunity_difference,
                fs.predictive_parity_difference,
                fs.average_odds_difference,
                fs.equalized_odds_difference,
            )
        ),
    ]


def audit(y: Any, p: Any, g: Any) -> list[Any]:
    return everything(fs.ConfusionCounts.from_arrays(y, p, sensitive_features=g))


KINDS: dict[str, Callable[[np.ndarray], Any]] = {
    "pandas str": lambda names: pd.Series(names, dtype="str"),
    "pandas category": lambda names: pd.Series(names, dtype="category"),
    "numpy object": lambda names: names.astype(object),
    "numpy str": lambda names: names,
    "list": lambda names: names.tolist(),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_million_rows(benchmark: Any, kind: str) -> None:
    """10^6 rows, four string-labelled groups, to every interval, test and verdict."""
    y, p, code = columns(MILLION)
    g = KINDS[kind](NAMES[code])
    audit(y[:1000], p[:1000], NAMES[code][:1000])  # first imports of SciPy are not the subject
    results = benchmark.pedantic(audit, args=(y, p, g), rounds=5, warmup_rounds=1)
    assert len(results) == 15
    assert benchmark.stats.stats.min < 0.3


def test_against_metric_frame(benchmark: Any) -> None:
    """At least a hundred times faster than fairlearn's point estimates of four metrics, in the same
    run.
    """
    y, p, code = columns(MILLION)
    g = pd.Series(NAMES[code], dtype="str")
    audit(y[:1000], p[:1000], NAMES[code][:1000])
    metrics = {
        "selection_rate": fairlearn.selection_rate,
        "tpr": fairlearn.true_positive_rate,
        "tnr": fairlearn.true_negative_rate,
        "precision": __import__("sklearn.metrics", fromlist=["precision_score"]).precision_score,
    }
    start = time.process_time()
    frame = fairlearn.MetricFrame(
        metrics=metrics, y_true=y, y_pred=p, sensitive_features=g
    ).by_group
    theirs = time.process_time() - start
    results = benchmark.pedantic(audit, args=(y, p, g), rounds=5, warmup_rounds=1)
    ours = benchmark.stats.stats.min
    benchmark.extra_info.update(fairlearn_seconds=theirs, ratio=theirs / ours)
    for comparison in results[0].comparisons:
        assert comparison.rate == pytest.approx(
            frame.loc[comparison.group, "selection_rate"], abs=1e-12
        )
    assert ours < 0.3
    assert theirs / ours >= 100, f"fairlearn {theirs:.2f} s, ours {ours:.4f} s"


def test_ten_million_coded_rows(benchmark: Any) -> None:
    """10^7 rows, integer codes: below 1.5 s."""
    y, p, code = columns(10 * MILLION)
    audit(y[:1000], p[:1000], code[:1000])
    benchmark.pedantic(audit, args=(y, p, code), rounds=3)
    assert benchmark.stats.stats.min < 1.5


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_memory_of_ten_million_coded_rows(benchmark: Any, weighted: bool) -> None:
    """Below 400 MB beyond the input, by tracemalloc, which counts every NumPy array."""
    y, p, code = columns(10 * MILLION)
    weight = np.random.default_rng(2).random(y.size) + 0.5 if weighted else None

    def traced() -> float:
        tracemalloc.start()
        try:
            everything(
                fs.ConfusionCounts.from_arrays(y, p, sensitive_features=code, sample_weight=weight)
            )
            return tracemalloc.get_traced_memory()[1] / 1e6
        finally:
            tracemalloc.stop()

    peak = benchmark.pedantic(traced, rounds=1)
    benchmark.extra_info["peak_megabytes"] = peak
    assert peak < 400


def test_counts_of_a_million_clusters(benchmark: Any) -> None:
    """10^6 rows in 3·10^5 clusters: the scatter of cell totals, below 3 s."""
    y, p, code = columns(MILLION)
    unit = np.random.default_rng(3).integers(0, 300_000, MILLION)
    call = {"sensitive_features": code, "cluster": unit}
    counts = benchmark.pedantic(fs.ConfusionCounts.from_arrays, args=(y, p), kwargs=call, rounds=2)
    assert counts.n_units > 250_000
    assert benchmark.stats.stats.min < 3


def many(n_groups: int, rows: int) -> fs.ConfusionCounts:
    """Confusion counts of many groups of one size."""
    cells = np.random.default_rng(1).multinomial(rows, [0.3, 0.2, 0.2, 0.3], size=n_groups)
    return fs.ConfusionCounts.from_counts(
        {f"g{k}": tuple(map(int, row)) for k, row in enumerate(cells)}
    )


def test_fifty_groups_against_the_highest(benchmark: Any) -> None:
    """All 1,225 pairs hold at once.

    The covariance of the pairs, written out and drawn from, took 51 s.
    """
    benchmark.pedantic(
        fs.disparate_impact, kwargs={"counts": many(50, 300), "reference": "highest"}, rounds=3
    )
    assert benchmark.stats.stats.min < 1


def test_largest_gap_of_two_hundred_groups(benchmark: Any) -> None:
    """19,900 pairs, each with its score interval."""
    call = {"counts": many(200, 100), "agg": "max"}
    benchmark.pedantic(fs.demographic_parity_difference, kwargs=call, rounds=3)
    assert benchmark.stats.stats.min < 3


@pytest.mark.filterwarnings("ignore::fairstats.FairstatsWarning")
def test_sixty_published_tables(benchmark: Any) -> None:
    """Adverse impact of tables as counts beside SciPy's Fisher tests of the same pairs.

    525 took 15 s.
    """
    rng = np.random.default_rng(6)
    tables = []
    for _ in range(60):
        sizes = rng.integers(30, 20_000, rng.integers(2, 8))
        tables.append(
            {f"g{i}": (k := int(rng.binomial(n, 0.4)), int(n) - k) for i, n in enumerate(sizes)}
        )
    benchmark.pedantic(lambda: [fs.adverse_impact(table) for table in tables], rounds=1)
    start = time.process_time()
    for table in tables:
        best = max(table.values(), key=lambda cell: cell[0] / sum(cell))
        for cell in table.values():
            fisher_exact([cell, best])
    benchmark.extra_info["ratio to fisher_exact"] = benchmark.stats.stats.min / (
        time.process_time() - start
    )


@pytest.mark.parametrize("sizes", [(10, 11), (5, 16)])
@pytest.mark.filterwarnings("ignore::fairstats.FairstatsWarning")
def test_five_thousand_small_groups(benchmark: Any, sizes: tuple[int, int]) -> None:
    """About ten rows each, from rows to verdicts.

    50 s before answers for equal tables were kept.
    """
    rng = np.random.default_rng(4)
    group = np.repeat(np.arange(5_000), rng.integers(*sizes, 5_000))
    y = rng.integers(0, 2, group.size)
    benchmark.pedantic(
        fs.disparate_impact, args=(y,), kwargs={"sensitive_features": group}, rounds=2
    )
    assert benchmark.stats.stats.min < 2


AUDIT = """
import json, resource, time, warnings
import numpy as np, pandas as pd, fairstats as fs
warnings.simplefilter("ignore")
rng = np.random.default_rng(5)
score = rng.random(20_000)
frame = pd.DataFrame({
    "group": rng.integers(0, 200, score.size).astype(str), "score": score,
    "label": (rng.random(score.size) < score).astype(int), "chosen": (score > 0.5).astype(int),
    "x": rng.normal(size=score.size), "z": rng.random(score.size),
})
start = time.process_time()
fs.audit(frame, y_true="label", y_pred="chosen", score="score", sensitive_features="group")
print(json.dumps([time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3]))
"""


def test_an_audit_of_two_hundred_groups(benchmark: Any) -> None:
    """20,000 rows with labels, predictions, scores and features, every section, below 30 s and 1
    GB: in a fresh interpreter, for the memory of the process."""

    def audited() -> list[float]:
        run = subprocess.run(
            [sys.executable, "-c", AUDIT], capture_output=True, text=True, check=True
        )
        return list(json.loads(run.stdout))

    seconds, megabytes = benchmark.pedantic(audited, rounds=1)
    benchmark.extra_info.update(seconds=seconds, peak_megabytes=megabytes)
    assert seconds < 30
    assert megabytes < 1_000


@pytest.mark.parametrize(
    ("sizes", "most"),
    [
        (((5, 100), (20, 100)), 0.025),
        (((5, 100), (200, 5_000)), 0.02),
        (((500, 500), (20_000, 20_000)), 0.05),
    ],
    ids=["up to 100 beside up to 100", "up to 100 beside thousands", "500 beside 20,000"],
)
def test_an_exact_row(
    benchmark: Any, sizes: tuple[tuple[int, int], tuple[int, int]], most: float
) -> None:
    """All p-values, one-sided limits and the interval of a row by exact tests: the mean of 20
    ratios.

    5 ms are wanted where the group has up to 100 rows, and not reached by a row alone.
    """
    rng = np.random.default_rng(1)
    tables = []
    for _ in range(20):
        n = int(rng.integers(sizes[0][0], sizes[0][1] + 1))
        n_reference = int(rng.integers(sizes[1][0], sizes[1][1] + 1))
        rate = rng.uniform(0.05, 0.95)
        tables.append(
            (int(rng.binomial(n, rate)), n, int(rng.binomial(n_reference, rate)), n_reference)
        )
    fair = {"low": 0.8, "high": 1.25, "equal": 1.0}

    def compute_rows() -> None:
        forget_rows()
        for table in tables:
            exact_row(*table, contrast="ratio", **fair, bound_level=0.95, confidence_level=0.95)

    benchmark.pedantic(compute_rows, rounds=5, warmup_rounds=1)
    milliseconds = 1e3 * benchmark.stats.stats.min / len(tables)
    benchmark.extra_info["milliseconds a row"] = milliseconds
    assert milliseconds < 1e3 * most


def test_one_bootstrap_interval(benchmark: Any) -> None:
    """BCa with 9,999 resamples of counts that stand for a million rows; fairlearn's one resample
    takes as long as a frame."""
    counts = {"a": (110_000, 140_000), "b": (420_000, 330_000)}
    benchmark(fs.disparate_impact, counts=counts, method="bootstrap", rng=1)
    assert benchmark.stats.stats.min < 0.1


def test_one_score_interval(benchmark: Any) -> None:
    """A comparison from counts with both interval and tests: milliseconds."""
    benchmark(fs.demographic_parity_difference, counts={"a": (180, 420), "b": (330, 370)})
    assert benchmark.stats.stats.min < 0.01


def test_import(benchmark: Any) -> None:
    """`import fairstats` costs about 0.1 s on top of pandas.

    Least of five, in fresh interpreters.
    """

    def seconds(code: str) -> float:
        command = f"import time; t = time.process_time(); {code}; print(time.process_time() - t)"
        return min(
            float(
                subprocess.run(
                    [sys.executable, "-c", command], capture_output=True, text=True, check=True
                ).stdout
            )
            for _ in range(5)
        )

    def extra() -> float:
        return seconds("import pandas, fairstats") - seconds("import pandas")

    beyond = benchmark.pedantic(extra, rounds=1)
    benchmark.extra_info["seconds_beyond_pandas"] = beyond
    assert beyond < 0.15
