"""The parts of a report on one set of groups: a plain sentence, pictures, and the statistician's tables."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from fairstats.ground.backends import unless_asked
from fairstats.ground.errors import FairstatsWarning
from fairstats.methods.ecd.result import EcdResult
from fairstats.methods.hfm.result import HfmResult
from fairstats.methods.madd.result import MaddResult
from fairstats.methods.rates.abroca import AbrocaResult
from fairstats.methods.rates.models.result import AmplificationResult
from fairstats.methods.rates.planning import chance_of_verdict, detectable_ratio
from fairstats.methods.rates.result import RatioResult
from fairstats.methods.um.result import UmPosterior
from fairstats.numerics.hdr.region import hdr
from fairstats.plots.figures import (
    calibration_curves,
    madd_by_bandwidth,
    posterior_plane,
    power_curves,
    return_levels,
    roc_curves,
    score_histograms,
)
from fairstats.plots.picture import Picture
from fairstats.report.contents import Contents, Section, headline
from fairstats.report.format import chance, count, isolate, number, percent, printable
from fairstats.report.view import Part, SetView, Table, table_of, told

#: Comparisons with pictures of their own; tables have all of them.
_PICTURED = 4
#: Below so many expected cases of one kind a verdict is by an exact test, whose power is not this one.
_FEW = 10
#: Power that "could have been shown" means.
_POWER = 0.8
#: Verdict → what follows a finding.
_MEANS = {
    "violated": "beyond the limit that was set",
    "satisfied": "shown to be within the limit that was set",
    "undecided": "the data do not settle whether that is within the limit that was set",
    "insufficient evidence": "too few cases to say anything",
}
_NOTHING = f"No two groups can be compared: {_MEANS['insufficient evidence']}."


def general_parts(report: Contents, view: SetView) -> list[Part]:
    """What a report says beside the parts of its sections: what was found, its limits, its references."""
    groups = view.groups
    sizes: tuple[Table, ...] = ()
    if groups is not None:
        heads = ("group", "rows", "share", *(name for name, _ in groups.headings))
        rows = tuple((label, n, share, *(c.rate for c in cells)) for label, n, share, cells in groups.rows)
        sizes = (Table(f"{groups.total} rows", heads, rows),)
    limits = [*(f"{said.title}. {said.text}" for said in report.statements), *report.notes]
    others = [
        Part(key, title, "", tables=(Table(title, (), (), tuple(map(printable, said))),))
        for key, title, said in (("limits", "Limits", limits), ("references", "References", report.references))
    ]
    return [Part("summary", "What was found", headline(report), tables=sizes), *others]


def set_parts(report: Contents, view: SetView) -> list[Part]:
    """The parts of one set of groups, in the order of the sections; power after the rates."""
    found: list[Part] = []
    for section in report.sections:
        if section.attributes != view.attributes:
            continue
        if section.key in _OF_SECTION:
            found += _OF_SECTION[section.key](section, view)
        else:
            found += [_OF_RESULT.get(type(result), _plain_part)(section.key, result) for result in section.results]
    return found


def _plain_part(key: str, result: Any) -> Part:
    """The first sentence, and the table behind it."""
    title, lead = printable(result.title), next(iter(told(result)), "")
    if isinstance(result, AmplificationResult):
        title = "Amplification: whether the predictions repeat the differences of the outcomes"
        lead = "In no group are the predictions shown to be further from parity than the recorded outcomes."
        groups = list(dict.fromkeys(c.group for c in result.comparisons if c.verdict == "amplified"))
        if groups:
            text = f"The predictions are further from parity than the recorded outcomes for {', '.join(groups)}."
            lead = _said(text, *groups)
    return Part(key, title, lead, tables=(table_of(result),))


def _pair(c: Any) -> str:
    return _said(f"{c.group} and {c.reference}", c.group, c.reference)


def _ordered(comparisons: Sequence[Any], size: Callable[[Any], float]) -> list[Any]:
    """Comparisons that have an estimate: those shown to be beyond the limit first, then by size."""
    known = [c for c in comparisons if math.isfinite(size(c))]
    last = "insufficient evidence"
    return sorted(known, key=lambda c: (c.verdict == "violated", c.verdict != last, size(c)), reverse=True)


def _rest(shown: Any, comparisons: Sequence[Any]) -> str:
    """What became of the other comparisons; empty for none."""
    others = [c.verdict for c in comparisons if c is not shown]
    if not others:
        return ""
    counts = [others.count(verdict) for verdict in ("violated", "satisfied", "insufficient evidence")]
    words = ["shown to be beyond it", "shown to be within it", "without sufficient evidence", "open"]
    counts.append(len(others) - sum(counts))
    if len(others) == 1:
        return f" The other comparison is {words[counts.index(1)]}."
    words[1] = "within it"
    found = [f"{n or 'none'} {what}" for n, what in zip(counts, words, strict=True) if n or what != words[2]]
    return f" Of {len(others)} other comparisons, {', '.join(found)}."


def _said(text: str, *names: str) -> str:
    return isolate(printable(text), [printable(name) for name in names])


# ---------------------------------------------------------------- rates, and what could have been shown


def _rates(section: Section, view: SetView) -> Iterator[Part]:
    charts = tuple(c for c in view.charts if c.kind != "distance")
    ratios = [r for r in section.results if isinstance(r, RatioResult) and r.metric.startswith("disparate_impact")]
    if charts:
        lead = _lead_of_rates(ratios[0]) if ratios else ""
        yield Part("rates", "Rates: who is selected, and how often rightly", lead, charts)
    for result in section.results:
        if any(result is other for other in view.others):
            yield _plain_part(section.key, result)
    if ratios and not (ratios[0].counts.weighted or ratios[0].counts.clustered):
        yield _power(ratios[0])


def _lead_of_rates(result: RatioResult) -> str:
    # distance from equality on the logarithmic scale; of a ratio of 0 more than any other
    ordered = _ordered(result.comparisons, lambda c: abs(math.log(max(c.estimate, 1e-9))))
    if not ordered:
        return _NOTHING
    c = ordered[0]
    got = "a favourable outcome" if result.metric.endswith("labels") else "a favourable decision"
    text = (
        f"Of 100 people in the group {c.group}, {100 * c.rate:.0f} got {got}; of 100 in {c.reference}, "
        f"{100 * c.rate_reference:.0f}: {_MEANS[c.verdict]}.{_rest(c, result.comparisons)}"
    )
    return _said(text, c.group, c.reference)


def _power(result: RatioResult) -> Part:
    """How large a difference the numbers of cases could have shown, whatever was found."""
    s: Any = result.settings
    size = 1 if s.adjust == "none" else max(len(result.comparisons), 1)
    if s.reference_rule == "highest":  # all pairs could have been chosen
        size = math.comb(len(result.counts.groups), 2)
    level = 1 - (1 - s.confidence_level) / size
    found: list[tuple[float, float, Any]] = []
    for c in result.comparisons:
        rate, n, m = c.rate_reference, c.n, c.n_reference or 0
        if n and m and 0 < rate < 1:
            few = min(n * rate, n * (1 - rate), m * rate, m * (1 - rate)) < _FEW
            least = 0.0 if few else detectable_ratio(rate, n, m, s.threshold, level, _POWER)
            found.append((least, math.nan if few else chance_of_verdict(rate, 1.0, n, m, s.threshold, level), c))
    title = "What this audit could have shown"
    if not found:
        lead = "Nobody, or everybody, of the reference had a favourable result: no ratio could be shown."
        return Part("power", title, lead)
    known = sorted((one for one in found if one[0] > 0), key=lambda one: one[0], reverse=True)
    lead = "The groups are too small for any violation of the ratio to be shown with a chance of 80%."
    if known:
        (most, _, c), (least, _, other) = known[0], known[-1]
        lead = (
            f"A violation is found in 8 of 10 audits like this one if the true ratio is {most:.2f} or less "
            f"for {c.group} ({c.n:,} cases)"
        )
        if other is not c:
            lead += f", and only if it is {least:.2f} or less for {other.group} ({other.n:,} cases)"
        left = len(found) - len(known)
        lead = _said(lead, c.group, other.group) + (f"; {left} more: too few cases." if left else ".")
    curves = []
    for shown, _, c in [*known[:2], *known[2:][-2:]]:
        x = np.linspace(max(0.02, min(0.4, shown - 0.1)), 1.0, 41)
        x = x[np.abs(x - s.threshold) > 1e-6]
        given = c.n, c.n_reference, s.threshold, level
        curves.append((c.group, x, [chance_of_verdict(c.rate_reference, r, *given) for r in x.tolist()]))
    heads = (
        "group", "reference", "cases", "cases of the reference", "rate of the reference",
        "ratio found as a violation in 8 of 10 audits", "chance to show that equal groups are so",
    )  # fmt: skip
    rows = tuple(
        (
            printable(c.group), printable(c.reference), count(c.n), count(c.n_reference),
            percent(c.rate_reference), f"{shown:.3f} or less" if shown > 0 else "none: too few cases",
            chance(equal),
        )
        for shown, equal, c in found
    )  # fmt: skip
    about = (
        "About, by the normal approximation to the score test (Farrington and Manning 1990), at the level "
        f"{100 * level:.4g}% that each of {size} comparisons has. It rests on the numbers of cases and the "
        "rate of the reference, not on what was found."
    )
    table = Table("Smallest effects that could have been shown", heads, rows, (about,))
    pictures = (power_curves(curves, s.threshold),) if curves else ()
    return Part("power", title, lead, figures=_unnamed(pictures), tables=(table,))


def _unnamed(pictures: tuple[Picture, ...]) -> tuple[tuple[str, tuple[Picture, ...]], ...]:
    return (("", pictures),) if pictures else ()


# ---------------------------------------------------------------- scores, sets, posteriors, tails


def _madd(section: Section, view: SetView) -> Iterator[Part]:
    charts = tuple(c for c in view.charts if c.kind == "distance")
    areas = [r for r in view.results if isinstance(r, AbrocaResult)]
    for result in (r for r in section.results if isinstance(r, MaddResult)):
        ordered = _ordered(result.comparisons, lambda c: c.estimate)
        figures = []
        for c in ordered[:_PICTURED]:
            pictures = [score_histograms(c), madd_by_bandwidth(result, c)]
            for area in areas:
                for a in (a for a in area.comparisons if {a.group, a.reference} == {c.group, c.reference}):
                    pictures += [roc_curves(area, a)] if math.isfinite(a.estimate) else []
                    pictures.append(calibration_curves(area, a))
            figures.append((_pair(c), tuple(pictures)))
        lead = _NOTHING
        if ordered:
            c = ordered[0]
            lead = (
                f"The scores of {_pair(c)} overlap by {percent(1 - c.estimate / 2)}, where 100% are alike (groups that "
                f"are alike would show {percent(1 - c.null_mean / 2)}): {_MEANS[c.verdict]}.{_rest(c, ordered)}"
            )
        left = len(ordered) - len(figures)
        if left > 0:
            more = f"{left} more {'is' if left == 1 else 'are'}"
            lead += f" {len(figures)} comparisons have pictures; {more} in the tables."
        yield Part("madd", "Scores: how alike they are", lead, charts, tuple(figures))


def _hfm(key: str, result: HfmResult) -> Part:
    e = result.overall
    more = "as far apart as" if e.hfm == 0 else "further apart than" if e.hfm > 0 else "less far apart than"
    lead = f"Seen as sets of people, the predictions set the groups {more} the recorded outcomes do."
    if e.hfm != 0 and e.tests and e.tests[2].pvalue > 0.05:
        lead += " Chance alone could have made that difference."
    found = result.witnesses()
    heads = ("group", "distance", "direction", "row", "nearest row", "size")
    rows = tuple(
        (*(printable(w[name]) for name in ("group", "quantity", "direction", "row", "nearest")), number(w["distance"]))
        for w in found[found["attains"].astype(bool)].to_dict("records")
    )
    about = "Rows by position: one row decides a distance, with the row nearest to it on the other side."
    witnesses = (Table("Rows that decide the distances", heads, rows, (about,)),) if rows else ()
    return Part(key, "Distances between groups as sets", lead, tables=(*witnesses, table_of(result)))


def _um(key: str, result: UmPosterior) -> Part:
    names = "equal_opportunity", "predictive_equality"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairstatsWarning)  # the table says which draws are undefined
        found = result.metrics(names)
    draws = np.stack([found[name].reshape(result.n_draws, -1) for name in names], axis=-1)
    rope, planes = result.table_rope, []
    cases = zip(result.counts.total("tp", "fn"), result.counts.total("fp", "tn"), strict=True)
    seen = {g for g, both in zip(result.groups, cases, strict=True) if all(both)}  # else the prior alone
    for k, group in enumerate(g for g in result.groups if g != result.reference):
        known = draws[:, k][~np.isnan(draws[:, k]).any(axis=1)]
        if len(known) == len(draws) and {group, result.reference} <= seen:
            planes.append((float((np.abs(known) <= rope).all(axis=1).mean()), group, known))
    lead = "No group has enough cases for both kinds of error to be compared."
    pictures: list[Picture] = []
    if planes:
        planes.sort(key=lambda plane: (plane[0], -float(np.abs(plane[2].mean(axis=0)).max())))
        share, group, _ = planes[0]
        left = len(planes) - 1
        more = f" {left} other group{' is' if left == 1 else 's are'} no less nearly equal." if left else ""
        lead = _said(
            f"The chances of being rightly and of being wrongly favoured are practically the same for {group} and "
            f"{result.reference}, within ±{rope:g} each, with a probability of {chance(share)}.{more}",
            group, result.reference,
        )  # fmt: skip
    for share, group, known in planes[:_PICTURED]:
        if np.ptp(known, axis=0).min() > 0:  # nothing to draw of a constant
            region = hdr(known, [0.5, 0.95], backend=unless_asked(), discrete=False)
            labels = "difference of true positive rates", "difference of false positive rates"
            title = f"{group} against {result.reference}: {chance(share)} practically equal"
            pictures.append(posterior_plane(region, labels, (rope, rope), title))
    figures = _unnamed(tuple(pictures))
    return Part(key, "Both kinds of error at once", lead, figures=figures, tables=(table_of(result),))


def _ecd(section: Section, view: SetView) -> Iterator[Part]:
    results = [r for r in section.results if isinstance(r, EcdResult)]
    for result in results:
        ordered = _ordered(result.comparisons, lambda c: abs(c.estimate))
        lead = f"No group can be compared: {_MEANS['insufficient evidence']}."
        if ordered:
            c = ordered[0]
            more = "more" if c.estimate >= 0 else "less"
            # there are cases enough for a level, but none of the ways to an interval holds
            means = {**_MEANS, "insufficient evidence": "no interval is known to hold, nothing is judged"}
            lead = _said(
                f"In the worst of {result.settings.interactions:,.0f} decisions belonging to the group costs "
                f"{c.group} {abs(c.estimate):.3f} {more} in score than {c.reference}: "
                f"{means.get(c.verdict, c.verdict)}.{_rest(c, result.comparisons)}",
                c.group, c.reference,
            )  # fmt: skip
        figures = _unnamed(tuple(return_levels(result, c.group) for c in ordered[:_PICTURED]))
        tables = tuple(map(table_of, section.results))
        yield Part("ecd", "The worst that can happen", lead, figures=figures, tables=tables)
    if not results:
        yield from (_plain_part(section.key, result) for result in section.results)


#: Parts of a whole section, and of one result; others have a sentence and a table.
_OF_SECTION: dict[str, Callable[[Section, SetView], Iterator[Part]]] = {"rates": _rates, "madd": _madd, "ecd": _ecd}
_OF_RESULT: dict[type, Callable[[str, Any], Part]] = {HfmResult: _hfm, UmPosterior: _um}
