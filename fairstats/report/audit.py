"""The audit: every method that the given columns allow, for every set of sensitive attributes."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Literal

import numpy as np

from fairstats.ground.checks import as_generator, check_flag, check_that, check_type
from fairstats.ground.errors import DataWarning, FairstatsWarning, caution
from fairstats.ground.groups import INTERSECTION
from fairstats.ground.multiplicity import adjust_pvalues
from fairstats.ground.reading.record import record_of
from fairstats.ground.reading.roles import ReadingOptions
from fairstats.ground.reading.table import is_file, read_roles
from fairstats.ground.results import Result
from fairstats.ground.tally import Tally
from fairstats.methods.madd.mitigation import MitigationResult
from fairstats.methods.rates.employment.result import AdverseImpact
from fairstats.methods.rates.models.result import ModelComparison
from fairstats.report import statements
from fairstats.report.contents import Section, Statement, compares
from fairstats.report.format import installed_versions
from fairstats.report.inputs import (
    AuditInput,
    AuditSettings,
    check_outcomes,
    columns_of_frame,
    columns_of_tally,
    read_inputs,
    reference_text,
    set_references,
)
from fairstats.report.report import AuditReport
from fairstats.report.sections import SECTIONS, WORDED, SectionEntry
from fairstats.report.sections.methods import IMPACT_STATEMENTS, impact_inputs


def adjust_over_audit(results: Sequence[Result]) -> list[Result]:
    """The same results with p-values adjusted by Holm over all that have `_with_adjusted`.

    Where the data chose a reference ("highest"), the comparisons that could have been chosen count too: the
    p-values enter multiplied by their number per comparison shown, and the adjustment is Bonferroni's.
    """
    taking_part: list[Any] = [r for r in results if hasattr(r, "_with_adjusted")]
    factors = [chosen_among(r) for r in taking_part]
    raw = [np.array([row["pvalue"] for row in r.rows()], dtype=np.float64) for r in taking_part]
    raw = [np.minimum(values * factor, 1.0) for values, factor in zip(raw, factors, strict=True)]
    method = "bonferroni" if any(factor > 1 for factor in factors) else "holm"
    adjusted = adjust_pvalues(np.concatenate(raw).tolist() if raw else [], method)
    family = f"the {int(np.isfinite(adjusted).sum())} p-values of the audit"
    own = np.split(adjusted, np.cumsum([values.size for values in raw])[:-1])
    found = {id(r): r._with_adjusted(p, family) for r, p in zip(taking_part, own, strict=False)}
    return [found.get(id(r), r) for r in results]


def chosen_among(result: Result) -> float:
    """Pairs that the data chose from, per comparison."""
    judged: Any = result
    chosen = (compares(result) or isinstance(result, ModelComparison)) and judged.settings.reference_rule == "highest"
    return max(len(judged.counts.groups) / 2, 1.0) if chosen else 1.0


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
    sample_weight: str | None = None,
    cluster: str | None = None,
    strata: str | None = None,
    features: str | Sequence[str] = (),
    counterfactual_score: str | Mapping[str, str] | None = None,
    missing: Literal["raise", "drop", "group"] = "raise",
    confidence_level: float = 0.95,
    threshold: float = 0.8,
    margin: float = 0.1,
    method: Literal["log", "score", "koopman", "delta", "bootstrap"] | None = None,
    simultaneous: Literal["bonferroni", "max-z"] | None = None,
    comparisons: Literal["reference", "all"] = "reference",
    adjust: str = "holm",
    family: Literal["metric", "audit"] = "metric",
    intersections: bool = True,
    evaluated_on: Literal["training", "held-out"] | None = None,
    n_resamples: int | None = None,
    rng: Any = None,
    title: str | None = None,
    mitigation: MitigationResult | None = None,
    engine: Literal["auto", "rows", "duckdb", "polars", "spark"] = "auto",
) -> AuditReport:
    """Audit predictions for differences between groups: every method that the columns allow.

    Parameters
    ----------
    frame : DataFrame, path, Tally or AdverseImpact
        A file, folder or pattern, which `read_table` reads by the roles of its columns. Or a pandas, polars or pyarrow
        table (any that narwhals reads); every other argument names its columns.
        Lazy tables (polars LazyFrame, DuckDB relation, Spark, Dask, …) are counted where they are, as `tally` does. Or
        a `Tally`, which knows its columns and takes no names; or what `adverse_impact` found, which becomes a report.
    y_true, y_pred, score : str, optional; y_pred and score also mappings
        Outcome, prediction (at least one of them), and score in [0, 1] (larger = favourable; adds MADD and, with
        outcomes, ABROCA). Of several models ``{name: column}``: the first is audited, and a section
        compares all of them (of rows in memory).
    sensitive_features : str or sequence of str
        Sensitive columns. Several are audited one by one and crossed.
    reference : hashable or mapping, optional
        Reference group, by default the largest; ``"highest"``: that with the highest rate; for several columns a
        mapping ``{column: group}`` (``"a & b"`` names the intersection).
    pos_label : scalar or mapping, optional
        The value that is good for the person; ``{"y_true": …, "y_pred": …}`` where they differ. Not needed for 0/1,
        False/True, −1/1. Where several other labels occur, the report names them with their rows.
    label_values : sequence or mapping, optional
        The labels that may occur (``{"y_true": […], "y_pred": […]}`` where they differ): more is an error, and a
        favourable one that no row has is a rate of 0, with a warning.
    sample_weight, cluster : str, optional
        Columns of weights and of sampling units.
    strata : str, optional
        Column of a confounder (department, risk class): every ratio and difference of rates also within its strata,
        crude and adjusted side by side, and a sentence at the head where they disagree. Not with weights or clusters.
    features : str or sequence of str, optional
        Feature columns, numbers or categories: with outcomes and predictions they add HFM, the distance
        between groups as sets.
    counterfactual_score : str or mapping, optional
        Column of the score that each row would have with another value of its sensitive attribute (for several a
        mapping ``{column: score column}``), as `counterfactual_discrimination` makes them. With `score` it adds the
        extreme counterfactual discrimination.
    missing : {"raise", "drop", "group"}, default "raise"
        What to do with missing values.
    confidence_level : float, default 0.95
        Of intervals; over all comparisons of a metric, 1 minus it is the error of verdicts.
    threshold : float, default 0.8
        For ratios: below it, or above 1/threshold, lies a violation.
    margin : float, default 0.1
        For differences, gaps and areas: beyond it lies a violation. For MADD, half of which bounds the differences of
        selection rates, beyond twice of it. Not for ECD, which is judged against ±0.05 (`ecd(margin=…)` takes another).
    method : {None, "log", "score", "koopman", "delta", "bootstrap"}
        Interval method; None takes the default of each metric (score; under weights log or delta).
    simultaneous : {None, "bonferroni", "max-z"}
        Make the intervals of one metric hold at once.
    comparisons : {"reference", "all"}
        Each group against the reference, or all pairs.
    adjust : str, default "holm"
        Adjustment of p-values and verdicts within a metric; "none" judges each comparison by itself.
    family : {"metric", "audit"}, default "metric"
        "audit" adjusts all p-values of the audit together, by Holm.
    intersections : bool, default True
        Whether several sensitive columns are crossed, too.
    evaluated_on : {None, "training", "held-out"}
        Whether the rows were used to train the model; the report says it, or that it was not stated.
    n_resamples : int, optional
        Bootstrap resamples.
    rng : None, int or numpy.random.Generator
        Seed of what is random (bootstrap, permutations); the report gives it.
    title : str, optional
        Title of the report.
    mitigation : MitigationResult, optional
        What `MaddMitigator.evaluate` returned for the groups of one of the sensitive columns: adds a section.
    engine : {"auto", "rows", "duckdb", "polars", "spark"}, default "auto"
        What counts: see `tally`. "rows" loads a lazy table, for what needs single rows (MADD and ECD of clusters).

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
    roles = {"y_true": y_true, "y_pred": y_pred, "score": score}
    roles |= {"sample_weight": sample_weight, "cluster": cluster, "strata": strata}
    if isinstance(frame, Tally):
        named = None if isinstance(features, tuple) and not features else features
        others = (*roles.values(), counterfactual_score, named, pos_label, label_values)
        columns = columns_of_tally(frame, sensitive_features, others)
    else:
        columns = columns_of_frame(roles, sensitive_features, features, counterfactual_score, pos_label, label_values)
    check_outcomes(columns.y_true, columns.y_pred)
    check_flag("intersections", intersections)
    names = columns.sensitive_features
    sets = [(name,) for name in names] + ([names] if intersections and len(names) > 1 else [])
    references = set_references(reference, sets)
    generator, seed = as_generator(rng)
    settings = AuditSettings(
        confidence_level=confidence_level, threshold=threshold, margin=margin, method=method,
        simultaneous=simultaneous, comparisons=comparisons, adjust=adjust, family=family,
        missing=frame.missing.policy if isinstance(frame, Tally) else missing, evaluated_on=evaluated_on,
        references={INTERSECTION.join(k): reference_text(v) for k, v in references.items()},
        n_resamples=n_resamples, seed=int(generator.integers(1 << 31)) if seed is None else seed,
    )  # fmt: skip
    if is_file(frame):
        several = bool(columns.models or columns.model_scores)
        frame, _ = read_roles(frame, columns._reading_roles, ReadingOptions(), engine=engine, needs_rows=several)
    with statements.collected_warnings() as texts:
        inputs = read_inputs(frame, columns, settings, references, pos_label, engine)
    if mitigation is not None:
        inputs = _with_mitigation(inputs, mitigation)
    sections = [run_section(entry, one) for one in inputs for entry in SECTIONS]
    title = title or f"Fairness of {columns.y_pred or columns.y_true} by {', '.join(names)}"
    report = assemble(sections, inputs, title)
    counted = {one.counts.missing.sentence for one in inputs}
    about_data = tuple(dict.fromkeys(text for text in texts if text not in counted))
    report = replace(report, notes=(*record_of(frame).notes, *about_data, *report.notes))
    if about_data:
        caution(" ".join(about_data), DataWarning)
    statements.warn_once(report)
    return report


def _of_impact(result: AdverseImpact, title: str | None) -> AuditReport:
    """The report of selections, with the statements that are about any, not about a model."""
    cure = "result.to_html(path) writes the page of Local Law 144, which judges nothing"
    check_that(result.template == "ugesp", "frame", result.template, "a result with template 'ugesp'", cure)
    sections, inputs = impact_inputs(result)
    title = title or f"Adverse impact by {', '.join(inputs[0].columns.sensitive_features)}"
    report = assemble(sections, inputs, title)
    return replace(report, statements=tuple(s for s in report.statements if s.title in IMPACT_STATEMENTS))


def _with_mitigation(inputs: list[AuditInput], given: Any) -> list[AuditInput]:
    """The inputs, of which the first set of attributes with the groups of the mitigation has it."""
    check_type("mitigation", given, MitigationResult, "what MaddMitigator.evaluate returned")
    groups = given.pairs[0].counts.groups
    own = next((one for one in inputs if {*groups} <= {*one.counts.groups}), None)
    allowed = "a result for groups of one of the sensitive columns"
    check_that(own is not None, "mitigation", groups, allowed, "evaluate with that column")
    return [replace(one, mitigation=given) if one is own else one for one in inputs]


def run_section(entry: SectionEntry, inputs: AuditInput) -> Section:
    """Run one section for one set of attributes; what it warns of and no result repeats is kept."""
    with statements.collected_warnings() as texts:
        section = Section(entry.key, entry.title, inputs.attributes, tuple(entry.run(inputs)))
    said = {note for rows in section.rows for _, note in statements.row_notes(rows)}
    kept = dict.fromkeys(text for text in texts if not any(note in text for note in said))
    return replace(section, warnings=tuple(kept)) if kept else section


def assemble(sections: Sequence[Section], inputs: Sequence[AuditInput], title: str) -> AuditReport:
    """Put the report together: families, statements, methods, versions."""
    columns, settings = inputs[0].columns, inputs[0].settings
    if settings.family == "audit":
        adjusted = iter(adjust_over_audit([r for s in sections for r in s.results]))
        sections = [replace(s, results=tuple(next(adjusted) for _ in s.results)) for s in sections]
    tables = tuple(one.counts for one in inputs)
    said: list[Statement] = []
    references: dict[str, None] = {}
    for entry in WORDED:
        own = [section for section in sections if section.key == entry.key]
        methods, cited = statements.methods_and_references(entry, own, settings)
        said.extend(methods)
        references.update(dict.fromkeys(cited))
    return AuditReport(
        title=title, created=datetime.now(UTC).isoformat(timespec="seconds"), columns=columns,
        settings=settings, tables=tables, sections=tuple(sections),
        statements=statements.make_statements(columns, settings, tables, sections),
        notes=tuple(statements.collect_notes(sections, columns, settings)), methods=tuple(said),
        references=tuple(references), versions=installed_versions(),
    )  # fmt: skip


def demo_report(*, intersections: bool = False) -> AuditReport:
    """Audit of the COMPAS risk classes by race and sex, on the rows of ProPublica's analysis.

    Outcome: no new charge within two years; prediction: class Low; score: 1 for decile 1 to 0 for decile 10.
    """
    from fairstats.datasets import load_compas

    frame, _ = load_compas(subset="propublica")
    frame = frame.assign(decile_reversed=1 - (frame["decile_score"] - 1) / 9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairstatsWarning)  # the report's notes say the same
        return audit(
            frame, y_true="two_year_recid", y_pred="score_text", score="decile_reversed",
            sensitive_features=["race", "sex"], reference={"race": "Caucasian", "sex": "Male"},
            pos_label={"y_true": 0, "y_pred": "Low"}, intersections=intersections, rng=1,
            title="COMPAS risk classes by race and sex, Broward County 2013–2014",
        )  # fmt: skip
