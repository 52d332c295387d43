"""Sections of an audit beside its rates: where the columns allow each method, and at which settings."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from fairstats.ground.checks import check_given
from fairstats.ground.counts import PairedCounts
from fairstats.ground.errors import DataWarning, InputError, caution
from fairstats.ground.groups import INTERSECTION, find_reference
from fairstats.ground.parts import RowCounts
from fairstats.ground.results import Result
from fairstats.methods.ecd.ecd import ecd
from fairstats.methods.ecd.sample import CounterfactualSample, GroupSample, thinned
from fairstats.methods.hfm.metric import hfm
from fairstats.methods.hfm.result import HfmResult
from fairstats.methods.madd.metric import madd_of_scores, warn_of
from fairstats.methods.madd.result import make_settings
from fairstats.methods.madd.scores import GroupScores
from fairstats.methods.rates.employment.result import METRIC, AdverseImpact
from fairstats.methods.rates.models.work import available, compare_all
from fairstats.methods.um.posterior import um_posterior
from fairstats.report.contents import Section
from fairstats.report.inputs import AuditColumns, AuditInput, AuditSettings
from fairstats.report.sections.rates import ratio_settings

_RESAMPLES = 1_999
_DRAWS = 10_000
#: Rows of the posterior's table.
UM_METRICS = ("accuracy", "demographic_parity", "equal_opportunity", "predictive_equality", "predictive_parity")
#: What is compared, as far as the columns allow.
MODEL_METRICS = (
    "disparate_impact", "equal_opportunity_difference", "equalized_odds_difference",
    "predictive_parity_difference", "accuracy", "auc", "brier", "madd", "abroca",
)  # fmt: skip


def run_madd(inputs: AuditInput) -> list[Result]:
    """MADD of every comparison that the audit makes, of all pairs for "highest"; nothing without a score.

    The margin is twice that of the rates, since MADD/2 bounds the difference of selection rates. The curves that
    were searched are not kept: a thousand numbers per comparison.
    """
    if not inputs.has("score") or _needs_rows(inputs, "MADD"):
        return []
    s = inputs.settings
    pairs = s.comparisons == "all" or inputs.reference == "highest"
    settings = make_settings(
        comparisons="all" if pairs else "reference", margin=min(2 * s.margin, 2.0),
        confidence_level=s.confidence_level, adjust=s.adjust, n_resamples=s.n_resamples or _RESAMPLES,
    )  # fmt: skip
    out = inputs.outcomes
    scores = GroupScores.from_counts(inputs.score_counts) if out is None else GroupScores.from_outcomes(out)
    result = madd_of_scores(scores, None if pairs else inputs.reference, settings, s.seed)
    warn_of(result)
    return [replace(result, comparisons=tuple(replace(c, curve=None) for c in result.comparisons))]


def run_models(inputs: AuditInput) -> list[Result]:
    """Changes from the first model to every other; nothing where there is one model."""
    s, data, counted = inputs.settings, inputs.models, inputs.tally
    table: Any = data
    if data is not None:
        names = tuple(dict.fromkeys([*data.predictions, *data.scores]))
    elif counted is not None and isinstance(counted.cells, PairedCounts):
        table, names = counted.cells, tuple(counted.columns.get(role, role) for role in ("y_pred", "y_pred_b"))
    else:
        return []
    metrics = [name for name in MODEL_METRICS if available(name, data)]
    if not metrics:
        return []
    settings = replace(ratio_settings(s), method="paired", n_resamples=s.n_resamples or 999, seed=s.seed)
    rng = np.random.default_rng(s.seed)
    return [compare_all(table, names, metrics, names[0], inputs.reference, settings, rng)]


def _needs_rows(inputs: AuditInput, what: str) -> bool:
    """Whether a tally of clusters or weights is asked for what needs their rows; then a note says so."""
    if inputs.outcomes is not None:
        return False
    weighted = what == "ECD" and inputs.counts.weighted
    kind = "clusters" if inputs.counts.clustered else "weighted rows" if weighted else ""
    if kind:
        why = f"{what} of {kind} is not computed from a tally, which does not keep them"
        caution(f"{why}: pass the rows, or engine='rows'.", DataWarning)
    return bool(kind)


def run_hfm(inputs: AuditInput) -> list[Result]:
    """D, D_f and HFM of the groups, without weights; nothing without features, labels and predictions.

    Rows are named by position: a report holds no one's label. Draws take them in the order of a tally's distinct rows.
    """
    if not inputs.columns.features or not inputs.has("y_true", "y_pred"):
        return []
    try:
        return [_hfm(inputs)]
    except InputError as problem:  # of features that cannot be used: an audit has no argument X
        argument = problem.argument.replace("X", "features", 1) if problem.argument.startswith("X") else ""
        if not argument:
            raise
        raise InputError(argument, got=problem.got, allowed=problem.allowed, cure=problem.cure) from problem


def _hfm(inputs: AuditInput) -> HfmResult:
    if inputs.tally is not None:
        return hfm(counts=inputs.tally.crossed(), rng=inputs.settings.seed)
    out, features = inputs.rows, check_given("features", inputs.features)
    codes, true, pred = out.groups.codes, check_given("y_true", out.y_true), check_given("y_pred", out.y_pred)
    order = RowCounts._order(features, codes, true, pred)
    groups = {INTERSECTION.join(inputs.attributes): [out.groups.labels[code] for code in codes[order]]}
    rows = (features.iloc[order], true[order], pred[order])
    return hfm(*rows, sensitive_features=groups, rng=inputs.settings.seed)


def run_um(inputs: AuditInput) -> list[Result]:
    """Posteriors of accuracy and fairness; nothing without labels and predictions, or with weights.

    A multinomial likelihood has no design weights. "highest" means nothing here: the largest group is the reference.
    """
    if not inputs.has("y_true", "y_pred") or inputs.counts.weighted:
        return []
    s = inputs.settings
    reference = None if inputs.reference == "highest" else inputs.reference
    posterior = um_posterior(counts=inputs.counts, draws=_DRAWS, reference=reference, rng=s.seed)
    return [replace(posterior, table_metrics=UM_METRICS, table_prob=s.confidence_level, table_rope=s.margin)]


def run_ecd(inputs: AuditInput) -> list[Result]:
    """Average causal discrimination of every group, and ECD of each against the reference.

    Nothing without counterfactual scores, or for crossed attributes; weighted rows are thinned, clusters are people.
    "highest" means nothing here: the largest group is the reference.
    """
    groups, told = (_of_tally(inputs), "") if inputs.outcomes is None else _of_rows(inputs)
    if not groups:
        return []
    s, labels = inputs.settings, [g.group for g in groups]
    named = None if inputs.reference == "highest" else inputs.reference
    reference = labels[find_reference(labels, named, sizes=np.array([g.n for g in groups]))[0]]
    first = [g for g in groups if g.group == reference]
    others = [g for g in groups if g.group != reference]
    sample = CounterfactualSample(inputs.attributes[0], (*first, *others), "other", s.confidence_level, note=told)
    how: dict[str, Any] = {"confidence_level": s.confidence_level, "adjust": s.adjust, "rng": s.seed}
    return [sample, ecd(sample, reference=reference, **how)] if others else [sample]


def _of_rows(inputs: AuditInput) -> tuple[list[GroupSample], str]:
    changed, out = inputs.counterfactual_score, inputs.outcomes
    if changed is None or out is None or out.score is None:
        return [], ""
    codes, groups, told = out.groups.codes, [], ""
    if out.weight is not None:
        kept, told = thinned(out.weight, codes, len(out.groups.labels), inputs.settings.seed)
        codes = np.where(kept, codes, -1)
    for code, name in enumerate(out.groups.labels):
        rows = np.flatnonzero(codes == code)
        person = None if out.cluster is None else out.cluster.codes[rows]
        cd = changed[rows] - out.score[rows]
        groups.append(GroupSample._of(name, "other", cd, rows, out.score[rows], person))
    return groups, told


def _of_tally(inputs: AuditInput) -> list[GroupSample]:
    counted = inputs.tally
    if counted is None or counted.tails is None or len(inputs.attributes) > 1 or _needs_rows(inputs, "ECD"):
        return []
    return list(CounterfactualSample.from_tally(counted).groups)


# ---------------------------------------------------------------- adverse impact as a report

IMPACT_TITLE = "Adverse impact: ratios, practical and statistical significance"
#: Statements that are about selections, whoever makes them.
IMPACT_STATEMENTS = ("Missing values", "Sampling", "Verdicts", "What it cannot say")


def impact_inputs(result: AdverseImpact) -> tuple[list[Section], list[AuditInput]]:
    """Sections and counts of a report of the result; the counts are those of the whole process."""
    first = {table.by: table for table in reversed(result.tables)}
    sets = list(dict.fromkeys(table.by for table in result.tables))
    groups = tuple(dict.fromkeys(name for names in sets for name in names))
    columns = AuditColumns(None, "selected" if result.measure == "selection" else "above the median", None, groups)
    rules = {t.by: t.result.settings.reference_rule for t in result.tables if t.result is not None}
    references = {
        INTERSECTION.join(by): rule if rule == "highest" else first[by].comparisons[0].reference
        for by, rule in rules.items()
    }
    settings = AuditSettings(
        confidence_level=result.confidence_level, threshold=result.threshold, missing="drop", references=references
    )
    inputs = [AuditInput(by, None, replace(first[by].counts, attributes=by), columns, settings) for by in sets]
    return [Section(METRIC, IMPACT_TITLE, by, (result.by(*by),)) for by in sets], inputs
