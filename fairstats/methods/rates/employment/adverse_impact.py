"""`adverse_impact`: selection rates by sex and race, with what employers, courts and the city ask
for.
"""

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
from fairstats.methods.rates.employment.result import (
    ABOUT,
    AdverseImpact,
    ImpactFigures,
    ImpactTable,
)
from fairstats.methods.rates.planning import equality_power
from fairstats.methods.rates.result import Inference
from fairstats.methods.rates.setup import RateArguments, make_settings

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
    method: Literal["score", "koopman"] | None = None,
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
        Rows of people (of a file by `read_table`), whose columns the other arguments name; or
        counts: ``{group: (selected, not selected)}``; ``{(sex, race): (selected, not selected)}``,
        added up to three tables; or ``{"sex": {…}, "race": {…}}``.
    selected : str or sequence of str, optional
        Column of the decision. Several in order are the steps of a process: the applicants of a
        step are those who passed the one before; the whole process comes first. With counts, names
        of the steps: cells are (applicants, passed the first, passed the second, …).
    score : str, optional
        Column of scores in place of decisions: compared are shares above the median of the whole
        sample.
    sex, race : str, optional
        Columns of the categories (attributes of a Tally), at least one. Both are crossed, too.
    reference : hashable or sequence, default "highest"
        The group with the highest rate of each table; intervals and verdicts count that the data
        chose it. Or a group, or several (one of each table): in a table with none of them it is the
        highest.
    template : {"ugesp", "ll144"}, default "ugesp"
        Uniform Guidelines (29 CFR 1607.4D), or the tables of New York City's Local Law 144 [4]_ as
        page and CSV.
    strata : str, optional
        Column of jobs or years: adds the ratio within strata with its tests (as `strata` of
        `disparate_impact`).
    number : str, optional
        Column with the number of people that each row stands for.
    unknown : int, pair or mapping, optional
        With counts: people of unknown category, as (selected, not selected) where this is known; or
        by table.
    measure : {"selection", "scoring"}, optional
        What counts are counts of; of rows it follows from `selected` or `score`.
    threshold, confidence_level, adjust, pos_label, label_values
        As in `disparate_impact` (four fifths); `pos_label` and `label_values` also mappings from
        step. Several labels that count as not selected are named with their people in the notes.
    method : {None, "score", "koopman"}
        Default: score, and exact tests where few people are expected. ``"koopman"``: the score
        without the factor N/(N − 1) and without exact tests, for hundreds of groups, whose family
        needs them in groups of thousands of people.
    missing : {"drop", "raise"}, default "drop"
        People without a category are in no rate; worst-case bounds with intervals say what they
        could change.
    least_share : float, default 0.02
        Local Law 144: a category with a smaller share of all people may have no ratio, with a
        `reason`.
    reason : str, optional
        Why such categories are left out of the ratios. Their numbers and rates stay. Without it all
        are in.
    about : dict, optional
        What the page of Local Law 144 says: tool, auditor, audit_date, distribution_date, source,
        explanation.

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
    Columns beside those of `disparate_impact`: Fisher's exact test, Lancaster's mid-P [3]_, z of
    the pooled rate ("two standard deviations" [2]_), Cohen's h, φ, the shortfall to the pooled rate
    and to four fifths, whether one other decision changes the verdict of the four-fifths rule,
    flip-flop, power at four fifths. Bounds for people of unknown category are those of the ratio to
    the highest rate, whichever group that would be; intervals around them by Imbens & Manski with
    Stoye's shrinkage, Bonferroni over the groups.

    References
    ----------
    .. [1] Equal Employment Opportunity Commission (1978). Uniform guidelines on employee selection
       procedures. 29 CFR 1607; Questions and answers, 44 FR 11996.
    .. [2] Morris (2017). Statistical significance testing in adverse impact analysis. In Morris,
       Dunleavy: Adverse Impact Analysis. Routledge.
    .. [3] Biddle, Morris (2011). Using Lancaster's mid-P correction to the Fisher's exact test for
       adverse impact analyses. Journal of Applied Psychology 96, 956–965.
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
    check_choice("method", method, (None, "score", "koopman"))
    settings = make_settings(
        "ratio",
        RateArguments(
            threshold=threshold,
            confidence_level=confidence_level,
            adjust=adjust,
            method=method,
        ),
    )
    least_share_checked = check_number(
        "least_share",
        least_share,
        low=0,
        high=1,
        open_high=True,
        cure="0.02",
    )
    check_that(
        reason is None or (isinstance(reason, str) and reason.strip()),
        "reason",
        reason,
        "a sentence",
    )
    allowed = "a mapping from what is said to its text"
    if about is None:
        about_texts = {}
    else:
        about_texts = dict(check_type("about", about, Mapping, allowed, "{'tool': 'Ranker 2'}"))
    for about_key in about_texts:
        check_choice("about", about_key, tuple(ABOUT))
    if is_file(data):
        step_columns = (
            (selected,) if selected is None or isinstance(selected, str) else tuple(selected)
        )
        column_roles = Roles.of((*step_columns, sex, race, strata), (score, number))
        data, _ = read_roles(data, column_roles, ReadingOptions(), engine="rows")
    counted, median = count_tables(
        data,
        selected=selected,
        score=score,
        sex=sex,
        race=race,
        strata=strata,
        number=number,
        pos_label=pos_label,
        label_values=label_values,
        missing=missing,
        unknown=unknown,
    )
    if reason is not None and template == "ll144":
        left_out = least_share_checked
    else:
        left_out = 0.0
    references = _named_references(reference, counted)
    tables = tuple(
        _impact_table(one_counted, settings, references, left_out, reason or "")
        for one_counted in counted
    )
    if not any(impact_table.result for impact_table in tables):
        received = f"one group in {', '.join(counted_table.name for counted_table in tables)}"
        allowed = "two groups with people or more"
        raise InputError("data", got=received, allowed=allowed, cure="compare with another group")
    about_texts = {
        about_key: label_text(about_text) for about_key, about_text in about_texts.items()
    }
    if measure == "scoring" or median is not None:
        measure_kind = "scoring"
    else:
        measure_kind = "selection"
    about_scores = median or (None, 0)
    return AdverseImpact(
        tables,
        template,
        settings.limit,
        settings.confidence_level,
        about_texts,
        measure_kind,
        *about_scores,
    )


def _impact_table(
    one: Counted,
    settings: Inference,
    references: list[str],
    share: float,
    reason: str,
) -> ImpactTable:
    """Ratios, figures, bounds and strata of one table."""
    counts = one.counts
    n_people = counts.n + counts.missing.n_dropped
    excluded = {
        group: "nobody"
        if group_sizes == 0
        else f"{group_sizes / n_people:.1%} of all people, no impact ratio: {reason}"
        for group, group_sizes in zip(counts.groups, counts.group_sizes.tolist(), strict=True)
        if group_sizes == 0 or group_sizes < share * n_people
    }
    used_counts = _counts_without(counts, tuple(excluded))
    if len(used_counts.groups) < 2:
        return ImpactTable(by=one.by, step=one.step, counts=counts, result=None, excluded=excluded)
    named_reference = next(
        (reference_name for reference_name in references if reference_name in used_counts.groups),
        "highest",
    )
    if one.tally is None:
        strata = None
    else:
        strata = one.tally.strata().selection()._select_groups(used_counts.groups)
    ratio_result: Any = compare_metric(
        METRICS["disparate_impact"], used_counts, settings, named_reference, strata=strata
    )
    position_of = used_counts.groups.index
    confidence_level = settings.confidence_level
    highest = ratio_result.settings.reference_rule == "highest"
    n_selected = used_counts.totals[:, 0].astype(int).tolist()
    group_sizes = used_counts.group_sizes.tolist()
    index_pairs = (
        (position_of(comparison.group), position_of(comparison.reference))
        for comparison in ratio_result.comparisons
    )
    figures = tuple(
        impact_figures(
            (
                n_selected[group_index],
                group_sizes[group_index],
                n_selected[reference_index],
                group_sizes[reference_index],
            ),
            settings.limit,
            confidence_level,
        )
        for group_index, reference_index in index_pairs
    )
    bounds: dict[str, tuple[float, float, float, float]] = {}
    if used_counts.missing.patterns:
        if highest:
            against = None
        else:
            against = position_of(ratio_result.reference)
        others = (
            group_name
            for group_name in used_counts.groups
            if highest or group_name != ratio_result.reference
        )
        bounds = {}
        for group_name in others:
            bounds[group_name] = _bounds_of_ratio(
                used_counts, position_of(group_name), against, confidence_level
            )
    over_strata = ratio_result.stratified
    ratio_result = replace(ratio_result, stratified=None)
    return ImpactTable(
        by=one.by,
        step=one.step,
        counts=counts,
        result=ratio_result,
        figures=figures,
        bounds=bounds,
        stratified=over_strata,
        excluded=excluded,
    )


def _named_references(reference: Any, counted: Sequence[Counted]) -> list[str]:
    """The groups that were named, none for the highest rate."""
    references_given = (
        [reference]
        if isinstance(reference, str) or not isinstance(reference, Sequence)
        else reference
    )
    known_groups = (
        "highest",
        *dict.fromkeys(
            known_group for one_counted in counted for known_group in one_counted.counts.groups
        ),
    )
    for group_name in references_given:
        check_label(
            "reference", group_name, "a group, or several", "name a group of one of the tables"
        )
    labels_given = []
    for group_name in references_given:
        if group_name is not None:
            labels_given.append(label_text(group_name))
    for group_name in labels_given:
        check_choice(
            "reference", group_name, known_groups, cure="name a group of one of the tables"
        )
    named_references: list[str] = []
    for group_name in labels_given:
        if group_name != "highest":
            named_references.append(group_name)
    return named_references


def _counts_without(counts: SelectionCounts, groups: tuple[str, ...]) -> SelectionCounts:
    """The table without these groups; of rows left out those that belong to them go, too."""
    kept_groups = []
    for group_index, group_name in enumerate(counts.groups):
        if group_name not in groups:
            kept_groups.append(group_index)
    position_of_group = {group_index: position for position, group_index in enumerate(kept_groups)}
    patterns = tuple(
        (
            group_index if group_index < 0 else position_of_group[group_index],
            label_value,
            predicted_value,
            n_rows,
        )
        for group_index, label_value, predicted_value, n_rows in counts.missing.patterns
        if group_index < 0 or group_index in position_of_group
    )
    return SelectionCounts(
        tuple(counts.groups[group_index] for group_index in kept_groups),
        counts.totals[kept_groups],
        counts.rows[kept_groups],
        n_units=int(counts.rows[kept_groups].sum()),
        attributes=counts.attributes,
        missing=replace(counts.missing, patterns=patterns),
        group_units=counts.group_sizes[kept_groups],
    )


def _bounds_of_ratio(
    counts: SelectionCounts,
    group: int,
    reference: int | None,
    level: float,
) -> Bounds:
    """Bounds of the ratio to a reference; or to whichever group would have the highest rate.

    Of a minimum over groups the smallest value is the least of theirs, and the least of their
    largest ones a limit.
    """
    if reference is None:
        others = []
        for group_index in range(len(counts.groups)):
            if group_index != group:
                others.append(group_index)
    else:
        others = [reference]
    level_of_each = 1 - (1 - level) / len(others)
    bounds_of_others = []
    for other_group in others:
        bounds_of_others.append(
            worst_case_range(counts, SELECTED, group, other_group, "ratio", level_of_each)
        )
    smallest_ends = []
    for values in zip(*bounds_of_others, strict=True):
        smallest_ends.append(float(np.fmin.reduce(values)))
    return Bounds(
        *(np.minimum(smallest_ends, 1.0) if reference is None else np.array(smallest_ends)).tolist()
    )


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
    n_people = n0 + n1
    n_selected = k0 + k1
    rate_group = k0 / n0
    rate_reference = k1 / n1
    pooled_rate = n_selected / n_people
    fisher_pvalue, table_probability = _fisher_pvalue(table)
    pooled_error = math.sqrt(pooled_rate * (1 - pooled_rate) * (1 / n0 + 1 / n1))
    if pooled_error > 0:
        z = (rate_group - rate_reference) / pooled_error
    else:
        z = math.nan
    lacking = (threshold * rate_reference - rate_group) / (1 / n0 + threshold / n1)
    # a whole number of decisions, whatever rounding makes of an exact one
    if n_selected == 0:
        selections_moved = None
    else:
        selections_moved = max(math.ceil(lacking - 1e-9), 0)
    is_below = _is_below_threshold(table, threshold)
    changed = [(k0 - 1, k1), (k0 + 1, k1), (k0, k1 - 1), (k0, k1 + 1)]
    other_sides = []
    for selected_group, selected_reference in changed:
        if 0 <= selected_group <= n0 and 0 <= selected_reference <= n1:
            other_sides.append(
                _is_below_threshold((selected_group, n0, selected_reference, n1), threshold)
            )
    difference_before = rate_group - rate_reference
    difference_after = (k0 + 1) / n0 - (k1 - 1) / n1
    return ImpactFigures(
        fisher=fisher_pvalue,
        mid_p=fisher_pvalue - table_probability / 2,
        z=z,
        z_pvalue=two_sided_pvalue(z),
        cohen_h=2 * math.asin(math.sqrt(rate_group)) - 2 * math.asin(math.sqrt(rate_reference)),
        phi=z / math.sqrt(n_people),
        shortfall=n0 * pooled_rate - k0,
        shortfall_four_fifths=selections_moved,
        one_decision=any(
            is_other_below != is_below
            for is_other_below in other_sides
            if is_other_below is not None
        ),
        flip_flop=k0 < n0 and k1 > 0 and difference_before < 0 < difference_after,
        power=equality_power(n0, n1, rate_reference, threshold, level),
    )


def _fisher_pvalue(table: Counts) -> tuple[float, float]:
    """Two-sided p-value of Fisher's exact test, and the probability of the table.

    By the ratios of probabilities of neighbouring tables, which lose no digits to factorials of
    millions; tables within 1e-7 count as equally probable, as in R. What lies further out than the
    window has less probability than the smallest number (Bernstein: exp(−t²/(2v + 2t/3)) < e⁻⁷⁴⁵).
    """
    k0, n0, k1, n1 = table
    n_selected = k0 + k1
    n_people = n0 + n1
    expected_selected = n0 * n_selected / n_people
    window = 40 * math.sqrt(expected_selected * (1 - n_selected / n_people)) + 800
    first_table = max(0, n_selected - n1, math.floor(expected_selected - window))
    last_table = min(n0, n_selected, math.ceil(expected_selected + window))
    if not first_table <= k0 <= last_table:
        return 0.0, 0.0
    k = np.arange(first_table, last_table, dtype=np.float64)
    log_ratios = np.log((n_selected - k) * (n0 - k) / ((k + 1) * (n1 - n_selected + k + 1)))
    middle = min(max(round(expected_selected), first_table), last_table) - first_table
    # logarithms of probabilities relative to that of the table in the middle
    logs_below = -np.cumsum(log_ratios[:middle][::-1])[::-1]
    logs_above = np.cumsum(log_ratios[middle:])
    log_weights = np.concatenate([logs_below, [0.0], logs_above])
    weights = np.exp(log_weights)
    weights /= weights.sum()
    own_table = k0 - first_table
    return min(float(weights[log_weights <= log_weights[own_table] + 1e-7].sum()), 1.0), float(
        weights[own_table]
    )


def _is_below_threshold(table: Counts, threshold: float) -> bool | None:
    """Whether the ratio is below the threshold, in whole numbers; None for 0/0."""
    k0, n0, k1, n1 = table
    if k0 == k1 == 0:
        return None
    return k0 * n1 < threshold * k1 * n0 * (1 - 1e-12)
