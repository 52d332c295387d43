"""Common steps of the public rate functions: settings, counts, reference."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from fairstats.ground.counts import CellCounts, ConfusionCounts, SelectionCounts
from fairstats.ground.errors import InputError
from fairstats.ground.groups import find_reference
from fairstats.ground.outcomes import Outcomes
from fairstats.ground.randomness import as_generator
from fairstats.ground.results import check_choice, check_confidence_level
from fairstats.methods.rates.estimates import RateEstimates, estimate_rates
from fairstats.methods.rates.inference import compare_rates, warn_about
from fairstats.methods.rates.pair import Contrast
from fairstats.methods.rates.result import ComparisonResult, Inference
from fairstats.methods.rates.simultaneous import ADJUSTMENTS

__all__ = [
    "comparison_result",
    "confusion_table",
    "data_columns",
    "generator_for",
    "make_settings",
    "selection_table",
]

RATIO_METHODS = ("log", "delta", "score", "koopman", "bootstrap")
DIFFERENCE_METHODS = ("score", "delta", "mee", "bootstrap")
_Result = TypeVar("_Result", bound=ComparisonResult)


def make_settings(
    contrast: Contrast,
    *,
    method: str | None,
    threshold: float,
    alternative: str,
    confidence_level: float,
    simultaneous: str | None,
    adjust: str,
    comparisons: str,
    n_resamples: int,
    seed: int | None = None,
    methods: tuple[str, ...] | None = None,
    largest: float = 1.0,
) -> Inference:
    """Validated settings; `largest` bounds the threshold of a difference."""
    if method is not None:
        check_choice(
            "method", method, methods or (RATIO_METHODS if contrast == "ratio" else DIFFERENCE_METHODS)
        )
    check_choice("alternative", alternative, ("two-sided", "less", "greater"))
    check_choice("simultaneous", simultaneous, (None, "bonferroni", "max-z"))
    check_choice("comparisons", comparisons, ("reference", "all"))
    check_choice("adjust", adjust, ADJUSTMENTS)
    level = check_confidence_level(confidence_level)
    if level <= 0.5:
        raise InputError(
            "confidence_level",
            got=repr(confidence_level),
            allowed="more than 0.5: verdicts rest on one-sided bounds at this level",
            cure="0.95, say",
        )
    limit = np.inf if contrast == "ratio" else largest
    if not isinstance(threshold, (int, float, np.number)) or not 0 < threshold < limit:
        raise InputError(
            "threshold",
            got=repr(threshold),
            allowed="a ratio above 0, e.g. 0.8" if contrast == "ratio" else "a size in (0, 1), e.g. 0.1",
            cure="use the tolerance that applies to the case",
        )
    if not isinstance(n_resamples, (int, np.integer)) or n_resamples < 100:
        raise InputError("n_resamples", got=repr(n_resamples), allowed="100 or more", cure="9999, say")
    return Inference(
        method=method or "delta",
        confidence_level=level,
        alternative=alternative,
        threshold=float(threshold),
        simultaneous=simultaneous,
        adjust=adjust,
        comparisons=comparisons,
        n_resamples=int(n_resamples),
        seed=seed,
    )


def selection_table(y_pred: Any, counts: Any, **columns: Any) -> CellCounts:
    """Selection or confusion counts, from rows or as given."""
    if counts is not None:
        return _given(counts, y_pred, columns, selection=True)
    if y_pred is None:
        raise _nothing("y_pred")
    return SelectionCounts.from_outcomes(Outcomes.from_arrays(None, y_pred, **columns))


def confusion_table(y_true: Any, y_pred: Any, counts: Any, **columns: Any) -> ConfusionCounts:
    """Confusion counts, from rows or as given."""
    if counts is not None:
        table = _given(counts, y_pred, columns, selection=False)
        if not isinstance(table, ConfusionCounts):
            raise InputError(
                "counts",
                got="selection counts",
                allowed="confusion counts (tp, fp, fn, tn): this metric needs the labels",
                cure="pass ConfusionCounts, or y_true and y_pred",
            )
        return table
    if y_pred is None or y_true is None:
        raise _nothing("y_true, y_pred")
    return ConfusionCounts.from_outcomes(Outcomes.from_arrays(y_true, y_pred, **columns))


def _nothing(argument: str) -> InputError:
    return InputError(
        argument,
        got="None",
        allowed=f"{argument} and sensitive_features, row by row, or counts=",
        cure="pass the columns, or ConfusionCounts.from_counts(…)",
    )


def _given(counts: Any, y_pred: Any, columns: Mapping[str, Any], *, selection: bool) -> CellCounts:
    if y_pred is not None or columns.get("sensitive_features") is not None:
        raise InputError(
            "counts",
            got="both counts and rows",
            allowed="either counts= or the columns",
            cure="leave one of them out",
        )
    if isinstance(counts, (ConfusionCounts, SelectionCounts)):
        return counts
    if isinstance(counts, CellCounts):
        raise InputError(
            "counts",
            got=type(counts).__name__,
            allowed="SelectionCounts or ConfusionCounts, or a mapping or frame of them",
            cure="pass the confusion counts of one model",
        )
    if selection and _holds_selections(counts):
        return SelectionCounts.from_counts(counts)
    return ConfusionCounts.from_counts(counts)


def _holds_selections(counts: Any) -> bool:
    """Whether a mapping or frame holds two cells per group rather than four."""
    if isinstance(counts, Mapping):
        cells = next(iter(counts.values()), ())
        return hasattr(cells, "__len__") and len(cells) == 2
    import narwhals as nw

    native = nw.from_native(counts, pass_through=True)
    return isinstance(native, (nw.DataFrame, nw.LazyFrame)) and "selected" in native.collect_schema().names()


def comparison_result(
    kind: type[_Result],
    table: CellCounts,
    *,
    rate: str,
    metric: str,
    words: str,
    contrast: Contrast,
    reference: Hashable | None,
    settings: Inference,
    rng: Any = None,
    quiet: bool = False,
) -> _Result:
    """Compare one rate over all groups of a table."""
    from dataclasses import replace

    estimates: RateEstimates = estimate_rates(table, rate)
    if len(estimates.groups) > 1:
        index, rule = find_reference(
            estimates.groups, reference, sizes=table.group_sizes, rates=estimates.rate
        )
    else:
        index, rule = 0, "largest"
    generator, seed = generator_for(settings, rng)
    settings = replace(settings, reference_rule=rule, seed=seed)
    comparisons = compare_rates(
        estimates, metric=metric, contrast=contrast, reference=index, settings=settings, rng=generator
    )
    result = kind(metric=metric, comparisons=comparisons, settings=settings, counts=table, words=words)
    if not quiet:
        warn_about(result)
    return result


def generator_for(settings: Inference, rng: Any) -> tuple[np.random.Generator | None, int | None]:
    """Generator and its seed where the method needs one."""
    return as_generator(rng) if settings.method == "bootstrap" else (None, None)


def data_columns(
    sensitive_features: Any,
    sample_weight: Any,
    cluster: Any,
    pos_label: Any,
    missing: Any,
    groups: Sequence[Hashable] | None,
) -> dict[str, Any]:
    """Keyword arguments of `Outcomes.from_arrays`."""
    return {
        "sensitive_features": sensitive_features,
        "sample_weight": sample_weight,
        "cluster": cluster,
        "pos_label": pos_label,
        "missing": missing,
        "groups": groups,
    }
