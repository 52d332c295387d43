"""What an audit claims as a whole: which differences are real, and which verdicts hold, over everything it looked at.

Rows keep the family of their metric. Beside them stands the family of the audit: *facts*, each counted once. Ratio,
difference and gap of the same two rates are one fact, and so are a rate and its complement, and one rate that stands in
two metrics: they ask the same question of the same people. Holm's procedure over the facts keeps the probability of
any false claim at most the error when all is fair.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from fairstats.ground.registry import RATES, Rate, find_metric
from fairstats.methods.rates.maxima import MaximumResult
from fairstats.methods.rates.result import ComparisonResult
from fairstats.methods.rates.stratified_result import ENDING

#: Claims that are named in the sentence at the head.
_NAMED = 6
#: How often some p-value below .05 appears in audits of which all is fair, by simulation (two attributes, crossed).
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

    `pvalue_audit`, `pvalue_verdict_audit`: of equality and of the verdict over the facts of the audit, NaN where the
    row has none; `real_over_audit`: whether a difference is shown, `holds_over_audit`: whether the verdict of the row
    is; None where nothing is tested, or judged.
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


def same_question(rate: Rate) -> Hashable:
    """What a rate and its complement share: the cases, and how they are divided."""
    if not rate.successes:
        return rate.name
    successes = frozenset(rate.successes)
    cases = frozenset(rate.cases)
    return cases, frozenset((successes, cases - successes))


def claims_of(sections: Sequence[AuditedSection], confidence_level: float) -> dict[tuple[int, int, int], Claim]:
    """What every row says over the audit, by its section, result and row; rows without a p-value are left out."""
    entries = [
        entry
        for s, section in enumerate(sections)
        for r, result in enumerate(section.results)
        for entry in _entries(s, r, section, result)
    ]
    largest: dict[Hashable, float] = {}
    for e in entries:
        if not math.isnan(e.pvalue):
            largest[e.fact] = max(e.pvalue, largest.get(e.fact, 0.0))
    chosen = any(_chosen_factor(result) > 1 for section in sections for result in section.results)
    # equality is one question, whatever the scale: the rows of a fact share one answer, that of their largest p-value
    of_facts = over_facts(list(largest.items()), step_down=not chosen)
    answers = dict(zip(largest, of_facts, strict=True))
    equality = [math.nan if math.isnan(e.pvalue) else answers[e.fact] for e in entries]
    verdicts = over_facts([(e.fact, e.pvalue_verdict) for e in entries], step_down=not chosen)
    error = 1 - confidence_level
    claims = {}
    for entry, equal, verdict in zip(entries, equality, verdicts, strict=True):
        claims[entry.section, entry.result, entry.row] = Claim(
            pvalue_audit=equal,
            real_over_audit=None if math.isnan(equal) else equal <= error,
            pvalue_verdict_audit=verdict,
            holds_over_audit=_holds(entry.verdict, verdict, error),
        )
    return claims


def _holds(verdict: str, pvalue: float, error: float) -> bool | None:
    if verdict not in ("violated", "satisfied") or math.isnan(pvalue):
        return None
    return pvalue <= error


def over_facts(pvalues: Sequence[tuple[Hashable, float]], *, step_down: bool = True) -> list[float]:
    """Holm's adjusted p-values over facts: each p-value in the place of its fact, which has its smallest one.

    Parameters
    ----------
    pvalues : sequence of (fact, p-value)
        NaN where there is none: it does not count.
    step_down : bool
        Otherwise Bonferroni's: where the data chose what is shown, what is not shown is missing among the steps.

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
        rank = place[fact] if step_down else 0
        adjusted.append(min(max((count - rank) * pvalue, before[rank]), 1.0))
    return adjusted


def _entries(section_at: int, result_at: int, section: AuditedSection, result: Any) -> list[_Entry]:
    factor = _chosen_factor(result)
    entries = []
    for at, row in enumerate(section.rows[result_at]):
        pvalue = _number(row.get("pvalue"))
        verdict_pvalue = _number(row.get("pvalue_verdict"))
        if math.isnan(pvalue) and math.isnan(verdict_pvalue):
            continue
        entries.append(
            _Entry(
                section=section_at, result=result_at, row=at, fact=_fact(section, result, row),
                pvalue=min(pvalue * factor, 1.0) if not math.isnan(pvalue) else math.nan,
                pvalue_verdict=min(verdict_pvalue * factor, 1.0) if not math.isnan(verdict_pvalue) else math.nan,
                verdict=row.get("verdict") or "",
            )
        )  # fmt: skip
    return entries


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)


def _chosen_factor(result: Any) -> float:
    """Pairs that the data chose from, per comparison: for a reference with the highest rate."""
    settings = getattr(result, "settings", None)
    if getattr(settings, "reference_rule", "") != "highest" or isinstance(result, MaximumResult):
        return 1.0
    return max(len(result.counts.groups) / 2, 1.0)


def _fact(section: AuditedSection, result: Any, row: Mapping[str, Any]) -> Hashable:
    """What a row is about: groups, and the question that is asked of them."""
    pair = frozenset((row.get("group") or "", row.get("reference") or ""))
    within = row["metric"].endswith(ENDING)  # another question than that of the same rates without strata
    metric = find_metric(row["metric"].removesuffix(ENDING))
    rates: tuple[str, ...] = metric.rates if metric is not None else ()
    if within and len(rates) == 1 and rates[0] in RATES:
        return section.attributes, "within strata", same_question(RATES[rates[0]]), pair
    if isinstance(result, MaximumResult) and len(result.components) > 1:
        questions = frozenset(same_question(RATES[name]) for name in rates)
        return section.attributes, "largest gap", questions
    if isinstance(result, ComparisonResult) and len(rates) == 1 and rates[0] in RATES:
        return section.attributes, same_question(RATES[rates[0]]), pair
    if isinstance(result, ComparisonResult) and rates and row["metric"] in RATES:
        return section.attributes, same_question(RATES[row["metric"]]), pair
    other = tuple(str(row.get(name) or "") for name in ("model", "baseline", "step"))
    return section.attributes, row["metric"], other, pair


def claims_sentence(
    sections: Sequence[AuditedSection], confidence_level: float, claims: Mapping[tuple[int, int, int], Claim]
) -> str:
    """Which findings hold over the audit, which for their metric alone; empty where nothing is tested."""
    if not claims:
        return ""
    real: dict[Hashable, str] = {}
    tested: set[Hashable] = set()
    holding: dict[str, None] = {}
    alone: dict[str, None] = {}
    for (s, r, at), claim in claims.items():
        section, result = sections[s], sections[s].results[r]
        row = section.rows[r][at]
        fact = _fact(section, result, row)
        if claim.real_over_audit is not None:
            tested.add(fact)
            if claim.real_over_audit:
                real.setdefault(fact, "")
        if row.get("verdict") == "violated" and claim.holds_over_audit is not None:
            said = f"{_title(row['metric'], result)}, {_who(row)}"
            (holding if claim.holds_over_audit else alone)[said] = None
    # the largest of several distances is named as the distance of its two groups, which may hold by itself
    alone = {said: None for said in alone if said not in holding}
    error = f"{100 * (1 - confidence_level):.3g}%"
    many = len(tested)
    head = f"Over the whole audit ({many} fact{'' if many == 1 else 's'}, Holm, error {error})"
    found = f"{len(real)} difference{' is' if len(real) == 1 else 's are'} real" if real else "no difference is real"
    parts = [f"{head} {found}"]
    if holding:
        parts.append(f"these violations hold: {_named(holding)}")
    if alone:
        parts.append(f"these hold for their metric alone: {_named(alone)}")
    if not holding and not alone:
        parts.append("no violation is claimed")
    warning = f"Reading unadjusted p-values one by one errs in more than half of fair audits {_UNADJUSTED}."
    return f"{'; '.join(parts)}. {warning}"


def _title(name: str, result: Any) -> str:
    """What stands before the colon of the title of a metric of rates, or else of the result."""
    metric = find_metric(name.removesuffix(ENDING))
    if metric is None:
        return str(result.title).partition(":")[0]
    within = " within strata" if name.endswith(ENDING) else ""
    return metric.title.partition(":")[0] + within


def _who(row: Mapping[str, Any]) -> str:
    return f"{row['group']} against {row['reference']}" if row.get("reference") else str(row["group"])


def _named(claims: Mapping[str, None]) -> str:
    shown = list(claims)[:_NAMED]
    more = len(claims) - len(shown)
    return "; ".join(shown) + (f"; and {more} more" if more else "")
