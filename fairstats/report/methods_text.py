"""The methods paragraph: definitions, intervals and tests that an audit used, with citations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from fairstats.report.statements import Statement

if TYPE_CHECKING:
    from types import ModuleType

    from fairstats.ground.results import Result
    from fairstats.report.settings import AuditSettings

__all__ = ["methods_and_references"]


def methods_and_references(
    module: ModuleType, results: Sequence[Result], settings: AuditSettings
) -> tuple[tuple[Statement, ...], tuple[str, ...]]:
    """What the methods paragraph says about one section, and the papers it cites.

    Parameters
    ----------
    module : module
        Section with ``WORDS``, ``REFERENCES`` and, where it has them, ``INTERVALS`` and ``TESTS``.
    results : sequence of Result
        Its results, over all sets of attributes.
    settings : AuditSettings
    """
    frames = [result.to_frame() for result in results]
    metrics = dict.fromkeys(metric for frame in frames for metric in frame["metric"])
    intervals = dict.fromkeys(method for frame in frames for method in frame["method"])
    intervals |= dict.fromkeys(c.bounds.method for r in results for c in getattr(r, "comparisons", ()))
    said: list[Statement] = []
    cited: list[str] = []
    for metric in metrics:
        words = module.WORDS.get(metric)
        if words is not None:
            said.append(Statement(words.title, words.definition))
            cited.extend(words.references)
    known = getattr(module, "INTERVALS", {})
    lines = _lines((known[m] for m in intervals if m in known), cited)
    if lines:
        said.append(Statement("Intervals", " ".join(lines)))
    tests = getattr(module, "TESTS", {})
    lines = _lines((tests[key] for key in _kinds_of_tests(results, settings) if key in tests), cited)
    if lines:
        said.append(Statement("Tests and variances", " ".join(lines)))
    references = [module.REFERENCES[key] for key in dict.fromkeys(cited)]
    return tuple(said), tuple(sorted(references))


def _lines(pairs: Iterable[tuple[str, tuple[str, ...]]], cited: list[str]) -> list[str]:
    lines = []
    for text, keys in pairs:
        lines.append(text[:1].upper() + text[1:])
        cited.extend(keys)
    return lines


def _kinds_of_tests(results: Sequence[Result], settings: AuditSettings) -> list[str]:
    comparisons = [c for r in results for c in getattr(r, "comparisons", ())]
    tests = [t for c in comparisons for t in c.tests]
    counts = [r.counts for r in results if hasattr(r, "counts")]
    kinds = {
        "one-sided": any(t.alternative in ("less", "greater") for t in tests),
        "equivalence": any(t.alternative == "equivalence" for t in tests),
        "exact": any("exact" in t.method for t in tests),
        "clusters": any("whole clusters" in t.method for t in tests),
        "holm": settings.adjust == "holm" or settings.family == "audit",
        "weighted": any(getattr(c, "weighted", False) for c in counts),
        "worst case": any(getattr(r, "metric", "") == "worst_case" for r in results),
    }
    return [kind for kind, used in kinds.items() if used]
