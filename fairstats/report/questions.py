"""The questions that a report answers, in the order in which it answers them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Concern:
    """What a reader asks, in the reader's words: one folded block of a report each.

    `key`: of the block on the page; `title`: the question.
    """

    key: str
    title: str


SELECTED = Concern("selected", "Who is selected")
AMOUNTS = Concern("amounts", "Who gets how much")
ERRORS = Concern("errors", "Whom do errors hit")
HIDDEN = Concern("hidden", "Who is hidden in the averages")
MEANING = Concern("meaning", "Do scores mean the same")
CERTAINTY = Concern("certainty", "How sure are we, and of which model")
WORST = Concern("worst", "Worst cases")
WHEN = Concern("when", "Since when")

#: In the order of a report.
CONCERNS = (SELECTED, WHEN, AMOUNTS, ERRORS, HIDDEN, MEANING, CERTAINTY, WORST)


@dataclass(frozen=True)
class Question:
    """One question to the data.

    `key`: of the section in tables and files; `title`: heading of the section; `concern`: the
    block of the report in which its parts stand that name no other.
    """

    key: str
    title: str
    concern: Concern = SELECTED


RATES = Question("rates", "Rates: ratios, differences, largest gaps")
CLASSES = Question("classes", "Several classes: rates of each, of cuts, and their mean")
NUMBERS = Question("numbers", "Numbers: means, quantiles, errors of predictions", AMOUNTS)
CIRCUMSTANCES = Question(
    "circumstances", "Gaps given circumstances: what these explain, and the rest", AMOUNTS
)
MODELS = Question("models", "Several models on the same people", CERTAINTY)
SCORES = Question("madd", "MADD: distance between score distributions", MEANING)
RISKS = Question("risks", "Risks: calibration, net benefit and rates along the scores", MEANING)
MITIGATION = Question(
    "mitigation", "Mitigation: what changes on rows that it did not see", CERTAINTY
)
SETS = Question("hfm", "HFM: distances between sets of rows", WORST)
POSTERIORS = Question("um", "Uncertainty Matters: joint posteriors", CERTAINTY)
EXTREMES = Question("ecd", "Extreme counterfactual discrimination", WORST)
SUBGROUPS = Question("subgroups", "Subgroups: crossings of columns against the rest", HIDDEN)
#: Of a selection process; `adverse_impact` answers it, and no audit.
ADVERSE_IMPACT = Question(
    "adverse_impact", "Adverse impact: ratios, practical and statistical significance"
)
#: Of files that are watched; a monitor answers it, and no audit.
EVERY_LOOK = Question("monitor", "Every look: since when a violation is shown", WHEN)

#: Of rows whose groups nobody recorded, in place of the rates.
INFERRED = Question("inferred", "Groups inferred: rates from probabilities of the groups")

#: What an audit asks of every set of sensitive attributes.
AUDITED = (
    RATES,
    CLASSES,
    NUMBERS,
    CIRCUMSTANCES,
    MODELS,
    SCORES,
    MITIGATION,
    SETS,
    POSTERIORS,
    EXTREMES,
    RISKS,
    SUBGROUPS,
)
QUESTIONS = (*AUDITED, ADVERSE_IMPACT, EVERY_LOOK, INFERRED)
#: Of these there is no section where nothing was asked.
ONLY_WHERE_ASKED = frozenset((CLASSES, CIRCUMSTANCES, SUBGROUPS, RISKS))
