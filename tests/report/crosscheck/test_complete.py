"""Nothing is passed over: every class of result, every number of its rows, every metric of the
registry.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable
from dataclasses import fields
from typing import Any

import pytest

import fairstats
from fairstats.ground import serialise
from fairstats.ground.registry import CRITERIA, ENDINGS, METRICS, RATES
from fairstats.ground.results import Comparison, Result
from fairstats.methods.ecd.result import EcdComparison
from fairstats.methods.ecd.tail import GroupLevel, GroupTail
from fairstats.methods.hfm.result import HfmEntry
from fairstats.methods.hfm.risk import RiskComparison
from fairstats.methods.hfm.set_distance import SetDistance
from fairstats.methods.madd.result import LargestMadd, MaddComparison
from fairstats.methods.rates.bounds import Bounds
from fairstats.methods.rates.employment.result import ImpactFigures
from fairstats.methods.rates.gaps import GapComponent
from fairstats.methods.rates.inferred.result import InferredComparison
from fairstats.methods.rates.maxima import MaximumResult
from fairstats.methods.rates.numbers.result import NumberComparison
from fairstats.methods.rates.numbers.stratified import StratifiedNumberComparison
from fairstats.methods.rates.result import RateComparison
from fairstats.methods.rates.subgroups import SubgroupComparison
from fairstats.methods.rates.worst_case import WorstCase
from fairstats.methods.um.draws import PosteriorRow
from fairstats.numerics.evt.fit import EvtFit
from fairstats.numerics.hdr.result import HdrRegion
from fairstats.numerics.paired.change import PairedChange
from fairstats.report.crosscheck import (
    distances,
    inferred,
    numbers,
    pairs,
    posteriors,
    rates,
    subgroups,
    tails,
)
from fairstats.report.crosscheck.check import Line
from fairstats.report.methods import ANSWERS, EXHIBITS, PAGES
from fairstats.report.methods.page import Exhibit
from fairstats.report.questions import QUESTIONS

ADJUSTED = {"pvalue_adjusted": "by p.adjust, for the whole family"}
VERDICT = dict.fromkeys(
    ("pvalue_verdict", "pvalue_verdict_adjusted"),
    "compared with the p-value of the direction, by name",
)
NO_VERDICT = dict.fromkeys(
    ("bounds", "pvalue_verdict", "pvalue_verdict_adjusted"), "no verdict of its own"
)
BY_BOUNDS = dict.fromkeys(
    ("pvalue_verdict", "pvalue_verdict_adjusted"), "the verdict is by the bounds"
)
TESTED = {"statistic": "that of a test: compared test by test", "pvalue": "that of a test"}
NO_OWN_VALUES = dict.fromkeys(
    ("value_interval", "value_reference_interval"), "such rows have no intervals of both values"
)
#: What is compared → its class, its lines, and fields without a line → where they are compared, or
#: why not.
TABLES: dict[str, tuple[type[Any], tuple[Line, ...], dict[str, str]]] = {
    "comparison of rates": (
        RateComparison,
        (
            *rates._RATES,
            *rates._OWN_VALUES,
            *rates._ESTIMATE,
            *rates._ERROR,
            *rates._INTERVALS["two-sided"],
            *rates._BOUNDS,
        ),
        ADJUSTED | TESTED | VERDICT,
    ),
    "comparison of numbers": (
        NumberComparison,
        (*numbers.VALUES, *numbers._ESTIMATE, *numbers._INTERVALS["two-sided"], *numbers._BOUNDS),
        ADJUSTED | TESTED | VERDICT,
    ),
    "means over strata": (
        StratifiedNumberComparison,
        (
            *numbers.VALUES,
            *numbers._ESTIMATE,
            *numbers._INTERVALS["two-sided"],
            *numbers._BOUNDS,
            *numbers._OVER_STRATA,
        ),
        ADJUSTED | TESTED | VERDICT | {"crude": "the estimate of the crude result"},
    ),
    "comparison at every look": (
        RateComparison,
        (
            *rates._RATES,
            *rates._ESTIMATE,
            *rates._ERROR,
            *rates._ENDS_AT_EVERY_LOOK,
            *rates._BOUNDS,
        ),
        ADJUSTED | TESTED | VERDICT | NO_OWN_VALUES,
    ),
    "subgroup": (
        SubgroupComparison,
        (*subgroups._LINES, *subgroups._SHRUNKEN),
        {
            **subgroups._LEFT_OUT,
            "share": "rows of the subgroup over all, counted from the tally",
            "bounds": "the limits of the interval",
            "pvalue_verdict": "nothing is judged",
            "pvalue_verdict_adjusted": "nothing is judged",
        },
    ),
    "inferred groups": (
        InferredComparison,
        inferred._LINES,
        ADJUSTED | {"pvalue_verdict_adjusted": "by stats::p.adjust, as a family"},
    ),
    "adverse impact of a pair": (ImpactFigures, pairs._IMPACT_LINES, {}),
    "worst case": (WorstCase, rates._WORST_LINES, {"estimate": "that of the comparison itself"}),
    "difference under a gap": (GapComponent, pairs._COMPONENT, {}),
    "difference under a gap, by exact tests": (GapComponent, pairs._EXACT_COMPONENT, {}),
    "change between models": (PairedChange, pairs._CHANGE, ADJUSTED | NO_VERDICT),
    "share of changed predictions": (
        RiskComparison,
        (*pairs._SHARE, *pairs._EXACT_SHARE),
        NO_VERDICT
        | dict.fromkeys(
            ("std_error", "statistic", "pvalue", "pvalue_adjusted"), "the class lacks it"
        ),
    ),
    "MADD of a pair": (
        MaddComparison,
        (*distances._ON_GRID, *distances._STRETCH),
        {
            **ADJUSTED,
            **VERDICT,
            "statistic": "the estimate",
            "headline_null_mean": "that of a stretch is an average over thousands of exact means",
            "headline_pvalue": "of a search in every permutation: R has no twin as fast",
            "lower_limit": "the lower bound, floored at 0",
        },
    ),
    "largest MADD": (
        LargestMadd,
        distances._MOST,
        {
            **ADJUSTED,
            **dict.fromkeys(VERDICT, "Bonferroni's, of the comparisons"),
            "std_error": "has none",
            "estimate": "by base::max over the comparisons",
            "confidence_interval": "ends are those of single comparisons, at Bonferroni's level",
            "bounds": "as the interval",
        },
    ),
    "HFM": (HfmEntry, distances._DISTANCES, {}),
    "set distance": (
        SetDistance,
        distances._DIRECTED,
        {
            "seconds": "of the computer's clock",
            "factor": "a setting",
            "probability": "a bound over all rows; R takes the m1 and m2 that it led to",
        },
    ),
    "posterior": (
        PosteriorRow,
        (*posteriors._OBSERVED, *posteriors._SUMMARY),
        {
            **NO_VERDICT,
            "rope": "a setting",
            "mc_error": "the standard deviation over the root of the draws",
            **dict.fromkeys(
                ("statistic", "pvalue", "pvalue_adjusted"), "a posterior tests nothing"
            ),
        },
    ),
    "ECD": (
        EcdComparison,
        (*tails._LEVEL, *tails._RATIO, *tails._PVALUE, *tails._CONTRAST, *tails._JOINT),
        ADJUSTED
        | {"pvalue_verdict_adjusted": "by `settle` over the groups"}
        | {"std_error": "for display: those of the levels are compared"}
        | dict.fromkeys(("root_mean", "root_sd"), "of tables; what follows from them is compared"),
    ),
    "return level": (
        GroupLevel,
        (*tails._LEVEL, *tails._LEVEL_ERROR, *tails._PROFILE),
        {"interactions": "a setting"},
    ),
    "largest gap": (
        RateComparison,
        pairs._GAP,
        ADJUSTED
        | BY_BOUNDS
        | NO_OWN_VALUES
        | {
            "std_error": "that of the difference that attains it",
            "rate": "under the differences",
            "rate_reference": "under the differences",
        },
    ),
    "band of a gap": (MaximumResult, pairs._BAND, {}),
    "ratio over strata": (
        RateComparison,
        (
            *pairs._RATES,
            *pairs._OVER_STRATA,
            *pairs._INTERVALS["two-sided"],
            *pairs._EVIDENCE["above"],
        ),
        ADJUSTED | TESTED | VERDICT | NO_OWN_VALUES,
    ),
    "ABROCA": (
        RateComparison,
        (*distances._AUC, *distances._AREA, *distances._SPREAD, *distances._EVIDENCE["above"]),
        ADJUSTED
        | VERDICT
        | NO_OWN_VALUES
        | {"statistic": "the estimate", "bounds": "the interval itself"},
    ),
    "extreme of all groups": (
        RateComparison,
        pairs._EXTREME,
        ADJUSTED
        | VERDICT
        | NO_OWN_VALUES
        | {
            "std_error": "an extreme has none",
            "statistic": "an extreme has none",
            "rate": "of its components",
            "rate_reference": "of its components",
        },
    ),
    "average of a group": (Comparison, (*tails._MEAN, *tails._STUDENT), ADJUSTED | NO_VERDICT),
    "fit": (
        EvtFit,
        (*tails._LIKELIHOOD,),
        dict.fromkeys(("threshold", "block_size", "confidence_level", "grid"), "a setting"),
    ),
    "tail of a group": (
        GroupTail,
        tails._OF_ROWS,
        {
            "threshold": "the exceedances above it are counted",
            "rate": "exceedances over values",
            "goodness_pvalue": "of a parametric bootstrap: the table says so",
            "endpoint": "R has no twin of its profile",
        },
    ),
    "region": (
        HdrRegion,
        (*tails._CUT, *tails._MASS),
        {
            "prob": "a setting",
            "mass": "a share of the samples",
            **dict.fromkeys(
                ("falpha_error", "size_error"), "a Monte Carlo error of Python's estimate"
            ),
            "size": "the sum over the intervals, whose ends are compared",
        },
    ),
}
#: Second witnesses of numbers that the tables above have, and lines of parts and whole numbers,
#: with the attributes that they are to compare.
WITNESSES = {
    "people of unknown category": (pairs._UNKNOWN, set(Bounds._fields)),
    "limits by exact tests": (rates._EXACT_BOUNDS, {"bounds.low", "bounds.high"}),
    "limits by bootstrap": (rates._BOOTSTRAP_BOUNDS, {"bounds.low", "bounds.high"}),
    "glm": (rates._BY_GLM, {"estimate", "confidence_interval.low", "confidence_interval.high"}),
    "beta": (posteriors._BETA, {"estimate", "std_error", "median"}),
    "difference of betas": (posteriors._BETA_DIFFERENCE, {"estimate", "std_error", "p_rope"}),
    "stable stretch": (
        distances._STRETCH,
        {
            "headline",
            *(f"bandwidth.{name}" for name in ("low", "high", "std", "n_points", "h_sup")),
        },
    ),
    "directed distances": (distances._DIRECTED, {"value", "a_to_b.value", "b_to_a.value"}),
    "tail": (tails._OF_ROWS, {"n_exceedances", "maximum"}),
    "ratio of distances": (distances._OF_THESE, {"hfm"}),
    "shape of a tail": (tails._SHAPE, {"low", "high"}),
    "interval over strata, less": (pairs._INTERVALS["less"], {"confidence_interval.high"}),
    "interval over strata, greater": (pairs._INTERVALS["greater"], {"confidence_interval.low"}),
    "change of drawn scores": (
        pairs._DRAWN,
        {
            "before",
            "after",
            "estimate",
            "std_error",
            "confidence_interval.low",
            "confidence_interval.high",
        },
    ),
    "interval of alternative less": (rates._INTERVALS["less"], {"confidence_interval.high"}),
    "interval of alternative greater": (rates._INTERVALS["greater"], {"confidence_interval.low"}),
}


def results() -> set[type[Result]]:
    """Classes of result that a file can hold."""
    for module in pkgutil.walk_packages(fairstats.__path__, "fairstats."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    return {
        cls
        for cls in serialise._CLASS_REGISTRY.values()
        if cls.__module__.startswith("fairstats.") and issubclass(cls, Result)
    }


def test_every_result_stands_on_one_page() -> None:
    lacking = sorted(cls.__name__ for cls in results() - set(EXHIBITS))
    assert lacking == [], "no page of report/methods has an Exhibit of these"
    named = [exhibit.result for page in PAGES for exhibit in page.exhibits]
    assert len(named) == len(set(named)), "a class of result stands on one page, once"


@pytest.mark.parametrize("exhibit", EXHIBITS.values(), ids=lambda one: one.result.__name__)
def test_every_result_has_a_twin_or_a_reason(exhibit: Exhibit) -> None:
    """And its page answers the question that it is said to answer."""
    assert (exhibit.twin is None) == bool(exhibit.no_twin), "either a twin, or why there is none"
    (page,) = (page for page in PAGES if exhibit in page.exhibits)
    if exhibit.question is not None:
        assert exhibit.question in [answer.question for answer in page.answers]


def test_every_question_has_one_answer() -> None:
    answered = [answer.question for page in PAGES for answer in page.answers]
    assert sorted(question.key for question in answered) == sorted(ANSWERS)
    assert set(answered) == set(QUESTIONS)


@pytest.mark.parametrize("what", TABLES)
def test_every_number_of_a_row_has_a_line(what: str) -> None:
    row, lines, elsewhere = TABLES[what]
    assert _numbers(row) - {line.attribute for line in lines} - _fields(elsewhere, row) == set(), (
        f"no line of the cross-check compares these of {row.__name__} ({what})"
    )


def _numbers(row: type[Any]) -> set[str]:
    """Attributes of a class that are numbers; of an interval its ends."""
    found = set()
    for field in fields(row):
        if field.type in ("float", "float | None"):
            found.add(field.name)
        elif field.type in ("Interval", "Interval | None"):
            found |= {f"{field.name}.low", f"{field.name}.high"}
    return found


def _fields(names: Iterable[str], row: type[Any]) -> set[str]:
    return {number for number in _numbers(row) if number.partition(".")[0] in set(names)}


@pytest.mark.parametrize("name", WITNESSES)
def test_second_witnesses_confirm_what_they_did(name: str) -> None:
    lines, wanted = WITNESSES[name]
    assert {line.attribute for line in lines} == wanted


def test_no_line_stands_outside_these_tables() -> None:
    """A new table has to be named above, so that taking a line out of it is noticed."""
    known = {id(line) for _, lines, _ in TABLES.values() for line in lines}
    known |= {id(line) for lines, _ in WITNESSES.values() for line in lines}
    # parts of the above
    known |= {
        id(line)
        for line in (
            *rates._ONE_SIDED,
            *rates._EXACT_ONE_SIDED,
            *posteriors._MOMENTS,
            *numbers._ONE_SIDED,
        )
    }
    for module in (distances, inferred, numbers, pairs, posteriors, rates, subgroups, tails):
        for name, table in vars(module).items():
            lines = table if isinstance(table, tuple) else ()
            loose = [line for line in lines if isinstance(line, Line) and id(line) not in known]
            assert loose == [], f"{module.__name__}.{name}"


@pytest.mark.parametrize(
    "name",
    [
        *(name for name, metric in METRICS.items() if metric.rates),
        *(stem + ending for stem in (*RATES, *CRITERIA) for ending in ENDINGS.values()),
    ],
)
def test_every_metric_of_the_registry_has_its_rates(name: str) -> None:
    rate = rates._rate_of(fairstats.ConfusionCounts.from_counts({"a": (1, 1, 1, 1)}), name)
    assert rate is not None
    assert rate.name in RATES
