"""Every metric of every model on the same people, and every change, from rows or counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import check_one_length, check_that
from fairstats.ground.counts import PairedCounts
from fairstats.ground.encoding import as_float_column, binary_columns
from fairstats.ground.errors import DataWarning, InputError, caution
from fairstats.ground.groups import find_reference
from fairstats.ground.multiplicity import make_pairs, normal_quantile
from fairstats.ground.outcomes import Outcomes, check_row_labels, even_weights, on_unit_interval
from fairstats.ground.registry import METRICS, RATES, find_metric
from fairstats.ground.results import Interval
from fairstats.ground.verdict import Evidence
from fairstats.methods.rates.models.result import QUANTITIES, ModelComparison, ModelValue
from fairstats.methods.rates.models.scores import DrawnCurves, abroca, auc, brier, score_cuts
from fairstats.methods.rates.result import Inference, as_family, warned
from fairstats.methods.rates.setup import check_groups, rows_among
from fairstats.numerics.paired.change import KINDS, OVERALL, UNCHANGED, Change, Found, ModelPair, PairedChange, finished
from fairstats.numerics.paired.distance import MIN_ROWS, Level, Measured, bins_of_models, madd
from fairstats.numerics.paired.rate import PairedRate, change_of_gap, change_of_rate

#: Quantity → what it needs of the rows.
_NEEDS = {
    "accuracy": ("predictions", "labels"), "auc": ("labels", "scores"), "brier": ("labels", "scores"),
    "madd": ("scores of groups",), "abroca": ("labels", "scores of groups"),
}  # fmt: skip
#: What quantities of scores need: of all rows, or of groups, whose weights may differ from group to group.
_SCORES = ("scores", "scores of groups")
_DRAWN = frozenset({"madd", "abroca"})
_METHODS = {"auc": "DeLong", "brier": "paired t", **dict.fromkeys(_DRAWN, "paired bootstrap, directional")}
_ARGUMENTS = {"predictions": "y_pred", "labels": "y_true", **dict.fromkeys(_SCORES, "score")}


@dataclass(frozen=True, eq=False)
class ModelRows:
    """Validated rows with the predictions and scores of several models.

    `outcomes`: groups, weights, clusters, and labels (all 0 where there are none); `predictions`, `scores`:
    model → codes, or scores, shape (n,).
    """

    outcomes: Outcomes
    labelled: bool
    predictions: dict[str, NDArray[Any]]
    scores: dict[str, NDArray[np.float64]]

    @classmethod
    def read(
        cls, y_true: Any, predictions: Mapping[str, Any], scores: Mapping[str, Any], options: Mapping[str, Any],
        columns: Mapping[str, str] | None = None,
    ) -> ModelRows:  # fmt: skip
        """Encode columns; a row that any of them lacks is missing.

        `predictions`, `scores`: model → column; `options`: arguments that say how rows are read; `columns`:
        model → name of its column in messages.
        """
        named = columns or {name: f"y_pred[{name!r}]" for name in predictions}
        names = {"y_true": y_true, **{named[model]: values for model, values in predictions.items()}}
        others = {name: options.get(name) for name in ("sensitive_features", "sample_weight", "cluster")}
        check_row_labels(y_true=y_true, y_pred=dict(predictions), score=dict(scores), **others)
        said = [_by_column(name, options.get(name), named) for name in ("pos_label", "label_values")]
        read = binary_columns(*said, **names)
        codes = {name: np.where(c.codes < 0, np.nan, c.codes) for name, c in read.items() if c}
        numbers = {name: as_float_column(values, "score") for name, values in scores.items()}
        for name, values in numbers.items():
            known = ~np.isnan(values)
            numbers[name] = np.where(known, 0.0, np.nan)
            numbers[name][known] = on_unit_interval(values[known], "score")
        true = codes.pop("y_true", None)
        answers = [*codes.values(), *numbers.values()]
        lengths = {name: c.size for name, c in {"y_true": true, **codes, **numbers}.items() if c is not None}
        check_one_length(", ".join(lengths), lengths)
        lacking = np.isnan(answers[1:]).any(axis=0)
        first = answers[0] if codes else np.where(np.isnan(answers[0]), np.nan, 0.0)
        labels, extra = np.zeros(first.size) if true is None else true, np.where(lacking, np.nan, 0.0)
        outcomes = Outcomes.from_arrays(
            labels, first, extra=extra, **rows_among({**options, "pos_label": None, "label_values": None})
        )
        unfavourable = {
            name: outcomes.rows_by_label(labels.beside, labels.codes)
            for name, labels in read.items() if labels is not None and labels.beside is not None
        }  # fmt: skip
        outcomes = replace(outcomes, missing=replace(outcomes.missing, unfavourable=unfavourable))
        kept = slice(None) if outcomes.kept is None else outcomes.kept
        coded = {model: codes[named[model]][kept].astype(np.int64) for model in predictions}
        return cls(outcomes, true is not None, coded, {name: values[kept] for name, values in numbers.items()})

    @property
    def labels(self) -> NDArray[np.int64]:
        """Labels 0 and 1, shape (n,)."""
        return np.asarray(self.outcomes.y_true).astype(np.int64)

    def counts(self, model: str, baseline: str) -> PairedCounts | None:
        """Label × prediction of the baseline × prediction of the model; None where one has none."""
        if model not in self.predictions or baseline not in self.predictions:
            return None
        cell = 7 - 4 * self.labels - 2 * self.predictions[baseline] - self.predictions[model]
        return PairedCounts._count_rows(self.outcomes, cell).without_even_weights()


def _by_column(argument: str, value: Any, columns: Mapping[str, str]) -> Any:
    """What is said of every column of labels; a mapping may name y_pred for all models, or each by its name."""
    if not isinstance(value, Mapping) or set(columns.values()) <= {"y_pred", "y_pred_b"}:
        return value
    if unknown := set(value) - {"y_true", "y_pred", *columns}:
        got = f"a mapping with {', '.join(sorted(map(repr, unknown)))}"
        raise InputError(argument, got=got, allowed="y_true, y_pred, and names of models", cure="name the columns")
    labels = {column: value.get(name, value.get("y_pred")) for name, column in columns.items()}
    return {name: own for name, own in {"y_true": value.get("y_true"), **labels}.items() if own is not None}


def compare_all(
    data: ModelRows | PairedCounts, models: Sequence[str], metrics: str | Sequence[str], baseline: str | None,
    reference: Any, settings: Inference, rng: np.random.Generator, *, chosen_by: int = 0,
) -> ModelComparison:  # fmt: skip
    """Every metric of every model, and every change; of counts those of two models.

    `chosen_by`: whose selection rates tell the highest: of the first pair the baseline (0) or the model (1).
    """
    if isinstance(data, PairedCounts):
        data = data.without_even_weights()
    rows, counted = (None, data) if isinstance(data, PairedCounts) else (data, None)
    wanted = _metrics(metrics, rows)
    if rows is None or not _DRAWN & set(wanted):
        settings = replace(settings, seed=None)  # nothing is drawn
    named = combinations(models, 2) if baseline is None else ((baseline, m) for m in models if m != baseline)
    pairs = [ModelPair(b, a, counted if rows is None else rows.counts(b, a)) for a, b in named]
    first = next((p.counts for p in pairs if p.counts is not None), None)
    if first is not None:
        groups, sizes = first.groups, first.group_sizes
        rates = PairedRate(first, RATES["selection_rate"], False).values[chosen_by]
    else:
        out = data.outcomes if isinstance(data, ModelRows) else None
        groups = out.groups.labels  # type: ignore[union-attr]
        sizes, rates = np.bincount(out.groups.codes, minlength=len(groups)), None  # type: ignore[union-attr]
    check_groups(groups)
    index, rule = find_reference(groups, reference, sizes=sizes, rates=rates)
    work = _Work(tuple(models), groups, index, replace(settings, reference_rule=rule), pairs)
    changes: list[PairedChange] = []
    for name in wanted:
        scored = rows is not None and name in _METHODS
        changes += work.of_scores(name, rows, rng) if scored else work.of_rates(name)  # type: ignore[arg-type]
    told = wanted, tuple(models), tuple(changes), tuple(work.values), work.settings, groups[index], tuple(work.pairs)
    return warned(ModelComparison(*told), "compare_models", plain=UNCHANGED)


@dataclass(eq=False)
class _Work:
    """The models, the groups, and what was found so far."""

    models: tuple[str, ...]
    groups: tuple[str, ...]
    reference: int
    settings: Inference
    pairs: list[ModelPair]

    def __post_init__(self) -> None:
        self.values: list[ModelValue] = []
        self.compared = make_pairs(len(self.groups), self.reference, self.settings.comparisons)
        every = len(make_pairs(len(self.groups), 0, "all"))
        #: comparisons that the data could have chosen: their number (0: none), and how many per one made
        self.among = every if self.settings.reference_rule == "highest" else 0
        self.chosen = every / len(self.compared) if self.among else 1.0

    def of_rates(self, name: str) -> list[PairedChange]:
        """Changes of a metric of rates, or of accuracy."""
        metric = find_metric(name)
        found: list[Found] = []
        for pair in self.pairs:
            counts = pair.counts
            if counts is None:
                continue
            if metric is None:
                rate = PairedRate(counts, RATES[name], False)
                found += [change_of_rate(rate, (g,), name, pair, "better") for g in range(len(self.groups))]
            elif metric.contrast == "gap":
                found.append(change_of_gap(metric, counts, pair))
            else:
                for row, key in zip(metric.row_names, metric.rates, strict=True):
                    rate = PairedRate(counts, RATES[key], metric.contrast == "ratio")
                    found += [change_of_rate(rate, groups, row, pair, metric.contrast) for groups in self.compared]
        return self._finished(found, self.chosen if metric is not None and metric.contrast != "gap" else 1.0)

    def of_scores(self, name: str, rows: ModelRows, rng: np.random.Generator) -> list[PairedChange]:
        """Changes of a quantity of scores; the models' own values are kept, with verdicts on distances."""
        models = [m for m in self.models if m in rows.scores]
        scores, y, codes = np.stack([rows.scores[m] for m in models]), rows.labels, rows.outcomes.groups.codes
        pairs = [p for p in self.pairs if p.model in models and p.baseline in models]
        at = [(models.index(p.model), models.index(p.baseline)) for p in pairs]
        s, single, margin = self.settings, name in ("auc", "brier"), float(self.settings.margin)  # type: ignore[arg-type]
        asked: list[tuple[int, ...]] = [*((g,) for g in range(len(self.groups))), ()] if single else [*self.compared]
        drawn: dict[int, DrawnCurves | None] = {}
        if name == "abroca":
            cuts = [score_cuts(own) for own in scores]
            for g in dict.fromkeys(g for pair in self.compared for g in pair):
                drawn[g] = DrawnCurves.of(scores[:, codes == g], y[codes == g], cuts, s.n_resamples, rng)
        each = 1 - (1 - s.confidence_level) / (1 if single else max(self.among, 1))
        found: list[Found] = []
        values: list[ModelValue] = []
        evidence: list[Evidence] = []
        for groups in asked:
            members = [codes == g for g in groups] or [np.ones(codes.size, dtype=bool)]
            parts, labels = [scores[:, m] for m in members], [y[m] for m in members]
            names = tuple(self.groups[g] for g in groups) or (OVERALL,)
            measured: Measured | str
            if single:
                measured = (auc if name == "auc" else brier)(parts[0], labels[0], at)
            elif name == "madd":
                measured = madd((parts[0], parts[1]), at, 2 * margin, s.n_resamples, rng)
            else:
                measured = abroca(drawn[groups[0]], drawn[groups[1]], at, margin)
            level: Level | str
            if isinstance(measured, str):
                sizes = (n.size if name in ("madd", "brier") else np.bincount(n, minlength=2).min() for n in labels)
                few = [g for g, size in zip(names, sizes, strict=True) if size < MIN_ROWS]
                level = f"{' and '.join(few or names)}: {measured}"
                changes: Mapping[tuple[int, int], Change | str] = dict.fromkeys(at, level)
                estimates = [nan] * len(models)
            else:
                level, changes, estimates = measured.level, measured.changes, measured.level.estimates.tolist()
                if name == "madd":
                    self._keep_bins(measured, pairs, at, names)
            n = sum(own.size for own in labels)
            row: dict[str, Any] = {"name": name, "groups": names, "n": n, "method": _METHODS[name], "kind": KINDS[name]}
            for p, (b, a) in zip(pairs, at, strict=True):
                found.append(Found(**row, pair=p, change=changes[b, a], ends=(estimates[a], estimates[b])))
            values += [_score_value(row, m, level, k, s.confidence_level, each) for k, m in enumerate(models)]
            evidence += [Evidence()] * len(models) if isinstance(level, str) else level.evidence
        for k in range(0 if single else len(models)):  # of a model over all pairs, also those that the data chose from
            of_model = list(zip(values[k :: len(models)], evidence[k :: len(models)], strict=True))
            values[k :: len(models)] = as_family(of_model, s, chosen_among=self.among)
        self.values += values
        return self._finished(found, 1.0 if single else self.chosen)

    def _keep_bins(
        self,
        measured: Measured,
        pairs: Sequence[ModelPair],
        positions: Sequence[tuple[int, int]],
        names: tuple[str, ...],
    ) -> None:
        """Rows of a group and its reference by the bins of both models' scores: what a change of MADD rests on."""
        for pair, (model, baseline) in zip(pairs, positions, strict=True):
            place = next(k for k, p in enumerate(self.pairs) if (p.model, p.baseline) == (pair.model, pair.baseline))
            table = bins_of_models(measured, model, baseline, group=names[0], reference=names[1])
            self.pairs[place] = replace(self.pairs[place], grids=(*self.pairs[place].grids, table))

    def _finished(self, found: list[Found], chosen: float) -> list[PairedChange]:
        return list(finished(found, self.settings.confidence_level, self.settings.adjust, chosen))


def _score_value(
    row: dict[str, Any], model: str, level: Level | str, k: int, confidence: float, each: float
) -> ModelValue:
    """A quantity of scores of one model; `level`: in words why there is none; `each`: level of its limits."""
    names = (*row["groups"], "")
    known: dict[str, Any] = {"verdict": "insufficient evidence", "note": level}
    ends = nan, nan
    if not isinstance(level, str):
        ends = level.parts[k].limits(normal_quantile((1 + each) / 2, level.degrees_of_freedom))
        known = {"estimate": float(level.estimates[k]), "std_error": float(level.std_errors[k])}
    return ModelValue(
        metric=row["name"], group=names[0], reference=names[1], n=row["n"], method=row["method"], model=model,
        confidence_interval=Interval(*ends, confidence, row["method"]), **known,
    )  # fmt: skip


def _metrics(asked: Any, rows: ModelRows | None) -> tuple[str, ...]:
    """The names of the metrics, after checking that the data give what each needs."""
    if isinstance(asked, str) and asked == "all":
        audited = (m.name for m in METRICS.values() if m.audit == "yes" and "predictions" in m.needs)
        left_out = [q for q in QUANTITIES if not available(q, rows) and {*_SCORES} & {*_needs(q)}]
        if left_out and rows is not None and len(rows.scores) > 1:
            why = "they compare rows of equal weight, and these have weights or clusters"
            cure = "Without sample_weight= and cluster= they are of the rows as they are."
            caution(f"{', '.join(left_out)} are left out: {why}. {cure}", DataWarning)
        return tuple(name for name in (*audited, *QUANTITIES) if available(name, rows))
    asked = [asked] if isinstance(asked, str) else asked
    fine = isinstance(asked, (list, tuple)) and all(isinstance(name, str) for name in asked)
    check_that(fine, "metrics", asked, "the name of a metric, or a list of names", 'metrics="all"')
    names = tuple(dict.fromkeys(asked))
    check_that(bool(names), "metrics", "none", "at least one metric", 'metrics="disparate_impact"')
    for name in names:
        metric = find_metric(name)
        if name not in QUANTITIES and (metric is None or "predictions" not in metric.needs):
            allowed = f"a metric of rates of predictions, {', '.join(map(repr, QUANTITIES))}, or 'all'"
            cure = "e.g. 'disparate_impact', 'equal_opportunity_difference', 'f1_ratio'"
            raise InputError("metrics", got=repr(name), allowed=allowed, cure=cure)
        if lacking := [part for part in _needs(name) if part not in _there(rows)]:
            of_models = {} if rows is None else {"predictions": rows.predictions, **dict.fromkeys(_SCORES, rows.scores)}
            there = of_models.get(lacking[0], {})
            got = f"those of {next(iter(there))!r} alone" if len(there) == 1 else "none"
            allowed = f"{lacking[0].removesuffix(' of groups')} of every model, which {name} needs"
            cure = "leave the metric out, or pass them row by row"
            if lacking[0] in _SCORES and len(there) > 1:
                got, allowed = "weights or clusters", f"rows of equal weight for {name}"
                cure = "leave the metric out, or sample_weight= and cluster= (the answer is then for these rows)"
            raise InputError(_ARGUMENTS[lacking[0]], got=got, allowed=allowed, cure=cure)
    return names


def available(name: str, rows: ModelRows | None) -> bool:
    """Whether the data give what a metric needs; `rows`: None for counts."""
    return _there(rows).issuperset(_needs(name))


def _there(rows: ModelRows | None) -> set[str]:
    if rows is None:
        return {"predictions", "labels"}
    found = {"predictions"} if len(rows.predictions) > 1 else set()
    if len(rows.scores) > 1 and rows.outcomes.cluster is None:
        within, throughout = _even(rows.outcomes)
        found |= {"scores of groups"} if within else set()
        found |= {"scores"} if throughout else set()
    return found | {"labels"} if rows.labelled else found


def _even(outcomes: Outcomes) -> tuple[bool, bool]:
    """Whether rows have one weight within every group, and whether all rows have one."""
    if outcomes.weight is None:
        return True, True
    groups, weight = outcomes.groups.codes, outcomes.weight
    sums = [np.bincount(groups, values) for values in (None, weight, weight**2)]
    within = bool(even_weights(*sums).all())
    return within, within and bool(even_weights(*(np.array([own.sum()]) for own in sums)).all())


def _needs(name: str) -> tuple[str, ...]:
    metric = find_metric(name)
    return _NEEDS.get(name) or (metric.needs if metric else ())
