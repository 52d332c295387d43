"""The rows behind a report, read again with the report's own columns and settings."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from fairstats.ground.errors import FairstatsWarning, InputError
from fairstats.ground.frames import as_frame_columns
from fairstats.ground.groups import INTERSECTION
from fairstats.report.inputs import AuditInput, build_input

if TYPE_CHECKING:
    from fairstats.report.report import AuditReport

__all__ = ["ReportRows"]


class ReportRows:
    """The data of a report: arguments of the methods, one set of attributes at a time.

    Parameters
    ----------
    report : AuditReport
    frame : data frame
        What was audited.

    Raises
    ------
    InputError
        Where a column lacks, or the rows are not those of the report.
    """

    def __init__(self, report: AuditReport, frame: Any) -> None:
        self._report = report
        self._table = as_frame_columns(frame, report.columns.names, "data")
        self._made: dict[tuple[str, ...], Mapping[str, Any]] = {}

    def arguments(self, attributes: tuple[str, ...]) -> Mapping[str, Any]:
        """Columns by the names that the methods' functions give them, for one set of attributes."""
        if attributes not in self._made:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FairstatsWarning)
                self._made[attributes] = self._arguments(attributes)
        return self._made[attributes]

    def _arguments(self, attributes: tuple[str, ...]) -> Mapping[str, Any]:
        columns, settings = self._report.columns, self._report.settings
        labels = {"y_true": columns.favorable_true, "y_pred": columns.favorable_pred}
        named = {name: label for name, label in labels.items() if label is not None}
        given = build_input(
            self._table, attributes, columns, settings, pos_label=named or None, reference=None
        )
        self._check(given)
        out = given.outcomes
        return {
            "X": given.features,
            "y_true": out.y_true,
            "y_pred": out.y_pred,
            "score": out.score,
            "sensitive_features": np.array([out.groups.labels[code] for code in out.groups.codes]),
            "attribute": INTERSECTION.join(attributes),
            "sample_weight": out.weight,
            "cluster": None if out.cluster is None else out.cluster.codes,
            "counterfactual_score": given.counterfactual_score,
        }

    def _check(self, given: AuditInput) -> None:
        """Raise unless the rows give the counts of the report."""
        for table in self._report.tables:
            if tuple(table.attributes) == given.attributes:
                ours = dict(zip(table.groups, np.asarray(table.rows).tolist(), strict=True))
                now = dict(zip(given.counts.groups, np.asarray(given.counts.rows).tolist(), strict=True))
                if ours != now:
                    by = INTERSECTION.join(given.attributes)
                    raise InputError(
                        "data",
                        got=f"{given.counts.n:,} rows whose counts by {by!r} are not those of the report",
                        allowed=f"the {table.n:,} rows that were audited",
                        cure="pass the file of the audit, with the rows and the preparation that it had",
                    )
