"""The page of ECD: what belonging to a group costs in the worst of many decisions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fairstats.ground.groups import find_reference
from fairstats.ground.results import Result
from fairstats.methods.ecd.contrast import BY_CLUSTERS, NEAR_END
from fairstats.methods.ecd.ecd import ecd
from fairstats.methods.ecd.quality import SyntheticQuality
from fairstats.methods.ecd.result import EcdResult
from fairstats.methods.ecd.sample import CounterfactualSample, GroupSample, thinned
from fairstats.methods.ecd.sampling import TailSample
from fairstats.methods.ecd.scott_knott import ScottKnott
from fairstats.numerics.evt.averaging import AveragedReturnLevel
from fairstats.numerics.evt.choice import ThresholdChoice
from fairstats.numerics.evt.covariates import ConditionalLevel, CovariateFit
from fairstats.numerics.evt.diagnostics import ExponentialityTest, GoodnessOfFit, MeanResidualLife
from fairstats.numerics.evt.extrapolation import TailType
from fairstats.numerics.evt.fit import EvtFit
from fairstats.numerics.evt.profile import (
    Endpoint,
    ExceedanceProbability,
    ProfileCurve,
    ShapeTest,
)
from fairstats.numerics.evt.return_levels import ReturnLevel, ReturnLevels
from fairstats.numerics.evt.series import ExtremalIndex
from fairstats.numerics.evt.thresholds import ThresholdStability, ThresholdTests
from fairstats.plots.figures import return_levels
from fairstats.report import questions
from fairstats.report.contents import Section
from fairstats.report.crosscheck import tails
from fairstats.report.inputs import AuditInput, lacks_rows
from fairstats.report.leads import (
    MEANING,
    PICTURED,
    count_others,
    isolate_names,
    one_row,
    order_comparisons,
)
from fairstats.report.methods.page import Answer, Exhibit, Page, Words, show_plain_parts
from fairstats.report.view import Part, SetView, table_of


def run_ecd(inputs: AuditInput) -> list[Result]:
    """Average causal discrimination of every group, and ECD of each against the reference.

    Nothing without counterfactual scores, or for crossed attributes; weighted rows are thinned,
    clusters are people. "highest" means nothing here: the largest group is the reference.
    """
    if inputs.outcomes is None:
        groups = _samples_of_tally(inputs)
        note = ""
    else:
        groups, note = _samples_of_rows(inputs)
    if not groups:
        return []
    settings = inputs.settings
    labels = [sample.group for sample in groups]
    sizes = np.array([sample.n for sample in groups])
    named = None if inputs.reference == "highest" else inputs.reference
    reference = labels[find_reference(labels, named, sizes=sizes)[0]]
    first = []
    for sample in groups:
        if sample.group == reference:
            first.append(sample)
    others = []
    for sample in groups:
        if sample.group != reference:
            others.append(sample)
    averages = CounterfactualSample(
        attribute=inputs.attributes[0],
        groups=(*first, *others),
        pairing="other",
        confidence_level=settings.confidence_level,
        note=note,
    )
    if not others:
        return [averages]
    extremes = ecd(
        averages,
        reference=reference,
        confidence_level=settings.confidence_level,
        adjust=settings.adjust,
        rng=settings.seed,
    )
    return [averages, extremes]


def _samples_of_rows(inputs: AuditInput) -> tuple[list[GroupSample], str]:
    """Changes of the score of every group, and what is to be said of weighted rows."""
    changed = inputs.counterfactual_score
    outcomes = inputs.outcomes
    if changed is None or outcomes is None or outcomes.score is None:
        return [], ""
    codes = outcomes.groups.codes
    labels = outcomes.groups.labels
    note = ""
    if outcomes.weight is not None:
        is_kept, note = thinned(outcomes.weight, codes, len(labels), inputs.settings.seed)
        codes = np.where(is_kept, codes, -1)
    groups = []
    for code, name in enumerate(labels):
        rows = np.flatnonzero(codes == code)
        if outcomes.cluster is None:
            cluster = None
        else:
            cluster = outcomes.cluster.codes[rows]
        scores = outcomes.score[rows]
        changes = changed[rows] - scores
        groups.append(GroupSample._of(name, "other", changes, rows, scores, cluster))
    return groups, note


def _samples_of_tally(inputs: AuditInput) -> list[GroupSample]:
    counted = inputs.tally
    if counted is None or counted.tails is None or len(inputs.attributes) > 1:
        return []
    if lacks_rows(inputs, "ECD", weights_too=True):
        return []
    return list(CounterfactualSample.from_tally(counted).groups)


# ---------------------------------------------------------------- parts

#: There are cases enough for a level, but none of the ways to an interval holds.
_MEANING = {**MEANING, "insufficient evidence": "no interval is known to hold, nothing is judged"}


def _show_ecd(section: Section, view: SetView) -> Iterator[Part]:
    """A part for each result of ECD: the largest difference in words, and return levels."""
    extremes = []
    for result in section.results:
        if isinstance(result, EcdResult):
            extremes.append(result)
    for result in extremes:
        ordered = order_comparisons(result.comparisons, lambda comparison: abs(comparison.estimate))
        figures = one_row(tuple(return_levels(result, one.group) for one in ordered[:PICTURED]))
        lead = f"No group can be compared: {MEANING['insufficient evidence']}."
        if ordered:
            worst = ordered[0]
            if worst.estimate >= 0:
                more = "more"
            else:
                more = "less"
            text = (
                f"In the worst of {result.settings.interactions:,.0f} decisions belonging to the"
                f" group costs {worst.group} {abs(worst.estimate):.3f} {more} in score than"
                f" {worst.reference}: {_MEANING.get(worst.verdict, worst.verdict)}."
                f"{count_others(worst, result.comparisons)}"
            )
            lead = isolate_names(text, worst.group, worst.reference)
        tables = tuple(table_of(each) for each in section.results)
        yield Part("ecd", "The worst that can happen", lead, figures=figures, tables=tables)
    if not extremes:
        yield from show_plain_parts(section, view)


# ---------------------------------------------------------------- words

_WORDS = {
    "average causal discrimination": Words(
        title="ACD: average causal discrimination",
        text=(
            "Mean of CD = score with another value of the sensitive attribute − score "
            "as it is, per group, with its t-test; positive where the other value "
            "would have helped."
        ),
        cites=("monjezi",),
    ),
    "ECD": Words(
        title="ECD: extreme counterfactual discrimination",
        text=(
            "Difference of two groups' return levels of CD at 1,000 interactions, "
            "RL(m) = u + σ/ξ((mλ)^ξ − 1), the 1 − 1/m quantile, from the largest "
            "values of both groups, the same share of each: 1.25% of the smaller one, "
            "at least 30 values but at most 5% of it, at most 50. The test is the "
            "likelihood ratio of equal return levels with rate, scale and shape of "
            "both groups profiled; the verdict compares their difference with the "
            "margin. Values on a grid have the likelihood of its cells; for other "
            "ties order statistics take the place of a fit, and there is no test."
        ),
        cites=("monjezi", "coles"),
    ),
    "largest |ECD|": Words(
        title="The largest ECD of all groups",
        text=(
            "The largest absolute ECD of the groups against their reference; its "
            "limits are the largest and the farthest of the groups' simultaneous "
            "intervals, which hold it whichever group it is of."
        ),
    ),
}
_INTERVALS = {
    "likelihood ratio, standardised signed root": Words(
        text=(
            "likelihood ratio, standardised signed root: the differences whose signed "
            "root of the likelihood ratio, less its mean and divided by its standard "
            "deviation in samples of the tails most likely under them, Student's t "
            "does not reject; the rate of exceedances is profiled, too."
        ),
        cites=("coles",),
    ),
    NEAR_END: Words(
        text=(
            "likelihood ratio and draws of a power tail, the less sure of both: where "
            "a tail looks as if its end point were near (ξ estimated below −1/2), "
            "both levels are drawn independently, too; the wider interval and the "
            "larger p-value stand, since chance has a part in which tails look so."
        )
    ),
    "max over groups": Words(
        text=(
            "max over groups: from the simultaneous intervals of all groups, so that "
            "choosing the largest costs nothing."
        )
    ),
    BY_CLUSTERS: Words(
        text=(
            "likelihood ratio, signed root by the design effect of people: where people "
            "have several rows or are shared by the groups, the law of the root is as much "
            "wider as the influence of whole people is beside that of single rows."
        ),
        cites=("coles", "chandler"),
    ),
    "none": Words(
        text=(
            "none: where people have several rows and scores lie on a grid, no "
            "interval is shown to hold."
        )
    ),
}
_OF_A_FIT = "of a fit: pass the fit, whose likelihood R recomputes"
_BY_BOOTSTRAP = "of a bootstrap: R has no twin of it"
_OF_THRESHOLDS = "of one fit or mean per threshold: R recomputes the fit at the chosen one"

PAGE = Page(
    method="ecd",
    run=run_ecd,
    answers=(Answer(questions.EXTREMES, parts=_show_ecd, words=_WORDS, intervals=_INTERVALS),),
    exhibits=(
        Exhibit(CounterfactualSample, questions.EXTREMES, twin=tails.averages),
        Exhibit(EcdResult, questions.EXTREMES, twin=tails.ecd),
        Exhibit(TailSample, no_twin="of a search by simulation: only its generator can repeat it"),
        Exhibit(SyntheticQuality, no_twin="of a classifier that Python fits"),
        Exhibit(ScottKnott, no_twin="of bootstraps at every split: R has no twin of it"),
        # extreme value theory
        Exhibit(EvtFit, twin=tails.fit),
        Exhibit(ReturnLevel, no_twin=_OF_A_FIT),
        Exhibit(ReturnLevels, no_twin=_OF_A_FIT),
        Exhibit(ProfileCurve, no_twin=_OF_A_FIT),
        Exhibit(Endpoint, no_twin=_OF_A_FIT),
        Exhibit(ExceedanceProbability, no_twin=_OF_A_FIT),
        Exhibit(TailType, no_twin=_OF_A_FIT),
        Exhibit(ShapeTest, no_twin=_OF_A_FIT),
        Exhibit(CovariateFit, no_twin="tested against extRemes: no number of a report"),
        Exhibit(ConditionalLevel, no_twin="tested against extRemes: no number of a report"),
        Exhibit(AveragedReturnLevel, no_twin="tested against threshr: no number of a report"),
        Exhibit(ThresholdTests, no_twin="tested against mev: no number of a report"),
        Exhibit(GoodnessOfFit, no_twin=_BY_BOOTSTRAP),
        Exhibit(ExponentialityTest, no_twin=_BY_BOOTSTRAP),
        Exhibit(ExtremalIndex, no_twin=_BY_BOOTSTRAP),
        Exhibit(MeanResidualLife, no_twin=_OF_THRESHOLDS),
        Exhibit(ThresholdStability, no_twin=_OF_THRESHOLDS),
        Exhibit(ThresholdChoice, no_twin=_OF_THRESHOLDS),
    ),
)
