"""Adjusted p-values where the family is the whole audit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fairstats.report.crosscheck.adjusted import ADJUSTED, adjusted_in_r
from fairstats.report.crosscheck.check import Check

if TYPE_CHECKING:
    from fairstats.report.crosscheck.bench import Bench
    from fairstats.report.report import AuditReport

__all__ = ["family_checks"]


def family_checks(report: AuditReport, bench: Bench) -> Iterator[Check]:
    """Every adjusted p-value of an audit whose family is the audit.

    Where the data chose a reference, the pairs that it could have chosen count, and the adjustment is
    Bonferroni's.
    """
    rows = []
    for section in report.sections:
        for result in section.results:
            if hasattr(result, "with_adjusted"):
                factor = _chosen_among(result)
                for row in result.to_frame().to_dict("records"):
                    rows.append((section, row, factor))
    raw = [
        min(float(row["pvalue"]) * factor, 1.0) if row["pvalue"] == row["pvalue"] else np.nan
        for _, row, factor in rows
    ]
    method = "bonferroni" if any(factor > 1 for *_, factor in rows) else "holm"
    found, source = adjusted_in_r(bench, raw, method)
    for (section, row, _), adjusted in zip(rows, found, strict=True):
        place = bench.place(str(row["metric"]), str(row["group"] or ""), str(row["reference"] or ""))
        check = place.compare(ADJUSTED, row["pvalue_adjusted"], adjusted, source)
        yield replace(check, section=section.key, sensitive_features=section.attribute_text)


def _chosen_among(result: Any) -> float:
    rule = getattr(getattr(result, "settings", None), "reference_rule", "")
    counts = getattr(result, "counts", None)
    return 1.0 if rule != "highest" or counts is None else max(len(counts.groups) / 2, 1.0)
