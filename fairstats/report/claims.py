"""What an audit claims as a whole.

Which differences are real, and which verdicts hold, over everything it looked at.

Rows keep the family of their metric. Beside them stands the family of the audit: *facts*, each
counted once. Ratio, difference and gap of the same two rates are one fact, and so are a rate and
its complement, and one rate that stands in two metrics: they ask the same question of the same
people. Holm's procedure over the facts keeps the probability of any false claim at most the error
when all is fair.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from fairstats.ground.registry import RATES, Title, class_of, same_question, without_class
from fairstats.ground.results import Result
from fairstats.methods.rates.inferred.result import InferredResult
from fairstats.methods.rates.maxima import MaximumResult
from fairstats.methods.rates.monitoring import MonitorResult
from fairstats.methods.rates.numbers.curves import CURVES
from fairstats.methods.rates.numbers.decomposition import DecompositionResult
from fairstats.methods.rates.result import ComparisonResult
from fairstats.methods.rates.strata.result import (
    StratifiedDifferenceResult,
    StratifiedRatioResult,
    find_crude_metric,
)
from fairstats.methods.rates.subgroups import SubgroupResult

#: Claims that are named in the sentence at the head.
_NAMED = 6
#: How often some p-value below .05 appears in audits of which all is fair, by simulation (two
#: attributes, crossed).
_UNADJUSTED = "(.54 to .66 of them have some p-value below .05)"


class AuditedSection(Protocol):
    """What a section of a report holds: results for one set of attributes, and the rows of each."""

    @property
    def attributes(self) -> tuple[str, ...]:
        """The sensitive columns."""

    @property
    def results(self) -> tuple[Any, ...]:
        """Its results."""

    @property
    def rows(self) -> tuple[list[dict[str, Any]], ...]:
        """Rows of the table of each result."""


class Claim(NamedTuple):
    """What one row says over the audit.

    `pvalue_audit`, `pvalue_verdict_audit`: of equality and of the verdict over the facts of the
    audit, NaN where the row has none; `real_over_audit`: whether a difference is shown,
    `holds_over_audit`: whether the verdict of the row is; None where nothing is tested, or judged.
    """

    pvalue_audit: float = math.nan
    real_over_audit: bool | None = None
    pvalue_verdict_audit: float = math.nan
    holds_over_audit: bool | None = None


@dataclass(frozen=True)
class _Entry:
    """p-values of one row of the tidy table, and the fact that it is about."""

    section: int
    result: int
    row: int
    fact: Hashable
    pvalue: float
    pvalue_verdict: float
    verdict: str


def claims_of(
    sections: Sequence[AuditedSection], confidence_level: float
) -> dict[tuple[int, int, int], Claim]:
    """What every row says over the audit, by its section, result and row.

    Rows without a p-value are left out.
    """
    entries = []
    for section_at, section in enumerate(sections):
        for result_at, result in enumerate(section.results):
            for entry in _collect_entries(section_at, result_at, section, result):
                entries.append(entry)
    largest: dict[Hashable, float] = {}
    for e in entries:
        if not math.isnan(e.pvalue):
            largest[e.fact] = max(e.pvalue, largest.get(e.fact, 0.0))
    chosen = any(_chosen_factor(result) > 1 for section in sections for result in section.results)
    # equality is one question, whatever the scale: the rows of a fact share one answer, that of
    # their largest p-value
    of_facts = over_facts(list(largest.items()), step_down=not chosen)
    answers = dict(zip(largest, of_facts, strict=True))
    equality = []
    for entry in entries:
        equality.append(math.nan if math.isnan(entry.pvalue) else answers[entry.fact])
    verdicts = over_facts(
        [(entry.fact, entry.pvalue_verdict) for entry in entries], step_down=not chosen
    )
    error = 1 - confidence_level
    claims = {}
    for entry, equal, over_verdicts in zip(entries, equality, verdicts, strict=True):
        verdict = over_verdicts
        if entry.verdict == "violated" and not math.isnan(verdict) and not math.isnan(equal):
            # who is shown to lie outside the fair range is shown to differ, over the audit as well
            verdict = max(verdict, equal)
        claims[entry.section, entry.result, entry.row] = Claim(
            pvalue_audit=equal,
            real_over_audit=None if math.isnan(equal) else equal <= error,
            pvalue_verdict_audit=verdict,
            holds_over_audit=_verdict_holds(entry.verdict, verdict, error),
        )
    return claims


def _verdict_holds(verdict: str, pvalue: float, error: float) -> bool | None:
    if verdict not in ("violated", "satisfied") or math.isnan(pvalue):
        return None
    return pvalue <= error


def over_facts(pvalues: Sequence[tuple[Hashable, float]], *, step_down: bool = True) -> list[float]:
    """Holm's adjusted p-values over facts.

    Each p-value in the place of its fact, which has its smallest one.

    Parameters
    ----------
    pvalues : sequence of (fact, p-value)
        NaN where there is none: it does not count.
    step_down : bool
        Otherwise Bonferroni's: where the data chose what is shown, what is not shown is missing
        among the steps.

    Returns
    -------
    list of float
        At most 1, NaN where there is none.

    Examples
    --------
    Three facts; the first has two p-values (a ratio and a difference of the same rates):

    >>> over_facts([("a", 0.01), ("a", 0.02), ("b", 0.02), ("c", 0.5)])
    [0.03, 0.06, 0.04, 0.5]
    """
    smallest: dict[Hashable, float] = {}
    for fact, pvalue in pvalues:
        if not math.isnan(pvalue):
            smallest[fact] = min(pvalue, smallest.get(fact, 1.0))
    count = len(smallest)
    in_order = sorted(smallest, key=smallest.__getitem__)
    place = {fact: rank for rank, fact in enumerate(in_order)}
    #: the largest of the steps before each fact
    before = [0.0]
    for rank, fact in enumerate(in_order):
        before.append(max(before[-1], (count - rank) * smallest[fact]))
    adjusted = []
    for fact, pvalue in pvalues:
        if math.isnan(pvalue):
            adjusted.append(math.nan)
            continue
        if step_down:
            rank = place[fact]
        else:
            rank = 0
        adjusted.append(min(max((count - rank) * pvalue, before[rank]), 1.0))
    return adjusted


def _multiply_pvalue(pvalue: float, factor: float) -> float:
    """The p-value times the comparisons that the data chose from, at most 1; NaN stays NaN."""
    if math.isnan(pvalue):
        return math.nan
    return min(pvalue * factor, 1.0)


def _collect_entries(
    section_at: int,
    result_at: int,
    section: AuditedSection,
    result: Result,
) -> list[_Entry]:
    """What one result claims, row by row: that a difference is real, that a verdict holds."""
    entries: list[_Entry] = []
    # families of their own, whose searches are counted there; the path of what stands among the
    # rates
    if isinstance(result, (SubgroupResult, MonitorResult, DecompositionResult, *CURVES)):
        return entries
    factor = _chosen_factor(result)
    for row_at, row in enumerate(section.rows[result_at]):
        pvalue = _number_or_nan(row.get("pvalue"))
        verdict_pvalue = _number_or_nan(row.get("pvalue_verdict"))
        if math.isnan(pvalue) and math.isnan(verdict_pvalue):
            continue
        entries.append(
            _Entry(
                section=section_at,
                result=result_at,
                row=row_at,
                fact=_fact_of_row(section, result, row),
                pvalue=_multiply_pvalue(pvalue, factor),
                pvalue_verdict=_multiply_pvalue(verdict_pvalue, factor),
                verdict=row.get("verdict") or "",
            )
        )
    return entries


def _number_or_nan(value: Any) -> float:
    if value is None:
        return math.nan
    return float(value)


def _chosen_factor(result: Any) -> float:
    """Pairs that the data chose from, per comparison: for a reference with the highest rate."""
    settings = getattr(result, "settings", None)
    if getattr(settings, "reference_rule", "") != "highest" or isinstance(result, MaximumResult):
        return 1.0
    return max(len(result.counts.groups) / 2, 1.0)


def _fact_of_row(section: AuditedSection, result: Result, row: Mapping[str, Any]) -> Hashable:
    """What a row is about: groups, and the question that is asked of them."""
    pair = frozenset((row.get("group") or "", row.get("reference") or ""))
    # another question than that of the same rates without strata
    within = isinstance(result, (StratifiedRatioResult, StratifiedDifferenceResult))
    metric = find_crude_metric(row["metric"])
    rates: tuple[str, ...] = metric.rates if metric is not None else ()
    if within and len(rates) == 1 and rates[0] in RATES:
        return section.attributes, "within strata", same_question(RATES[rates[0]]), pair
    if rates and isinstance(result, MaximumResult) and len(result.components) > 1:
        questions = frozenset(same_question(RATES[name]) for name in rates)
        return section.attributes, "largest gap", questions
    if rates and isinstance(result, MaximumResult) and result.components:
        # of the only difference that is known, whatever others were sought
        return section.attributes, same_question(RATES[result.components[0].rate]), pair
    compares_rates = isinstance(result, (ComparisonResult, InferredResult))
    if compares_rates and len(rates) == 1 and rates[0] in RATES:
        return section.attributes, same_question(RATES[rates[0]]), pair
    if compares_rates and rates and row["metric"] in RATES:
        return section.attributes, same_question(RATES[row["metric"]]), pair
    other = tuple(str(row.get(name) or "") for name in ("model", "baseline", "step"))
    return section.attributes, row["metric"], other, pair


def claims_sentence(
    sections: Sequence[AuditedSection],
    confidence_level: float,
    claims: Mapping[tuple[int, int, int], Claim],
) -> str:
    """Which findings hold over the audit, which for their metric alone.

    Empty where nothing is tested.
    """
    if not claims:
        return ""
    real_facts: dict[Hashable, str] = {}
    tested: set[Hashable] = set()
    # by title and pair, whichever group stands first: of two groups the gap says once more what the
    # difference says
    holding: dict[Hashable, str] = {}
    alone: dict[Hashable, str] = {}
    for (section_at, result_at, row_at), claim in claims.items():
        section = sections[section_at]
        result = sections[section_at].results[result_at]
        row = section.rows[result_at][row_at]
        fact = _fact_of_row(section, result, row)
        if claim.real_over_audit is not None:
            tested.add(fact)
            if claim.real_over_audit:
                real_facts.setdefault(fact, "")
        if row.get("verdict") == "violated" and claim.holds_over_audit is not None:
            title = _title_of_row(row["metric"], result)
            if claim.holds_over_audit:
                claims_by_title = holding
            else:
                claims_by_title = alone
            claims_by_title.setdefault(
                (title, frozenset((row["group"], row.get("reference")))),
                f"{title}, {_name_groups(row)}",
            )
    # the largest of several distances is named as the distance of its two groups, which may hold by
    # itself
    alone = {key: text for key, text in alone.items() if key not in holding}
    error = f"{100 * (1 - confidence_level):.3g}%"
    n_facts = len(tested)
    sentence_head = (
        f"Over the whole audit ({n_facts} fact{'' if n_facts == 1 else 's'}, Holm, error {error})"
    )
    if real_facts:
        differences_found = (
            f"{len(real_facts)} difference{' is' if len(real_facts) == 1 else 's are'} real"
        )
    else:
        differences_found = "no difference is real"
    parts = [f"{sentence_head} {differences_found}"]
    if holding:
        parts.append(f"these violations hold: {_list_claims(list(holding.values()))}")
    if alone:
        parts.append(f"these hold for their metric alone: {_list_claims(list(alone.values()))}")
    if not holding and not alone:
        parts.append("no violation is claimed")
    warning = (
        "Reading unadjusted p-values one by one errs in more than half of fair audits"
        f" {_UNADJUSTED}."
    )
    return f"{'; '.join(parts)}. {warning}"


def answers_by_fact(
    sections: Sequence[AuditedSection], claims: Mapping[tuple[int, int, int], Claim]
) -> dict[Hashable, tuple[bool, bool]]:
    """Of every fact that is tested whether a difference is real, and whether one is beyond a limit.

    Both over the whole audit.
    """
    answers: dict[Hashable, tuple[bool, bool]] = {}
    for (section_at, result_at, row_at), claim in claims.items():
        if claim.real_over_audit is None:
            continue
        section = sections[section_at]
        row = section.rows[result_at][row_at]
        fact = _fact_of_row(section, section.results[result_at], row)
        was_real, was_beyond = answers.get(fact, (False, False))
        is_beyond = row.get("verdict") == "violated" and claim.holds_over_audit is True
        answers[fact] = (was_real or claim.real_over_audit, was_beyond or is_beyond)
    return answers


def _title_of_row(name: str, result: Result) -> str:
    """What stands before the colon of the title of a metric of rates, or else of the result."""
    label = class_of(name)
    metric = find_crude_metric(without_class(name))
    if metric is None:
        return Title(result.title).label
    title = metric.label
    if label:
        title = f"{title} ({label})"
    if isinstance(result, (StratifiedRatioResult, StratifiedDifferenceResult)):
        return f"{title} within strata"
    if label:
        return title
    if isinstance(result, MaximumResult) and len(result.components) > 1:
        return f"{title} (largest gap)"
    return title


def _name_groups(row: Mapping[str, Any]) -> str:
    if row.get("reference"):
        return f"{row['group']} against {row['reference']}"
    return str(row["group"])


def _list_claims(claims: Sequence[str]) -> str:
    shown = claims[:_NAMED]
    n_more = len(claims) - len(shown)
    return "; ".join(shown) + (f"; and {n_more} more" if n_more else "")
