"""What is said of the whole audit: its one sentence, what labels mean, what limits it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fairstats.ground.groups import INTERSECTION
from fairstats.ground.outcomes import words_of_labels
from fairstats.ground.reading.text import MISSING_TOKENS
from fairstats.ground.tallies.classes import ClassCounts
from fairstats.methods.rates.employment.result import AdverseImpact
from fairstats.methods.rates.inferred.result import lead_of_inferred
from fairstats.report.contents import Contents, within_strata
from fairstats.report.format import count, isolate, printable
from fairstats.report.screen.order import speaking_label
from fairstats.report.screen.sentences import FEW_ROWS

#: Such groups that are named.
_NAMED_SMALL = 6


def lead_of_audit(report: Contents) -> str:
    """How many differences are real, and how many verdicts hold, over everything that was tested."""
    inferred = lead_of_inferred(report.results)
    if inferred:
        return inferred
    tested = report._answers_by_fact()
    if not tested:
        return "Nothing was compared."
    n_real = sum(is_real for is_real, _ in tested.values())
    n_beyond = sum(is_beyond for _, is_beyond in tested.values())
    n_tested = len(tested)
    error = f"{100 * (1 - report.settings.confidence_level):.3g}%"
    if n_real and n_tested == 1:
        real_words = "The one difference examined is real"
    elif n_real:
        real_words = f"{n_real} of {n_tested} differences examined {_are(n_real)} real"
    elif n_tested == 1:
        real_words = "The one difference examined is not shown to be real"
    else:
        real_words = f"None of {n_tested} differences examined is shown to be real"
    if n_beyond and n_tested == 1:
        beyond_words = "it is shown to be beyond a limit"
    elif n_tested == 1:
        beyond_words = "it is not shown to be beyond a limit"
    elif n_beyond:
        beyond_words = f"{n_beyond} {_are(n_beyond)} shown to be beyond a limit"
    else:
        beyond_words = "none is shown to be beyond a limit"
    return f"{real_words}, and {beyond_words}, over the whole audit with an error of {error}."


def meaning_of_labels(report: Contents) -> str:
    """Which values count as selected, and as a favourable outcome; empty without labels.

    A label that nobody named is 1, or True: of a column such as "rejected" that is no favour, and
    every sentence below would say the opposite of what is meant.
    """
    columns = report.columns
    if any(isinstance(result, AdverseImpact) for result in report.results):
        return ""
    if report.tables and isinstance(report.tables[0], ClassCounts):
        name = printable(columns.y_pred or columns.y_true)
        return (
            f"{name}: {len(report.tables[0].classes)} classes, none of them named as favourable; each"
            " is compared by itself. pos_label (--pos-label) names one."
        )
    named = []
    assumed = []
    for column, label, words in (
        (columns.y_pred, columns.pos_label_pred, "Selected"),
        (columns.y_true, columns.pos_label_true, "Favourable outcome"),
    ):
        if column is None:
            continue
        name = printable(column)
        named.append(f"{words}: {name} is {'1 (true)' if label is None else printable(label)}.")
        if label is None:
            assumed.append(name)
    if assumed:
        columns_words = " and ".join(dict.fromkeys(assumed))
        named.append(
            f"For {columns_words} that was assumed; pos_label (--pos-label) names another value."
        )
    return " ".join(named)


def _are(number_of_things: int) -> str:
    if number_of_things == 1:
        return "is"
    return "are"


def _tokens_in_words(tokens: Mapping[str, Mapping[str, int]]) -> str:
    """What was read as missing: " ('None' in religion reads as missing)"."""
    items = []
    for column, rows_of_token in tokens.items():
        named = ", ".join(f"'{printable(token)}'" for token in rows_of_token)
        items.append(f"{named} in {printable(column)}")
    if not items:
        return ""
    return f" (read as missing: {'; '.join(items)})"


def _labels_like_missing(report: Contents) -> Iterator[str]:
    """Groups and labels that are called as missing values often are: "NA" among them."""
    labels_by_column: dict[str, dict[str, None]] = {}
    for table in report.tables:
        for group in table.groups:
            parts = str(group).split(INTERSECTION)
            if len(parts) != len(table.attributes):
                continue
            for attribute, part in zip(table.attributes, parts, strict=True):
                if part in MISSING_TOKENS:
                    labels_by_column.setdefault(attribute, {})[part] = None
    names = {"y_true": report.columns.y_true, "y_pred": report.columns.y_pred}
    for table in report.tables:
        for argument, rows_of_label in table.missing.unfavourable.items():
            for label in rows_of_label:
                if label in MISSING_TOKENS:
                    labels_by_column.setdefault(names.get(argument) or argument, {})[label] = None
    for column, labels in labels_by_column.items():
        named = ", ".join(f"'{label}'" for label in labels)
        yield (
            f"{printable(column)}: {named} counts as a value like any other. If it means missing,"
            " name it (na_values=, --na-values)."
        )


def limits_of(report: Contents) -> Iterator[str]:
    """Training rows, missing values, few rows, labels that were put together, strata."""
    training = {
        None: "It was not stated whether the model was trained on these rows.",
        "training": "The model was trained on these rows: its errors look smaller than on new cases.",
    }
    columns = report.columns
    if (
        report.settings.evaluated_on in training
        and columns.y_true is not None
        and columns.y_pred is not None
    ):
        yield training[report.settings.evaluated_on]
    for table in report.tables:
        if table.missing.n_dropped:
            yield (
                f"{printable(' & '.join(table.attributes))}: {count(table.missing.n_dropped)} of"
                f" {count(table.missing.n_rows)} rows were left out for missing"
                f" values{_tokens_in_words(table.missing.tokens)}."
            )
    for table in report.tables:
        small = []
        for group, size in zip(table.groups, table.group_sizes, strict=True):
            if size < FEW_ROWS:
                label = speaking_label(printable(group), table.attributes)
                small.append((label, int(size)))
        if small:
            small.sort(key=lambda pair: pair[1])
            named = ", ".join(f"{group} ({size})" for group, size in small[:_NAMED_SMALL])
            if len(small) > _NAMED_SMALL:
                more = f" and {len(small) - _NAMED_SMALL} more"
            else:
                more = ""
            text = f"{printable(' & '.join(table.attributes))}: few rows in {named}{more}."
            yield isolate(text, [group for group, _ in small])
    names = {"y_true": columns.y_true, "y_pred": columns.y_pred}
    if report.tables:
        labels_by_argument = report.tables[0].missing.unfavourable
    else:
        labels_by_argument = {}
    for argument, labels in labels_by_argument.items():
        yield printable(words_of_labels(names.get(argument) or argument, labels))
    yield from _labels_like_missing(report)
    strata_words = within_strata(report.results)
    if strata_words:
        yield printable(strata_words)
    if columns.cluster is None and columns.sample_weight is None:
        yield "Rows are taken as independent draws."
    yield "Differences say what is, not why: neither a cause nor a finding of law."
