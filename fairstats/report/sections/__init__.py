"""Sections of an audit: per method a function AuditInput → results, and what the report says about it.

A further method adds its function, an entry of `SECTIONS`, and its words and papers in ``words.toml``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from importlib.resources import files
from typing import NamedTuple

from fairstats.ground.registry import METRICS, RATES
from fairstats.ground.results import Result
from fairstats.methods.rates.employment.result import METRIC
from fairstats.methods.rates.stratified import can_be_adjusted
from fairstats.methods.rates.stratified_result import ENDING
from fairstats.report.inputs import AuditInput
from fairstats.report.sections import methods
from fairstats.report.sections.rates import run_rates


class Words(NamedTuple):
    """What the report says about a metric, an interval or a kind of test, and keys of the papers it cites.

    `title`: of the metric; `heading`: of a text that several metrics share and the report has once.
    """

    text: str
    cites: Sequence[str] = ()
    title: str = ""
    heading: str = ""


class SectionEntry(NamedTuple):
    """One section: its key in tables, its heading, and what computes its results."""

    key: str
    title: str
    run: Callable[[AuditInput], Sequence[Result]]

    def words(self, kind: str) -> dict[str, Words]:
        """By metric (`kind` "words"), method of an interval ("intervals") or kind of test ("tests")."""
        own = _words_of_registry() if (self.key, kind) == ("rates", "words") else {}
        key = {"mitigation": "models"}.get(self.key, self.key)  # changes on the same people
        return own | {name: Words(**said) for name, said in _TABLES.get(key, {}).get(kind, {}).items()}


def _words_of_registry() -> dict[str, Words]:
    """Of every metric of the registry, and of its comparisons within strata where it has them."""
    words = {name: Words(m.definition, m.references, m.title) for name, m in METRICS.items()}
    for name, metric in METRICS.items():
        if not can_be_adjusted(metric):
            continue
        kind = "mean" if any(RATES[rate].parts for rate in metric.rates) else metric.contrast
        label, _, quantity = metric.title.partition(":")
        title = f"{label} within strata"
        if quantity:
            title = f"{title}:{quantity} within strata"
        words[name + ENDING] = Words(**_TABLES["within_strata"][kind], title=title)
    return words


with files("fairstats.report.sections").joinpath("words.toml").open("rb") as _stream:
    _TABLES = tomllib.load(_stream)
#: Key → paper; the registry's metrics may cite papers in full.
REFERENCES: dict[str, str] = _TABLES["references"]
SECTIONS = (
    SectionEntry("rates", "Rates: ratios, differences, largest gaps", run_rates),
    SectionEntry("models", "Several models on the same people", methods.run_models),
    SectionEntry("madd", "MADD: distance between score distributions", methods.run_madd),
    SectionEntry(
        "mitigation", "Mitigation: what changes on rows that it did not see",
        lambda inputs: [] if inputs.mitigation is None else [inputs.mitigation],
    ),
    SectionEntry("hfm", "HFM: distances between sets of rows", methods.run_hfm),
    SectionEntry("um", "Uncertainty Matters: joint posteriors", methods.run_um),
    SectionEntry("ecd", "Extreme counterfactual discrimination", methods.run_ecd),
)  # fmt: skip
#: Those that the report has words for, with the tables that `adverse_impact` makes and no audit.
WORDED = (*SECTIONS, SectionEntry(METRIC, methods.IMPACT_TITLE, lambda inputs: []))
_TITLES = {metric: said.title for entry in WORDED for metric, said in entry.words("words").items()}


def metric_title(metric: str, otherwise: str) -> str:
    """Heading of a metric: its section's words, or `otherwise`."""
    return _TITLES.get(metric, otherwise)
