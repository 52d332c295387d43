"""Notes of a report: what could not be computed and what had to be replaced, each said once."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from fairstats.ground.errors import (
    DataWarning,
    FairstatsWarning,
    InsufficientEvidenceWarning,
    MissingValuesWarning,
)
from fairstats.report.section import rests_on_score_bounds
from fairstats.report.sections import metric_title

if TYPE_CHECKING:
    from fairstats.report.report import AuditReport
    from fairstats.report.section import Section
    from fairstats.report.settings import AuditColumns

__all__ = ["collect_notes", "collected_warnings", "row_notes", "warn_once"]


@contextmanager
def collected_warnings() -> Iterator[list[str]]:
    """Collect the texts of fairstats' warnings; let every other warning through."""
    texts: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield texts
    for warning in caught:
        if issubclass(warning.category, FairstatsWarning):
            texts.append(str(warning.message))
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)


def collect_notes(sections: Sequence[Section], columns: AuditColumns) -> list[str]:
    """Every note of the results, with the metrics it is about, then other warnings."""
    found: list[str] = []
    if columns.score is not None and columns.y_true is None:
        found.append(f"ABROCA needs the outcomes (y_true): the score {columns.score} was used for MADD only.")
    elif columns.score is not None and (columns.sample_weight or columns.cluster):
        found.append(
            f"ABROCA takes neither weights nor clusters: the score {columns.score} was used for MADD only."
        )
    for section in sections:
        about: dict[str, dict[str, None]] = {}
        for result in section.results:
            for metric, note in [*row_notes(result), *_bounds_notes(result)]:
                title = metric_title(metric, metric).partition(":")
                about.setdefault(note, {})[title[2].strip() or title[0]] = None
        for note, metrics in about.items():
            found.append(f"{section.attribute_text}: {note} ({'; '.join(metrics)})")
        found.extend(f"{section.attribute_text}: {text}" for text in section.warnings)
    return found


def _bounds_notes(result: Any) -> list[tuple[str, str]]:
    """Pairs (metric, note) of verdicts that rest on another method than the interval, for want of cases."""
    return [
        (c.metric, f"{c.group}: fewer than 5 successes or failures, tests and verdict are by score.")
        for c in getattr(result, "comparisons", ())
        if rests_on_score_bounds(c) and not c.note
    ]


def row_notes(result: Any) -> list[tuple[str, str]]:
    """Pairs (metric, note) of the rows that carry a note."""
    frame = result.to_frame()
    if "note" not in frame.columns:
        return []
    pairs = zip(frame["metric"], frame["note"], strict=True)
    return [(metric, note) for metric, note in pairs if isinstance(note, str) and note]


def warn_once(report: AuditReport, *, stacklevel: int = 2) -> None:
    """One warning per kind: rows left out, comparisons without evidence, methods replaced."""
    dropped = {t.missing.sentence for t in report.tables if t.missing.n_dropped}
    if dropped:
        warnings.warn(" ".join(sorted(dropped)), MissingValuesWarning, stacklevel=stacklevel)
    lacking = report.verdicts["insufficient evidence"]
    if lacking:
        text = f"{lacking} comparisons have insufficient evidence; the report's notes say which, and why."
        warnings.warn(text, InsufficientEvidenceWarning, stacklevel=stacklevel)
    qualified = _qualified(report)
    if qualified:
        text = f"{qualified} comparisons are qualified (small or empty cells); the report's notes say how."
        warnings.warn(text, DataWarning, stacklevel=stacklevel)


def _qualified(report: AuditReport) -> int:
    """Comparisons that carry a note and yet a verdict."""
    frame = report.to_frame()
    if "note" not in frame.columns or "verdict" not in frame.columns:
        return 0
    noted = frame["note"].map(lambda note: isinstance(note, str) and bool(note))
    return int((noted & frame["verdict"].ne("insufficient evidence")).sum())
