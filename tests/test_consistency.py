"""Random reports, read by a program.

What a row says never contradicts itself, nor another row about the same people.

The witness is logic alone: verdict, p-values, limits and sentence of one row are read off each
other, and so are rows that ask one question (ratio, difference and gap of the same two rates)."""

from __future__ import annotations

import html
import math
import re
import warnings
from collections import defaultdict
from collections.abc import Hashable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairstats as fs
from fairstats.ground.errors import FairstatsWarning
from fairstats.ground.registry import RATES, find_metric, same_question
from fairstats.ground.verdict import judge
from fairstats.methods.rates.maxima import MaximumResult
from fairstats.methods.rates.result import ComparisonResult
from fairstats.methods.rates.strata.result import ENDING, StratifiedComparison
from fairstats.report.contents import headline
from fairstats.report.report import AuditReport

#: Sums of floating point numbers, and limits by exact tests, which lie on a grid of 2⁻¹⁴.
CLOSE = 1e-9
STEP = 2.0**-13

pytestmark = pytest.mark.filterwarnings("ignore::fairstats.ground.errors.FairstatsWarning")


def random_rows(rng: np.random.Generator) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Rows of people, and arguments of the audit.

    Groups small and unequal, ties, zeros, strata, weights, clusters, margins, levels, references,
    simultaneous limits."""
    n_groups = int(rng.integers(2, 7))
    sizes = rng.choice([1, 2, 3, 7, 15, 40, 120, 400, 900], n_groups)
    if rng.random() < 0.3:
        sizes = np.full(n_groups, rng.choice([12, 50, 200]))
    group = np.repeat(np.arange(n_groups), sizes)
    rate = rng.choice([0.0, 0.02, 0.1, 0.3, 0.5, 0.8, 0.95, 1.0])
    shift = rng.choice([0.0, 0.0, 0.05, 0.2, 0.5], n_groups) * rng.choice([-1, 1], n_groups)
    chance = np.clip(rate + shift, 0.0, 1.0)[group]
    labels = (rng.random(group.size) < rng.choice([0.2, 0.5, 0.9])).astype(int)
    selected = (rng.random(group.size) < np.clip(chance + 0.2 * (labels - 0.5), 0.0, 1.0)).astype(
        int
    )
    frame = pd.DataFrame({"label": labels, "selected": selected, "group": [f"g{g}" for g in group]})
    arguments: dict[str, Any] = {
        "y_pred": "selected",
        "sensitive_features": "group",
        "threshold": float(rng.choice([0.8, 0.9, 1.0])),
        "margin": float(rng.choice([0.02, 0.1, 0.2])),
        "adjust": str(rng.choice(["holm", "holm", "none", "fdr_bh"])),
    }
    if rng.random() < 0.6:
        arguments["y_true"] = "label"
    arguments["confidence_level"] = float(rng.choice([0.95, 0.95, 0.9, 0.99]))
    design = rng.choice(
        ["plain", "plain", "plain", "strata", "strata", "weights", "clusters", "both"]
    )
    if design in ("weights", "both"):
        frame["weight"] = rng.lognormal(0.0, rng.choice([0.3, 1.0]), len(frame))
        arguments["sample_weight"] = "weight"
    if design in ("clusters", "both"):
        # few clusters and many; in half of the tables they lie within the groups
        sites = rng.integers(0, max(len(frame) // int(rng.choice([6, 30])), 3), len(frame))
        frame["site"] = sites + 10_000 * group if rng.random() < 0.5 else sites
        arguments["cluster"] = "site"
    if design == "strata":
        likely = rng.dirichlet(np.full(4, 2.0), n_groups)
        frame["stratum"] = [int(rng.choice(4, p=likely[g])) for g in group]
        arguments["strata"] = "stratum"
    comparisons = rng.choice(["largest", "named", "highest", "all pairs"])
    if comparisons == "named":
        arguments["reference"] = f"g{rng.integers(n_groups)}"
    elif comparisons == "highest":
        arguments["reference"] = "highest"
    elif comparisons == "all pairs":
        arguments["comparisons"] = "all"
    if rng.random() < 0.2:
        arguments["simultaneous"] = str(rng.choice(["max-z", "bonferroni"]))
    if rng.random() < 0.15 and design in ("plain", "strata"):
        arguments["method"] = str(rng.choice(["log", "koopman", "delta"]))
    return frame, arguments


def random_report(seed: int) -> AuditReport:
    frame, arguments = random_rows(np.random.default_rng(seed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairstatsWarning)
        return fs.audit(frame, **arguments)


def contradictions(report: AuditReport) -> list[str]:
    """Everything that does not fit together in a report."""
    found = []
    for result in report.results:
        if isinstance(result, ComparisonResult):
            for comparison, sentence in zip(result.comparisons, result.sentences(), strict=True):
                place = f"{comparison.metric}, {comparison.group} against {comparison.reference}"
                found += [f"{place}: {said}" for said in of_row(result, comparison, sentence)]
    found += of_strata(report)
    found += of_facts(report)
    found += of_claims(report)
    return found


def of_row(result: ComparisonResult, c: Any, sentence: str) -> Iterator[str]:
    """What verdict, p-values, limits and sentence of one row say against each other."""
    settings = result.settings
    error = 1 - settings.confidence_level
    fair = settings._fair_range(result.scale if result.scale in ("ratio", "difference") else "gap")
    if c.verdict == "insufficient evidence":
        if not math.isnan(c.pvalue_verdict):
            yield f"insufficient evidence with p = {c.pvalue_verdict} of the verdict"
        if "insufficient evidence" not in sentence:
            yield f"the sentence does not say so: {sentence}"
        return
    if f"{c.verdict}; " not in sentence:
        yield f"{c.verdict}, but the sentence is {sentence!r}"
    decided = c.verdict in ("violated", "satisfied")
    if decided != (c.pvalue_verdict_adjusted <= error):
        yield f"{c.verdict} with an adjusted p of {c.pvalue_verdict_adjusted}"
    if c.pvalue_verdict_adjusted < c.pvalue_verdict - CLOSE or c.pvalue_adjusted < c.pvalue - CLOSE:
        yield "an adjusted p-value is smaller than the one that was adjusted"
    if decided and (c.verdict == "satisfied") != (c.direction == "inside"):
        yield f"{c.verdict}, and the evidence is for {c.direction}"
    if c.direction in ("below", "above"):
        if c.pvalue_verdict < c.pvalue - CLOSE:
            yield f"{c.direction} with p = {c.pvalue_verdict}, different with p = {c.pvalue}"
        one_family = settings.family == "metric"
        if one_family and c.pvalue_verdict_adjusted < c.pvalue_adjusted - CLOSE:
            yield f"adjusted: {c.pvalue_verdict_adjusted} beside {c.pvalue_adjusted} of equality"
        if one_family and fair[0] == fair[1] and c.pvalue_verdict_adjusted != c.pvalue_adjusted:
            yield f"one question has {c.pvalue_verdict_adjusted} and {c.pvalue_adjusted}"
    alone = judge(*c.bounds, fair=fair)
    expected = "undecided"
    if c.pvalue_verdict <= error:
        expected = "satisfied" if c.direction == "inside" else "violated"
    if alone != expected and result.metric != "abroca":
        yield f"limits {tuple(c.bounds)} say {alone}, p = {c.pvalue_verdict} says {expected}"
    shown = judge(*c.confidence_interval, fair=fair)
    explained = "The verdict rests on" in sentence or "Alone this comparison" in sentence
    if c.verdict not in (shown, alone) and not explained:
        yield f"{c.verdict}; the interval says {shown}, the limits {alone}, and no word on why"
    if c.verdict != shown and not explained:
        yield (
            f"{c.verdict}; the interval {tuple(c.confidence_interval)} says {shown}, and no word"
            " on why"
        )
    low, high = c.confidence_interval
    for least, most in (c.confidence_interval, c.bounds):
        if not least - STEP <= c.estimate <= most + STEP:
            yield f"the estimate {c.estimate} lies outside of {least} to {most}"
    yield from of_tests(c, fair)
    alone_and_two_sided = settings.simultaneous is None and settings.reference_rule != "highest"
    if result.metric == "abroca" or not alone_and_two_sided:
        return
    null = 1.0 if result.scale == "ratio" else 0.0
    excluded = low > 0 if result.scale == "maximum" else not low <= null <= high
    if excluded != (c.pvalue <= error) and abs(c.pvalue - error) > 1e-6:
        yield f"p = {c.pvalue} of equality beside an interval {low} to {high}"


def of_tests(c: Any, fair: tuple[float, float]) -> Iterator[str]:
    """What the listed tests say against the verdict's p-value, and each statistic against its
    p-value.
    """
    for test in c.tests:
        if test.exact != c.procedure.exact:
            continue
        small = test.pvalue < 0.2  # exact ones can be below one half at the null value itself
        lower = test.statistic < 0
        directed = test.alternative in ("less", "greater") and abs(test.statistic) > CLOSE
        if directed and small and lower != (test.alternative == "less"):
            yield (
                f"{test.null}: p = {test.pvalue} for {test.alternative} beside z = {test.statistic}"
            )
        if test.alternative != "equivalence":
            continue
        if small and not fair[0] < c.estimate < fair[1]:
            yield f"{test.null}: p = {test.pvalue} beside an estimate of {c.estimate}"
        if c.direction == "inside" and test.pvalue > c.pvalue_verdict + CLOSE:
            yield f"equivalence with p = {test.pvalue}, inside with p = {c.pvalue_verdict}"
    for test in c.tests:
        if test.alternative != "equivalence" or test.pvalue >= 0.01:
            continue
        # it says no more than the test from either end of the fair range; which of them is the
        # weaker one, the variances there decide, too
        for other in c.tests:
            from_an_end = other.alternative in ("less", "greater") and not other.exact
            says_less = abs(other.statistic) < abs(test.statistic) - CLOSE
            if from_an_end and not test.exact and says_less:
                yield f"{test.null}: z = {test.statistic}; {other.null}: z = {other.statistic}"


def of_facts(report: AuditReport) -> Iterator[str]:
    """Rows that ask one question of the same two groups."""
    for section in report.sections:
        facts: defaultdict[Hashable, list[tuple[ComparisonResult, Any]]] = defaultdict(list)
        for result in section.results:
            if not isinstance(result, ComparisonResult):
                continue
            for c in result.comparisons:
                name = result.attained_by if isinstance(result, MaximumResult) else None
                metric = find_metric(c.metric.removesuffix(ENDING))
                within = c.metric.endswith(ENDING)
                if name is None and metric is not None and metric.rates:
                    name = metric.rates[0]
                if name in RATES and c.verdict != "insufficient evidence":
                    pair = frozenset((c.group, c.reference))
                    facts[within, same_question(RATES[name]), pair].append((result, c))
        for (_, _, pair), rows in facts.items():
            yield from of_fact(report, sorted(pair), rows)


def of_fact(
    report: AuditReport, pair: list[str], rows: list[tuple[ComparisonResult, Any]]
) -> Iterator[str]:
    verdicts = {c.verdict for _, c in rows}
    names = ", ".join(c.metric for _, c in rows)
    if len(verdicts) > 1:
        told = [note for note in report.notes if all(group in note for group in pair)]
        if not told:
            yield f"{pair}: {verdicts} of {names}, and no note on why"
    single = [(r, c) for r, c in rows if not isinstance(r, MaximumResult) or len(r.components) == 1]
    by_default = [c for _, c in single if c.procedure.kind in ("score", "exact")]
    if report.settings.method is not None:
        by_default = []  # each scale by a standard error of its own, or beside a gap by the score
    pvalues = [c.pvalue for c in by_default]
    if pvalues and max(pvalues) - min(pvalues) > CLOSE * max(pvalues) + 1e-11:
        yield f"{pair}: p-values of equality {pvalues} of {names}"
    differences = [c for r, c in single if r.scale == "difference"]
    # a gap that is not known leaves the interval open, with a note; gaps are by the score whatever
    # method is asked for
    gaps = [
        c
        for r, c in single
        if r.scale == "maximum" and not c.note and report.settings.method is None
    ]
    for gap in gaps:
        for c in differences:
            low, high = c.confidence_interval
            size = max(low, -high, 0.0), max(abs(low), abs(high))
            if gap.verdict != c.verdict or not np.allclose(
                tuple(gap.confidence_interval), size, atol=1e-12
            ):
                yield f"{pair}: the gap is {gap.verdict}, its difference {c.verdict}"
            if not math.isclose(gap.pvalue_verdict, c.pvalue_verdict, abs_tol=1e-9):
                yield (
                    f"{pair}: p of the gap {gap.pvalue_verdict}, of its difference"
                    f" {c.pvalue_verdict}"
                )
    largest = [c for r, c in rows if isinstance(r, MaximumResult)]
    violated = any(c.verdict == "violated" for c in differences)
    if violated and any(c.verdict == "satisfied" for c in largest):
        yield f"{pair}: a difference is violated, and the largest gap is satisfied"


def of_strata(report: AuditReport) -> Iterator[str]:
    """Rows within strata know the crude row beside them, and a sentence says where both
    disagree.
    """
    for section in report.sections:
        rows = [
            c
            for result in section.results
            if isinstance(result, ComparisonResult)
            for c in result.comparisons
        ]
        crude = {(c.metric, c.group, c.reference): c for c in rows}
        for c in rows:
            if not isinstance(c, StratifiedComparison):
                continue
            beside = crude[c.metric.removesuffix(ENDING), c.group, c.reference]
            if c.crude_verdict != beside.verdict or not (
                c.crude == beside.estimate or math.isnan(c.crude)
            ):
                yield (
                    f"{c.metric}: crude {c.crude} ({c.crude_verdict}) beside {beside.estimate}"
                    f" ({beside.verdict})"
                )
            judged = "insufficient evidence" not in (c.verdict, beside.verdict)
            if judged and c.verdict != beside.verdict and not c.disagreement:
                yield (
                    f"{c.metric}: {c.verdict} within strata, {beside.verdict} without, and no word"
                    " on it"
                )
            if c.disagreement and "Strata change the answer" not in headline(report):
                yield f"{c.metric}: {c.disagreement!r} is not said at the head"


def of_claims(report: AuditReport) -> Iterator[str]:
    """What holds over the audit holds for the metric, and the head says how much that is."""
    frame = report.to_frame()
    error = 1 - report.settings.confidence_level
    for row in frame.itertuples():
        if row.real_over_audit is True and not row.pvalue <= error:
            yield f"{row.metric}: real over the audit with p = {row.pvalue}"
        if row.holds_over_audit is True and row.pvalue_verdict > error:
            yield f"{row.metric}: holds over the audit with p = {row.pvalue_verdict} of the verdict"
        shown_beyond = row.verdict == "violated" and row.holds_over_audit is True
        if shown_beyond and row.real_over_audit is False:
            yield f"{row.metric}: violated over the audit, and not real"
        if row.holds_over_audit is not None and row.verdict not in ("violated", "satisfied"):
            yield f"{row.metric}: {row.verdict}, and said to hold or not"
    if frame["pvalue"].notna().any() and "Over the whole audit" not in headline(report):
        yield "the head does not say what holds over the audit"


#: Reports of many small groups take ten seconds: they are read with the hundred.
QUICK = (1, 2, 4, 6, 7, 9)


@pytest.mark.parametrize("seed", QUICK)
def test_no_report_contradicts_itself(seed: int) -> None:
    assert contradictions(random_report(seed)) == []


@pytest.mark.parametrize("design", ["plain", "weights"])
def test_no_report_of_scores_contradicts_itself(design: str, tmp_path: Path) -> None:
    """Distances, areas and rates of tied scores, in a family of four groups, one of six rows; read
    from the rows, from JSON and from the page.
    """
    rng = np.random.default_rng(5)
    group = np.repeat(["a", "b", "c", "d"], [150, 60, 40, 6])
    labels = rng.integers(0, 2, group.size)
    score = np.clip(rng.beta(2, 3, group.size) + 0.15 * labels + 0.2 * (group == "c"), 0, 1)
    frame = pd.DataFrame({"group": group, "label": labels, "score": score.round(1)})
    frame["selected"] = (frame["score"] > 0.5).astype(int)
    arguments: dict[str, Any] = {"margin": 0.001, "threshold": 1.0, "n_resamples": 199, "rng": 3}
    if design == "weights":
        frame["weight"] = rng.lognormal(0, 0.5, group.size)
        arguments["sample_weight"] = "weight"
    report = fs.audit(
        frame,
        y_true="label",
        y_pred="selected",
        score="score",
        sensitive_features="group",
        **arguments,
    )
    assert contradictions(report) == []
    distances = [result for result in report.results if isinstance(result, fs.results.MaddResult)]
    assert distances
    for result in distances:
        for c in [*result.comparisons, *filter(None, [result.largest])]:
            if c.direction == "above":
                assert c.pvalue_verdict >= c.pvalue
                assert c.pvalue_verdict_adjusted >= c.pvalue_adjusted
            assert c.confidence_interval.low == 0 or c.pvalue <= 0.05
    again = AuditReport.from_json(report.to_json(tmp_path / "report.json"))
    assert contradictions(again) == []
    assert again.summary(full=True) == report.summary(full=True)
    assert str(again.screen()) == str(report.screen())
    page = " ".join(re.sub("<[^>]+>", "", report.to_html(tmp_path / "r.html").read_text()).split())
    for finding in report.screen().findings:
        for sentence in finding.sentences:
            assert html.escape(sentence, quote=False) in page


@pytest.mark.slow
@pytest.mark.parametrize("seed", sorted({*range(110)} - {*QUICK}))
def test_no_report_of_a_hundred_contradicts_itself(seed: int) -> None:
    assert contradictions(random_report(seed)) == []


def test_the_program_sees_contradictions() -> None:
    """A report in which a verdict, a limit or a p-value is changed is not consistent."""
    from dataclasses import replace

    frame = pd.DataFrame(
        {"selected": [1, 0] * 50 + [0, 0, 0, 1] * 25, "sex": ["m"] * 100 + ["f"] * 100}
    )
    report = fs.audit(frame, y_pred="selected", sensitive_features="sex", reference="m")
    assert contradictions(report) == []
    section = report.sections[0]
    first, *others = section.results
    (row,) = first.comparisons
    low = replace(row.confidence_interval, low=0.1, high=2.0)
    for changed in (
        {"verdict": "satisfied"},
        {"pvalue_verdict_adjusted": 0.2},
        {"pvalue": 0.4, "pvalue_adjusted": 0.4},
        {"bounds": replace(row.bounds, low=0.1, high=2.0)},
        {"confidence_interval": low},
    ):
        results = (replace(first, comparisons=(replace(row, **changed),)), *others)
        damaged = replace(report, sections=(replace(section, results=results),))
        assert contradictions(damaged) != [], changed
