"""The page of Uncertainty Matters: joint posteriors of accuracy and fairness."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.backends import unless_asked
from fairstats.ground.errors import FairstatsWarning
from fairstats.ground.results import Result
from fairstats.methods.um.comparison import UmComparison
from fairstats.methods.um.draws import TOLERANCE
from fairstats.methods.um.estimators import UmEstimators
from fairstats.methods.um.events import UmRanking
from fairstats.methods.um.posterior import um_posterior
from fairstats.methods.um.result import UmPosterior
from fairstats.numerics.hdr.region import hdr
from fairstats.numerics.hdr.result import HdrResult
from fairstats.plots.figures import posterior_plane
from fairstats.report import questions
from fairstats.report.contents import Section
from fairstats.report.crosscheck import posteriors, tails
from fairstats.report.format import chance
from fairstats.report.inputs import AuditInput
from fairstats.report.leads import PICTURED, isolate_names, one_row
from fairstats.report.methods.page import Answer, Exhibit, Page, Words, show_plain_part
from fairstats.report.view import Part, SetView, table_of

_DRAWS = 10_000
#: Rows of the posterior's table.
UM_METRICS = (
    "accuracy",
    "demographic_parity",
    "equal_opportunity",
    "predictive_equality",
    "predictive_parity",
)
#: Both kinds of error, the axes of its plane.
_PLANE = ("equal_opportunity", "predictive_equality")


def run_um(inputs: AuditInput) -> list[Result]:
    """Posteriors of accuracy and fairness; nothing without labels and predictions, or with weights.

    A multinomial likelihood has no design weights. "highest" means nothing here: the largest group
    is the reference.
    """
    if not inputs.has("y_true", "y_pred") or inputs.counts.weighted:
        return []
    settings = inputs.settings
    if inputs.reference == "highest":
        reference = None
    else:
        reference = inputs.reference
    posterior = um_posterior(
        counts=inputs.counts,
        draws=_DRAWS,
        reference=reference,
        rng=settings.seed,
    )
    return [
        replace(
            posterior,
            table_metrics=UM_METRICS,
            table_prob=settings.confidence_level,
            table_rope=settings.margin,
        )
    ]


# ---------------------------------------------------------------- parts


class _GroupPlane(NamedTuple):
    """Draws of both differences of one group, and the share of them that is practically 0."""

    share: float
    group: str
    draws: NDArray[np.float64]


def _show_um(section: Section, view: SetView) -> Iterator[Part]:
    for result in section.results:
        if isinstance(result, UmPosterior):
            yield _show_posterior(section, result)
        else:
            yield show_plain_part(section, result)


def _show_posterior(section: Section, result: UmPosterior) -> Part:
    """The posterior of both error rates' differences, least equal groups first, with its planes."""
    planes = _planes_of(result)
    rope = result.table_rope
    lead = "No group has enough cases for both kinds of error to be compared."
    if planes:
        least = planes[0]
        n_others = len(planes) - 1
        more = ""
        if n_others:
            if n_others == 1:
                plural = " is"
            else:
                plural = "s are"
            more = f" {n_others} other group{plural} no less nearly equal."
        text = (
            "The chances of being rightly and of being wrongly favoured are practically the same"
            f" for {least.group} and {result.reference}, within ±{rope:g} each, with a probability"
            f" of {chance(least.share)}.{more}"
        )
        lead = isolate_names(text, least.group, result.reference)
    pictures = []
    for plane in planes[:PICTURED]:
        if np.ptp(plane.draws, axis=0).min() > 0:  # nothing to draw of a constant
            region = hdr(plane.draws, [0.5, 0.95], backend=unless_asked(), discrete=False)
            labels = ("difference of true positive rates", "difference of false positive rates")
            title = (
                f"{plane.group} against {result.reference}: {chance(plane.share)} practically equal"
            )
            pictures.append(posterior_plane(region, labels, (rope, rope), title))
    return Part(
        section.key,
        "Both kinds of error at once",
        lead,
        figures=one_row(tuple(pictures)),
        tables=(table_of(result),),
    )


def _planes_of(result: UmPosterior) -> list[_GroupPlane]:
    """Every group that has cases of both kinds; the least nearly equal first."""
    with warnings.catch_warnings():
        # the table says which draws are undefined
        warnings.simplefilter("ignore", FairstatsWarning)
        metrics = result.metrics(_PLANE)
    differences = [metrics[name].reshape(result.n_draws, -1) for name in _PLANE]
    draws = np.stack(differences, axis=-1)
    positives = result.counts.total("tp", "fn")
    negatives = result.counts.total("fp", "tn")
    # of a group without cases of both kinds the prior alone speaks
    with_cases = {
        group
        for group, cases, other_cases in zip(result.groups, positives, negatives, strict=True)
        if cases and other_cases
    }
    planes = []
    others = []
    for group in result.groups:
        if group != result.reference:
            others.append(group)
    for position, group in enumerate(others):
        of_group = draws[:, position]
        if np.isnan(of_group).any() or not {group, result.reference} <= with_cases:
            continue
        inside = np.abs(of_group) <= result.table_rope + TOLERANCE
        share = float(inside.all(axis=1).mean())
        planes.append(_GroupPlane(share=share, group=group, draws=of_group))
    planes.sort(key=lambda plane: (plane.share, -float(np.abs(plane.draws.mean(axis=0)).max())))
    return planes


# ---------------------------------------------------------------- words

_WORDS = {
    "accuracy": Words(
        title="Posterior of the accuracy",
        text=(
            "Per group the counts of the confusion matrix are multinomial under a "
            "uniform Dirichlet prior; accuracy of all rows, and of each group. All "
            "posteriors come from the same joint draws."
        ),
        cites=("barrainkua", "caelen"),
    ),
    "demographic_parity": Words(
        title="Posterior of demographic parity",
        text=(
            "Selection rates: posterior of the difference group − reference, with the "
            "share of it inside ± the margin (p_rope)."
        ),
        cites=("barrainkua",),
    ),
    "equal_opportunity": Words(
        title="Posterior of equal opportunity",
        text=(
            "True positive rates: posterior of the difference group − reference, with "
            "the share of it inside ± the margin (p_rope)."
        ),
        cites=("barrainkua",),
    ),
    "predictive_equality": Words(
        title="Posterior of predictive equality",
        text=(
            "False positive rates: posterior of the difference group − reference, "
            "with the share of it inside ± the margin (p_rope)."
        ),
        cites=("barrainkua",),
    ),
    "predictive_parity": Words(
        title="Posterior of predictive parity",
        text=(
            "Positive predictive values: posterior of the difference group − "
            "reference, with the share of it inside ± the margin (p_rope)."
        ),
        cites=("barrainkua",),
    ),
}
_INTERVALS = {
    "parameter, HDI": Words(
        text=(
            "shortest intervals that hold the stated share of the posterior of the "
            "metric itself: probability statements under the prior, not confidence "
            "intervals, and without a verdict. They stand for themselves: one "
            "interval can exclude 0 where the family-wise verdict of a rate shows "
            "nothing, and include it where a ratio is judged against its threshold; "
            "and the prior moves small groups."
        ),
        cites=("barrainkua",),
    )
}

PAGE = Page(
    method="um",
    run=run_um,
    answers=(Answer(questions.POSTERIORS, parts=_show_um, words=_WORDS, intervals=_INTERVALS),),
    exhibits=(
        Exhibit(UmPosterior, questions.POSTERIORS, twin=posteriors.posterior),
        Exhibit(UmComparison, twin=posteriors.comparison),
        Exhibit(UmRanking, twin=posteriors.ranking),
        Exhibit(UmEstimators, twin=posteriors.estimators),
        Exhibit(HdrResult, twin=tails.regions),
    ),
)
