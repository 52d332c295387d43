"""The engine goes through the pages of the methods, and refuses what no page shows."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest

import fairstats as fs
from fairstats.ground.errors import FairstatsWarning
from fairstats.ground.results import Result
from fairstats.methods.ecd.sample import CounterfactualSample
from fairstats.methods.hfm.result import HfmResult
from fairstats.methods.madd.mitigation import MitigationResult
from fairstats.methods.rates.classes.result import (
    ClassDifferenceResult,
    ClassMaximumResult,
    ClassRatioResult,
)
from fairstats.methods.rates.classes.strata import (
    ClassStratifiedDifferenceResult,
    ClassStratifiedRatioResult,
)
from fairstats.methods.rates.employment.result import AdverseImpact
from fairstats.methods.rates.inferred.result import InferredResult
from fairstats.methods.rates.models.result import AmplificationResult, ModelComparison
from fairstats.methods.rates.monitoring import MonitorResult
from fairstats.methods.rates.worst_case import WorstCaseResult
from fairstats.report.audit import answer_questions
from fairstats.report.format import printable
from fairstats.report.inputs import AuditColumns, AuditInput, AuditSettings, build_input
from fairstats.report.methods import EXHIBITS, PAGES, answer_to, question_of
from fairstats.report.parts import set_parts
from fairstats.report.questions import AUDITED, ONLY_WHERE_ASKED, RATES
from fairstats.report.report import AuditReport
from fairstats.report.sets import view_sets


@pytest.fixture(scope="module")
def inputs() -> AuditInput:
    rng = np.random.default_rng(1)
    rows = pd.DataFrame({"sex": np.repeat(["f", "m"], 60), "hired": rng.integers(0, 2, 120)})
    columns = AuditColumns(None, "hired", None, ("sex",))
    settings = AuditSettings(seed=1)
    return build_input(rows, ("sex",), columns, settings, pos_label=None, reference=None)


@dataclass(frozen=True)
class Novelty(Result):
    """A result that no page knows."""


def test_a_result_without_a_page_is_refused(inputs: AuditInput) -> None:
    page = replace(PAGES[0], run=lambda _: [Novelty()])
    with pytest.raises(TypeError, match="no page of a report shows a Novelty"):
        answer_questions(inputs, [page])


def test_a_result_that_answers_no_question_is_refused() -> None:
    with pytest.raises(TypeError, match="a PowerResult answers no question of a report"):
        question_of(fs.power_ratio(0.5, 0.7, n=400))


def test_results_stand_where_their_question_does(inputs: AuditInput) -> None:
    """Whichever page made them, and in whatever order the pages run."""
    forth = answer_questions(inputs)
    back = answer_questions(inputs, PAGES[::-1])
    always = [question for question in AUDITED if question not in ONLY_WHERE_ASKED]
    assert [section.key for section in forth] == [question.key for question in always]
    assert [section.key for section in back] == [section.key for section in forth]
    made = PAGES[0].run(inputs)
    moved = replace(PAGES[3], run=lambda _: made)
    (rates, *others) = answer_questions(inputs, [moved])
    assert rates.key == RATES.key
    assert len(rates.results) == len(made)
    assert not any(section.results for section in others)


def test_a_section_that_no_page_answers_is_refused() -> None:
    with pytest.raises(TypeError, match="no page of a report answers a question 'novelty'"):
        answer_to("novelty")


def test_a_stored_report_with_such_a_section_is_refused() -> None:
    rows = pd.DataFrame({"sex": ["f", "m"] * 20, "hired": [0, 1, 1, 0] * 10})
    written = fs.audit(rows, y_pred="hired", sensitive_features="sex").to_dict()
    written["sections"][0]["key"] = "novelty"
    with pytest.raises(fs.InputError, match="'novelty'"):
        AuditReport.from_dict(written)


#: Results whose part is a sentence and a table → why it has no picture.
WITHOUT_PICTURES = {
    AmplificationResult: "a statement about two ratios, which are drawn",
    WorstCaseResult: "its estimates are drawn; the bounds stand beside them in numbers",
    HfmResult: "a distance has one number; the rows that decide it are named",
    ModelComparison: "many changes of many metrics: a table",
    MitigationResult: "changes, as between models",
    CounterfactualSample: "drawn with the return levels",
    AdverseImpact: "its tables are those of the guidelines",
}


@pytest.fixture(scope="module")
def everything() -> AuditReport:
    """Every method that an audit has, with missing values and strata."""
    rng = np.random.default_rng(2)
    rows = pd.DataFrame({"group": rng.choice(["a", "b"], 500), "y": rng.integers(0, 2, 500)})
    rows["score"] = rng.random(500).round(2)
    rows["p"] = (rows["score"] > 0.5).astype(float)
    rows["q"] = (rng.random(500) > 0.5).astype(float)
    rows["changed"] = np.clip(rows["score"] + rng.normal(0, 0.1, 500), 0, 1)
    rows["size"] = rng.random(500)
    rows["site"] = rng.integers(0, 3, 500)
    rows["wage"] = rng.exponential(size=500)
    rows["guess"] = 1.0
    rows.loc[::50, "p"] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairstatsWarning)
        return fs.audit(
            rows,
            y_true="y",
            y_pred={"first": "p", "second": "q"},
            score="score",
            outcome="wage",
            predicted="guess",
            sensitive_features="group",
            strata="site",
            circumstances="size",
            features="size",
            counterfactual_score="changed",
            subgroups=["group", "site"],
            missing="drop",
            risks=True,
            n_resamples=199,
            rng=1,
        )


def test_every_result_of_an_audit_stands_in_a_part(everything: AuditReport) -> None:
    """With a picture, or a reason why there is none."""
    view = view_sets(everything)[0]
    #: title of a table or metric of a chart → whether its part has a picture
    drawn: dict[str, bool] = {}
    for part in set_parts(everything, view):
        has_picture = bool(part.charts or part.figures)
        names = {block.metric for chart in part.charts for block in chart.blocks}
        names |= {table.title for table in part.tables}
        for name in names:
            drawn[name] = drawn.get(name, False) or has_picture
    for section in everything.sections:
        for result, rows in zip(section.results, section.rows, strict=True):
            kind = type(result).__name__
            names = {printable(result.title), *(row["metric"] for row in rows)}
            shown = names & set(drawn)
            assert shown, f"no part of the page of {section.key} shows a {kind}"
            if type(result) not in WITHOUT_PICTURES:
                lacking = f"no picture of a {kind}, and no reason in WITHOUT_PICTURES"
                assert any(drawn[name] for name in shown), lacking


def test_the_audit_above_has_every_result_that_an_audit_can_have(everything: AuditReport) -> None:
    made = {type(result) for section in everything.sections for result in section.results}
    asked = {cls for cls, exhibit in EXHIBITS.items() if exhibit.question is not None}
    # made by another function, and given to a report
    elsewhere = {AdverseImpact, MitigationResult, MonitorResult}
    # of inferred groups, and of several classes: audits of their own
    elsewhere |= {InferredResult, ClassRatioResult, ClassDifferenceResult, ClassMaximumResult}
    elsewhere |= {ClassStratifiedRatioResult, ClassStratifiedDifferenceResult}
    assert asked - made == elsewhere
