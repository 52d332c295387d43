"""`crosscheck`: every number of a report or result recomputed in R by independent code."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from fairstats._version import __version__
from fairstats.ground.checks import check_choice, check_number, check_type
from fairstats.ground.encoding import as_frame_columns
from fairstats.ground.errors import FairstatsWarning, InputError, RBackendError
from fairstats.ground.groups import INTERSECTION
from fairstats.ground.lazy import pd
from fairstats.ground.progress import each_of, under_way
from fairstats.ground.results import Result
from fairstats.report.audit import belongs_to_family, chosen_among
from fairstats.report.crosscheck.check import ADJUSTED, Bench, Check, Door, open_door
from fairstats.report.crosscheck.table import Crosscheck
from fairstats.report.inputs import AuditInput, build_input
from fairstats.report.methods import EXHIBITS
from fairstats.report.report import AuditReport


def crosscheck(
    result: AuditReport | Result,
    backend: str = "r",
    *,
    data: Any = None,
    tolerance: float | None = None,
    door: Door | None = None,
) -> Crosscheck:
    """Recompute every number of a report or result in R, by code that shares nothing with Python's.

    R starts from the sufficient statistics that the report carries (counts, histogram counts,
    exceedances) and uses the base-R twins of the project's R package, functions of R itself
    (`prop.test`, `glm`, `p.adjust`, `r2dtable`, `dhyper`, `qbeta`, `mantelhaen.test`, …), and
    extRemes, evd and hdrcde where they are installed.

    Parameters
    ----------
    result : AuditReport or Result
        A report, also one read by `AuditReport.from_json`, or a single result.
    backend : {"r"}
        What recomputes.
    data : data frame or mapping, optional
        The rows, for what counts cannot give: set distances, the search for a stable bandwidth,
        averages of counterfactual discrimination. For a report the frame that was audited; for a
        single result a mapping with the arguments of the function that made it, ``{"score": …,
        "sensitive_features": …}``.
    tolerance : float, optional
        In place of the tolerances of what is not random: the largest |Python − R| over the larger
        of 1 and the value. Default: about 1e-8 of the value, more where an optimiser or a numerical
        derivative is behind it; the table gives each.
    door : Door, optional
        What answers for R; default the running R.

    Returns
    -------
    Crosscheck
        ``.agrees`` (True, False, or None where nothing was compared), ``.verdict`` in words,
        ``.n_agree``, ``.n_checked``, ``.to_frame()``, ``.to_html()``; prints as a table that ends
        in "N of N agree". Quantities that need rows and did not get them say "needs --data" and are
        not counted; random ones agree within six Monte Carlo standard errors.

    Raises
    ------
    BackendError
        Where R cannot be used; the message has cause and cure.
    InputError
        For anything that is no report or result, and data that do not fit.

    Examples
    --------
    >>> import fairstats as fs
    >>> from fairstats.ground.rprobe import probe_r
    >>> counts = {"men": (40, 10, 10, 40), "women": (30, 10, 20, 40)}
    >>> result = fs.conditional_accuracy(counts=counts, reference="men")
    >>> not probe_r().works or fs.crosscheck(result).agrees
    True
    """
    check_choice("backend", backend, ("r",))
    if tolerance is not None:
        check_number("tolerance", tolerance, low=0, high=1, open_high=True, cure="1e-6, say")
    cure = "read a file with AuditReport.from_json(path)"
    check_type(
        "result", result, (AuditReport, Result), "an AuditReport or a result of fairstats", cure
    )
    r_door = door or open_door()
    if isinstance(result, AuditReport):
        checks = tuple(_of_report(result, r_door, data, tolerance))
        return Crosscheck(
            checks=checks,
            title=result.title,
            r_version=r_door.version,
            written_by=result.versions.get("fairstats", ""),
        )
    if data is not None:
        words = "for a single result: a mapping with the arguments of the function that made it"
        check_type(
            "data", data, Mapping, words, 'data={"score": score, "sensitive_features": group}'
        )
    with under_way("cross-check in R"):
        checks = tuple(_of_result(result, Bench(r_door, data, tolerance)))
    return Crosscheck(
        checks=checks,
        title=result.title,
        r_version=r_door.version,
        written_by=__version__,
    )


def _of_report(
    report: AuditReport,
    door: Door,
    data: Any,
    tolerance: float | None,
) -> Iterator[Check]:
    """Every number of a report, section by section; rows by the columns of `data`, where given."""
    if data is None:
        table = None
    else:
        table = as_frame_columns(data, report.columns.names, "data")
    by_metric = report.settings.family != "audit"
    arguments: dict[tuple[str, ...], Mapping[str, Any]] = {}
    results = []
    for section in report.sections:
        for result in section.results:
            results.append((section, result))
    for section, result in each_of(results, "cross-check of results in R"):
        attributes = section.attributes
        if table is not None and attributes not in arguments:
            arguments[attributes] = _arguments_of_report(report, table, attributes)
        for check in _of_result(
            result,
            Bench(
                door=door,
                data=arguments.get(attributes),
                tolerance=tolerance,
                adjusted_here=by_metric,
            ),
        ):
            yield replace(check, section=section.key, sensitive_features=section.attribute_text)
    if not by_metric:
        yield from _recompute_family(report, Bench(door, None, tolerance))


def _of_result(result: Result, bench: Bench) -> Iterable[Check]:
    exhibit = EXHIBITS.get(type(result))
    if exhibit is None:
        return _left_out(result, bench, f"R has no twin of {type(result).__name__}")
    if exhibit.twin is None:
        return _left_out(result, bench, exhibit.no_twin)
    return _until_r_fails(exhibit.twin(result, bench), result, bench)


def _until_r_fails(checks: Iterable[Check], result: Result, bench: Bench) -> Iterator[Check]:
    """The checks of a result; where R cannot compute something, its cause and what was not reached.

    A table on which a function of R stops ("sample size must be at least 2") is a fact about that
    function, not the end of the cross-check.
    """
    reached = set()
    try:
        for check in checks:
            reached.add((check.metric, check.group, check.reference))
            yield check
    except RBackendError as problem:
        cause = " ".join(str(problem).split())
        note = f"not computed, because R stopped: {cause}"
        lacking = []
        for row in _rows_of(result):
            if _names_of_row(row) not in reached:
                lacking.append(row)
        for row in lacking or [{"metric": result.title}]:
            yield bench.place(*_names_of_row(row)).left_out(
                "estimate", row.get("estimate", np.nan), note
            )


def _rows_of(result: Result) -> list[dict[Any, Any]]:
    """Rows of the tidy table; a curve, which has a table of its own, is one row."""
    frame = result.to_frame()
    if "metric" in frame:
        return frame.to_dict("records")
    return [{"metric": result.title}]


def _left_out(result: Result, bench: Bench, why: str) -> Iterator[Check]:
    """One line for each estimate of a class without a twin: nothing is passed over in silence."""
    for row in _rows_of(result):
        yield bench.place(*_names_of_row(row)).left_out(
            "estimate", row.get("estimate", np.nan), why
        )


def _names_of_row(row: Mapping[Any, Any]) -> tuple[str, str, str]:
    group, reference = (
        "" if pd.isna(name) else str(name) for name in (row.get("group"), row.get("reference"))
    )
    return str(row["metric"]), group, reference


def _recompute_family(report: AuditReport, bench: Bench) -> Iterator[Check]:
    """Every adjusted p-value of an audit whose family is the audit, as `adjust_over_audit` says."""
    rows = []
    for section in report.sections:
        for result in section.results:
            if belongs_to_family(result):
                for row in result.rows():
                    rows.append((section, row, chosen_among(result)))
    raw_pvalues = [float(np.minimum(row["pvalue"] * factor, 1.0)) for _, row, factor in rows]
    if any(factor > 1 for *_, factor in rows):
        method = "bonferroni"
    else:
        method = "holm"
    adjusted_values, function = bench.p_adjust(raw_pvalues, method)
    for (section, row, _), adjusted in zip(rows, adjusted_values, strict=True):
        check = bench.place(*_names_of_row(row)).compare(
            ADJUSTED, row["pvalue_adjusted"], adjusted, function
        )
        yield replace(check, section=section.key, sensitive_features=section.attribute_text)


def _outcome_of(arguments: AuditInput) -> Any:
    """The outcome that is a number, or what is predicted, or observed, as 0 and 1."""
    outcomes = arguments.rows
    if outcomes.numbers:
        return outcomes.numbers["outcome"]
    return outcomes.y_pred if outcomes.y_pred is not None else outcomes.y_true


def _arguments_of_report(
    report: AuditReport, table: pd.DataFrame, attributes: tuple[str, ...]
) -> Mapping[str, Any]:
    """The rows behind a report, read as it did.

    Columns by the names that the methods' functions give them.

    Raises InputError unless the rows give the counts of the report.
    """
    columns = report.columns
    labels = {"y_true": columns.pos_label_true, "y_pred": columns.pos_label_pred}
    named = {}
    for name, label in labels.items():
        if label is not None:
            named[name] = label
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairstatsWarning)
        arguments = build_input(
            table, attributes, columns, report.settings, pos_label=named or None, reference=None
        )
    for counted in (counts for counts in report.tables if tuple(counts.attributes) == attributes):
        counts_of_report, counts_now = (
            dict(zip(counts.groups, np.asarray(counts.rows).tolist(), strict=True))
            for counts in (counted, arguments.counts)
        )
        if counts_of_report != counts_now:
            by = INTERSECTION.join(attributes)
            got = f"{arguments.counts.n:,} rows whose counts by {by!r} are not those of the report"
            cure = "pass the file of the audit, with the rows and the preparation that it had"
            raise InputError("data", got=got, allowed=f"the {counted.n:,} rows audited", cure=cure)
    outcomes = arguments.rows
    return {
        "X": arguments.features,
        "y": _outcome_of(arguments),
        "circumstances": arguments.circumstances,
        "y_true": outcomes.y_true,
        "y_pred": outcomes.y_pred,
        "score": outcomes.score,
        "sensitive_features": np.array(
            [outcomes.groups.labels[code] for code in outcomes.groups.codes]
        ),
        "attribute": INTERSECTION.join(attributes),
        "sample_weight": outcomes.weight,
        "cluster": None if outcomes.cluster is None else outcomes.cluster.codes,
        "counterfactual_score": arguments.counterfactual_score,
        "models": arguments.models,
    }
