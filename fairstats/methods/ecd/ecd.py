"""`ecd`: extreme counterfactual discrimination, with interval and test at a common number of interactions."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fairstats.ground.checks import as_generator, check_given, check_that, check_two_groups, check_type
from fairstats.ground.encoding import label_text
from fairstats.ground.errors import DataWarning, InputError, InsufficientEvidenceWarning, caution
from fairstats.ground.multiplicity import adjust_pvalues
from fairstats.ground.tally import Tally, counts_or_rows
from fairstats.ground.verdict import Evidence, fair_range, judge, settle
from fairstats.methods.ecd.contrast import Pair, contrast_tails, level_of_each, other_exceedances
from fairstats.methods.ecd.result import EcdComparison, EcdResult
from fairstats.methods.ecd.sample import CounterfactualSample, GroupSample
from fairstats.methods.ecd.settings import EcdSettings
from fairstats.methods.ecd.tail import GroupTail, group_tail

_SYNTHETIC = (
    "Synthetic rows: the interval is Monte Carlo error about the generator's law and can be made as small as one likes."
    " For people, resample the real rows, refit the generator and repeat at that size."
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
    rng: Any = None,
) -> EcdResult:
    """Extreme counterfactual discrimination: difference of two groups' worst cases.

    RL_g(m) is the 1 − 1/m quantile of CD in group g, by extreme value theory; m interactions exceed it with
    probability about 63%. ECD = RL_unprivileged(m) − RL_privileged(m) at one m for both groups.

    Parameters
    ----------
    sample : CounterfactualSample, Tally, or mapping of group to array-like
        From `counterfactual_discrimination`; counted with `score` and `counterfactual_score`; or CD in [−1, 1].
    reference : value, optional
        Every other group is compared with this one; default: the largest.
    privileged, unprivileged : value, or pair (value, counterfactual), optional
        Two groups of the sample, in place of `reference`.
    interactions : float
        m > 1, common to both groups.
    location : {"return_level", "paper"}
        "paper": each group's location at its own block of e exceedances, with the z-test. It compares different
        quantiles, is not an inference on discrimination, and warns.
    threshold : int, "forward_stop" or mapping, optional
        k: the (k + 1)-th largest CD of each group is its threshold; by default 50, but at most 5% of the rows (ten at
        least). It is lowered where k exceedances come less than once in m interactions. "forward_stop": the largest k
        up to 5% of the rows that tests of fit allow (`fairstats.evt.choose_threshold`); values on a grid have the
        default. Or a threshold for each group.
    other_interactions : sequence of float
        Further numbers of interactions to give return levels at.
    confidence_level : float
    margin : float
        The verdict asks whether the size of ECD lies above or below it (0.05 is the paper's).
    horizon_width : float
        Return levels are within the horizon while their interval is narrower than this share of the level and ends
        below 1. Beyond it the verdict is "undecided", unless the interval is narrower than this share of the margin.
    n_resamples : int
        Parametric bootstrap of goodness of fit; resamples of people. 0: neither.
    calibrated : bool
        Whether the signed root of the likelihood ratio is standardised by its mean and standard deviation in 200
        samples from the fitted tails. False: Student's t, without simulation.
    adjust : {"holm", "bonferroni", "sidak", "hommel", "fdr_bh", "none"}
        Over the groups that are compared: of the p-values of equality, and of those of the verdicts.
    sensitivity : sequence of float
        Further answers, with the exceedances multiplied by these: `EcdResult.sensitivity`.
    cvar_level : float
        CVaR is the mean of the worst share 1 − this of CD, in (0, 1).
    grid : {"auto"}, float or None
        Width of the grid that rounded scores put CD on. "auto": in each group where more than half of the values in the
        tail are tied, or the largest, the width that all are multiples of. A width: that one in all groups (a tail that
        fills fewer than 5% of its cells has its values as they are). None: values as they are.
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
        A group that is not there, settings that cannot be used, a grid that the values do not lie on.

    Warns
    -----
    DataWarning
        location="paper".
    InsufficientEvidenceWarning
        A group whose tail cannot be modelled.

    Notes
    -----
    The test is the likelihood ratio of equal return levels with both groups' rate, scale and shape profiled, and the
    interval its inversion. The χ² law is too short for small tails (size .062–.080 at k = 50), and where groups differ
    in size one limit errs in up to 11% of samples in place of 5%: so the signed root of the likelihood ratio is
    standardised by its simulated mean and standard deviation (DiCiccio et al. 2001). Comparing locations at own
    thresholds rejects equal tails in 94–100% of samples of 25,000 against 3,000.

    Values on a grid with four distinct ones or more in the tail have the likelihood of their cells
    (`fairstats.evt.fit_gpd`; on a coarse grid it is conservative). Tails of a shape below −1/2 have the levels of a
    power tail, and the test is by independent draws of both levels. A tail of other ties or of a constant CD has no
    model: order statistics stand in, with binomial intervals (of rounded scores a width further, as each of the two is
    off by up to half a width; where the highest cell holds 5% of the rows, it is the answer), and there is no test; the
    same where the model's level lies above 1. Levels are cut at 1, differences at [−2, 2]. The verdict is by its own
    p-values, of the signed root of the likelihood ratio at ± `margin`, and family-wise over the groups; `bounds` are
    the one-sided limits that belong to it. Tails that are not generalised Pareto bias the level, the more the larger
    the share of the rows above the threshold: `sensitivity` has the answers with half and twice the exceedances, by
    Student's t, and the result says where they differ. Rows of one person are resampled together; where their end point
    is near, scores lie on a grid or there is no model, there is no interval, nor is there of a single group's level.
    With synthetic rows intervals describe the generator's law, and there is neither p-value nor verdict on people.

    References
    ----------
    Monjezi, V., Trivedi, A., Kreinovich, V., Tizpaz-Niari, S. Fairness Testing through Extreme Value Theory.
    Coles, S. (2001). An Introduction to Statistical Modeling of Extreme Values, chapters 4 and 7.
    DiCiccio, T. J., Martin, M. A. and Stern, S. E. (2001). Simple and accurate one-sided inference from signed roots of
    likelihood ratios. Canadian Journal of Statistics 29, 67–76.

    Examples
    --------
    >>> import numpy as np
    >>> import fairstats as fs
    >>> rng = np.random.default_rng(1)
    >>> cd = {"white": 0.3 * rng.beta(2, 8, 8000), "black": 0.5 * rng.beta(2, 8, 3000)}
    >>> found = fs.ecd(cd, privileged="white", unprivileged="black", backend="scipy", rng=1)
    >>> round(found.estimate, 3), found.verdict
    (0.144, 'violated')
    """
    generator, seed = as_generator(rng)
    check_type("other_interactions", other_interactions, (list, tuple), "a list of numbers", "(500,)")
    check_type("sensitivity", sensitivity, (list, tuple), "a list of numbers", "(0.5, 2)")
    settings = EcdSettings(
        interactions=interactions, other_interactions=tuple(other_interactions), location=location,
        threshold=threshold, confidence_level=confidence_level, margin=margin, horizon_width=horizon_width,
        n_resamples=n_resamples, calibrated=calibrated, seed=seed, backend=backend, adjust=adjust,
        sensitivity=tuple(sensitivity), cvar_level=cvar_level, grid=grid,
    )  # fmt: skip
    whole = _sample(counts if counts_or_rows(counts, needs="sample", sample=sample) else sample)
    samples = _compared(whole, reference, privileged, unprivileged)
    names = [f"{s.group} → {s.counterfactual}" if whole.pairing == "all" else s.group for s in samples]
    given = settings.threshold
    if lacking := [name for name in names if isinstance(given, dict) and label_text(name) not in given]:
        got, allowed = f"no threshold for {', '.join(map(repr, lacking))}", "a number for each group, or k"
        raise InputError("threshold", got=got, allowed=allowed, cure="k = 50: the 51st largest value")
    tails = tuple(group_tail(name, chosen, settings, generator) for name, chosen in zip(names, samples, strict=True))
    for tail in tails:
        if tail.degenerate:
            caution(f"{tail.group}: {tail.degenerate}. No tail is fitted.", InsufficientEvidenceWarning)

    def stream() -> np.random.Generator:
        # the simulation of each comparison has a stream of its own, the same whatever else is compared
        return generator if seed is None else np.random.default_rng(0 if rng is None else seed)

    found, evidence, others = zip(*_contrasts(tails, samples, settings, stream, whole.note), strict=True)
    if location == "paper":
        caution(found[0].note, DataWarning)
    judged = _judged(found, evidence, tails, settings)
    return EcdResult(
        attribute=whole.attribute, comparisons=judged, tails=tails, settings=settings, sensitivity=sum(others, ()),
        note=" ".join(dict.fromkeys(c.note for c in judged if c.note)),
        backend=next((t.fit.backend for t in tails if t.fit is not None), "numpy"),
    )  # fmt: skip


def _contrasts(
    tails: tuple[GroupTail, ...], samples: list[GroupSample], settings: EcdSettings,
    stream: Callable[[], np.random.Generator], note: str,
) -> Iterator[tuple[EcdComparison, Evidence, tuple[EcdComparison, ...]]]:  # fmt: skip
    """Each group against the last: what is inferred, the evidence, and other numbers of exceedances."""
    each = level_of_each(tails, settings.confidence_level)
    for tail, chosen in zip(tails[:-1], samples[:-1], strict=True):
        pair = Pair((tail, tails[-1]), (chosen, samples[-1]), settings, stream(), each)
        one, proof = contrast_tails(pair)
        if made := any(s.n_synthetic for s in pair.samples):
            one, proof = replace(one, pvalue=math.nan), Evidence()
        others = other_exceedances(pair)
        changed, wide = _sensitivity_note(one, others, settings), _wide_note(one, pair.tails, settings)
        notes = (one.note, wide, _SYNTHETIC if made else "", changed, note)
        yield replace(one, note=" ".join(filter(None, notes))), proof, tuple(others)


def _judged(
    found: Sequence[EcdComparison], evidence: Sequence[Evidence], tails: tuple[GroupTail, ...], settings: EcdSettings
) -> tuple[EcdComparison, ...]:
    """The comparisons with their verdicts, family-wise; none beyond the horizon."""
    rulings = settle(evidence, confidence_level=settings.confidence_level, adjust=settings.adjust)
    adjusted = adjust_pvalues([c.pvalue for c in found], settings.adjust)
    judged = []
    for one, ruling, q in zip(found, rulings, adjusted, strict=True):
        ruled = replace(one._ruled(ruling), pvalue_adjusted=float(q))
        ordered = one.method == "none" and one.confidence_interval.method != "none"
        synthetic = any(t.n_synthetic for t in tails if t.group in (one.group, one.reference))
        if ordered and not (math.isnan(one.estimate) or synthetic):
            # order statistics: limits without a p-value
            ruled = replace(ruled, verdict=judge(*one.bounds, fair=fair_range("difference", settings.margin)))
        elif ruled.verdict in ("violated", "satisfied") and (why := _beyond_horizon(one, tails, settings)):
            ruled = replace(ruled, verdict="undecided", note=" ".join(filter(None, (ruled.note, why))))
        judged.append(ruled)
    return tuple(judged)


def _beyond_horizon(one: EcdComparison, tails: tuple[GroupTail, ...], settings: EcdSettings) -> str:
    """Why m interactions are too many for a verdict; empty where they are not."""
    m = settings.interactions
    for tail in tails:
        at, kind = tail.level, tail.type
        if tail.group not in (one.group, one.reference) or kind is None or at.empirical or m <= kind.horizon:
            continue
        if at.confidence_interval.width > settings.horizon_width * settings.margin:
            reach = "there is none" if math.isnan(kind.horizon) else f"{kind.horizon:,.0f} interactions"
            beyond = f"{m:,.0f} interactions lie beyond the horizon of {tail.group}"
            return f"{beyond} ({reach}: {kind.horizon_reason}): no verdict there."
    return ""


def _wide_note(one: EcdComparison, tails: tuple[GroupTail, GroupTail], settings: EcdSettings) -> str:
    """Whose level makes an interval as wide as the scale of the scores; empty where it is not."""
    if one.confidence_interval.width < 1 or math.isnan(one.estimate):
        return ""
    tail = max(tails, key=lambda t: t.level.confidence_interval.width)
    low, high = tail.level.confidence_interval
    level = f"its level of {settings.interactions:,.0f} interactions between {low:.3g} and {high:.3g}"
    wide = f"The interval is as wide as the scale: the largest values of {tail.group} leave {level}."
    return f"{wide} Fewer interactions or more rows say more."


def _sensitivity_note(one: EcdComparison, others: list[EcdComparison], settings: EcdSettings) -> str:
    """Where half or twice the exceedances lead to another verdict or to another interval."""
    fair = fair_range("difference", settings.margin)
    mine = judge(*one.bounds, fair=fair)
    said = [
        "{}: {:.3f} ({:.3f} to {:.3f})".format(o.metric.partition(", ")[2], o.estimate, *o.confidence_interval)
        for o in others
        if judge(*o.bounds, fair=fair) != mine or o.estimate not in one.confidence_interval
    ]
    return f"The answer depends on the threshold: with {'; '.join(said)}." if said else ""


def _compared(whole: CounterfactualSample, reference: Any, privileged: Any, unprivileged: Any) -> list[GroupSample]:
    """The groups that are compared, the reference last."""
    if unprivileged is None and privileged is None:
        if whole.pairing == "all":
            allowed = "privileged= and unprivileged=, each a pair (value, counterfactual)"
            raise InputError("reference", got="a sample of ordered pairs", allowed=allowed, cure="name two pairs")
        last = max(whole.groups, key=lambda g: g.n) if reference is None else whole[reference]
        others = [g for g in whole.groups if g is not last]
        check_two_groups([g.group for g in whole.groups if g.n])
        return [*others, last]
    check_that(reference is None, "reference", reference, "None beside privileged= and unprivileged=")
    allowed = "a group of the sample, or reference= to compare all with one"
    named = {"unprivileged": unprivileged, "privileged": privileged}
    pair = [whole[check_given(name, value, allowed)] for name, value in named.items()]
    if pair[0] is pair[1]:
        got = f"{pair[0].group!r}, the privileged group"
        raise InputError("unprivileged", got=got, allowed="another group", cure="name two groups")
    return pair


def _sample(given: Any) -> CounterfactualSample:
    if isinstance(given, CounterfactualSample):
        return given
    if isinstance(given, Tally):
        return CounterfactualSample.from_tally(given)
    allowed = "group → values of CD, a CounterfactualSample or a Tally"
    check_type("sample", given, Mapping, allowed, "{'a': [0.1, …], 'b': [0.0, …]}")
    return CounterfactualSample.from_values(given)
