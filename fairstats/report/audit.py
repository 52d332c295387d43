"""The audit: every method that the given columns allow, for every set of sensitive attributes."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Literal

import numpy as np

from fairstats.ground.checks import (
    SeedOrGenerator,
    as_generator,
    check_choice,
    check_flag,
    check_that,
    check_type,
    column_name,
)
from fairstats.ground.errors import DataWarning, FairstatsWarning, InputError, caution
from fairstats.ground.groups import INTERSECTION
from fairstats.ground.multiplicity import adjust_pvalues
from fairstats.ground.progress import each_of, under_way
from fairstats.ground.reading.record import record_of
from fairstats.ground.reading.roles import ReadingOptions
from fairstats.ground.reading.table import is_file, read_roles
from fairstats.ground.results import Result
from fairstats.ground.tallies.classes import ClassCounts
from fairstats.ground.tally import Tally
from fairstats.methods.madd.mitigation import MitigationResult
from fairstats.methods.rates.employment.result import AdverseImpact
from fairstats.methods.rates.models.result import ModelComparison
from fairstats.methods.rates.monitoring import MonitorResult
from fairstats.methods.rates.numbers.curves import CURVES
from fairstats.methods.rates.numbers.decomposition import DecompositionResult
from fairstats.methods.rates.subgroups import SubgroupResult
from fairstats.report import statements
from fairstats.report.contents import Section, Statement, compares
from fairstats.report.format import installed_versions
from fairstats.report.hidden import attach_subgroups, find_subgroups, with_subgroup_columns
from fairstats.report.impact import IMPACT_STATEMENTS, impact_inputs
from fairstats.report.inferred import (
    INFERRED_STATEMENTS,
    InferredAudit,
    audit_inferred,
    columns_of_probabilities,
    inferred_notes,
    read_inferred,
    refuse_beside,
)
from fairstats.report.inputs import (
    AuditColumns,
    AuditInput,
    AuditSettings,
    check_outcomes,
    columns_of_frame,
    columns_of_tally,
    read_inputs,
    reference_text,
    set_references,
    with_circumstances,
)
from fairstats.report.methods import PAGES, answer_to, question_of
from fairstats.report.methods.page import Page
from fairstats.report.questions import AUDITED, ONLY_WHERE_ASKED, QUESTIONS, Question
from fairstats.report.report import AuditReport
from fairstats.report.watched import MONITOR_STATEMENTS, monitor_inputs


def adjust_over_audit(results: Sequence[Result]) -> list[Result]:
    """The same results with p-values adjusted by Holm over all that have `_with_adjusted`.

    Where the data chose a reference ("highest"), the comparisons that could have been chosen count
    too: the p-values enter multiplied by their number per comparison shown, and the adjustment is
    Bonferroni's.
    """
    adjustable: list[Any] = []
    for result in results:
        if belongs_to_family(result):
            adjustable.append(result)
    factors = [chosen_among(result) for result in adjustable]
    raw_pvalues = []
    for result in adjustable:
        raw_pvalues.append(np.array([row["pvalue"] for row in result.rows()], dtype=np.float64))
    raw_pvalues = [
        np.minimum(values * factor, 1.0)
        for values, factor in zip(raw_pvalues, factors, strict=True)
    ]
    if any(factor > 1 for factor in factors):
        method = "bonferroni"
    else:
        method = "holm"
    adjusted = adjust_pvalues(np.concatenate(raw_pvalues).tolist() if raw_pvalues else [], method)
    family = f"the {int(np.isfinite(adjusted).sum())} p-values of the audit"
    shares = np.split(adjusted, np.cumsum([values.size for values in raw_pvalues])[:-1])
    adjusted_results = {}
    for result, adjusted_pvalues in zip(adjustable, shares, strict=False):
        adjusted_results[id(result)] = result._with_adjusted(adjusted_pvalues, family)
    return [adjusted_results.get(id(result), result) for result in results]


def belongs_to_family(result: Result) -> bool:
    """Whether the p-values of a result are adjusted over an audit that is their family."""
    return hasattr(result, "_with_adjusted") and not isinstance(
        result, (DecompositionResult, *CURVES)
    )


def chosen_among(result: Result) -> float:
    """Pairs that the data chose from, per comparison."""
    judged: Any = result
    chosen = (
        compares(result) or isinstance(result, ModelComparison)
    ) and judged.settings.reference_rule == "highest"
    if chosen:
        return max(len(judged.counts.groups) / 2, 1.0)
    return 1.0


def audit(
    frame: Any,
    *,
    y_true: str | None = None,
    y_pred: str | Mapping[str, str] | None = None,
    score: str | Mapping[str, str] | None = None,
    sensitive_features: str | Sequence[str] | None = None,
    reference: Hashable | Mapping[str, Hashable] | None = None,
    pos_label: Any = None,
    label_values: Any = None,
    score_range: tuple[float, float] = (0.0, 1.0),
    sample_weight: str | None = None,
    cluster: str | None = None,
    strata: str | None = None,
    outcome: str | None = None,
    predicted: str | None = None,
    features: str | Sequence[str] = (),
    counterfactual_score: str | Mapping[str, str] | None = None,
    missing: Literal["raise", "drop", "group"] = "raise",
    confidence_level: float = 0.95,
    threshold: float = 0.8,
    margin: float = 0.1,
    method: Literal["log", "score", "koopman", "delta", "bootstrap"] | None = None,
    simultaneous: Literal["bonferroni", "max-z"] | None = None,
    comparisons: Literal["reference", "all", "rest", "overall"] = "reference",
    adjust: str = "holm",
    family: Literal["metric", "audit"] = "metric",
    intersections: bool = True,
    circumstances: Any = None,
    subgroups: Sequence[str] | Mapping[str, Any] | SubgroupResult | None = None,
    evaluated_on: Literal["training", "held-out"] | None = None,
    n_resamples: int | None = None,
    rng: SeedOrGenerator = None,
    title: str | None = None,
    mitigation: MitigationResult | None = None,
    engine: Literal["auto", "rows", "duckdb", "polars", "spark"] = "auto",
    sensitive_probabilities: Mapping[str, str] | Sequence[str] | None = None,
    calibration_sample: Any = None,
    risks: bool = False,
) -> AuditReport:
    """Audit predictions for differences between groups: every method that the columns allow.

    Parameters
    ----------
    frame : DataFrame, path, Tally, AdverseImpact or MonitorResult
        A file, folder or pattern, which `read_table` reads by the roles of its columns. Or a
        pandas, polars or pyarrow table (any that narwhals reads); every other argument names its
        columns. Lazy tables (polars LazyFrame, DuckDB relation, Spark, Dask, …) are counted where
        they are, as `tally` does. Or a `Tally`, which knows its columns and takes no names; or what
        `adverse_impact` found, or a monitor has watched, which becomes a report.
    y_true, y_pred, score : str, optional; y_pred and score also mappings
        Outcome, prediction (at least one of them, or `outcome`), and score in [0, 1] (larger =
        favourable; adds MADD and, with outcomes, ABROCA). Of several models ``{name: column}``: the
        first is audited, and a section compares all of them (of rows in memory).
    sensitive_features : str or sequence of str
        Sensitive columns. Several are audited one by one and crossed.
    reference : hashable or mapping, optional
        Reference group, by default the largest; ``"highest"``: that with the highest rate; for
        several columns a mapping ``{column: group}`` (``"a & b"`` names the intersection).
    pos_label : scalar or mapping, optional
        The value that is good for the person; ``{"y_true": …, "y_pred": …}`` where they differ. Not
        needed for 0/1, False/True, −1/1. Where several other labels occur, the report names them
        with their rows. Left out where labels have three to 20 values: then rates of every class
        are compared, of cuts where classes have an order, and their mean.
    label_values : sequence or mapping, optional
        The labels that may occur (``{"y_true": […], "y_pred": […]}`` where they differ): more is an
        error, and a favourable one that no row has is a rate of 0, with a warning.
    score_range : tuple of float, default (0, 1)
        Scale of the scores, its worse end first: (1, 10), or (10, 1) of risks.
    sample_weight, cluster : str, optional
        Columns of weights and of sampling units.
    strata : str, optional
        Column of a confounder (department, risk class): every ratio and difference of rates, those
        of each class and cut, means of `outcome` and errors of `predicted`, with `risks` what goes
        along the scores also within its strata, crude and adjusted side by side, and a sentence at
        the head where they disagree.
    outcome, predicted : str, optional
        Columns of an outcome that is a number (a wage, a price), with labels or without any, and of
        its prediction: means, and errors of the prediction, are compared. Ratios are judged by
        `threshold`, differences (of numbers that may be negative) by whether they are shown at all.
    features : str or sequence of str, optional
        Feature columns, numbers or categories: with outcomes and predictions they add HFM, the
        distance between groups as sets.
    counterfactual_score : str or mapping, optional
        Column of the score that each row would have with another value of its sensitive attribute
        (for several a mapping ``{column: score column}``), as `counterfactual_discrimination` makes
        them. With `score` it adds the extreme counterfactual discrimination.
    missing : {"raise", "drop", "group"}, default "raise"
        What to do with missing values.
    confidence_level : float, default 0.95
        Of intervals; over all comparisons of a metric, 1 minus it is the error of verdicts.
    threshold : float, default 0.8
        For ratios: below it, or above 1/threshold, lies a violation.
    margin : float, default 0.1
        For differences, gaps and areas: beyond it lies a violation. For MADD, half of which bounds
        the differences of selection rates, beyond twice of it. Not for ECD, which is judged against
        ±0.05 (`ecd(margin=…)` takes another).
    method : {None, "log", "score", "koopman", "delta", "bootstrap"}
        Interval method; None takes the default of each metric (score; under weights log or delta).
        ``"koopman"`` is the score without its factor N/(N − 1), for differences Mee's, and the one
        choice without exact tests: an audit of hundreds of groups, whose families need them in
        groups of thousands of rows, takes seconds instead of minutes, and is a little too liberal
        beside few cases.
    simultaneous : {None, "bonferroni", "max-z"}
        Make the intervals of one metric hold at once.
    comparisons : {"reference", "all", "rest", "overall"}
        Each group against the reference; all pairs; each group against all other rows together; or
        against all rows, its own among them, with the groups' shares held fixed. What has no such
        comparison (score distributions, areas between curves, amplification, models) is compared
        with the largest group, and the report says so. The last two without `reference`
        and bounds for missing values.
    adjust : str, default "holm"
        Adjustment of p-values and verdicts within a metric; "none" judges each comparison by
        itself.
    family : {"metric", "audit"}, default "metric"
        "audit" adjusts all p-values of the audit together, by Holm.
    intersections : bool, default True
        Whether several sensitive columns are crossed, too.
    circumstances : str or sequence of str, optional
        Columns that may explain a gap: adds a section that splits the gap of the outcome that is a
        number, else of the predictions, into what they explain and the rest, as `decompose` does
        (by the regression of the reference, or with ``comparisons="rest"`` of all others). A family
        of its own, which needs rows.
    subgroups : sequence of str, mapping or SubgroupResult, optional
        Columns, sensitive or not, whose values make subgroups: adds a section that compares all of
        them, up to three columns deep, with everybody else, and counts the search, as `subgroups`
        does. A mapping cuts numbers: ``{"sex": None, "age": [25, 40, 60], "income": 4}``. Or what
        `fs.subgroups` returned, for other choices. Not with weights or clusters.
    evaluated_on : {None, "training", "held-out"}
        Whether the rows were used to train the model; the report says it, or that it was not
        stated.
    n_resamples : int, optional
        Bootstrap resamples.
    rng : None, int or numpy.random.Generator
        Seed of what is random (bootstrap, permutations); the report gives it.
    title : str, optional
        Title of the report.
    mitigation : MitigationResult, optional
        What `MaddMitigator.evaluate` returned for the groups of one of the sensitive columns: adds
        a section.
    engine : {"auto", "rows", "duckdb", "polars", "spark"}, default "auto"
        What counts: see `tally`. "rows" loads a lazy table, for what needs single rows (MADD and
        ECD of clusters).
    sensitive_probabilities : mapping or sequence of str, optional
        Where nobody recorded the groups: columns with the probabilities of the groups by any proxy,
        ``{"f": "prob_f", "m": "prob_m"}``. The report, which says so at its head, then has the
        rates that can be inferred, with bounds, as in `disparate_impact`, and, without weights and
        clusters, the posterior of `um_posterior`. `sensitive_features` may name one column of true
        groups, missing where they are not known.
    calibration_sample : (groups, probabilities), optional
        As in `disparate_impact`.
    risks : bool, default False
        Whether what goes along a score that is a risk is shown, too: calibration curves with a test
        that groups have one, net benefit, and rates of selecting from a cut-off on.

    Returns
    -------
    AuditReport
        `summary()`, `to_html(path)`, `to_json(path)`, `to_frame()`, `verdicts`.

    Raises
    ------
    InputError
        Where a column is missing or cannot be used; the message names the cure.

    Warns
    -----
    InsufficientEvidenceWarning, DataWarning, MissingValuesWarning
        Each once at most, in sum; the details are in `AuditReport.notes`.

    Examples
    --------
    >>> import fairstats as fs
    >>> from fairstats.datasets import load_ricci
    >>> frame, about = load_ricci()
    >>> report = fs.audit(frame, y_pred="Promoted", sensitive_features="Race", reference="W")
    >>> report.to_frame().query("metric == 'disparate_impact'")[["group", "estimate", "verdict"]].round(3)
      group  estimate    verdict
    0     B     0.553  undecided
    1     H     0.433  undecided
    """
    if isinstance(frame, AdverseImpact):
        return _of_impact(frame, title)
    if isinstance(frame, MonitorResult):
        return _of_monitor(frame, title)
    if sensitive_probabilities is not None:
        refuse_beside(
            {
                "score": score,
                "strata": strata,
                "outcome": outcome,
                "predicted": predicted,
                "features": features,
                "counterfactual_score": counterfactual_score,
                "method": method,
                "simultaneous": simultaneous,
                "mitigation": mitigation,
                "subgroups": subgroups,
                "circumstances": circumstances,
                "risks": risks,
                "n_resamples": n_resamples,
                "score_range": _unless(score_range, (0.0, 1.0)),
                "family": _unless(family, "metric"),
                "engine": _unless(engine, "auto", "rows"),
            }
        )
        check_choice("comparisons", comparisons, ("reference", "all"))
        check_outcomes(y_true, y_pred)
        generator, seed = as_generator(rng)
        asked = InferredAudit(
            y_true=column_name("y_true", y_true),
            y_pred=column_name("y_pred", y_pred),
            probabilities=columns_of_probabilities(sensitive_probabilities),
            true_groups=column_name("sensitive_features", sensitive_features),
            reference=reference,
            pos_label=pos_label,
            label_values=label_values,
            calibration_sample=calibration_sample,
            sample_weight=column_name("sample_weight", sample_weight),
            cluster=column_name("cluster", cluster),
            settings=AuditSettings(
                confidence_level=confidence_level,
                threshold=threshold,
                margin=margin,
                comparisons=comparisons,
                adjust=adjust,
                family=family,
                missing=missing,
                evaluated_on=evaluated_on,
                seed=int(generator.integers(1 << 31)) if seed is None else seed,
            ),
        )
        return _of_inferred(frame, asked, title)
    if calibration_sample is not None:
        raise InputError(
            "calibration_sample",
            got="a sample without sensitive_probabilities=",
            allowed="a sample beside probabilities of groups, which it corrects",
            cure="pass sensitive_probabilities=, or leave out calibration_sample=",
        )
    roles_of_columns = {"y_true": y_true, "y_pred": y_pred, "score": score}
    roles_of_columns |= {"sample_weight": sample_weight, "cluster": cluster, "strata": strata}
    roles_of_columns |= {"outcome": outcome, "predicted": predicted}
    columns = _columns_named(
        frame,
        roles_of_columns,
        sensitive_features=sensitive_features,
        features=features,
        counterfactual_score=counterfactual_score,
        pos_label=pos_label,
        label_values=label_values,
        score_range=score_range,
    )
    columns = with_subgroup_columns(columns, subgroups)
    columns = with_circumstances(columns, circumstances, has_rows=not isinstance(frame, Tally))
    check_outcomes(columns.y_true, columns.y_pred, columns.outcome)
    check_flag("intersections", intersections)
    check_flag("risks", risks)
    _refuse_what_changes_nothing(
        columns, score_range, risks=risks, of_tally=isinstance(frame, Tally)
    )
    names = columns.sensitive_features
    sets_of_attributes = [(name,) for name in names] + (
        [names] if intersections and len(names) > 1 else []
    )
    references = set_references(reference, sets_of_attributes)
    generator, seed = as_generator(rng)
    settings = AuditSettings(
        confidence_level=confidence_level,
        threshold=threshold,
        margin=margin,
        method=method,
        simultaneous=simultaneous,
        comparisons=comparisons,
        adjust=adjust,
        family=family,
        missing=frame.missing.policy if isinstance(frame, Tally) else missing,
        evaluated_on=evaluated_on,
        references={
            INTERSECTION.join(names_of_set): reference_text(group_wanted)
            for names_of_set, group_wanted in references.items()
        },
        n_resamples=n_resamples,
        risks=risks,
        seed=int(generator.integers(1 << 31)) if seed is None else seed,
    )
    settings._check_pooled(reference)
    if is_file(frame):
        several = bool(columns.models or columns.model_scores)
        frame, _ = read_roles(
            frame, columns._reading_roles, ReadingOptions(), engine=engine, needs_rows=several
        )
    with statements.collected_warnings() as warned_texts:
        with under_way("audit: counting rows"):
            inputs = read_inputs(frame, columns, settings, references, pos_label, engine)
        subgroup_results = find_subgroups(subgroups, frame, columns, settings, pos_label)
    if isinstance(inputs[0].counts, ClassCounts) and not isinstance(frame, Tally):
        _refuse_of_classes(features=columns.features, risks=risks)
    if subgroup_results:
        inputs = attach_subgroups(inputs, subgroup_results)
    if mitigation is not None:
        inputs = _with_mitigation(inputs, mitigation)
    sections = []
    for inputs_of_set in inputs:
        for section in answer_questions(inputs_of_set):
            sections.append(section)
    compared = columns.y_pred or columns.y_true or columns.outcome
    title = title or f"Fairness of {compared} by {', '.join(names)}"
    report = assemble(sections, inputs, title)
    counted = {inputs_of_set.counts.missing.sentence for inputs_of_set in inputs}
    counted |= {result.counts.missing.sentence for result in subgroup_results}
    about_data = tuple(dict.fromkeys(text for text in warned_texts if text not in counted))
    report = replace(report, notes=(*record_of(frame).notes, *about_data, *report.notes))
    if about_data:
        caution(" ".join(about_data), DataWarning)
    statements.warn_once(report)
    return report


def _of_impact(result: AdverseImpact, title: str | None) -> AuditReport:
    """The report of selections, with the statements that are about any, not about a model."""
    cure = "result.to_html(path) writes the page of Local Law 144, which judges nothing"
    check_that(
        result.template == "ugesp", "frame", result.template, "a result with template 'ugesp'", cure
    )
    sections, inputs = impact_inputs(result)
    title = title or f"Adverse impact by {', '.join(inputs[0].columns.sensitive_features)}"
    report = assemble(sections, inputs, title)
    return replace(
        report,
        statements=tuple(
            statement for statement in report.statements if statement.title in IMPACT_STATEMENTS
        ),
    )


def _of_monitor(watched: MonitorResult, title: str | None) -> AuditReport:
    """The report of what is watched: the last look, and the path of all looks."""
    sections, inputs = monitor_inputs(watched)
    title = title or f"Monitor of {watched.settings.metric} by {sections[0].attribute_text}"
    report = assemble(sections, inputs, title)
    notes = []
    for statement in report.statements:
        if statement.title in MONITOR_STATEMENTS:
            notes.append(statement)
    return replace(report, statements=tuple(notes))


def _of_inferred(frame: Any, asked: InferredAudit, title: str | None) -> AuditReport:
    """The report of rows whose groups are inferred, which says so at its head."""
    table, read = read_inferred(frame, asked)
    with statements.collected_warnings() as warned_texts:
        sections, inputs = audit_inferred(table, asked)
    outcome_column = asked.y_pred or asked.y_true
    title = title or f"Fairness of {outcome_column} by {asked.attribute}: groups inferred"
    report = assemble(sections, inputs, title)
    kept = []
    for statement in report.statements:
        if statement.title in INFERRED_STATEMENTS:
            kept.append(statement)
    inferred = Statement("Groups", " ".join(inferred_notes(sections, asked)))
    notes = {
        note
        for section in sections
        for rows in section.rows
        for _, note in statements.row_notes(rows)
    }
    unsaid = []
    for text in dict.fromkeys(warned_texts):
        if not any(note in text for note in notes):
            unsaid.append(text)
    report = replace(
        report,
        statements=(inferred, *kept),
        notes=(*record_of(read).notes, *unsaid, *report.notes),
    )
    statements.warn_once(report)
    return report


def _unless(value: Any, *defaults: Any) -> Any:
    """A value that was chosen; None for a default."""
    if value in defaults:
        return None
    return value


def _columns_named(
    frame: Any,
    roles_of_columns: dict[str, Any],
    *,
    sensitive_features: Any,
    features: Any,
    counterfactual_score: Any,
    pos_label: Any,
    label_values: Any,
    score_range: Any,
) -> AuditColumns:
    """The columns that the arguments name; those of a tally are in it already."""
    if not isinstance(frame, Tally):
        return columns_of_frame(
            roles_of_columns,
            sensitive_features,
            features,
            counterfactual_score,
            pos_label,
            label_values,
            score_range,
        )
    no_features = isinstance(features, tuple) and not features
    names_given = (
        *roles_of_columns.values(),
        counterfactual_score,
        None if no_features else features,
        pos_label,
        label_values,
    )
    return columns_of_tally(frame, sensitive_features, names_given)


def _refuse_what_changes_nothing(
    columns: AuditColumns, score_range: Any, *, risks: bool, of_tally: bool
) -> None:
    """Raise where an option asks for what the columns cannot give.

    A report that silently lacks what was asked for reads as if nothing had been found.
    """
    if score_range != (0.0, 1.0) and (columns.score is None or of_tally):
        raise InputError(
            "score_range",
            got=f"{score_range!r} {'beside a Tally' if of_tally else 'without score='}",
            allowed="the scale of the scores in the column score=",
            cure="leave out score_range=" if of_tally else "pass score=, or leave out score_range=",
        )
    if risks and (columns.score is None or columns.y_true is None):
        lacking = "score=" if columns.score is None else "y_true="
        raise InputError(
            "risks",
            got=f"True without {lacking}",
            allowed="a score that is a risk, and the outcomes",
            cure=f"pass {lacking}, or leave out risks=",
        )
    if columns.subgroups and columns.y_true is None and columns.y_pred is None:
        raise InputError(
            "subgroups",
            got="subgroups without y_true= and y_pred=",
            allowed="subgroups beside labels: they are compared by a rate",
            cure="pass y_pred= or y_true=, or leave out subgroups=",
        )
    lacks_labels = columns.y_true is None or columns.y_pred is None
    if columns.features and lacks_labels and not of_tally:
        lacking = "y_true=" if columns.y_true is None else "y_pred="
        raise InputError(
            "features",
            got=f"{', '.join(map(repr, columns.features))} without {lacking}",
            allowed="features beside outcomes and predictions: the distance between sets needs all",
            cure=f"pass {lacking}, or leave out features=",
        )


def _refuse_of_classes(*, features: tuple[str, ...], risks: bool) -> None:
    """Raise where labels of several classes come with what needs two."""
    for argument, value in (("features", features), ("risks", risks)):
        if value:
            raise InputError(
                argument,
                got=f"{argument}= with labels of several classes",
                allowed="two labels: a favourable one, and all others",
                cure=f"pass pos_label=, which asks about one class, or leave out {argument}=",
            )


def _with_mitigation(inputs: list[AuditInput], given: Any) -> list[AuditInput]:
    """The inputs, of which the first set of attributes with the groups of the mitigation has it."""
    check_type("mitigation", given, MitigationResult, "what MaddMitigator.evaluate returned")
    groups = given.pairs[0].counts.groups
    inputs_of_mitigation = next(
        (inputs_of_set for inputs_of_set in inputs if {*groups} <= {*inputs_of_set.counts.groups}),
        None,
    )
    allowed = "a result for groups of one of the sensitive columns"
    check_that(
        inputs_of_mitigation is not None, "mitigation", groups, allowed, "evaluate with that column"
    )
    completed = []
    for inputs_of_set in inputs:
        if inputs_of_set is inputs_of_mitigation:
            completed.append(replace(inputs_of_set, mitigation=given))
        else:
            completed.append(inputs_of_set)
    return completed


def answer_questions(inputs: AuditInput, pages: Sequence[Page] = PAGES) -> list[Section]:
    """What the pages find for one set of attributes, in the order of the questions.

    Each result stands where the question stands that it answers. What a page warns of and no
    result repeats is kept with the first of its questions.

    Raises TypeError for a result that no page knows.
    """
    results: dict[Question, list[Result]] = {question: [] for question in AUDITED}
    warned: dict[Question, list[str]] = {question: [] for question in QUESTIONS}
    for page in each_of(pages, f"audit by {', '.join(inputs.attributes)}"):
        with statements.collected_warnings() as warned_texts:
            results_of_page = page.run(inputs)
        for result in results_of_page:
            results[question_of(result)].append(result)
        warned[page.answers[0].question] += warned_texts
    sections = []
    for question in AUDITED:
        if question in ONLY_WHERE_ASKED and not results[question]:
            continue
        section = Section(
            key=question.key,
            title=question.title,
            attributes=inputs.attributes,
            results=tuple(results[question]),
        )
        notes = {note for rows in section.rows for _, note in statements.row_notes(rows)}
        unsaid = dict.fromkeys(
            text for text in warned[question] if not any(note in text for note in notes)
        )
        sections.append(replace(section, warnings=tuple(unsaid)) if unsaid else section)
    return sections


def assemble(sections: Sequence[Section], inputs: Sequence[AuditInput], title: str) -> AuditReport:
    """Put the report together: families, statements, methods, versions."""
    columns = inputs[0].columns
    settings = inputs[0].settings
    if settings.family == "audit":
        adjusted = iter(
            adjust_over_audit([result for section in sections for result in section.results])
        )
        sections = [
            replace(section, results=tuple(next(adjusted) for _ in section.results))
            for section in sections
        ]
    tables = tuple(inputs_of_set.counts for inputs_of_set in inputs)
    statements_of_methods: list[Statement] = []
    references: dict[str, None] = {}
    for question in QUESTIONS:
        answering = []
        for section in sections:
            if section.key == question.key:
                answering.append(section)
        answer = answer_to(question.key)
        methods, cited = statements.methods_and_references(answer, answering, settings)
        statements_of_methods.extend(methods)
        references.update(dict.fromkeys(cited))
    return AuditReport(
        title=title,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        columns=columns,
        settings=settings,
        tables=tables,
        sections=tuple(sections),
        statements=statements.make_statements(columns, settings, tables, sections),
        notes=tuple(statements.collect_notes(sections, columns, settings)),
        methods=tuple(statements_of_methods),
        references=tuple(references),
        versions=installed_versions(),
    )


def demo_report(*, intersections: bool = False) -> AuditReport:
    """Audit of the COMPAS risk classes by race and sex, on the rows of ProPublica's analysis.

    Outcome: no new charge within two years; prediction: class Low; score: 1 for decile 1 to 0 for
    decile 10.
    """
    from fairstats.datasets import load_compas

    frame, _ = load_compas(subset="propublica")
    frame = frame.assign(decile_reversed=1 - (frame["decile_score"] - 1) / 9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairstatsWarning)  # the report's notes say the same
        return audit(
            frame,
            y_true="two_year_recid",
            y_pred="score_text",
            score="decile_reversed",
            sensitive_features=["race", "sex"],
            reference={"race": "Caucasian", "sex": "Male"},
            pos_label={"y_true": 0, "y_pred": "Low"},
            intersections=intersections,
            rng=1,
            title="COMPAS risk classes by race and sex, Broward County 2013–2014",
        )
