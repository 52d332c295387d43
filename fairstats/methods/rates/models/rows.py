"""Rows with the predictions and scores of several models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import check_one_length
from fairstats.ground.counts import PairedCounts
from fairstats.ground.encoding import as_float_column, binary_columns
from fairstats.ground.errors import InputError
from fairstats.ground.outcomes import Outcomes, check_probability, check_row_labels
from fairstats.methods.rates.setup import rows_among


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
        cls,
        y_true: Any,
        predictions: Mapping[str, Any],
        scores: Mapping[str, Any],
        options: Mapping[str, Any],
        columns: Mapping[str, str] | None = None,
    ) -> ModelRows:
        """Encode columns; a row that any of them lacks is missing.

        `predictions`, `scores`: model → column; `options`: arguments that say how rows are read; `columns`:
        model → name of its column in messages.
        """
        named = columns or {name: f"y_pred[{name!r}]" for name in predictions}
        names = {"y_true": y_true, **{named[model]: values for model, values in predictions.items()}}
        others = {name: options.get(name) for name in ("sensitive_features", "sample_weight", "cluster")}
        check_row_labels(y_true=y_true, y_pred=dict(predictions), score=dict(scores), **others)
        label = _pos_labels(options["pos_label"], named)
        codes = {name: _coded(c) for name, c in binary_columns(label, **names).items() if c}
        numbers = {name: as_float_column(values, "score") for name, values in scores.items()}
        for values in numbers.values():
            check_probability(values[~np.isnan(values)], "score")
        true = codes.pop("y_true", None)
        answers = [*codes.values(), *numbers.values()]
        lengths = {name: c.size for name, c in {"y_true": true, **codes, **numbers}.items() if c is not None}
        check_one_length(", ".join(lengths), lengths)
        lacking = np.isnan(answers[1:]).any(axis=0)
        first = answers[0] if codes else np.where(np.isnan(answers[0]), np.nan, 0.0)
        outcomes = Outcomes.from_arrays(
            np.zeros(first.size) if true is None else true,
            first,
            extra=np.where(lacking, np.nan, 0.0),
            **rows_among({**options, "pos_label": None}),
        )
        kept = slice(None) if outcomes.kept is None else outcomes.kept
        return cls(
            outcomes,
            true is not None,
            {model: codes[named[model]][kept].astype(np.int64) for model in predictions},
            {name: values[kept] for name, values in numbers.items()},
        )

    @property
    def labels(self) -> NDArray[np.int64]:
        """Labels 0 and 1, shape (n,)."""
        return np.asarray(self.outcomes.y_true).astype(np.int64)

    def counts(self, model: str, baseline: str) -> PairedCounts | None:
        """Label × prediction of the baseline × prediction of the model; None where one has none."""
        if model not in self.predictions or baseline not in self.predictions:
            return None
        cell = 7 - 4 * self.labels - 2 * self.predictions[baseline] - self.predictions[model]
        return PairedCounts.count_rows(self.outcomes, cell)


def _coded(column: Any) -> NDArray[np.float64]:
    """Codes 0 and 1 as floats, NaN where a value is missing."""
    codes: NDArray[np.float64] = column.codes.astype(np.float64)
    codes[codes < 0] = np.nan
    return codes


def _pos_labels(given: Any, columns: Mapping[str, str]) -> Any:
    """The favourable value of every column; a mapping may name y_pred for all models, or each by its name."""
    if not isinstance(given, Mapping) or set(columns.values()) <= {"y_pred", "y_pred_b"}:
        return given
    unknown = set(given) - {"y_true", "y_pred", *columns}
    if unknown:
        got = f"a mapping with {', '.join(sorted(map(repr, unknown)))}"
        raise InputError(
            "pos_label", got=got, allowed="y_true, y_pred, and names of models", cure="name the columns"
        )
    labels = {column: given.get(name, given.get("y_pred")) for name, column in columns.items()}
    return {
        name: value for name, value in {"y_true": given.get("y_true"), **labels}.items() if value is not None
    }
