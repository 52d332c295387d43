"""`crosscheck`: every number of a report or result recomputed in R by independent code."""

from __future__ import annotations

import tomllib
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from importlib import import_module
from importlib.resources import files
from typing import Any

import numpy as np

from fairstats._version import __version__
from fairstats.ground.checks import check_choice, check_number, check_type
from fairstats.ground.encoding import as_frame_columns
from fairstats.ground.errors import FairstatsWarning, InputError, RBackendError
from fairstats.ground.groups import INTERSECTION
from fairstats.ground.lazy import pd
from fairstats.ground.results import Result
from fairstats.report.audit import chosen_among
from fairstats.report.crosscheck.check import ADJUSTED, Bench, Check, Door, open_door
from fairstats.report.crosscheck.table import Crosscheck
from fairstats.report.inputs import build_input
from fairstats.report.report import AuditReport

with files("fairstats.report.crosscheck").joinpath("twins.toml").open("rb") as _stream:
    _TABLES: dict[str, dict[str, str]] = tomllib.load(_stream)
#: Class of a result → what recomputes it, or why R has no twin of it.
TWINS, WITHOUT_TWIN = _TABLES["twins"], _TABLES["without"]


def crosscheck(
    result: AuditReport | Result,
    backend: str = "r",
    *,
    data: Any = None,
    tolerance: float | None = None,
    door: Door | None = None,
) -> Crosscheck:
    """Recompute every number of a report or result in R, by code that shares nothing with Python's.

    R starts from the sufficient statistics that the report carries (counts, histogram counts, exceedances)
    and uses the base-R twins of the project's R package, functions of R itself (`prop.test`, `glm`, `p.adjust`,
    `r2dtable`, `dhyper`, `qbeta`, `mantelhaen.test`, …), and extRemes, evd and hdrcde where they are installed.

    Parameters
    ----------
    result : AuditReport or Result
        A report, also one read by `AuditReport.from_json`, or a single result.
    backend : {"r"}
        What recomputes.
    data : data frame or mapping, optional
        The rows, for what counts cannot give: set distances, the search for a stable bandwidth, averages of
        counterfactual discrimination. For a report the frame that was audited; for a single result a
        mapping with the arguments of the function that made it, ``{"score": …, "sensitive_features": …}``.
    tolerance : float, optional
        In place of the tolerances of what is not random: the largest |Python − R| over the larger of 1 and
        the value. Default: about 1e-8 of the value, more where an optimiser or a numerical derivative is
        behind it; the table gives each.
    door : Door, optional
        What answers for R; default the running R.

    Returns
    -------
    Crosscheck
        ``.agrees`` (True, False, or None where nothing was compared), ``.verdict`` in words, ``.n_agree``,
        ``.n_checked``, ``.to_frame()``, ``.to_html()``; prints as a table that ends in "N of N agree".
        Quantities that need rows and did not get them say "needs --data" and are not counted; random ones
        agree within six Monte Carlo standard errors.

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
    check_type("result", result, (AuditReport, Result), "an AuditReport or a result of fairstats", cure)
    r = door or open_door()
    if isinstance(result, AuditReport):
        found = tuple(_of_report(result, r, data, tolerance))
        return Crosscheck(found, result.title, r.version, result.versions.get("fairstats", ""))
    if data is not None:
        words = "for a single result: a mapping with the arguments of the function that made it"
        check_type("data", data, Mapping, words, 'data={"score": score, "sensitive_features": group}')
    return Crosscheck(tuple(_of_result(result, Bench(r, data, tolerance))), result.title, r.version, __version__)


def _of_report(report: AuditReport, door: Door, data: Any, tolerance: float | None) -> Iterator[Check]:
    table = None if data is None else as_frame_columns(data, report.columns.names, "data")
    by_metric = report.settings.family != "audit"
    given: dict[tuple[str, ...], Mapping[str, Any]] = {}
    for section in report.sections:
        by = section.attributes
        if table is not None and by not in given:
            given[by] = _arguments(report, table, by)
        for result in section.results:
            for check in _of_result(result, Bench(door, given.get(by), tolerance, by_metric)):
                yield replace(check, section=section.key, sensitive_features=section.attribute_text)
    if not by_metric:
        yield from _family(report, Bench(door, None, tolerance))


def _of_result(result: Result, bench: Bench) -> Iterable[Check]:
    name = type(result).__name__
    if name not in TWINS:
        return _left_out(result, bench)
    module, _, function = TWINS[name].partition(".")
    recompute = getattr(import_module(f"fairstats.report.crosscheck.{module}"), function)
    return _until_r_fails(recompute(result, bench), result, bench)


def _until_r_fails(checks: Iterable[Check], result: Result, bench: Bench) -> Iterator[Check]:
    """The checks of a result; where R cannot compute something, its cause and what was not reached.

    A table on which a function of R stops ("sample size must be at least 2") is a fact about that function, not the
    end of the cross-check.
    """
    reached = set()
    try:
        for check in checks:
            reached.add((check.metric, check.group, check.reference))
            yield check
    except RBackendError as problem:
        cause = " ".join(str(problem).split())
        note = f"not computed, because R stopped: {cause}"
        lacking = [row for row in _rows_of(result) if _names(row) not in reached]
        for row in lacking or [{"metric": result.title}]:
            yield bench.place(*_names(row)).left_out("estimate", row.get("estimate", np.nan), note)


def _rows_of(result: Result) -> list[dict[Any, Any]]:
    """Rows of the tidy table; a curve, which has a table of its own, is one row."""
    frame = result.to_frame()
    return frame.to_dict("records") if "metric" in frame else [{"metric": result.title}]


def _left_out(result: Result, bench: Bench) -> Iterator[Check]:
    """One line for each estimate of a class without a twin: nothing is passed over in silence."""
    name = type(result).__name__
    why = WITHOUT_TWIN.get(name, f"R has no twin of {name}")
    for row in _rows_of(result):
        yield bench.place(*_names(row)).left_out("estimate", row.get("estimate", np.nan), why)


def _names(row: Mapping[Any, Any]) -> tuple[str, str, str]:
    group, reference = ("" if pd.isna(name) else str(name) for name in (row.get("group"), row.get("reference")))
    return str(row["metric"]), group, reference


def _family(report: AuditReport, bench: Bench) -> Iterator[Check]:
    """Every adjusted p-value of an audit whose family is the audit, as `adjust_over_audit` says."""
    rows = [
        (section, row, chosen_among(result))
        for section in report.sections for result in section.results if hasattr(result, "_with_adjusted")
        for row in result.rows()
    ]  # fmt: skip
    raw = [float(np.minimum(row["pvalue"] * factor, 1.0)) for _, row, factor in rows]
    method = "bonferroni" if any(factor > 1 for *_, factor in rows) else "holm"
    found, function = bench.p_adjust(raw, method)
    for (section, row, _), adjusted in zip(rows, found, strict=True):
        check = bench.place(*_names(row)).compare(ADJUSTED, row["pvalue_adjusted"], adjusted, function)
        yield replace(check, section=section.key, sensitive_features=section.attribute_text)


def _arguments(report: AuditReport, table: pd.DataFrame, attributes: tuple[str, ...]) -> Mapping[str, Any]:
    """The rows behind a report, read as it did: columns by the names that the methods' functions give them.

    Raises InputError unless the rows give the counts of the report.
    """
    columns = report.columns
    labels = {"y_true": columns.pos_label_true, "y_pred": columns.pos_label_pred}
    named = {name: label for name, label in labels.items() if label is not None}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairstatsWarning)
        given = build_input(table, attributes, columns, report.settings, pos_label=named or None, reference=None)
    for counted in (t for t in report.tables if tuple(t.attributes) == attributes):
        ours, now = (dict(zip(t.groups, np.asarray(t.rows).tolist(), strict=True)) for t in (counted, given.counts))
        if ours != now:
            by = INTERSECTION.join(attributes)
            got = f"{given.counts.n:,} rows whose counts by {by!r} are not those of the report"
            cure = "pass the file of the audit, with the rows and the preparation that it had"
            raise InputError("data", got=got, allowed=f"the {counted.n:,} rows audited", cure=cure)
    out = given.rows
    return {
        "X": given.features, "y_true": out.y_true, "y_pred": out.y_pred, "score": out.score,
        "sensitive_features": np.array([out.groups.labels[code] for code in out.groups.codes]),
        "attribute": INTERSECTION.join(attributes), "sample_weight": out.weight,
        "cluster": None if out.cluster is None else out.cluster.codes,
        "counterfactual_score": given.counterfactual_score, "models": given.models,
    }  # fmt: skip
