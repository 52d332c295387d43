"""Several verdicts on one pair of rates (ratio, difference, largest gap): which of them differ, and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from fairstats.ground.registry import RATES, Rate, find_metric
from fairstats.methods.rates.maxima import MaximumResult
from fairstats.methods.rates.result import ComparisonResult

if TYPE_CHECKING:
    from fairstats.report.contents import Section
    from fairstats.report.inputs import AuditSettings


class _Judged(NamedTuple):
    """One verdict on a rate of two groups."""

    scale: str
    rate: Rate
    verdict: str
    family: int
    comparison: Any

    def words(self, settings: AuditSettings) -> str:
        """What was judged, against what."""
        s, threshold = settings, settings.threshold
        fair = {
            "ratio": f"a ratio of the {self.rate.title}s (fair from {threshold:g} to {1 / threshold:.4g})",
            "difference": f"a difference of the {self.rate.title}s (fair within ±{s.margin:g})",
            "maximum": f"the largest gap of all pairs (fair up to {s.margin:g})",
        }[self.scale]
        family = f", judged together with {self.family - 1} other rate" if self.family > 1 else ""
        return f"{self.verdict} as {fair}{family}"


def differing_verdicts(sections: Sequence[Section], settings: AuditSettings) -> list[str]:
    """A note for each rate on which groups got several verdicts, with the reason; none where all agree."""
    notes = []
    by_set: dict[str, list[_Judged]] = {}
    for section in sections:
        by_set.setdefault(section.attribute_text, []).extend(
            judged for result in section.results for judged in _judged(result)
        )
    for attribute, every in by_set.items():
        pairs: dict[tuple[Any, ...], list[_Judged]] = {}
        for one in every:
            pair = frozenset((one.comparison.group, one.comparison.reference))
            pairs.setdefault((_denominator(one.rate), pair), []).append(one)
        alike: dict[tuple[Any, ...], list[list[_Judged]]] = {}
        for (rate, _), own in pairs.items():
            if len({one.verdict for one in own}) > 1:
                pattern = tuple((one.scale, one.rate.name, one.verdict, one.family) for one in own)
                alike.setdefault((rate, pattern, own[0].comparison.reference), []).append(own)
        notes += [f"{attribute}: {_note(members, settings)}" for members in alike.values()]
        notes += [f"{attribute}: {text}" for one in every if (text := _beside_the_gap(one, every))]
    return notes


def _judged(result: Any) -> Iterator[_Judged]:
    """Verdicts on single rates; of a largest gap that of the pair that attains it."""
    if not isinstance(result, ComparisonResult):
        return
    for c in result.comparisons:
        metric = find_metric(c.metric)
        name = (
            result.attained_by if isinstance(result, MaximumResult) else metric and "".join(metric.rates[:1])
        )
        if name in RATES and c.verdict not in ("", "insufficient evidence"):
            family = len({other.metric for other in result.comparisons})
            yield _Judged(result.scale, RATES[name], c.verdict, family, c)


def _denominator(rate: Rate) -> Any:
    """What a rate and its complement share: the cases, and how they are divided."""
    if not rate.successes:
        return rate.name
    successes, cases = frozenset(rate.successes), frozenset(rate.cases)
    return cases, frozenset((successes, cases - successes))


def _beside_the_gap(gap: _Judged, every: Sequence[_Judged]) -> str:
    """Why a largest gap and the differences of other pairs are judged unlike; empty where they are not."""
    metric = find_metric(gap.comparison.metric)
    if gap.scale != "maximum" or metric is None:
        return ""
    own = gap.comparison.group, gap.comparison.reference
    others = [one for one in every if one.scale == "difference" and one.rate.name in metric.rates]
    shown = [one for one in others if one.verdict == "violated"]
    if any({one.comparison.group, one.comparison.reference} == set(own) for one in shown):
        return ""
    found = f"{metric.title} is {gap.verdict} ({own[0]} against {own[1]}: {gap.comparison.estimate:.3f})"
    if shown and gap.verdict == "undecided":
        pairs = dict.fromkeys(f"{one.comparison.group} against {one.comparison.reference}" for one in shown)
        return (
            f"{found}, although a difference is violated for {', '.join(pairs)}: the largest gap is judged "
            "over all pairs at once, of which some are small groups, and needs more evidence."
        )
    if others and not shown and gap.verdict == "violated":
        return (
            f"{found}, although no difference is: those are against {others[0].comparison.reference} alone."
        )
    return ""


def _note(members: Sequence[Sequence[_Judged]], settings: AuditSettings) -> str:
    """One note on all pairs of groups with the same verdicts."""
    known = {(one.scale, one.rate.name, one.verdict) for one in members[0] if one.family == 1}
    told = [
        one for one in members[0] if one.family == 1 or (one.scale, one.rate.name, one.verdict) not in known
    ]
    said = "; ".join(dict.fromkeys(one.words(settings) for one in told))
    groups = ", ".join(f"{own[0].comparison.group} ({_numbers(own)})" for own in members)
    text = f"{groups} against {members[0][0].comparison.reference}: {said}."
    ratio = next((one for one in members[0] if one.scale == "ratio"), None)
    if ratio is not None:
        rate, threshold = ratio.comparison.rate_reference, settings.threshold
        text += (
            f" At a {ratio.rate.title} of {100 * rate:.1f}% in the reference a ratio of {threshold:g} is a "
            f"difference of {(threshold - 1) * rate:.3f}".replace("-", "−")
            + ": these are two questions."
        )
    if any(one.scale == "maximum" for one in members[0]):
        text += " The largest gap is judged over all pairs at once, and needs more evidence."
    return text


def _numbers(own: Sequence[_Judged]) -> str:
    signs = {"ratio": ".3f", "difference": "+.3f", "maximum": ".3f"}
    return ", ".join(
        dict.fromkeys(f"{one.comparison.estimate:{signs[one.scale]}}".replace("-", "−") for one in own)
    )
