"""`crosscheck`: every number of a report or result recomputed in R by independent code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from fairstats._version import __version__
from fairstats.ground.errors import InputError
from fairstats.ground.results import Result, check_choice
from fairstats.report.crosscheck.bench import Bench
from fairstats.report.crosscheck.check import Check
from fairstats.report.crosscheck.door import Door, open_door
from fairstats.report.crosscheck.table import Crosscheck
from fairstats.report.report import AuditReport

if TYPE_CHECKING:
    from fairstats.report.crosscheck.rows import ReportRows

__all__ = ["RECOMPUTED", "crosscheck"]

#: Class of a result → module of this package that recomputes it.
RECOMPUTED = {
    "RatioResult": "rates",
    "DifferenceResult": "rates",
    "MaximumResult": "maxima",
    "AbrocaResult": "abroca",
    "PairedResult": "paired",
    "StratifiedRatioResult": "stratified",
    "MaddResult": "madd",
    "HfmResult": "hfm",
    "SetDistance": "hfm_distance",
    "DiscriminativeRiskResult": "risk",
    "UmPosterior": "um",
    "UmComparison": "um_compare",
    "UmRanking": "um_compare",
    "CounterfactualSample": "ecd_sample",
    "EcdResult": "ecd",
    "EvtFit": "evt",
    "HdrResult": "hdr",
}


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
    and uses the base-R twins of the project's R package, functions of R itself (`prop.test`, `glm`,
    `p.adjust`, `r2dtable`, `dhyper`, `qbeta`, `mantelhaen.test`, …), and extRemes, evd and hdrcde where they
    are installed.

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
        ``.agrees``, ``.n_agree``, ``.n_checked``, ``.to_frame()``, ``.to_html()``; prints as a table that
        ends in "N of N agree". Quantities that need rows and did not get them say "needs --data" and are
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
    >>> from fairstats.ground.backends import available
    >>> counts = {"men": (40, 10, 10, 40), "women": (30, 10, 20, 40)}
    >>> result = fs.conditional_accuracy(counts=counts, reference="men")
    >>> not available()["r"].works or fs.crosscheck(result).agrees
    True
    """
    check_choice("backend", backend, ("r",))
    if tolerance is not None and not (isinstance(tolerance, (int, float)) and 0 <= tolerance < 1):
        raise InputError(
            "tolerance", got=repr(tolerance), allowed="a number from 0 to 1, 1 excluded", cure="1e-6, say"
        )
    if not isinstance(result, (AuditReport, Result)):
        raise InputError(
            "result",
            got=f"a {type(result).__name__}",
            allowed="an AuditReport or a result of fairstats",
            cure="read a file with AuditReport.from_json(path)",
        )
    r = door or open_door()
    version = getattr(getattr(r, "probe", None), "r_version", "")
    if isinstance(result, AuditReport):
        found = tuple(_of_report(result, r, data, tolerance))
        written = result.versions.get("fairstats", "")
        return Crosscheck(found, result.title, version, written)
    if data is not None and not isinstance(data, Mapping):
        raise InputError(
            "data",
            got=f"a {type(data).__name__}",
            allowed="for a single result: a mapping with the arguments of the function that made it",
            cure='data={"score": score, "sensitive_features": group}',
        )
    bench = Bench(r, data, tolerance)
    return Crosscheck(tuple(_of_result(result, bench)), result.title, version, __version__)


def _of_report(report: AuditReport, door: Door, data: Any, tolerance: float | None) -> Iterator[Check]:
    from fairstats.report.crosscheck.family import family_checks
    from fairstats.report.crosscheck.rows import ReportRows

    rows = None if data is None else ReportRows(report, data)
    by_metric = report.settings.family != "audit"
    for section in report.sections:
        given = _arguments(rows, section.attributes)
        for result in section.results:
            bench = Bench(door, given, tolerance, by_metric)
            yield from _placed(_of_result(result, bench), section.key, section.attribute_text)
    if not by_metric:
        yield from family_checks(report, Bench(door, None, tolerance))


def _arguments(rows: ReportRows | None, attributes: tuple[str, ...]) -> Mapping[str, Any] | None:
    return None if rows is None else rows.arguments(attributes)


def _of_result(result: Result, bench: Bench) -> Iterable[Check]:
    name = RECOMPUTED.get(type(result).__name__)
    if name is None:
        return _left_out(result, bench)
    module = import_module(f"fairstats.report.crosscheck.{name}")
    return module.checks(result, bench)  # type: ignore[no-any-return]


def _left_out(result: Result, bench: Bench) -> Iterator[Check]:
    """One line for each estimate of a class without a twin: nothing is passed over in silence."""
    for row in result.to_frame().to_dict("records"):
        place = bench.place(str(row["metric"]), str(row["group"] or ""), str(row["reference"] or ""))
        why = f"R has no twin of {type(result).__name__}"
        yield place.left_out("estimate", row["estimate"], why)


def _placed(checks: Iterable[Check], section: str, attributes: str) -> Iterator[Check]:
    for check in checks:
        yield replace(check, section=section, sensitive_features=attributes)
