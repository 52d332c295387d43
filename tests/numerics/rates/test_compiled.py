"""Compiled loops of exact tests are the twin of the arrays, which are their witness."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from fairstats.numerics.rates import compiled, exact_table
from fairstats.numerics.rates.boundary import boundary
from fairstats.numerics.rates.exact import RowAsked, exact_rows, forget_rows
from fairstats.numerics.rates.exact_table import (
    ExactTable,
    Question,
    answer,
    answer_by_arrays,
    answer_by_loops,
)
from fairstats.numerics.rates.nuisance import LargerGroup, larger_group
from fairstats.numerics.rates.score import score_statistic

ALTERNATIVES = ("less", "greater", "two-sided")
SIZES = ((1, 1), (3, 9), (20, 20), (5, 400), (50, 60), (100, 20_000), (300, 310), (900, 1_000))
NULLS = {
    "ratio": (0.3, 0.8, 1.0, 1.25, 2.5),
    "difference": (-0.45, -0.1, 0.0, 0.1, 0.3),
    "odds_ratio": (0.3, 0.8, 1.0, 1.25, 2.5),
}
#: Compiling the loops takes ten seconds where they are not kept yet.
compiles = pytest.mark.slow
#: What rounding makes of sums of some thousand probabilities, and of tails that are 1 less others.
ROUNDING = 2e-11


def random_tables(
    sizes: tuple[int, int], number: int, seed: int
) -> list[tuple[int, int, int, int]]:
    """Tables with rates that differ little or much; the last has an empty cell."""
    rng = np.random.default_rng(seed)
    n, n0 = sizes
    tables = []
    for _ in range(number - 1):
        rate = rng.uniform(0.03, 0.97)
        other = min(rate * rng.uniform(0.7, 1.4), 0.99)
        tables.append((int(rng.binomial(n, rate)), n, int(rng.binomial(n0, other)), n0))
    tables.append((0, n, int(rng.binomial(n0, 0.3)), n0))
    return tables


@pytest.fixture
def loops_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loops from the first question on."""
    monkeypatch.setattr(exact_table, "_BEFORE_LOOPS", 0)


@compiles
@pytest.mark.parametrize("contrast", list(NULLS))
@pytest.mark.parametrize("sizes", SIZES)
def test_p_values_and_regions_are_those_of_arrays(contrast: Any, sizes: tuple[int, int]) -> None:
    questions = []
    for k, n, k0, n0 in random_tables(sizes, 3, seed=sum(sizes)):
        for null in NULLS[contrast]:
            for alternative in ALTERNATIVES:
                questions.append(Question(k, n, k0, n0, larger_group(k0, n0), null, alternative))
    by_arrays = answer_by_arrays(contrast, questions)
    answered = 0
    for question, expected in zip(questions, by_arrays, strict=True):
        found = answer_by_loops(compiled, contrast, question)
        if found is None:
            continue
        answered += 1
        assert found.pvalue == pytest.approx(expected.pvalue, rel=0, abs=ROUNDING)
        assert found.null == expected.null
        number = min(found.counts.size, expected.counts.size)
        assert (found.counts[:number] == expected.counts[:number]).all()
        assert (found.low[:number] == expected.low[:number]).all()
        assert (found.high[:number] == expected.high[:number]).all()
    assert answered > 0.7 * len(questions)


@compiles
@pytest.mark.parametrize("contrast", list(NULLS))
def test_rows_are_those_of_arrays(contrast: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """To the last digit of every limit: the search takes the same steps."""
    fair_range = (-0.1, 0.1) if contrast == "difference" else (0.8, 1.25)
    asked = []
    for sizes in ((4, 11), (20, 20), (30, 2_000)):
        for table in random_tables(sizes, 4, seed=sizes[0]):
            asked.append(
                RowAsked(
                    table=table,
                    contrast=contrast,
                    low=fair_range[0],
                    high=fair_range[1],
                    equal=0.0 if contrast == "difference" else 1.0,
                    bound_level=0.95,
                    confidence_level=0.95,
                )
            )
    rows = {}
    for name, before in (("arrays", math.inf), ("loops", 0)):
        monkeypatch.setattr(exact_table, "_BEFORE_LOOPS", before)
        forget_rows()
        rows[name] = exact_rows(asked)
    forget_rows()
    for by_arrays, by_loops in zip(rows["arrays"], rows["loops"], strict=True):
        assert by_loops.bounds == by_arrays.bounds
        assert by_loops.interval == by_arrays.interval
        for name in ("below", "above", "above_low", "below_high", "equality"):
            found = getattr(by_loops.evidence, name)
            assert found == pytest.approx(getattr(by_arrays.evidence, name), rel=0, abs=ROUNDING)


@compiles
def test_jumps_of_p_are_those_of_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {}
    for name, before in (("arrays", math.inf), ("loops", 0)):
        monkeypatch.setattr(exact_table, "_BEFORE_LOOPS", before)
        jumps = []
        for contrast, nulls in (("ratio", (0.7, 0.78)), ("difference", (-0.2, -0.16))):
            for table in ((8, 20, 13, 24), (40, 100, 52, 100)):
                exact = ExactTable(table, contrast)  # type: ignore[arg-type]
                exact.pvalues(nulls, ["less", "less"])
                jumps += exact._jumps(*nulls, "less")
        found[name] = jumps
    assert len(found["arrays"]) >= 2
    assert found["loops"] == pytest.approx(found["arrays"], rel=0, abs=1e-9)


@compiles
def test_boundaries_between_nodes_are_those_of_each_count() -> None:
    """Counts that a polynomial gives, beside those that arrays solve one by one."""
    rng = np.random.default_rng(4)
    for _ in range(12):
        m = int(rng.integers(300, 3_000))
        n = int(m * rng.uniform(1.0, 4.0))
        null = float(rng.uniform(0.5, 1.5))
        statistic = float(rng.normal(0.0, 3.0))
        first_count = int(rng.integers(0, m // 3))
        number = min(400, m - first_count)
        first = np.empty(number, dtype=np.int64)
        beyond = np.empty(number, dtype=np.int64)
        compiled._write_boundary(0, first_count, m, n, null, statistic, first, beyond)
        expected = boundary(
            "ratio",
            np.arange(first_count, first_count + number)[None],
            (np.array([[m]]), np.array([[n]])),
            np.array([[null]]),
            np.array([[statistic]]),
        )
        assert (first == expected[0][0]).all()
        assert (beyond == expected[1][0]).all()


@compiles
def test_the_statistics_are_those_of_the_score() -> None:
    for number, contrast in enumerate(NULLS):
        for table in ((3, 12, 80, 150), (0, 5, 7, 9), (20, 20, 3, 40)):
            for null in NULLS[contrast]:
                found = compiled._statistic(number, *map(float, table), null)
                expected = score_statistic(table, contrast, null)  # type: ignore[arg-type]
                assert found == pytest.approx(expected, rel=1e-12)


@compiles
@pytest.mark.usefixtures("loops_at_once")
def test_what_loops_cannot_answer_arrays_do() -> None:
    """A reference too large for a table."""
    large = LargerGroup.of(400_000, 1_000_000)
    assert large.tails is None
    question = Question(15, 30, 400_000, 1_000_000, large, 0.1, "less")
    assert answer_by_loops(compiled, "difference", question) is None
    (found,) = answer("difference", [question])
    (expected,) = answer_by_arrays("difference", [question])
    assert found.pvalue == expected.pvalue


@compiles
@pytest.mark.parametrize(
    ("contrast", "table", "null"),
    [
        ("difference", (15, 30, 1_062, 2_000), 0.95),
        ("difference", (15, 30, 1_062, 2_000), -0.8),
        ("difference", (30, 30, 13, 1_022), 0.999),
        ("ratio", (15, 30, 1_900, 2_000), 4.0),
    ],
)
@pytest.mark.parametrize("alternative", ["less", "greater", "two-sided"])
def test_the_end_of_a_null_hypothesis_by_loops(
    contrast: Any, table: tuple[int, int, int, int], null: float, alternative: str
) -> None:
    """A null value that the nuisance rates do not reach: all of the smaller group have one
    count.
    """
    k, n, k0, n0 = table
    question = Question(k, n, k0, n0, larger_group(k0, n0), null, alternative)
    found = answer_by_loops(compiled, contrast, question)
    assert found is not None
    (expected,) = answer_by_arrays(contrast, [question])
    assert found.pvalue == pytest.approx(expected.pvalue, rel=1e-12)
    assert found.larger_rate == pytest.approx(expected.larger_rate, rel=1e-12)
    for name in ("counts", "low", "high"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


def test_large_groups_count_as_several_questions() -> None:
    small = Question(3, 9, 8, 12, larger_group(8, 12), 0.8, "less")
    large = Question(400, 1_000, 500, 1_000, larger_group(500, 1_000), 0.8, "less")
    assert exact_table._count_of_work(small) == 1
    assert 4 < exact_table._count_of_work(large) < 12


def test_loops_are_loaded_once_many_questions_were_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact_table, "_BEFORE_LOOPS", 50)
    monkeypatch.setattr(exact_table._Asked, "number", 0)
    question = Question(3, 9, 8, 12, larger_group(8, 12), 0.8, "less")
    exact_table.answer("ratio", [question])
    assert exact_table.compiled_loops() is None
    monkeypatch.setattr(exact_table._Asked, "number", 50)
    assert exact_table.compiled_loops() is compiled


@pytest.mark.parametrize("problem", [ImportError("Numba needs NumPy 2.3"), RuntimeError("locator")])
def test_a_numba_that_cannot_be_used_is_left_alone(
    problem: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(name: str) -> None:
        raise problem

    monkeypatch.setattr(exact_table, "import_module", refuse)
    exact_table._load_loops.cache_clear()
    assert exact_table._load_loops() is None
    exact_table._load_loops.cache_clear()
