"""What a report says about its own inference.

Statements, methods, notes, gaps beside differences.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from fairstats.ground import errors
from fairstats.ground.groups import INTERSECTION
from fairstats.ground.multiplicity import FALSE_DISCOVERY
from fairstats.ground.outcomes import words_of_labels
from fairstats.ground.registry import (
    RATES,
    Rate,
    Title,
    find_metric,
    of_all_classes,
    same_question,
)
from fairstats.ground.results import Result
from fairstats.methods.madd.result import MaddResult
from fairstats.methods.rates.maxima import MaximumResult
from fairstats.methods.rates.pair import names_with_design
from fairstats.methods.rates.result import ComparisonResult, DifferenceResult, RatioResult
from fairstats.methods.rates.setup import POOLED
from fairstats.methods.rates.strata.result import StratifiedComparison
from fairstats.report.contents import Statement, compared, rests_on_exact_test
from fairstats.report.methods import title_of_metric
from fairstats.report.methods.page import Answer
from fairstats.report.references import REFERENCES

if TYPE_CHECKING:
    from fairstats.ground.counts import CellCounts
    from fairstats.report.contents import Contents, Section
    from fairstats.report.inputs import AuditColumns, AuditSettings

_CONDITIONAL = (
    "Inference is conditional on the fitted model: intervals and tests are about these predictions"
    " in the population that the rows were sampled from. The uncertainty of fitting the model again"
    " is not in them."
)
_TRAINING = {
    None: (
        "It was not stated whether the rows evaluated were used to train the model. If they were,"
        " error rates, and their differences, may look better than on new cases."
    ),
    "training": (
        "The rows evaluated were used to train the model: error rates, and their differences, may "
        "look better than on new cases."
    ),
    "held-out": "The rows evaluated were not used to train the model.",
}
_LIMITS = (
    "Ratios and differences describe what is, not why: they establish neither a cause nor a finding"
    " of law. The thresholds are conventions that the reader may replace: the intervals serve for"
    " any other."
)
_OF_VERDICTS = (
    "The p-value of a verdict is about its own null hypothesis, and is adjusted {}. The tests"
    " against each single threshold are unadjusted."
)
#: A largest gap in words, by what it is sought over.
_GAPS = {
    "": "gap",
    "all pairs": "largest gap of all pairs",
    "both rates": "larger gap of both rates",
}


class _Judged(NamedTuple):
    """One verdict on a rate of two groups; `among`: what a largest gap is sought over, empty for
    nothing.
    """

    scale: str
    rate: Rate
    verdict: str
    family: int
    comparison: Any
    among: str

    def words(self, settings: AuditSettings) -> str:
        """What was judged, against what."""
        threshold = settings.threshold
        margin = settings.margin
        if threshold < 1:
            ratios = f"fair from {threshold:g} to {1 / threshold:.4g}"
        else:
            ratios = "fair at 1 alone"
        fair = {
            "ratio": f"a ratio of the {self.rate.title}s ({ratios})",
            "difference": f"a difference of the {self.rate.title}s (fair within ±{margin:g})",
            "maximum": f"the {_GAPS[self.among]} (fair up to {margin:g})",
        }[self.scale]
        if self.family > 1:
            family = f", judged together with {self.family - 1} other rate"
        else:
            family = ""
        return f"{self.verdict} as {fair}{family}"


def differing_verdicts(sections: Sequence[Section], settings: AuditSettings) -> list[str]:
    """A note for each rate on which groups got several verdicts, with the reason.

    None where all agree.
    """
    notes = []
    by_set: defaultdict[str, list[_Judged]] = defaultdict(list)
    for section in sections:
        by_set[section.attribute_text] += (
            judged for result in section.results for judged in _judged_rates(result)
        )
    for attribute, judged_of_set in by_set.items():
        by_pair: defaultdict[tuple[Any, ...], list[_Judged]] = defaultdict(list)
        for judged in judged_of_set:
            groups = frozenset((judged.comparison.group, judged.comparison.reference))
            by_pair[same_question(judged.rate), groups].append(judged)
        by_pattern: defaultdict[tuple[Any, ...], list[list[_Judged]]] = defaultdict(list)
        for (question, _), judged_of_pair in by_pair.items():
            if len({judged.verdict for judged in judged_of_pair}) > 1:
                pattern = tuple(
                    (judged.scale, judged.rate.name, judged.verdict, judged.family)
                    for judged in judged_of_pair
                )
                by_pattern[question, pattern, judged_of_pair[0].comparison.reference].append(
                    judged_of_pair
                )
        for members in by_pattern.values():
            notes.append(f"{attribute}: {_note_on_pairs(members, settings)}")
        for judged in judged_of_set:
            text = _beside_the_gap(judged, judged_of_set)
            if text:
                notes.append(f"{attribute}: {text}")
    for section in sections:
        beside_largest = (
            result.beside_the_largest()
            for result in section.results
            if isinstance(result, MaddResult)
        )
        notes += [f"{section.attribute_text}: {text}" for text in beside_largest if text]
    return notes


def _judged_rates(result: Result) -> Iterator[_Judged]:
    """Verdicts on single rates; of a largest gap that of the pair that attains it."""
    if not isinstance(result, ComparisonResult):
        return
    for comparison in result.comparisons:
        metric = find_metric(comparison.metric)
        name = ""
        if isinstance(result, MaximumResult):
            name = result.attained_by or ""
        elif metric is not None and metric.rates:
            name = metric.rates[0]
        if name in RATES and comparison.verdict not in ("", "insufficient evidence"):
            family = len({other.metric for other in result.comparisons})
            sought_over = ""
            if isinstance(result, MaximumResult) and len(result.components) > 1:
                if len(result.counts.groups) > 2:
                    sought_over = "all pairs"
                else:
                    sought_over = "both rates"
            yield _Judged(
                scale=result.scale,
                rate=RATES[name],
                verdict=comparison.verdict,
                family=family,
                comparison=comparison,
                among=sought_over,
            )


def _beside_the_gap(gap: _Judged, every: Sequence[_Judged]) -> str:
    """Why a largest gap and the differences of other pairs are judged unlike.

    Empty where they are not.
    """
    metric = find_metric(gap.comparison.metric)
    if gap.scale != "maximum" or metric is None:
        return ""
    pair = gap.comparison.group, gap.comparison.reference
    others = []
    for judged in every:
        if judged.scale == "difference" and judged.rate.name in metric.rates:
            others.append(judged)
    violated = []
    for judged in others:
        if judged.verdict == "violated":
            violated.append(judged)
    if any(
        {judged.comparison.group, judged.comparison.reference} == set(pair) for judged in violated
    ):
        return ""
    opening = (
        f"{metric.title} is {gap.verdict} ({pair[0]} against {pair[1]}:"
        f" {gap.comparison.estimate:.3f})"
    )
    if violated and gap.verdict == "undecided":
        other_pairs = dict.fromkeys(
            f"{judged.comparison.group} against {judged.comparison.reference}"
            for judged in violated
        )
        return (
            f"{opening}, although a difference is violated for {', '.join(other_pairs)}: the largest gap is"
            " judged over all pairs at once, of which some are small groups, and needs more"
            " evidence."
        )
    if others and not violated and gap.verdict == "violated":
        return (
            f"{opening}, although no difference is: those are against"
            f" {others[0].comparison.reference} alone."
        )
    return ""


def _note_on_pairs(members: Sequence[Sequence[_Judged]], settings: AuditSettings) -> str:
    """One note on all pairs of groups with the same verdicts."""
    alone = set()
    for judged in members[0]:
        if judged.family == 1:
            alone.add((judged.scale, judged.rate.name, judged.verdict))
    shown = []
    for judged in members[0]:
        if judged.family == 1 or (judged.scale, judged.rate.name, judged.verdict) not in alone:
            shown.append(judged)
    words_said = "; ".join(dict.fromkeys(judged.words(settings) for judged in shown))
    groups = ", ".join(
        f"{judged_of_pair[0].comparison.group} ({_estimates_in_words(judged_of_pair)})"
        for judged_of_pair in members
    )
    text = f"{groups} against {members[0][0].comparison.reference}: {words_said}."
    ratio = next((judged for judged in members[0] if judged.scale == "ratio"), None)
    if ratio is not None:
        rate_of_reference = ratio.comparison.rate_reference
        threshold = settings.threshold
        in_differences = f"a ratio of 1 is a difference of 0, not of {settings.margin:g}"
        if threshold < 1:
            below = (1 - threshold) * rate_of_reference
            above = (1 / threshold - 1) * rate_of_reference
            sizes = f"{below:.3f} and {above:.3f}"
            in_differences = (
                f"ratios of {threshold:g} and {1 / threshold:.4g} are differences of {sizes}"
            )
        text += (
            f" At a {ratio.rate.title} of {100 * rate_of_reference:.1f}% in the reference"
            f" {in_differences}: these are two questions."
        )
        if any(
            rests_on_exact_test(judged.comparison)
            for judged_of_pair in members
            for judged in judged_of_pair
        ):
            text += " Where cases are few, each is judged by an exact test of its own."
    of_scale = {}
    for scale in ("maximum", "difference"):
        of_scale[scale] = {judged.verdict for judged in members[0] if judged.scale == scale}
    other_verdicts = of_scale["maximum"] - of_scale["difference"]
    if other_verdicts:
        explanations = {
            "undecided": "and needs more evidence",
            "violated": "any of which may show it",
            "satisfied": (
                "and is small where each of them is, without a share of the error for each"
            ),
        }
        sought_over = next(judged.among for judged in members[0] if judged.scale == "maximum")
        text += f" The largest gap is judged over {sought_over} at once, {explanations[other_verdicts.pop()]}."
    return text


def _estimates_in_words(judged_of_pair: Sequence[_Judged]) -> str:
    signs = {"ratio": ".3f", "difference": "+.3f", "maximum": ".3f"}
    return ", ".join(
        dict.fromkeys(
            f"{judged.comparison.estimate:{signs[judged.scale]}}".replace("-", "−")
            for judged in judged_of_pair
        )
    )


def make_statements(
    columns: AuditColumns,
    settings: AuditSettings,
    tables: Sequence[CellCounts],
    sections: Sequence[Section],
) -> tuple[Statement, ...]:
    """The statements of an audit; `tables`: one per set of attributes."""
    about_model = []
    if columns.has_model:
        about_model = [
            Statement("Conditional on the model", _CONDITIONAL),
            Statement("Rows used in training", _TRAINING[settings.evaluated_on]),
        ]
    return (
        *about_model,
        Statement("Missing values", _about_missing(tables, settings)),
        *_about_labels(columns, tables),
        Statement("Sampling", _about_sampling(columns, tables)),
        Statement("Reference groups", _about_references(sections)),
        Statement("Verdicts", _about_verdicts(settings, columns)),
        Statement("p-values", _about_pvalues(settings)),
        Statement("What it cannot say", _LIMITS),
    )


def _about_missing(tables: Sequence[CellCounts], settings: AuditSettings) -> str:
    """What was done with missing values, how many there were, and whether bounds are given."""
    policy = {
        "raise": 'Missing values were not accepted (missing="raise"); none occurred.',
        "drop": 'Rows with a missing value were left out (missing="drop").',
        "group": 'Missing sensitive values form a group of their own (missing="group").',
    }[settings.missing]
    if settings.missing == "raise":
        return policy
    details = " ".join(
        f"{INTERSECTION.join(table.attributes)}: {table.missing.sentence}" for table in tables
    )
    if not any(table.missing.n_dropped for table in tables):
        return f"{policy} {details}"
    bounds = "Worst-case bounds are offered for unweighted, unclustered rows only."
    if any(table.missing.patterns for table in tables):
        bounds = (
            "Worst-case bounds over all values that they could have are given with the results."
        )
    return f"{policy} {details} Complete rows may differ from the rest. {bounds}"


def _about_labels(columns: AuditColumns, tables: Sequence[CellCounts]) -> list[Statement]:
    """Which labels counted as not favourable, where there are several."""
    names = {"y_true": columns.y_true, "y_pred": columns.y_pred}
    labels_by_argument = tables[0].missing.unfavourable if tables else {}
    texts = []
    for argument, labels in labels_by_argument.items():
        texts.append(words_of_labels(names.get(argument) or argument, labels))
    if texts:
        return [Statement("Labels", " ".join(texts))]
    return []


def _about_sampling(columns: AuditColumns, tables: Sequence[CellCounts]) -> str:
    if columns.sample_weight is None:
        weighted = ""
    else:
        weighted = f" Rows are weighted by {columns.sample_weight}."
    if tables:
        units = f"{tables[0].n_units:,} clusters ({columns.cluster})"
    else:
        units = "clusters"
    sampling = (
        f"Rows are grouped in {units}, taken as independent of each other; rows within one may"
        " depend."
    )
    if columns.cluster is None:
        sampling = (
            "Rows are taken as independent draws: pass cluster= where one person or site has"
            " several."
        )
    return sampling + weighted


_POOLED_IN_WORDS = {
    "rest": "Each group is compared with all other rows together.",
    "overall": (
        "Each group is compared with all rows, its own among them; shares of groups are held fixed."
    ),
}


def _about_references(sections: Sequence[Section]) -> str:
    """Which groups the others are compared with, by which rule."""
    rules = {
        "named": "named by the user",
        "largest": "the largest group",
        "highest": (
            "the group with the highest rate, chosen by the data: intervals are simultaneous over"
            " all pairs"
        ),
    }
    chosen: dict[tuple[str, str], dict[str, None]] = {}
    judged: list[tuple[str, Any]] = []
    for section in sections:
        for r in section.results:
            judged.append((section.attribute_text, r))
    for names, result in judged:
        if compared(result) and not isinstance(result, MaximumResult):
            if result.settings.comparisons in ("all", *POOLED):
                reference_rule = result.settings.comparisons
            else:
                reference_rule = result.settings.reference_rule
            chosen.setdefault((names, reference_rule), {}).update(
                dict.fromkeys(comparison.reference for comparison in compared(result))
            )
    if chosen and all(reference_rule == "all" for _, reference_rule in chosen):
        return "All pairs of groups are compared with each other."
    pooled = []
    for kind, sentence in _POOLED_IN_WORDS.items():
        if any(reference_rule == kind for _, reference_rule in chosen):
            pooled.append(sentence)
    chosen = {place: names for place, names in chosen.items() if place[1] not in POOLED}
    if pooled and not chosen:
        return " ".join(pooled)
    if pooled:
        pooled.append("What has no such comparison is compared with one group —")
    named = [
        (names, rules[reference_rule], references)
        for (names, reference_rule), references in chosen.items()
        if reference_rule != "all"
    ]
    parts = [
        f"{names}: {', '.join(references)} ({reference_rule})"
        for names, reference_rule, references in named
    ]
    if len(named) < len(chosen):
        parts.append("score distributions: all pairs of groups")
    if parts:
        return " ".join([*pooled, "; ".join(parts) + "."])
    return "No group is compared with a reference."


def _about_verdicts(settings: AuditSettings, columns: AuditColumns) -> str:
    """What the verdicts mean, and the error that they may have."""
    alpha = f"{100 * (1 - settings.confidence_level):.3g}%"
    if columns.score is None:
        distance = ""
    else:
        distance = f"; MADD {min(2 * settings.margin, 2.0):g}"
    distance += "; ECD beyond ±0.05" if columns.counterfactual_scores else ""
    if settings.threshold < 1:
        ratio = f"below {settings.threshold:g} or above {1 / settings.threshold:.4g}"
    else:
        ratio = "other than 1"
    text = (
        f"“Violated” means that the data show a value outside the fair range (a ratio {ratio}; a"
        f" difference beyond ±{settings.margin:g}; a gap or area above {settings.margin:g}{distance}),"
        " “satisfied” that they show one inside. Otherwise the verdict is “undecided”, which is no"
        " evidence of fairness. “Insufficient evidence” means that the data are too few for an"
        " interval, or cannot give the statistic at all. Beside a verdict stands the p-value of"
        " its own null hypothesis; it rests on one-sided limits, and where the interval seems to"
        " say something else, a sentence gives the reason. "
    )
    if _data_chose_reference(settings):
        chosen = ", all pairs counted where the data chose the reference"
    else:
        chosen = ""
    if settings.adjust == "none":
        return (
            text + f"Each comparison is judged by itself, with an error of {alpha}{chosen}: of many"
            ' verdicts some are wrong by chance; adjust="holm" guards all comparisons of one'
            " metric at once."
        )
    if settings.adjust in FALSE_DISCOVERY:
        share = "expected share of false verdicts"
    else:
        share = "error"
    return (
        text
        + f"Over all comparisons of one metric the {share} is at most {alpha} ({settings.adjust}{chosen})."
    )


def _data_chose_reference(settings: AuditSettings) -> bool:
    """Whether a reference was asked for that the data choose."""
    return "highest" in settings.references.values()


def _about_pvalues(settings: AuditSettings) -> str:
    """Which null hypotheses the p-values are of, and over which comparisons they are adjusted."""
    tables = " In tables “p (equal)” and “p (verdict)” are adjusted."
    if settings.simultaneous is not None:
        tables += (
            f" Intervals hold for all comparisons of a metric at once ({settings.simultaneous})."
        )
    elif not _data_chose_reference(settings):
        tables += (
            " Intervals are of each comparison alone, and can leave out equality where p (equal) is"
            " large."
        )
    of_verdicts = _OF_VERDICTS.format("over the comparisons of its metric")
    if settings.family == "audit":
        return (
            "Adjusted p-values are adjusted by Holm over all p-values of the audit (two-sided"
            " tests of equality, largest gaps), by Bonferroni where the data chose the reference."
            f" {of_verdicts}{tables}"
        )
    method = {"holm": "Holm", "fdr_bh": "Benjamini–Hochberg"}.get(
        settings.adjust, settings.adjust.title()
    )
    family_words = f"adjusted by {method} within one metric over all its group comparisons"
    subject = "Adjusted p-values"
    over_pairs = "over all pairs, as the intervals are, where the data chose the reference"
    if settings.adjust == "none":
        of_verdicts = _OF_VERDICTS.format("likewise")
        if _data_chose_reference(settings):
            family_words = f"adjusted {over_pairs}, and not elsewhere"
        else:
            family_words = "not adjusted"
        if not _data_chose_reference(settings):
            subject = "p-values"
            tables = ""
    elif _data_chose_reference(settings):
        family_words += f" ({over_pairs})"
    return (
        f"{subject} (two-sided tests of equality) are {family_words}. Across metrics, and between sets of "
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
            warnings.warn_explicit(
                warning.message, warning.category, warning.filename, warning.lineno
            )


def collect_notes(
    sections: Sequence[Section], columns: AuditColumns, settings: AuditSettings
) -> list[str]:
    """Every note of the results, with the metrics it is about, other warnings, and differing
    verdicts.
    """
    notes: list[str] = []
    if columns.sample_weight or columns.cluster:
        neither = "takes neither weights nor clusters"
    else:
        neither = ""
    if columns.y_true is None:
        reason = "needs the outcomes (y_true)"
    else:
        reason = neither
    if columns.score is not None and reason:
        notes.append(f"ABROCA {reason}: the score {columns.score} was used for MADD only.")
    if columns.model_scores and neither:
        notes.append(
            "Changes of scores between models (AUC, Brier score, MADD, ABROCA) take neither weights"
            " nor clusters: they are left out. fs.compare_models without them is of the rows as"
            " they are."
        )
    if columns.y_true and columns.y_pred and neither:
        notes.append(
            f"Uncertainty Matters {neither}: there are no posteriors. fs.um_posterior, or an audit"
            " without them, gives those of these rows as equally weighted, independent draws."
        )
    for section in sections:
        about: dict[str, dict[str, None]] = {}
        for result, rows in zip(section.results, section.rows, strict=True):
            for metric, note in [*row_notes(rows), *_result_notes(result)]:
                title = Title(title_of_metric(metric, metric))
                about.setdefault(note, {})[title.quantity or title.label] = None
        sentences = [f"{note} ({'; '.join(metrics)})" for note, metrics in about.items()]
        notes += [f"{section.attribute_text}: {text}" for text in (*sentences, *section.warnings)]
    return notes + differing_verdicts(sections, settings)


def _result_notes(result: Result) -> Iterator[tuple[str, str]]:
    """Pairs (metric, note) of verdicts by exact tests, and of what simulation says against
    intervals on such data.
    """
    few_cases = (
        "few cases are expected in one or both: verdict, p-value and interval are by exact tests."
    )
    for comparison in compared(result):
        if rests_on_exact_test(comparison) and not comparison.note:
            yield (
                comparison.metric,
                f"{comparison.group} against {comparison.reference}: {few_cases}",
            )
        if isinstance(comparison, StratifiedComparison) and comparison.disagreement:
            yield comparison.metric, f"Crude and adjusted disagree. {comparison.disagreement}"
    if isinstance(result, (RatioResult, DifferenceResult)):
        yield from ((result.comparisons[0].metric, note) for note in result.regime_notes())


def row_notes(rows: Iterable[dict[str, Any]]) -> list[tuple[str, str]]:
    """Pairs (metric, note) of the rows that carry a note."""
    result: list[tuple[str, str]] = []
    for row in rows:
        if row.get("note"):
            result.append((row["metric"], row["note"]))
    return result


def warn_once(report: Contents) -> None:
    """One warning per kind: rows left out, comparisons without evidence, methods replaced."""
    dropped = {table.missing.sentence for table in report.tables if table.missing.n_dropped}
    if dropped:
        errors.caution(" ".join(sorted(dropped)), errors.MissingValuesWarning)
    if lacking := report.verdicts["insufficient evidence"]:
        comparisons_have = "comparison has" if lacking == 1 else "comparisons have"
        text = (
            f"{lacking} {comparisons_have} insufficient evidence; the report's notes say which, and"
            " why."
        )
        errors.caution(text, errors.InsufficientEvidenceWarning)
    noted = []
    for section in report.sections:
        for rows in section.rows:
            for row in rows:
                if row.get("note"):
                    noted.append(row)
    if qualified := sum(row.get("verdict") != "insufficient evidence" for row in noted):
        comparisons_are = "comparison is" if qualified == 1 else "comparisons are"
        text = (
            f"{qualified} {comparisons_are} qualified (small or empty cells); the report's notes say"
            " how."
        )
        errors.caution(text, errors.DataWarning)


def _rows_of_sections(sections: Sequence[Section]) -> list[Any]:
    """Every row of every result, as the table has it."""
    table = []
    for section in sections:
        for rows in section.rows:
            table += rows
    return table


def methods_and_references(
    answer: Answer, sections: Sequence[Section], settings: AuditSettings
) -> tuple[list[Statement], list[str]]:
    """What the methods paragraph says of the sections of one question, and the papers it cites."""
    results = []
    for section in sections:
        for result in section.results:
            results.append(result)
    if not results:  # a question that nobody could answer has no method
        return [], []
    table = _rows_of_sections(sections)
    methods = [row["method"] for row in table]
    methods += [comparison.bounds.method for each in results for comparison in compared(each)]
    # of classes one text for all
    metrics = dict.fromkeys(of_all_classes(row["metric"]) for row in table)
    of_metrics = []
    for name in metrics:
        if name in answer.words:
            of_metrics.append(answer.words[name])
    plain_names = {}
    for name in answer.intervals:
        for name_in_rows in names_with_design(name):
            plain_names[name_in_rows] = name
    plain_methods = dict.fromkeys(plain_names[name] for name in methods if name in plain_names)
    of_intervals = [answer.intervals[name] for name in plain_methods]
    of_tests = []
    for test in answer.tests:
        if test.applies(results, settings):
            of_tests.append(test.words)

    # a text that several metrics share stands once
    statements = list(
        dict.fromkeys(Statement(words.heading or words.title, words.text) for words in of_metrics)
    )
    for title, words_used in (("Intervals", of_intervals), ("Tests and variances", of_tests)):
        if words_used:
            text = " ".join(words.text[:1].upper() + words.text[1:] for words in words_used)
            statements.append(Statement(title, text))
    cited = {key for words in (*of_metrics, *of_intervals, *of_tests) for key in words.cites}
    return statements, sorted(REFERENCES.get(key, key) for key in cited)
