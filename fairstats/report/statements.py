"""What a report says about its own inference: statements, methods, notes, gaps beside differences."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from fairstats.ground import errors
from fairstats.ground.groups import INTERSECTION
from fairstats.ground.outcomes import words_of_labels
from fairstats.ground.registry import RATES, Rate, find_metric
from fairstats.methods.madd.result import MaddResult
from fairstats.methods.rates.maxima import MaximumResult
from fairstats.methods.rates.result import ComparisonResult, DifferenceResult, RatioResult
from fairstats.methods.rates.stratified_result import CONDITIONAL, StratifiedComparison
from fairstats.report.claims import same_question
from fairstats.report.contents import Statement, compared, rests_on_exact_test
from fairstats.report.sections import REFERENCES, SectionEntry, metric_title

if TYPE_CHECKING:
    from fairstats.ground.counts import CellCounts
    from fairstats.ground.results import Result
    from fairstats.report.contents import Contents, Section
    from fairstats.report.inputs import AuditColumns, AuditSettings

_CONDITIONAL = (
    "Inference is conditional on the fitted model: intervals and tests are about these predictions in the "
    "population that the rows were sampled from. The uncertainty of fitting the model again is not in them."
)
_TRAINING = {
    None: "It was not stated whether the rows evaluated were used to train the model. If they were, error "
    "rates, and their differences, may look better than on new cases.",
    "training": "The rows evaluated were used to train the model: error rates, and their differences, may "
    "look better than on new cases.",
    "held-out": "The rows evaluated were not used to train the model.",
}
_LIMITS = (
    "Ratios and differences describe what is, not why: they establish neither a cause nor a finding of "
    "law. The thresholds are conventions that the reader may replace: the intervals serve for any other."
)
_OF_VERDICTS = (
    "The p-value of a verdict is about its own null hypothesis, and is adjusted {}. The tests against each single "
    "threshold are unadjusted."
)
#: A largest gap in words, by what it is sought over.
_GAPS = {"": "gap", "all pairs": "largest gap of all pairs", "both rates": "larger gap of both rates"}


class _Judged(NamedTuple):
    """One verdict on a rate of two groups; `among`: what a largest gap is sought over, empty for nothing."""

    scale: str
    rate: Rate
    verdict: str
    family: int
    comparison: Any
    among: str

    def words(self, settings: AuditSettings) -> str:
        """What was judged, against what."""
        least, margin = settings.threshold, settings.margin
        ratios = f"fair from {least:g} to {1 / least:.4g}" if least < 1 else "fair at 1 alone"
        fair = {
            "ratio": f"a ratio of the {self.rate.title}s ({ratios})",
            "difference": f"a difference of the {self.rate.title}s (fair within ±{margin:g})",
            "maximum": f"the {_GAPS[self.among]} (fair up to {margin:g})",
        }[self.scale]
        family = f", judged together with {self.family - 1} other rate" if self.family > 1 else ""
        return f"{self.verdict} as {fair}{family}"


def differing_verdicts(sections: Sequence[Section], settings: AuditSettings) -> list[str]:
    """A note for each rate on which groups got several verdicts, with the reason; none where all agree."""
    notes = []
    by_set: defaultdict[str, list[_Judged]] = defaultdict(list)
    for section in sections:
        by_set[section.attribute_text] += (judged for result in section.results for judged in _judged(result))
    for attribute, every in by_set.items():
        pairs: defaultdict[tuple[Any, ...], list[_Judged]] = defaultdict(list)
        for one in every:
            pairs[same_question(one.rate), frozenset((one.comparison.group, one.comparison.reference))].append(one)
        alike: defaultdict[tuple[Any, ...], list[list[_Judged]]] = defaultdict(list)
        for (rate, _), own in pairs.items():
            if len({one.verdict for one in own}) > 1:
                pattern = tuple((one.scale, one.rate.name, one.verdict, one.family) for one in own)
                alike[rate, pattern, own[0].comparison.reference].append(own)
        notes += [f"{attribute}: {_note(members, settings)}" for members in alike.values()]
        notes += [f"{attribute}: {text}" for one in every if (text := _beside_the_gap(one, every))]
    for section in sections:
        told = (result.beside_the_largest() for result in section.results if isinstance(result, MaddResult))
        notes += [f"{section.attribute_text}: {text}" for text in told if text]
    return notes


def _judged(result: Any) -> Iterator[_Judged]:
    """Verdicts on single rates; of a largest gap that of the pair that attains it."""
    if not isinstance(result, ComparisonResult):
        return
    for c in result.comparisons:
        metric = find_metric(c.metric)
        name = result.attained_by if isinstance(result, MaximumResult) else metric and "".join(metric.rates[:1])
        if name in RATES and c.verdict not in ("", "insufficient evidence"):
            family, among = len({other.metric for other in result.comparisons}), ""
            if isinstance(result, MaximumResult) and len(result.components) > 1:
                among = "all pairs" if len(result.counts.groups) > 2 else "both rates"
            yield _Judged(result.scale, RATES[name], c.verdict, family, c, among)


def _beside_the_gap(gap: _Judged, every: Sequence[_Judged]) -> str:
    """Why a largest gap and the differences of other pairs are judged unlike; empty where they are not."""
    metric = find_metric(gap.comparison.metric)
    if gap.scale != "maximum" or metric is None:
        return ""
    own = gap.comparison.group, gap.comparison.reference
    others = [one for one in every if one.scale == "difference" and one.rate.name in metric.rates]
    shown = [one for one in others if one.verdict == "violated"]
    if any({one.comparison.group, one.comparison.reference} == set(own) for one in shown):
        return ""
    found = f"{metric.title} is {gap.verdict} ({own[0]} against {own[1]}: {gap.comparison.estimate:.3f})"
    if shown and gap.verdict == "undecided":
        pairs = dict.fromkeys(f"{one.comparison.group} against {one.comparison.reference}" for one in shown)
        return (
            f"{found}, although a difference is violated for {', '.join(pairs)}: the largest gap is judged "
            "over all pairs at once, of which some are small groups, and needs more evidence."
        )
    if others and not shown and gap.verdict == "violated":
        return f"{found}, although no difference is: those are against {others[0].comparison.reference} alone."
    return ""


def _note(members: Sequence[Sequence[_Judged]], settings: AuditSettings) -> str:
    """One note on all pairs of groups with the same verdicts."""
    known = {(one.scale, one.rate.name, one.verdict) for one in members[0] if one.family == 1}
    told = [one for one in members[0] if one.family == 1 or (one.scale, one.rate.name, one.verdict) not in known]
    said = "; ".join(dict.fromkeys(one.words(settings) for one in told))
    groups = ", ".join(f"{own[0].comparison.group} ({_numbers(own)})" for own in members)
    text = f"{groups} against {members[0][0].comparison.reference}: {said}."
    ratio = next((one for one in members[0] if one.scale == "ratio"), None)
    if ratio is not None:
        rate, least = ratio.comparison.rate_reference, settings.threshold
        alike = f"a ratio of 1 is a difference of 0, not of {settings.margin:g}"
        if least < 1:
            sizes = f"{(1 - least) * rate:.3f} and {(1 / least - 1) * rate:.3f}"
            alike = f"ratios of {least:g} and {1 / least:.4g} are differences of {sizes}"
        text += f" At a {ratio.rate.title} of {100 * rate:.1f}% in the reference {alike}: these are two questions."
        if any(rests_on_exact_test(one.comparison) for own in members for one in own):
            text += " Where cases are few, each is judged by an exact test of its own."
    of_scale = {s: {one.verdict for one in members[0] if one.scale == s} for s in ("maximum", "difference")}
    unlike = of_scale["maximum"] - of_scale["difference"]
    if unlike:
        how = {
            "undecided": "and needs more evidence",
            "violated": "any of which may show it",
            "satisfied": "and is small where each of them is, without a share of the error for each",
        }
        among = next(one.among for one in members[0] if one.scale == "maximum")
        text += f" The largest gap is judged over {among} at once, {how[unlike.pop()]}."
    return text


def _numbers(own: Sequence[_Judged]) -> str:
    signs = {"ratio": ".3f", "difference": "+.3f", "maximum": ".3f"}
    return ", ".join(dict.fromkeys(f"{one.comparison.estimate:{signs[one.scale]}}".replace("-", "−") for one in own))


def make_statements(
    columns: AuditColumns, settings: AuditSettings, tables: Sequence[CellCounts], sections: Sequence[Section]
) -> tuple[Statement, ...]:
    """The statements of an audit; `tables`: one per set of attributes."""
    return (
        Statement("Conditional on the model", _CONDITIONAL),
        Statement("Rows used in training", _TRAINING[settings.evaluated_on]),
        Statement("Missing values", _missing(tables, settings)),
        *_labels(columns, tables),
        Statement("Sampling", _sampling(columns, tables)),
        Statement("Reference groups", _references(sections)),
        Statement("Verdicts", _verdicts(settings, columns)),
        Statement("p-values", _pvalues(settings)),
        Statement("What it cannot say", _LIMITS),
    )


def _missing(tables: Sequence[CellCounts], settings: AuditSettings) -> str:
    policy = {
        "raise": 'Missing values were not accepted (missing="raise"); none occurred.',
        "drop": 'Rows with a missing value were left out (missing="drop").',
        "group": 'Missing sensitive values form a group of their own (missing="group").',
    }[settings.missing]
    if settings.missing == "raise":
        return policy
    details = " ".join(f"{INTERSECTION.join(t.attributes)}: {t.missing.sentence}" for t in tables)
    if not any(t.missing.n_dropped for t in tables):
        return f"{policy} {details}"
    bounds = "Worst-case bounds are offered for unweighted, unclustered rows only."
    if any(t.missing.patterns for t in tables):
        bounds = "Worst-case bounds over all values that they could have are given with the results."
    return f"{policy} {details} Complete rows may differ from the rest. {bounds}"


def _labels(columns: AuditColumns, tables: Sequence[CellCounts]) -> list[Statement]:
    """Which labels counted as not favourable, where there are several."""
    names = {"y_true": columns.y_true, "y_pred": columns.y_pred}
    said = tables[0].missing.unfavourable if tables else {}
    texts = [words_of_labels(names.get(argument) or argument, labels) for argument, labels in said.items()]
    return [Statement("Labels", " ".join(texts))] if texts else []


def _sampling(columns: AuditColumns, tables: Sequence[CellCounts]) -> str:
    weighted = "" if columns.sample_weight is None else f" Rows are weighted by {columns.sample_weight}."
    units = f"{tables[0].n_units:,} clusters ({columns.cluster})" if tables else "clusters"
    drawn = f"Rows are grouped in {units}, taken as independent of each other; rows within one may depend."
    if columns.cluster is None:
        drawn = "Rows are taken as independent draws: pass cluster= where one person or site has several."
    return drawn + weighted


def _references(sections: Sequence[Section]) -> str:
    rules = {
        "named": "named by the user",
        "largest": "the largest group",
        "highest": "the group with the highest rate, chosen by the data: intervals are simultaneous over all pairs",
    }
    chosen: dict[tuple[str, str], dict[str, None]] = {}
    judged: list[tuple[str, Any]] = [(section.attribute_text, r) for section in sections for r in section.results]
    for names, result in judged:
        if compared(result) and not isinstance(result, MaximumResult):
            rule = "all" if result.settings.comparisons == "all" else result.settings.reference_rule
            chosen.setdefault((names, rule), {}).update(dict.fromkeys(c.reference for c in compared(result)))
    if chosen and all(rule == "all" for _, rule in chosen):
        return "All pairs of groups are compared with each other."
    named = [(names, rules[rule], refs) for (names, rule), refs in chosen.items() if rule != "all"]
    parts = [f"{names}: {', '.join(refs)} ({rule})" for names, rule, refs in named]
    if len(named) < len(chosen):
        parts.append("score distributions: all pairs of groups")
    return "; ".join(parts) + "." if parts else "No group is compared with a reference."


def _verdicts(s: AuditSettings, columns: AuditColumns) -> str:
    alpha = f"{100 * (1 - s.confidence_level):.3g}%"
    distance = "" if columns.score is None else f"; MADD {min(2 * s.margin, 2.0):g}"
    distance += "; ECD beyond ±0.05" if columns.counterfactual_scores else ""
    ratio = f"below {s.threshold:g} or above {1 / s.threshold:.4g}" if s.threshold < 1 else "other than 1"
    text = (
        f"“Violated” means that the data show a value outside the fair range (a ratio {ratio}; a difference beyond "
        f"±{s.margin:g}; a gap or area above {s.margin:g}{distance}), “satisfied” that they show one inside. Otherwise "
        "the verdict is “undecided”, which is no evidence of fairness. “Insufficient evidence” means that the data "
        "are too few for an interval, or cannot give the statistic at all. Beside a verdict stands the p-value of its "
        "own null hypothesis; it rests on one-sided limits, and where the interval seems to say something else, a "
        "sentence gives the reason. "
    )
    chosen = ", all pairs counted where the data chose the reference" if _chosen(s) else ""
    if s.adjust == "none":
        return text + (
            f"Each comparison is judged by itself, with an error of {alpha}{chosen}: of many verdicts some "
            'are wrong by chance; adjust="holm" guards all comparisons of one metric at once.'
        )
    share = "expected share of false verdicts" if s.adjust.startswith("fdr") else "error"
    return text + f"Over all comparisons of one metric the {share} is at most {alpha} ({s.adjust}{chosen})."


def _chosen(s: AuditSettings) -> bool:
    """Whether a reference was asked for that the data choose."""
    return "highest" in s.references.values()


def _pvalues(s: AuditSettings) -> str:
    tables = " In tables “p (equal)” and “p (verdict)” are adjusted."
    if s.simultaneous is not None:
        tables += f" Intervals hold for all comparisons of a metric at once ({s.simultaneous})."
    elif not _chosen(s):
        tables += " Intervals are of each comparison alone, and can leave out equality where p (equal) is large."
    of_verdicts = _OF_VERDICTS.format("over the comparisons of its metric")
    if s.family == "audit":
        return (
            "Adjusted p-values are adjusted by Holm over all p-values of the audit (two-sided tests of equality, "
            f"largest gaps), by Bonferroni where the data chose the reference. {of_verdicts}{tables}"
        )
    method = {"holm": "Holm", "fdr_bh": "Benjamini–Hochberg"}.get(s.adjust, s.adjust.title())
    within, what = f"adjusted by {method} within one metric over all its group comparisons", "Adjusted p-values"
    pairs = "over all pairs, as the intervals are, where the data chose the reference"
    if s.adjust == "none":
        of_verdicts = _OF_VERDICTS.format("likewise")
        within = f"adjusted {pairs}, and not elsewhere" if _chosen(s) else "not adjusted"
        what, tables = (what, tables) if _chosen(s) else ("p-values", "")
    elif _chosen(s):
        within += f" ({pairs})"
    return (
        f"{what} (two-sided tests of equality) are {within}. Across metrics, and between sets of "
        f"attributes, nothing is adjusted. {of_verdicts}{tables}"
    )


@contextmanager
def collected_warnings() -> Iterator[list[str]]:
    """Collect the texts of fairstats' warnings; let every other warning through."""
    texts: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield texts
    for warning in caught:
        if issubclass(warning.category, errors.FairstatsWarning):
            texts.append(str(warning.message))
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)


def collect_notes(sections: Sequence[Section], columns: AuditColumns, settings: AuditSettings) -> list[str]:
    """Every note of the results, with the metrics it is about, other warnings, and differing verdicts."""
    found: list[str] = []
    neither = "takes neither weights nor clusters" if columns.sample_weight or columns.cluster else ""
    why = "needs the outcomes (y_true)" if columns.y_true is None else neither
    if columns.score is not None and why:
        found.append(f"ABROCA {why}: the score {columns.score} was used for MADD only.")
    if columns.model_scores and neither:
        found.append(
            "Changes of scores between models (AUC, Brier score, MADD, ABROCA) take neither weights nor "
            "clusters: they are left out. fs.compare_models without them is of the rows as they are."
        )
    if columns.y_true and columns.y_pred and neither:
        found.append(
            f"Uncertainty Matters {neither}: there are no posteriors. fs.um_posterior, or an audit without them, "
            "gives those of these rows as equally weighted, independent draws."
        )
    for section in sections:
        about: dict[str, dict[str, None]] = {}
        for result, rows in zip(section.results, section.rows, strict=True):
            for metric, note in [*row_notes(rows), *_result_notes(result)]:
                title = metric_title(metric, metric).partition(":")
                about.setdefault(note, {})[title[2].strip() or title[0]] = None
        said = [f"{note} ({'; '.join(metrics)})" for note, metrics in about.items()]
        found += [f"{section.attribute_text}: {text}" for text in (*said, *section.warnings)]
    return found + differing_verdicts(sections, settings)


def _result_notes(result: Any) -> Iterator[tuple[str, str]]:
    """Pairs (metric, note) of verdicts by exact tests, and of what simulation says against intervals on such data."""
    few = "few cases are expected in one or both: verdict, p-value and interval are by exact tests."
    for c in compared(result):
        if rests_on_exact_test(c) and not c.note:
            yield c.metric, f"{c.group} against {c.reference}: {few}"
        if isinstance(c, StratifiedComparison) and c.disagreement:
            yield c.metric, f"Crude and adjusted disagree. {c.disagreement}"
    if isinstance(result, (RatioResult, DifferenceResult)):
        yield from ((result.comparisons[0].metric, note) for note in result.regime_notes())


def row_notes(rows: Iterable[dict[str, Any]]) -> list[tuple[str, str]]:
    """Pairs (metric, note) of the rows that carry a note."""
    return [(row["metric"], row["note"]) for row in rows if row.get("note")]


def warn_once(report: Contents) -> None:
    """One warning per kind: rows left out, comparisons without evidence, methods replaced."""
    dropped = {t.missing.sentence for t in report.tables if t.missing.n_dropped}
    if dropped:
        errors.caution(" ".join(sorted(dropped)), errors.MissingValuesWarning)
    if lacking := report.verdicts["insufficient evidence"]:
        text = f"{lacking} comparisons have insufficient evidence; the report's notes say which, and why."
        errors.caution(text, errors.InsufficientEvidenceWarning)
    noted = [row for s in report.sections for rows in s.rows for row in rows if row.get("note")]
    if qualified := sum(row.get("verdict") != "insufficient evidence" for row in noted):
        text = f"{qualified} comparisons are qualified (small or empty cells); the report's notes say how."
        errors.caution(text, errors.DataWarning)


def _bare(method: str) -> str:
    """A method without what its name says of effective counts and degrees of freedom."""
    for suffix in (" (Satterthwaite)", " (effective rows)", " (effective clusters)"):
        method = method.removesuffix(suffix)
    return method


def methods_and_references(
    entry: SectionEntry, sections: Sequence[Section], settings: AuditSettings
) -> tuple[list[Statement], list[str]]:
    """What the methods paragraph says about the sections of one method, and the papers it cites."""
    results = [result for section in sections for result in section.results]
    table = [row for section in sections for rows in section.rows for row in rows]
    intervals = [row["method"] for row in table] + [c.bounds.method for r in results for c in compared(r)]
    used: dict[str, Iterable[str]] = {
        "words": dict.fromkeys(row["metric"] for row in table),
        "intervals": dict.fromkeys(_bare(method) for method in intervals),
        "tests": _kinds_of_tests(results, settings),
    }
    known = {kind: entry.words(kind) for kind in used}
    said = {kind: [known[kind][name] for name in names if name in known[kind]] for kind, names in used.items()}
    # a text that several metrics share stands once
    made = list(dict.fromkeys(Statement(words.heading or words.title, words.text) for words in said["words"]))
    for kind, title in (("intervals", "Intervals"), ("tests", "Tests and variances")):
        if said[kind]:
            made.append(Statement(title, " ".join(w.text[:1].upper() + w.text[1:] for w in said[kind])))
    cited = {key for found in said.values() for words in found for key in words.cites}
    return made, sorted(REFERENCES.get(key, key) for key in cited)


def _kinds_of_tests(results: Sequence[Result], settings: AuditSettings) -> list[str]:
    tests = [t for r in results for c in compared(r) for t in c.tests]
    counts = [r.counts for r in results if hasattr(r, "counts")]
    kinds = {
        "one-sided": any(t.alternative in ("less", "greater") for t in tests),
        "equivalence": any(t.alternative == "equivalence" for t in tests),
        # the exact test within strata has its words with the stratified score
        "exact": any((t.exact or "exact" in t.method) and t.method != CONDITIONAL for t in tests),
        "clusters": any("whole clusters" in t.method for t in tests),
        "holm": settings.adjust == "holm" or settings.family == "audit",
        "weighted": any(getattr(c, "weighted", False) for c in counts),
        "worst case": any(getattr(r, "metric", "") == "worst_case" for r in results),
    }
    return [kind for kind, used in kinds.items() if used]
