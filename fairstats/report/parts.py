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
from fairstats.methods.rates.models.amplification import AmplificationResult
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
from fairstats.report.contents import Contents, Section
from fairstats.report.format import chance, count, isolate, number, percent, printable
from fairstats.report.render import headline
from fairstats.report.tables import Part, Table, table_of, told
from fairstats.report.view import SetView

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


def general_parts(report: Contents, view: SetView) -> list[Part]:
    """What a report says beside the parts of its sections: what was found, its limits, its references."""
    groups = view.groups
    sizes = () if groups is None else (
        Table(
            f"{groups.total} rows", ("group", "rows", "share", *(name for name, _ in groups.headings)),
            tuple((label, n, share, *(c.rate for c in cells)) for label, n, share, cells in groups.rows),
        ),
    )  # fmt: skip
    limits = [f"{said.title}. {said.text}" for said in report.statements]
    found = ("limits", "Limits", [*limits, *report.notes]), ("references", "References", report.references)
    others = [
        Part(key, title, "", tables=(Table(title, (), (), tuple(map(printable, said))),)) for key, title, said in found
    ]
    return [Part("summary", "What was found", headline(report), tables=sizes), *others]


def set_parts(report: Contents, view: SetView) -> list[Part]:
    """The parts of one set of groups, in the order of the sections; power after the rates."""
    found: list[Part] = []
    for section in report.sections:
        if section.attributes != view.attributes:
            continue
        make = _MAKERS.get(section.key, _others)
        found += make(section, view)
    return found


def _others(section: Section, view: SetView) -> Iterator[Part]:
    """Results that have no picture: the first sentence, and the table behind it."""
    for result in section.results:
        yield _plain_part(section.key, result)


def _plain_part(key: str, result: Any) -> Part:
    said = told(result)
    title, lead = printable(result.title), said[0] if said else ""
    if isinstance(result, AmplificationResult):
        title = "Amplification: whether the predictions repeat the differences of the outcomes"
        sizes = [c for c in result.comparisons if c.verdict == "amplified"]
        lead = "In no group are the predictions shown to be further from parity than the recorded outcomes."
        if sizes:
            groups = list(dict.fromkeys(c.group for c in sizes))
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


def _are(n: int) -> str:
    return "is" if n == 1 else "are"


def _said(text: str, *names: str) -> str:
    return isolate(printable(text), [printable(name) for name in names])


# ---------------------------------------------------------------- rates, and what could have been shown


def _rates(section: Section, view: SetView) -> Iterator[Part]:
    charts = tuple(c for c in view.charts if c.kind != "distance")
    ratios = [r for r in section.results if isinstance(r, RatioResult) and r.metric.startswith("disparate_impact")]
    lead = _lead_of_rates(ratios[0]) if ratios else ""
    if charts:
        yield Part("rates", "Rates: who is selected, and how often rightly", lead, charts)
    for result in section.results:
        if any(result is other for other in view.others):
            yield _plain_part(section.key, result)
    if ratios:
        yield from _power(ratios[0])


def _lead_of_rates(result: RatioResult) -> str:
    def size(c: Any) -> float:
        """Distance from equality on the logarithmic scale; of a ratio of 0 more than any other."""
        return abs(math.log(max(c.estimate, 1e-9)))

    ordered = _ordered(result.comparisons, size)
    if not ordered:
        return f"No two groups can be compared: {_MEANS['insufficient evidence']}."
    c = ordered[0]
    told = "a favourable outcome" if result.metric.endswith("labels") else "a favourable decision"
    text = (
        f"Of 100 people in the group {c.group}, {100 * c.rate:.0f} got {told}; of 100 in {c.reference}, "
        f"{100 * c.rate_reference:.0f}: {_MEANS[c.verdict]}.{_rest(c, result.comparisons)}"
    )
    return _said(text, c.group, c.reference)


def _power(result: RatioResult) -> Iterator[Part]:
    """How large a difference the numbers of cases could have shown, whatever was found."""
    s: Any = result.settings
    if result.counts.weighted or result.counts.clustered:
        return
    size = 1 if s.adjust == "none" else max(len(result.comparisons), 1)
    if s.reference_rule == "highest":  # all pairs could have been chosen
        size = math.comb(len(result.counts.groups), 2)
    level = 1 - (1 - s.confidence_level) / size
    found: list[tuple[float, float, Any]] = []
    for c in result.comparisons:
        rate, n, m = c.rate_reference, c.n, c.n_reference or 0
        if n and m and 0 < rate < 1:
            few = min(n * rate, n * (1 - rate), m * rate, m * (1 - rate)) < _FEW
            about = rate, n, m, s.threshold, level
            shown = 0.0 if few else detectable_ratio(*about, _POWER)
            found.append((shown, math.nan if few else chance_of_verdict(rate, 1.0, n, m, *about[3:]), c))
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
    rows = tuple(
        (
            printable(c.group), printable(c.reference), count(c.n), count(c.n_reference),
            percent(c.rate_reference), f"{shown:.3f} or less" if shown > 0 else "none: too few cases",
            chance(equal),
        )
        for shown, equal, c in found
    )  # fmt: skip
    heads = (
        "group", "reference", "cases", "cases of the reference", "rate of the reference",
        "ratio found as a violation in 8 of 10 audits", "chance to show that equal groups are so",
    )  # fmt: skip
    about_it = (
        "About, by the normal approximation to the score test (Farrington and Manning 1990), at the level "
        f"{100 * level:.4g}% that each of {size} comparisons has. It rests on the numbers of cases and the "
        "rate of the reference, not on what was found."
    )
    if not rows:
        lead = "Nobody, or everybody, of the reference had a favourable result: no ratio could be shown."
        yield Part("power", "What this audit could have shown", lead)
    else:
        table = Table("Smallest effects that could have been shown", heads, rows, (about_it,))
        figures = (("", (power_curves(curves, s.threshold),)),) if curves else ()
        yield Part("power", "What this audit could have shown", lead, figures=figures, tables=(table,))


# ---------------------------------------------------------------- scores


def _madd(section: Section, view: SetView) -> Iterator[Part]:
    charts = tuple(c for c in view.charts if c.kind == "distance")
    results = [r for r in section.results if isinstance(r, MaddResult)]
    for result in results:
        areas = [r for r in view.results if isinstance(r, AbrocaResult)]
        ordered = _ordered(result.comparisons, lambda c: c.binned)
        figures = []
        for c in ordered[:_PICTURED]:
            pictures = [score_histograms(result, c), madd_by_bandwidth(result, c)]
            for area in areas:
                own = [a for a in area.comparisons if {a.group, a.reference} == {c.group, c.reference}]
                for a in own:
                    pictures += [roc_curves(area, a)] if math.isfinite(a.estimate) else []
                    pictures.append(calibration_curves(area, a))
            figures.append((_pair(c), tuple(pictures)))
        lead = f"No two groups can be compared: {_MEANS['insufficient evidence']}."
        if ordered:
            c = ordered[0]
            lead = (
                f"The scores of {_pair(c)} overlap by {percent(1 - c.binned / 2)}, where 100% are alike (groups that "
                f"are alike would show {percent(1 - c.binned_null_mean / 2)}): {_MEANS[c.verdict]}."
            )
            lead += _rest(c, ordered)
        left = len(ordered) - len(figures)
        if left > 0:
            lead += f" {len(figures)} comparisons have pictures; {left} more {_are(left)} in the tables."
        yield Part("madd", "Scores: how alike they are", lead, charts, tuple(figures))


# ---------------------------------------------------------------- sets, posteriors, tails


def _hfm(section: Section, view: SetView) -> Iterator[Part]:
    for result in section.results:
        if not isinstance(result, HfmResult):
            yield from _others(section, view)
            continue
        e = result.overall
        more = "as far apart as" if e.hfm == 0 else "further apart than" if e.hfm > 0 else "less far apart than"
        lead = f"Seen as sets of people, the predictions set the groups {more} the recorded outcomes do."
        if e.hfm != 0 and e.tests and e.tests[2].pvalue > 0.05:
            lead += " Chance alone could have made that difference."
        found = result.witnesses()
        held = (
            (
                str(w["group"]),
                str(w["quantity"]),
                str(w["direction"]),
                str(w["row"]),
                str(w["nearest"]),
                number(w["distance"]),
            )
            for w in found[found["attains"].astype(bool)].to_dict("records")
        )
        heads = ("group", "distance", "direction", "row", "nearest row", "size")
        about = "Rows by position: one row decides a distance, with the row nearest to it on the other side."
        rows = tuple(tuple(printable(text) for text in row) for row in held)
        witnesses = (Table("Rows that decide the distances", heads, rows, (about,)),) if rows else ()
        yield Part("hfm", "Distances between groups as sets", lead, tables=(*witnesses, table_of(result)))


def _um(section: Section, view: SetView) -> Iterator[Part]:
    for result in section.results:
        if not isinstance(result, UmPosterior):
            yield from _others(section, view)
            continue
        names = "equal_opportunity", "predictive_equality"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FairstatsWarning)  # the table says which draws are undefined
            found = result.metrics(names)
        draws = np.stack([found[name].reshape(result.n_draws, -1) for name in names], axis=-1)
        rope, planes = result.table_rope, []
        others = [g for g in result.groups if g != result.reference]
        cases = zip(result.counts.total("tp", "fn"), result.counts.total("fp", "tn"), strict=True)
        seen = {g for g, both in zip(result.groups, cases, strict=True) if all(both)}  # else the prior alone
        for k, group in enumerate(others):
            known = draws[:, k][~np.isnan(draws[:, k]).any(axis=1)]
            if len(known) == len(draws) and {group, result.reference} <= seen:
                planes.append((float((np.abs(known) <= rope).all(axis=1).mean()), group, known))
        lead = "No group has enough cases for both kinds of error to be compared."
        pictures = []
        if planes:
            planes.sort(key=lambda plane: (plane[0], -float(np.abs(plane[2].mean(axis=0)).max())))
            share, group, _ = planes[0]
            left = len(planes) - 1
            more = f" {left} other group{'s'[: left != 1]} {_are(left)} no less nearly equal." if left else ""
            lead = _said(
                f"The chances of being rightly and of being wrongly favoured are practically the same for {group} and "
                f"{result.reference}, within ±{rope:g} each, with a probability of {chance(share)}.{more}",
                group, result.reference,
            )  # fmt: skip
        for share, group, known in planes[:_PICTURED]:
            title = f"{group} against {result.reference}: {chance(share)} practically equal"
            labels = "difference of true positive rates", "difference of false positive rates"
            pictures.append(_plane(known, labels, (rope, rope), title))
        shown = tuple(p for p in pictures if p is not None)
        yield Part(
            "um",
            "Both kinds of error at once",
            lead,
            figures=(("", shown),) if shown else (),
            tables=(table_of(result),),
        )


def _plane(draws: Any, names: Sequence[str], rope: Sequence[float], title: str) -> Picture | None:
    if np.ptp(draws, axis=0).min() <= 0:
        return None  # nothing to draw of a constant
    region = hdr(draws, [0.5, 0.95], backend=unless_asked(), discrete=False)
    return posterior_plane(region, names, rope, title)


def _ecd(section: Section, view: SetView) -> Iterator[Part]:
    results = [r for r in section.results if isinstance(r, EcdResult)]
    tables = tuple(table_of(r) for r in section.results)
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
        pictures = tuple(return_levels(result, c.group) for c in ordered[:_PICTURED])
        figures = (("", pictures),) if pictures else ()
        yield Part("ecd", "The worst that can happen", lead, figures=figures, tables=tables)
    if section.results and not results:
        yield from _others(section, view)


_MAKERS: dict[str, Callable[[Any, SetView], Iterator[Part]]] = {
    "rates": _rates, "madd": _madd, "hfm": _hfm, "um": _um, "ecd": _ecd,
}  # fmt: skip
