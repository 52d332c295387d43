"""The audit: every method that the given columns allow, for every set of sensitive attributes."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Literal

from fairstats.ground.encoding import label_text
from fairstats.ground.errors import InputError
from fairstats.ground.frames import as_frame_columns
from fairstats.ground.groups import INTERSECTION
from fairstats.ground.randomness import as_generator
from fairstats.report.families import adjust_over_audit
from fairstats.report.inputs import AuditInput, attribute_sets, build_input, reference_text, set_references
from fairstats.report.methods_text import methods_and_references
from fairstats.report.notes import collect_notes, collected_warnings, row_notes, warn_once
from fairstats.report.report import AuditReport
from fairstats.report.section import Section
from fairstats.report.sections import SECTIONS, SectionEntry
from fairstats.report.settings import AuditColumns, AuditSettings
from fairstats.report.statements import Statement, make_statements
from fairstats.report.versions import installed_versions

__all__ = ["audit"]


def audit(
    frame: Any,
    *,
    y_true: str | None = None,
    y_pred: str | None = None,
    score: str | None = None,
    sensitive_features: str | Sequence[str],
    reference: Hashable | Mapping[str, Hashable] | None = None,
    favorable_label: Any = None,
    sample_weight: str | None = None,
    cluster: str | None = None,
    features: str | Sequence[str] = (),
    counterfactual_score: str | Mapping[str, str] | None = None,
    missing: Literal["raise", "drop", "group"] = "raise",
    confidence_level: float = 0.95,
    threshold: float = 0.8,
    tolerance: float = 0.1,
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
) -> AuditReport:
    """Audit predictions for differences between groups: every method that the columns allow.

    Parameters
    ----------
    frame : DataFrame
        A pandas, polars or pyarrow table (any that narwhals reads); every other argument names its columns.
    y_true, y_pred, score : str, optional
        Outcome, prediction, and score in [0, 1] (larger = favourable; adds MADD and, with outcomes, ABROCA).
        At least outcome or prediction.
    sensitive_features : str or sequence of str
        Sensitive columns. Several are audited one by one and crossed.
    reference : hashable or mapping, optional
        Reference group; for several columns a mapping ``{column: group}`` (``"a & b"`` names the
        intersection). Default: the largest group. ``"highest"``: the group with the highest rate.
    favorable_label : scalar or mapping, optional
        The value of outcome and prediction that is good for the person; a mapping ``{"y_true": …, "y_pred":
        …}`` where they differ. Not needed for 0/1, False/True, −1/1.
    sample_weight, cluster : str, optional
        Columns of weights and of sampling units.
    features : str or sequence of str, optional
        Feature columns, numbers or categories: with outcomes and predictions they add HFM, the distance
        between groups as sets.
    counterfactual_score : str or mapping, optional
        Column of the score that each row would have with another value of its sensitive attribute; a mapping
        ``{column: score column}`` for several attributes. With `score` it adds the extreme counterfactual
        discrimination (`counterfactual_discrimination` makes such scores).
    missing : {"raise", "drop", "group"}, default "raise"
        What to do with missing values.
    confidence_level : float, default 0.95
        Of intervals; verdicts use one-sided bounds at this level.
    threshold : float, default 0.8
        For ratios: below it lies a violation.
    tolerance : float, default 0.1
        For differences, gaps and areas: beyond it lies a violation. For MADD, half of which bounds the
        differences of selection rates, beyond twice of it.
    method : {None, "log", "score", "koopman", "delta", "bootstrap"}
        Interval method; None takes the default of each metric (log for ratios, score for differences).
    simultaneous : {None, "bonferroni", "max-z"}
        Make the intervals of one metric hold at once.
    comparisons : {"reference", "all"}
        Each group against the reference, or all pairs.
    adjust : str, default "holm"
        Adjustment of p-values within a metric.
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
    1     H     0.433   violated
    """
    names = _attribute_names(sensitive_features)
    true_label, pred_label = _favorable(favorable_label)
    columns = AuditColumns(
        y_true=_column_name("y_true", y_true),
        y_pred=_column_name("y_pred", y_pred),
        score=_column_name("score", score),
        sensitive_features=names,
        sample_weight=_column_name("sample_weight", sample_weight),
        cluster=_column_name("cluster", cluster),
        favorable_true=true_label if y_true is not None else None,
        favorable_pred=pred_label if y_pred is not None else None,
        features=_feature_names(features),
        counterfactual_scores=_counterfactual_columns(counterfactual_score, names, score),
    )
    _check_outcomes(columns)
    sets = attribute_sets(names, intersections=intersections)
    references = set_references(reference, sets)
    generator, seed = as_generator(rng)
    settings = AuditSettings(
        confidence_level=confidence_level,
        threshold=threshold,
        tolerance=tolerance,
        method=method,
        simultaneous=simultaneous,
        comparisons=comparisons,
        adjust=adjust,
        family=family,
        missing=missing,
        evaluated_on=evaluated_on,
        references={INTERSECTION.join(k): reference_text(v) for k, v in references.items()},
        n_resamples=n_resamples,
        seed=int(generator.integers(1 << 31)) if seed is None else seed,
    )
    table = as_frame_columns(frame, columns.names, "frame")
    if not len(table):
        raise InputError("frame", got="0 rows", allowed="at least one row", cure="pass data")
    with collected_warnings():
        inputs = [
            build_input(table, s, columns, settings, pos_label=favorable_label, reference=references[s])
            for s in sets
        ]
    sections = [run_section(entry, one) for one in inputs for entry in SECTIONS]
    report = assemble(sections, inputs, columns, settings, _title(title, columns))
    warn_once(report, stacklevel=3)
    return report


def run_section(entry: SectionEntry, inputs: AuditInput) -> Section:
    """Run one section for one set of attributes; what it warns of and no result repeats is kept."""
    with collected_warnings() as texts:
        results = tuple(entry.load().run(inputs))
    said = {note for result in results for _, note in row_notes(result)}
    kept = dict.fromkeys(text for text in texts if not any(note in text for note in said))
    return Section(entry.key, entry.title, inputs.attributes, results, tuple(kept))


def assemble(
    sections: Sequence[Section],
    inputs: Sequence[AuditInput],
    columns: AuditColumns,
    settings: AuditSettings,
    title: str,
) -> AuditReport:
    """Put the report together: families, statements, methods, versions."""
    if settings.family == "audit":
        adjusted = iter(adjust_over_audit([r for s in sections for r in s.results]))
        sections = [replace(s, results=tuple(next(adjusted) for _ in s.results)) for s in sections]
    tables = tuple(one.counts for one in inputs)
    said: list[Statement] = []
    references: dict[str, None] = {}
    for entry in SECTIONS:
        results = [r for s in sections if s.key == entry.key for r in s.results]
        methods, cited = methods_and_references(entry.load(), results, settings)
        said.extend(methods)
        references.update(dict.fromkeys(cited))
    return AuditReport(
        title=title,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        columns=columns,
        settings=settings,
        tables=tables,
        sections=tuple(sections),
        statements=make_statements(columns, settings, tables, sections),
        notes=tuple(collect_notes(sections, columns)),
        methods=tuple(said),
        references=tuple(references),
        versions=installed_versions(),
    )


def _attribute_names(sensitive_features: Any) -> tuple[str, ...]:
    names = (sensitive_features,) if isinstance(sensitive_features, str) else sensitive_features
    if not isinstance(names, (list, tuple)) or not names or not all(isinstance(n, str) for n in names):
        raise InputError(
            "sensitive_features",
            got=f"{type(sensitive_features).__name__} {sensitive_features!r}"[:120],
            allowed="the name of a column of the frame, or a list of names",
            cure='e.g. sensitive_features="sex" or ["sex", "race"]',
        )
    if len(set(names)) < len(names):
        raise InputError(
            "sensitive_features",
            got=f"{list(names)!r}",
            allowed="each column once",
            cure="leave out the repeat",
        )
    return tuple(names)


def _column_name(argument: str, name: Any) -> str | None:
    if name is None or isinstance(name, str):
        return name
    raise InputError(
        argument,
        got=f"a {type(name).__name__}",
        allowed="the name of a column of the frame",
        cure=f"put the values into a column of the frame and pass {argument}='its name'",
    )


def _feature_names(features: Any) -> tuple[str, ...]:
    names = (features,) if isinstance(features, str) else tuple(features)
    return tuple(str(_column_name("features", name)) for name in names)


def _counterfactual_columns(given: Any, attributes: Sequence[str], score: str | None) -> dict[str, str]:
    """Sensitive column → score column."""
    if given is None:
        return {}
    found = given if isinstance(given, Mapping) else {attributes[0]: given}
    unknown = [name for name in found if name not in attributes]
    if unknown or score is None or (not isinstance(given, Mapping) and len(attributes) > 1):
        raise InputError(
            "counterfactual_score",
            got=repr(given) + (" without score" if score is None else f" for {', '.join(attributes)}"),
            allowed="with score: a column for one sensitive attribute, or a mapping from attribute to column",
            cure=f"counterfactual_score={{{attributes[0]!r}: …}}, score=…",
        )
    return {name: str(_column_name("counterfactual_score", column)) for name, column in found.items()}


def _favorable(favorable_label: Any) -> tuple[str | None, str | None]:
    """Favourable values of outcome and prediction as text."""
    if isinstance(favorable_label, Mapping):
        unknown = set(favorable_label) - {"y_true", "y_pred"}
        if unknown:
            raise InputError(
                "favorable_label",
                got=f"a mapping with {', '.join(sorted(map(repr, unknown)))}",
                allowed="a mapping with the keys 'y_true' and 'y_pred', or one value",
                cure="name the favourable value of each",
            )
        values = (favorable_label.get("y_true"), favorable_label.get("y_pred"))
    else:
        values = (favorable_label, favorable_label)
    true, pred = (None if v is None else label_text(v) for v in values)
    return true, pred


def _check_outcomes(columns: AuditColumns) -> None:
    if columns.y_true is None and columns.y_pred is None:
        raise InputError(
            "y_pred",
            got="None for both y_true and y_pred",
            allowed="the column of the predictions, of the outcomes, or both",
            cure="name at least one of them",
        )


def _title(title: str | None, columns: AuditColumns) -> str:
    if title:
        return title
    what = columns.y_pred or columns.y_true
    return f"Fairness of {what} by {', '.join(columns.sensitive_features)}"
