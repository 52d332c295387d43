"""`ecd`: extreme counterfactual discrimination, with interval and test at a common number of
interactions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fairstats.ground.checks import (
    SeedOrGenerator,
    as_generator,
    check_given,
    check_that,
    check_two_groups,
    check_type,
)
from fairstats.ground.encoding import label_text
from fairstats.ground.errors import DataWarning, InputError, InsufficientEvidenceWarning, caution
from fairstats.ground.multiplicity import adjust_pvalues
from fairstats.ground.progress import each_of, under_way
from fairstats.ground.tally import Tally, counts_or_rows
from fairstats.ground.verdict import Evidence, fair_range, judge, settle
from fairstats.methods.ecd.contrast import (
    Pair,
    contrast_tails,
    level_of_each,
    other_exceedances,
)
from fairstats.methods.ecd.result import EcdComparison, EcdResult
from fairstats.methods.ecd.sample import CounterfactualSample, GroupSample
from fairstats.methods.ecd.settings import EcdSettings
from fairstats.methods.ecd.tail import GroupTail, exceedances_alone, exceedances_of_pair, group_tail

_SYNTHETIC_NOTE = (
    "Synthetic rows: the interval is Monte Carlo error about the generator's law and can be made as"
    " small as one likes. For people, resample the real rows, refit the generator and repeat at"
    " that size."
)


def ecd(
    sample: CounterfactualSample | Tally | Mapping[Hashable, Any] | None = None,
    *,
    reference: Any = None,
    privileged: Any = None,
    unprivileged: Any = None,
    interactions: float = 1000,
    location: str = "return_level",
    threshold: int | str | Mapping[Hashable, float] | None = None,
    other_interactions: Sequence[float] = (500, 1000, 2000, 10_000),
    confidence_level: float = 0.95,
    margin: float = 0.05,
    horizon_width: float = 0.5,
    n_resamples: int = 999,
    calibrated: bool = True,
    adjust: str = "holm",
    sensitivity: Sequence[float] = (0.5, 2.0),
    cvar_level: float = 0.95,
    grid: float | str | None = "auto",
    backend: str | None = None,
    counts: Tally | None = None,
    rng: SeedOrGenerator = None,
) -> EcdResult:
    """Extreme counterfactual discrimination: difference of two groups' worst cases.

    RL_g(m) is the 1 − 1/m quantile of CD in group g, by extreme value theory; m interactions exceed
    it with probability about 63%. ECD = RL_unprivileged(m) − RL_privileged(m) at one m for both
    groups.

    Parameters
    ----------
    sample : CounterfactualSample, Tally, or mapping of group to array-like
        From `counterfactual_discrimination`; counted with `score` and `counterfactual_score`; or CD
        in [−1, 1].
    reference : value, optional
        Every other group is compared with this one; default: the largest.
    privileged, unprivileged : value, or pair (value, counterfactual), optional
        Two groups of the sample, in place of `reference`.
    interactions : float
        m > 1, common to both groups.
    location : {"return_level", "paper"}
        "paper": each group's location at its own block of e exceedances, with the z-test. It
        compares different quantiles, is not an inference on discrimination, and warns.
    threshold : int, "forward_stop" or mapping, optional
        k: the (k + 1)-th largest CD of each group is its threshold. By default k is 1.25% of the
        rows of the smaller group, at least 30 but no more than 5% of them (ten at least) and at
        most 50; and the same share of the rows of the group that it is compared with, at most
        1,000. It is lowered where k exceedances come less than once in m interactions.
        "forward_stop": the largest k of 20 to N^(2/3)/5 that tests of fit allow (the rule of
        `fairstats.evt.choose_threshold`); values on a grid have the default. Or a threshold for
        each group.
    other_interactions : sequence of float
        Further numbers of interactions to give return levels at.
    confidence_level : float
    margin : float
        The verdict asks whether the size of ECD lies above or below it (0.05 is the paper's).
    horizon_width : float
        Return levels are within the horizon while their interval is narrower than this share of the
        level and ends below 1. Beyond it the verdict is "undecided", unless the interval is
        narrower than this share of the margin.
    n_resamples : int
        Parametric bootstrap of goodness of fit. 0: none.
    calibrated : bool
        Whether the signed root of the likelihood ratio is standardised by its mean and standard
        deviation in samples of the tails that are most likely under each difference, which are
        tabulated. False: as it is.
    adjust : {"holm", "bonferroni", "sidak", "hommel", "fdr_bh", "none"}
        Over the groups that are compared: of the p-values of equality, and of those of the
        verdicts.
    sensitivity : sequence of float
        Further answers, with the exceedances multiplied by these: `EcdResult.sensitivity`.
    cvar_level : float
        CVaR is the mean of the worst share 1 − this of CD, in (0, 1).
    grid : {"auto"}, float or None
        Width of the grid that rounded scores put CD on. "auto": in each group where more than half
        of the values in the tail are tied, or the largest, the width that all are multiples of. A
        width: that one in all groups (a tail that fills fewer than 5% of its cells has its values
        as they are). None: values as they are.
    backend : {None, "auto", "r", "scipy"}
        What estimates the parameters (`fairstats.evt.fit_gpd`).
    counts : Tally, optional
        The tally, in place of `sample`.
    rng : None, int or Generator

    Returns
    -------
    EcdResult

    Raises
    ------
    InputError
        A group that is not there, settings that cannot be used, a grid that the values do not lie
        on.

    Warns
    -----
    DataWarning
        location="paper".
    InsufficientEvidenceWarning
        A group whose tail cannot be modelled.

    Notes
    -----
    The test is the likelihood ratio of equal return levels with both groups' rate, scale and shape
    profiled, and the interval its inversion. The χ² law is too short for small tails (raw size .07
    to .15), on one side more: so the signed root is standardised by its mean and standard deviation
    in samples of the tails that are most likely *under the difference* that is asked about (at the
    estimate and at roots of ±2, linear between; DiCiccio, Martin and Stern 2001 have those of the
    free fit, by which a small tail that looks lighter than it is makes the test too sure: size .09
    to .15), and compared with Student's t, of the fewer exceedances less three degrees of freedom.
    Mean and deviation are tabulated functions of both tails, so that a call simulates nothing. Both
    tails have the same share of rows where rows allow, so that what the model leaves out biases
    both levels alike. Comparing locations at own thresholds rejects equal tails in 94–100% of
    samples of 25,000 against 3,000.

    Values on a grid with four distinct ones or more in the tail have the likelihood of their cells
    (`fairstats.evt.fit_gpd`; on a coarse grid it is conservative). Tails of a shape below −1/2 have
    the levels of a power tail; there both the likelihood ratio and independent draws of both levels
    are asked, and the wider interval and the larger p-value stand, so that the branch, which chance
    chooses, makes nothing surer. A tail of other ties or of a constant CD has no model: order
    statistics stand in, with binomial intervals (of rounded scores a width further, as each of the
    two is off by up to half a width; where the highest cell holds 5% of the rows, it is the
    answer), and there is no test; the same where the model's level lies above 1. Levels are cut at
    1, differences at [−2, 2]. The verdict is by its own p-values, of the signed root of the
    likelihood ratio at ± `margin`, and family-wise over the groups; `bounds` are the one-sided
    limits that belong to it. Tails that are not generalised Pareto bias the level, the more the
    larger the share of the rows above the threshold: `sensitivity` has the answers with half and
    twice the exceedances, by Student's t, and the result says where they differ. Where people
    own several rows, the signed root is compared with a law as much wider as their rows depend on
    each other (Chandler and Bate, 2007), and the
    share above the threshold is chosen by their number; where fewer than ten people own the
    exceedances of a group, scores lie on a grid or there is no model, there is no interval, nor is
    there of a single group's level. With synthetic rows intervals describe the generator's law, and
    there is neither p-value nor verdict on people.

    References
    ----------
    Monjezi, V., Trivedi, A., Kreinovich, V., Tizpaz-Niari, S. Fairness Testing through Extreme
    Value Theory. Coles, S. (2001). An Introduction to Statistical Modeling of Extreme Values,
    chapters 4 and 7. DiCiccio, T. J., Martin, M. A. and Stern, S. E. (2001). Simple and accurate
    one-sided inference from signed roots of likelihood ratios. Canadian Journal of Statistics 29,
    67–76. Chandler, R. E. and Bate, S. (2007). Inference for clustered data using the independence
    loglikelihood. Biometrika 94, 167–183.

    Examples
    --------
    >>> import numpy as np
    >>> import fairstats as fs
    >>> rng = np.random.default_rng(1)
    >>> cd = {"white": 0.3 * rng.beta(2, 8, 8000), "black": 0.5 * rng.beta(2, 8, 3000)}
    >>> found = fs.ecd(cd, privileged="white", unprivileged="black", backend="scipy", rng=1)
    >>> round(found.estimate, 3), found.verdict
    (0.146, 'violated')
    """
    generator, seed = as_generator(rng)
    check_type(
        "other_interactions", other_interactions, (list, tuple), "a list of numbers", "(500,)"
    )
    check_type("sensitivity", sensitivity, (list, tuple), "a list of numbers", "(0.5, 2)")
    settings = EcdSettings(
        interactions=interactions,
        other_interactions=tuple(other_interactions),
        location=location,
        threshold=threshold,
        confidence_level=confidence_level,
        margin=margin,
        horizon_width=horizon_width,
        n_resamples=n_resamples,
        calibrated=calibrated,
        seed=seed,
        backend=backend,
        adjust=adjust,
        sensitivity=tuple(sensitivity),
        cvar_level=cvar_level,
        grid=grid,
    )
    whole_sample = _as_sample(
        counts if counts_or_rows(counts, needs="sample", sample=sample) else sample
    )
    samples = _choose_groups(whole_sample, reference, privileged, unprivileged)
    tail_names = []
    for group_sample in samples:
        tail_names.append(
            f"{group_sample.group} → {group_sample.counterfactual}"
            if whole_sample.pairing == "all"
            else group_sample.group
        )
    thresholds = settings.threshold
    if without_threshold := [
        name
        for name in tail_names
        if isinstance(thresholds, dict) and label_text(name) not in thresholds
    ]:
        got = f"no threshold for {', '.join(map(repr, without_threshold))}"
        allowed = "a number for each group, or k"
        raise InputError(
            "threshold",
            got=got,
            allowed=allowed,
            cure="k = 50: the 51st largest value",
        )
    tails, references = _fit_tails(tail_names, samples, settings, generator)
    for tail in tails:
        if tail.degenerate:
            caution(
                f"{tail.group}: {tail.degenerate}. No tail is fitted.", InsufficientEvidenceWarning
            )

    def stream() -> np.random.Generator:
        # the simulation of each comparison has a stream of its own, the same whatever else is
        # compared
        if seed is None:
            return generator
        return np.random.default_rng(0 if rng is None else seed)

    compared_groups = _compare_groups(
        tails, references, samples, settings, stream, whole_sample.note
    )
    comparisons, evidence, other_comparisons = zip(*compared_groups, strict=True)
    if location == "paper":
        caution(comparisons[0].note, DataWarning)
    judged_comparisons = _judge_comparisons(comparisons, evidence, tails, settings)
    return EcdResult(
        attribute=whole_sample.attribute,
        comparisons=judged_comparisons,
        tails=tails,
        settings=settings,
        sensitivity=sum(other_comparisons, ()),
        note=" ".join(
            dict.fromkeys(comparison.note for comparison in judged_comparisons if comparison.note)
        ),
        backend=next(
            (group_tail_of.fit.backend for group_tail_of in tails if group_tail_of.fit is not None),
            "numpy",
        ),
    )


@under_way("tails of groups")
def _fit_tails(
    names: list[str],
    samples: list[GroupSample],
    settings: EcdSettings,
    rng: np.random.Generator,
) -> tuple[tuple[GroupTail, ...], tuple[GroupTail, ...]]:
    """The tail of every group, and the reference's in each comparison.

    Equal shares of the rows of both.

    Beside the groups stands the reference's tail with the highest threshold, that of the largest of
    the others.
    """
    *others, reference_sample = samples
    count_pairs = [exceedances_of_pair(sample, reference_sample) for sample in others]
    # the paper has 50 everywhere
    if settings.location == "paper":
        count_pairs = []
        for sample in others:
            count_pairs.append((exceedances_alone(sample), exceedances_alone(reference_sample)))
    own_tails = []
    for name, sample, (count, _) in zip(names, others, count_pairs, strict=False):
        own_tails.append(group_tail(name, sample, settings, rng, count))
    wanted_counts = [count for _, count in count_pairs]
    least_count = min(wanted_counts)
    reference_tails = {
        least_count: group_tail(names[-1], reference_sample, settings, rng, least_count)
    }
    if settings.threshold is not None:
        wanted_counts = [least_count] * len(others)
    plain_settings = replace(settings, n_resamples=0)
    for count in wanted_counts:
        if count not in reference_tails:
            reference_tails[count] = group_tail(
                names[-1], reference_sample, plain_settings, rng, count
            )
    return (*own_tails, reference_tails[least_count]), tuple(
        reference_tails[count] for count in wanted_counts
    )


def _compare_groups(
    tails: tuple[GroupTail, ...],
    references: tuple[GroupTail, ...],
    samples: list[GroupSample],
    settings: EcdSettings,
    stream: Callable[[], np.random.Generator],
    note: str,
) -> Iterator[tuple[EcdComparison, Evidence, tuple[EcdComparison, ...]]]:
    """Each group against the reference.

    What is inferred, the evidence, and other numbers of exceedances.
    """
    joint_level = level_of_each(
        tails,
        settings.confidence_level,
        alike=all(reference_of_one is tails[-1] for reference_of_one in references),
    )
    groups = tuple(zip(tails[:-1], references, samples[:-1], strict=True))
    for tail, reference, group_sample in each_of(groups, "ECD of groups"):
        pair = Pair((tail, reference), (group_sample, samples[-1]), settings, stream(), joint_level)
        comparison, comparison_evidence = contrast_tails(pair)
        if is_synthetic := any(pair_sample.n_synthetic for pair_sample in pair.samples):
            comparison = replace(comparison, pvalue=math.nan)
            comparison_evidence = Evidence()
        at_other_counts = other_exceedances(pair)
        sensitivity_note = _note_sensitivity(comparison, at_other_counts, settings)
        width_note = _note_width(comparison, pair.tails, settings)
        notes = (
            comparison.note,
            width_note,
            _SYNTHETIC_NOTE if is_synthetic else "",
            sensitivity_note,
            note,
        )
        other_reference = reference if reference is not tails[-1] else None
        yield (
            replace(comparison, note=" ".join(filter(None, notes)), reference_tail=other_reference),
            comparison_evidence,
            tuple(at_other_counts),
        )


def _judge_comparisons(
    comparisons: Sequence[EcdComparison],
    evidence: Sequence[Evidence],
    tails: tuple[GroupTail, ...],
    settings: EcdSettings,
) -> tuple[EcdComparison, ...]:
    """The comparisons with their verdicts, family-wise; none beyond the horizon."""
    adjusted = adjust_pvalues(
        [one_comparison.pvalue for one_comparison in comparisons], settings.adjust
    ).tolist()
    rulings = settle(
        evidence,
        confidence_level=settings.confidence_level,
        adjust=settings.adjust,
        adjusted_equality=adjusted,
    )
    judged = []
    for comparison, ruling, adjusted_pvalue in zip(comparisons, rulings, adjusted, strict=True):
        judged_one = replace(comparison._with_ruling(ruling), pvalue_adjusted=adjusted_pvalue)
        by_order_statistics = (
            comparison.method == "none" and comparison.confidence_interval.method != "none"
        )
        synthetic = any(
            tail.n_synthetic
            for tail in tails
            if tail.group in (comparison.group, comparison.reference)
        )
        if by_order_statistics and not (math.isnan(comparison.estimate) or synthetic):
            # order statistics: limits without a p-value
            judged_one = replace(
                judged_one,
                verdict=judge(*comparison.bounds, fair=fair_range("difference", settings.margin)),
            )
        elif judged_one.verdict in ("violated", "satisfied") and (
            reason := _explain_horizon(comparison, tails, settings)
        ):
            judged_one = replace(
                judged_one,
                verdict="undecided",
                note=" ".join(filter(None, (judged_one.note, reason))),
            )
        judged.append(judged_one)
    return tuple(judged)


def _explain_horizon(
    one: EcdComparison, tails: tuple[GroupTail, ...], settings: EcdSettings
) -> str:
    """Why m interactions are too many for a verdict; empty where they are not."""
    interactions = settings.interactions
    other_reference = one.reference_tail
    for own_tail in tails:
        if other_reference is not None and own_tail.group == other_reference.group:
            tail = other_reference
        else:
            tail = own_tail
        level = tail.level
        tail_kind = tail.type
        if (
            tail.group not in (one.group, one.reference)
            or tail_kind is None
            or level.empirical
            or interactions <= tail_kind.horizon
        ):
            continue
        if level.confidence_interval.width > settings.horizon_width * settings.margin:
            if math.isnan(tail_kind.horizon):
                reach = "there is none"
            else:
                reach = f"{tail_kind.horizon:,.0f} interactions"
            beyond = f"{interactions:,.0f} interactions lie beyond the horizon of {tail.group}"
            return f"{beyond} ({reach}: {tail_kind.horizon_reason}): no verdict there."
    return ""


def _note_width(
    comparison: EcdComparison, tails: tuple[GroupTail, GroupTail], settings: EcdSettings
) -> str:
    """Whose level makes an interval as wide as the scale of the scores; empty where it is not."""
    if comparison.confidence_interval.width < 1 or math.isnan(comparison.estimate):
        return ""
    widest_tail = max(tails, key=lambda group_tail: group_tail.level.confidence_interval.width)
    low, high = widest_tail.level.confidence_interval
    level_in_words = (
        f"its level of {settings.interactions:,.0f} interactions between {low:.3g} and {high:.3g}"
    )
    sentence = (
        "The interval is as wide as the scale: the largest values of"
        f" {widest_tail.group} leave {level_in_words}."
    )
    return f"{sentence} Fewer interactions or more rows say more."


def _note_sensitivity(
    one: EcdComparison, others: list[EcdComparison], settings: EcdSettings
) -> str:
    """Where half or twice the exceedances lead to another verdict or to another interval."""
    fair_differences = fair_range("difference", settings.margin)
    own_verdict = judge(*one.bounds, fair=fair_differences)
    in_words = []
    for other in others:
        if (
            judge(*other.bounds, fair=fair_differences) != own_verdict
            or other.estimate not in one.confidence_interval
        ):
            in_words.append(
                "{}: {:.3f} ({:.3f} to {:.3f})".format(
                    other.metric.partition(", ")[2], other.estimate, *other.confidence_interval
                )
            )
    if in_words:
        return f"The answer depends on the threshold: with {'; '.join(in_words)}."
    return ""


def _choose_groups(
    whole_sample: CounterfactualSample,
    reference: Any,
    privileged: Any,
    unprivileged: Any,
) -> list[GroupSample]:
    """The groups that are compared, the reference last."""
    if unprivileged is None and privileged is None:
        if whole_sample.pairing == "all":
            allowed = "privileged= and unprivileged=, each a pair (value, counterfactual)"
            raise InputError(
                "reference",
                got="a sample of ordered pairs",
                allowed=allowed,
                cure="name two pairs",
            )
        if reference is None:
            reference_sample = max(whole_sample.groups, key=lambda group: group.n)
        else:
            reference_sample = whole_sample[reference]
        others = [group for group in whole_sample.groups if group is not reference_sample]
        check_two_groups([group.group for group in whole_sample.groups if group.n])
        return [*others, reference_sample]
    check_that(
        reference is None, "reference", reference, "None beside privileged= and unprivileged="
    )
    allowed = "a group of the sample, or reference= to compare all with one"
    named_groups = {"unprivileged": unprivileged, "privileged": privileged}
    pair_samples = []
    for name, value in named_groups.items():
        pair_samples.append(whole_sample[check_given(name, value, allowed)])
    if pair_samples[0] is pair_samples[1]:
        got = f"{pair_samples[0].group!r}, the privileged group"
        raise InputError("unprivileged", got=got, allowed="another group", cure="name two groups")
    return pair_samples


def _as_sample(sample: Any) -> CounterfactualSample:
    if isinstance(sample, CounterfactualSample):
        return sample
    if isinstance(sample, Tally):
        return CounterfactualSample.from_tally(sample)
    allowed = "group → values of CD, a CounterfactualSample or a Tally"
    check_type("sample", sample, Mapping, allowed, "{'a': [0.1, …], 'b': [0.0, …]}")
    return CounterfactualSample.from_values(sample)
