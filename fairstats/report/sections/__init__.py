"""Sections of an audit: one module per method, each a function ``run``: AuditInput → list of results.

A section module has ``run``, ``WORDS`` (metric → `MetricWords`) and ``REFERENCES`` (key → citation);
`SECTIONS` names the modules in the order of the report. A further method adds one module and one entry.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from types import ModuleType

__all__ = ["SECTIONS", "SectionEntry", "load_sections", "metric_title"]


@dataclass(frozen=True)
class SectionEntry:
    """One section: its key in tables, its heading, its module.

    Attributes
    ----------
    key, title, module : str
    """

    key: str
    title: str
    module: str

    def load(self) -> ModuleType:
        """Import the module."""
        return import_module(self.module)


SECTIONS: tuple[SectionEntry, ...] = (
    SectionEntry("rates", "Rates: ratios, differences, largest gaps", "fairstats.report.sections.rates"),
    SectionEntry("madd", "MADD: distance between score distributions", "fairstats.report.sections.madd"),
    SectionEntry("hfm", "HFM: distances between sets of rows", "fairstats.report.sections.hfm"),
    SectionEntry("um", "Uncertainty Matters: joint posteriors", "fairstats.report.sections.um"),
    SectionEntry("ecd", "Extreme counterfactual discrimination", "fairstats.report.sections.ecd"),
)


def load_sections() -> list[ModuleType]:
    """Import every section, and with it every class that a stored report may hold."""
    return [entry.load() for entry in SECTIONS]


def metric_title(metric: str, otherwise: str) -> str:
    """Heading of a metric: its section's words, or `otherwise`."""
    for module in load_sections():
        if metric in module.WORDS:
            return str(module.WORDS[metric].title)
    return otherwise
