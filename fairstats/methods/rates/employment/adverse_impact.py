"""`adverse_impact`: selection rates by sex and race, with what employers, courts and the city ask for."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from fairstats.ground.checks import check_choice, check_label, check_number, check_that, check_type
from fairstats.ground.counts import SelectionCounts
from fairstats.ground.encoding import label_text
from fairstats.ground.errors import InputError
from fairstats.ground.multiplicity import two_sided_pvalue
from fairstats.ground.reading.roles import ReadingOptions, Roles
from fairstats.ground.reading.table import is_file, read_roles
from fairstats.ground.registry import METRICS, SELECTED
from fairstats.methods.rates.bounds import Bounds, worst_case_range
from fairstats.methods.rates.compare import compare_metric
from fairstats.methods.rates.employment.counting import Counted, count_tables
from fairstats.methods.rates.employment.result import ABOUT, AdverseImpact, ImpactFigures, ImpactTable
from fairstats.methods.rates.planning import equality_power
from fairstats.methods.rates.result import Inference
from fairstats.methods.rates.setup import make_settings

#: Selected and people of a group, and of its reference.
Counts = tuple[int, int, int, int]


def adverse_impact(
    data: Any,
    *,
    selected: str | Sequence[str] | None = None,
    score: str | None = None,
    sex: str | None = None,
    race: str | None = None,
    reference: Hashable = "highest",
    template: Literal["ugesp", "ll144"] = "ugesp",
    strata: str | None = None,
    number: str | None = None,
    unknown: Any = None,
    measure: Literal["selection", "scoring"] | None = None,
    threshold: float = 0.8,
    confidence_level: float = 0.95,
    adjust: str = "holm",
    pos_label: Any = None,
    label_values: Any = None,
    missing: Literal["drop", "raise"] = "drop",
    least_share: float = 0.02,
    reason: str | None = None,
    about: Mapping[str, str] | None = None,
) -> AdverseImpact:
    """Adverse impact of a selection process by sex, by race and ethnicity, and crossed.

    Parameters
    ----------
    data : DataFrame, path, Tally or mapping
        Rows of people (of a file by `read_table`), whose columns the other arguments name; or counts: ``{group:
        (selected, not selected)}``;
        ``{(sex, race): (selected, not selected)}``, added up to three tables; or ``{"sex": {…}, "race": {…}}``.
    selected : str or sequence of str, optional
        Column of the decision. Several in order are the steps of a process: the applicants of a step are
        those who passed the one before; the whole process comes first. With counts, names of the steps:
        cells are (applicants, passed the first, passed the second, …).
    score : str, optional
        Column of scores in place of decisions: compared are shares above the median of the whole sample.
    sex, race : str, optional
        Columns of the categories (attributes of a Tally), at least one. Both are crossed, too.
    reference : hashable or sequence, default "highest"
        The group with the highest rate of each table; intervals and verdicts count that the data chose it. Or
        a group, or several (one of each table): in a table with none of them it is the highest.
    template : {"ugesp", "ll144"}, default "ugesp"
        Uniform Guidelines (29 CFR 1607.4D), or the tables of New York City's Local Law 144 [4]_ as page and CSV.
    strata : str, optional
        Column of jobs or years: adds the ratio within strata with its tests (as `strata` of `disparate_impact`).
    number : str, optional
        Column with the number of people that each row stands for.
    unknown : int, pair or mapping, optional
        With counts: people of unknown category, as (selected, not selected) where this is known; or by table.
    measure : {"selection", "scoring"}, optional
        What counts are counts of; of rows it follows from `selected` or `score`.
    threshold, confidence_level, adjust, pos_label, label_values
        As in `disparate_impact` (four fifths); `pos_label` and `label_values` also mappings from step. Several labels
        that count as not selected are named with their people in the notes.
    missing : {"drop", "raise"}, default "drop"
        People without a category are in no rate; worst-case bounds with intervals say what they could change.
    least_share : float, default 0.02
        Local Law 144: a category with a smaller share of all people may have no ratio, with a `reason`.
    reason : str, optional
        Why such categories are left out of the ratios. Their numbers and rates stay. Without it all are in.
    about : dict, optional
        What the page of Local Law 144 says: tool, auditor, audit_date, distribution_date, source, explanation.

    Returns
    -------
    AdverseImpact
        `to_frame()`, `sentences()`, `by("sex")`; ``fs.audit(result)`` makes a report of it.

    Raises
    ------
    InputError
        Where columns or counts cannot be used; the message names the argument and the cure.

    Warns
    -----
    InsufficientEvidenceWarning, MissingValuesWarning

    Notes
    -----
    Columns beside those of `disparate_impact`: Fisher's exact test, Lancaster's mid-P [3]_, z of the pooled rate
    ("two standard deviations" [2]_), Cohen's h, φ, the shortfall to the pooled rate and to four fifths, whether one
    other decision changes the verdict of the four-fifths rule, flip-flop, power at four fifths. Bounds for people of
    unknown category are those of the ratio to the highest rate, whichever group that would be; intervals around them
    by Imbens & Manski with Stoye's shrinkage, Bonferroni over the groups.

    References
    ----------
    .. [1] Equal Employment Opportunity Commission (1978). Uniform guidelines on employee selection procedures.
       29 CFR 1607; Questions and answers, 44 FR 11996.
    .. [2] Morris (2017). Statistical significance testing in adverse impact analysis. In Morris, Dunleavy:
       Adverse Impact Analysis. Routledge.
    .. [3] Biddle, Morris (2011). Using Lancaster's mid-P correction to the Fisher's exact test for adverse
       impact analyses. Journal of Applied Psychology 96, 956–965.
    .. [4] New York City, 6 RCNY §§ 5-300 to 5-304 (2023).

    Examples
    --------
    >>> import fairstats as fs
    >>> result = fs.adverse_impact({"women": (2, 8), "men": (15, 10)})
    >>> row = result.to_frame().iloc[0]
    >>> print(f"{row.estimate:.3f} z = {row.z:.3f}, p = {row.z_pvalue:.4f}: {row.reading}")
    0.333 z = -2.139, p = 0.0324: practical and statistical
    """
    check_choice("template", template, ("ugesp", "ll144"))
    check_choice("measure", measure, (None, "selection", "scoring"))
    settings = make_settings("ratio", {"threshold": threshold, "confidence_level": confidence_level, "adjust": adjust})
    share = check_number("least_share", least_share, low=0, high=1, open_high=True, cure="0.02")
    check_that(reason is None or (isinstance(reason, str) and reason.strip()), "reason", reason, "a sentence")
    allowed = "a mapping from what is said to its text"
    said = {} if about is None else dict(check_type("about", about, Mapping, allowed, "{'tool': 'Ranker 2'}"))
    for key in said:
        check_choice("about", key, tuple(ABOUT))
    if is_file(data):
        steps = (selected,) if selected is None or isinstance(selected, str) else tuple(selected)
        roles = Roles.of((*steps, sex, race, strata), (score, number))
        data, _ = read_roles(data, roles, ReadingOptions(), engine="rows")
    counted, median = count_tables(
        data, selected=selected, score=score, sex=sex, race=race, strata=strata, number=number,
        pos_label=pos_label, label_values=label_values, missing=missing, unknown=unknown,
    )  # fmt: skip
    left_out = share if reason is not None and template == "ll144" else 0.0
    references = _references(reference, counted)
    tables = tuple(_table(one, settings, references, left_out, reason or "") for one in counted)
    if not any(table.result for table in tables):
        got, allowed = f"one group in {', '.join(t.name for t in tables)}", "two groups with people or more"
        raise InputError("data", got=got, allowed=allowed, cure="compare with another group")
    said = {key: label_text(value) for key, value in said.items()}
    kind = "scoring" if measure == "scoring" or median is not None else "selection"
    about_scores = median or (None, 0)
    return AdverseImpact(tables, template, settings.limit, settings.confidence_level, said, kind, *about_scores)


def _table(one: Counted, settings: Inference, references: list[str], share: float, reason: str) -> ImpactTable:
    """Ratios, figures, bounds and strata of one table."""
    counts = one.counts
    total = counts.n + counts.missing.n_dropped
    excluded = {
        group: "nobody" if n == 0 else f"{n / total:.1%} of all people, no impact ratio: {reason}"
        for group, n in zip(counts.groups, counts.group_sizes.tolist(), strict=True)
        if n == 0 or n < share * total
    }
    used = _without(counts, tuple(excluded))
    if len(used.groups) < 2:
        return ImpactTable(one.by, one.step, counts, None, excluded=excluded)
    named = next((name for name in references if name in used.groups), "highest")
    strata = None if one.tally is None else one.tally.strata().selection()._among(used.groups)
    found: Any = compare_metric(METRICS["disparate_impact"], used, settings, named, strata=strata)
    at, level, highest = used.groups.index, settings.confidence_level, found.settings.reference_rule == "highest"
    k, n = used.totals[:, 0].astype(int).tolist(), used.group_sizes.tolist()
    pairs = ((at(c.group), at(c.reference)) for c in found.comparisons)
    figures = tuple(impact_figures((k[i], n[i], k[j], n[j]), settings.limit, level) for i, j in pairs)
    bounds: dict[str, tuple[float, float, float, float]] = {}
    if used.missing.patterns:
        against = None if highest else at(found.reference)
        others = (g for g in used.groups if highest or g != found.reference)
        bounds = {g: _bounds(used, at(g), against, level) for g in others}
    over, found = found.stratified, replace(found, stratified=None)
    return ImpactTable(one.by, one.step, counts, found, figures, bounds, over, excluded)


def _references(reference: Any, counted: Sequence[Counted]) -> list[str]:
    """The groups that were named, none for the highest rate."""
    given = [reference] if isinstance(reference, str) or not isinstance(reference, Sequence) else reference
    known = ("highest", *dict.fromkeys(g for one in counted for g in one.counts.groups))
    for name in given:
        check_label("reference", name, "a group, or several", "name a group of one of the tables")
    named = [label_text(name) for name in given if name is not None]
    for name in named:
        check_choice("reference", name, known, cure="name a group of one of the tables")
    return [name for name in named if name != "highest"]


def _without(counts: SelectionCounts, groups: tuple[str, ...]) -> SelectionCounts:
    """The table without these groups; of rows left out those that belong to them go, too."""
    kept = [g for g, name in enumerate(counts.groups) if name not in groups]
    place = {g: at for at, g in enumerate(kept)}
    patterns = tuple(
        (g if g < 0 else place[g], y, p, n) for g, y, p, n in counts.missing.patterns if g < 0 or g in place
    )
    return SelectionCounts(
        tuple(counts.groups[g] for g in kept), counts.totals[kept], counts.rows[kept],
        n_units=int(counts.rows[kept].sum()), attributes=counts.attributes,
        missing=replace(counts.missing, patterns=patterns), group_units=counts.group_sizes[kept],
    )  # fmt: skip


def _bounds(counts: SelectionCounts, group: int, reference: int | None, level: float) -> Bounds:
    """Bounds of the ratio to a reference; or to whichever group would have the highest rate.

    Of a minimum over groups the smallest value is the least of theirs, and the least of their largest ones a limit.
    """
    others = [g for g in range(len(counts.groups)) if g != group] if reference is None else [reference]
    each = 1 - (1 - level) / len(others)
    found = [worst_case_range(counts, SELECTED, group, j, "ratio", each) for j in others]
    ends = [float(np.fmin.reduce(values)) for values in zip(*found, strict=True)]
    return Bounds(*(np.minimum(ends, 1.0) if reference is None else np.array(ends)).tolist())


def impact_figures(table: Counts, threshold: float, level: float) -> ImpactFigures:
    """All figures of a table (k₀, n₀, k₁, n₁) with cases in both groups.

    Examples
    --------
    Morris (2017): 2 of 10 women and 15 of 25 men are selected.

    >>> found = impact_figures((2, 10, 15, 25), 0.8, 0.95)
    >>> print(f"z = {found.z:.3f}, p = {found.z_pvalue:.4f}, shortfall {found.shortfall:.1f}")
    z = -2.139, p = 0.0324, shortfall 2.9
    """
    k0, n0, k1, n1 = table
    total, hits = n0 + n1, k0 + k1
    r0, r1, pooled = k0 / n0, k1 / n1, hits / total
    exact, own = _fisher(table)
    spread = math.sqrt(pooled * (1 - pooled) * (1 / n0 + 1 / n1))
    z = (r0 - r1) / spread if spread > 0 else math.nan
    lacking = (threshold * r1 - r0) / (1 / n0 + threshold / n1)
    # a whole number of decisions, whatever rounding makes of an exact one
    moved = None if hits == 0 else max(math.ceil(lacking - 1e-9), 0)
    below = _below(table, threshold)
    changed = [(k0 - 1, k1), (k0 + 1, k1), (k0, k1 - 1), (k0, k1 + 1)]
    other = [_below((a, n0, b, n1), threshold) for a, b in changed if 0 <= a <= n0 and 0 <= b <= n1]
    before, after = r0 - r1, (k0 + 1) / n0 - (k1 - 1) / n1
    return ImpactFigures(
        fisher=exact, mid_p=exact - own / 2, z=z, z_pvalue=two_sided_pvalue(z),
        cohen_h=2 * math.asin(math.sqrt(r0)) - 2 * math.asin(math.sqrt(r1)), phi=z / math.sqrt(total),
        shortfall=n0 * pooled - k0, shortfall_four_fifths=moved,
        one_decision=any(side != below for side in other if side is not None),
        flip_flop=k0 < n0 and k1 > 0 and before < 0 < after,
        power=equality_power(n0, n1, r1, threshold, level),
    )  # fmt: skip


def _fisher(table: Counts) -> tuple[float, float]:
    """Two-sided p-value of Fisher's exact test, and the probability of the table.

    By the ratios of probabilities of neighbouring tables, which lose no digits to factorials of millions; tables within
    1e-7 count as equally probable, as in R. What lies further out than the window has less probability than the
    smallest number (Bernstein: exp(−t²/(2v + 2t/3)) < e⁻⁷⁴⁵).
    """
    k0, n0, k1, n1 = table
    hits, total = k0 + k1, n0 + n1
    mean = n0 * hits / total
    reach = 40 * math.sqrt(mean * (1 - hits / total)) + 800
    first = max(0, hits - n1, math.floor(mean - reach))
    last = min(n0, hits, math.ceil(mean + reach))
    if not first <= k0 <= last:
        return 0.0, 0.0
    k = np.arange(first, last, dtype=np.float64)
    steps = np.log((hits - k) * (n0 - k) / ((k + 1) * (n1 - hits + k + 1)))
    middle = min(max(round(mean), first), last) - first
    down, up = -np.cumsum(steps[:middle][::-1])[::-1], np.cumsum(steps[middle:])
    logs = np.concatenate([down, [0.0], up])
    weights = np.exp(logs)
    weights /= weights.sum()
    own = k0 - first
    return min(float(weights[logs <= logs[own] + 1e-7].sum()), 1.0), float(weights[own])


def _below(table: Counts, threshold: float) -> bool | None:
    """Whether the ratio is below the threshold, in whole numbers; None for 0/0."""
    k0, n0, k1, n1 = table
    return None if k0 == k1 == 0 else k0 * n1 < threshold * k1 * n0 * (1 - 1e-12)
