"""`decompose`: a gap between groups split into what circumstances explain and the rest."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from fairstats.ground.checks import (
    Floats,
    SeedOrGenerator,
    as_generator,
    check_choice,
    check_that,
    check_whole,
)
from fairstats.ground.containers import as_narwhals
from fairstats.ground.encoding import as_float_column, factorize, label_text
from fairstats.ground.errors import InputError
from fairstats.ground.groups import find_reference
from fairstats.ground.multiplicity import make_pairs, normal_quantile
from fairstats.ground.outcomes import Outcomes
from fairstats.ground.progress import each_of
from fairstats.ground.results import Interval
from fairstats.ground.serialise import serialisable
from fairstats.ground.tallies.moments import MomentCounts
from fairstats.ground.values import holds_numbers
from fairstats.ground.verdict import Evidence
from fairstats.methods.rates.compare import level_of_each
from fairstats.methods.rates.decision import decide_by_method
from fairstats.methods.rates.limits import Wald
from fairstats.methods.rates.numbers.bootstrap import (
    LARGEST_LOST,
    NO_DRAWS,
    STUDENTISED,
    BootstrapContrast,
)
from fairstats.methods.rates.numbers.compare import REST
from fairstats.methods.rates.numbers.decide import decide_contrast
from fairstats.methods.rates.numbers.options import make_number_settings
from fairstats.methods.rates.numbers.result import NumberComparison, NumbersResult
from fairstats.methods.rates.pair import Chosen
from fairstats.methods.rates.result import Inference, as_family, warned
from fairstats.methods.rates.setup import check_groups
from fairstats.numerics.means.decomposition import (
    GroupRows,
    Regression,
    Split,
    draw_splits,
    split_gap,
)
from fairstats.numerics.means.resampling import Draws

METHOD = "delta, HC3 (Satterthwaite)"
#: What gaps can be split of.
COMPARISONS = ("reference", "all", "rest")
#: Effective rows (clusters) that a group needs, and those of the reference for each coefficient.
LEAST_UNITS = 20
LEAST_FOR_EACH = 10
#: Part of the gap → places of its two values among A, B, C.
_PLACES = {"gap": (0, 2), "explained": (1, 2), "rest": (0, 1)}


@serialisable(eq=False)
class DecompositionResult(NumbersResult):
    """A gap between groups, what circumstances explain of it, and the rest: three rows a group.

    Attributes
    ----------
    column : str
        The outcome.
    order : None
    remarks : tuple of str
        What a reader has to know of it.
    circumstances : tuple of str
        What was held alike.
    regression : {"linear", "logistic"}
        Of the reference's rows.
    """

    circumstances: tuple[str, ...] = ()
    regression: str = "linear"

    scale: ClassVar[str] = "difference"
    tails: ClassVar[dict[str, str]] = {
        "below": "show a difference below {low}",
        "above": "show a difference above {high}",
        "violated": "show a difference beyond ±{high}",
        "satisfied": "show a difference within ±{high}",
        "undecided": "do not settle whether it lies within ±{high}",
    }

    def _describe_finding(self, c: Any) -> str:
        interval_words = c.confidence_interval.words("+.4g", self.settings.alternative)
        names = ", ".join(self.circumstances)
        part_words = {
            "gap": f"{c.rate:.4g} against {c.rate_reference:.4g}, gap",
            "explained": (
                f"at its {names} the regression of {c.reference} expects {c.rate:.4g} rather than"
                f" {c.rate_reference:.4g}; explained by them"
            ),
            "rest": (
                f"{c.rate:.4g} where the regression of {c.reference} expects"
                f" {c.rate_reference:.4g} at its {names}; not explained"
            ),
        }[c.metric]
        return f"{self._name_comparison(c)}: {part_words} {c.estimate:+.4g} ({interval_words})"

    def notes(self) -> list[str]:
        """Sentences below the table."""
        whose = {
            "reference": f"of {self.reference}, whose other rows would give another split",
            "all": "of the second group of each pair, the first's would give another split",
            "rest": "of all other groups together, the group's own would give another split",
        }[self.settings.comparisons]
        return [
            *super().notes(),
            f"Explained: by a {self.regression} regression on {', '.join(self.circumstances)} of"
            f" the rows {whose}.",
            "A description, not a cause: what is explained may itself come from unequal treatment,"
            " and the rest from circumstances that are not among these.",
        ]


def decompose(
    y: Any,
    *,
    sensitive_features: Any,
    circumstances: Any,
    regression: Literal["linear", "logistic"] | None = None,
    reference: Hashable | None = None,
    comparisons: Literal["reference", "all", "rest"] = "reference",
    method: Literal["delta", "bootstrap"] = "delta",
    margin: float = 0.0,
    alternative: Literal["two-sided", "less", "greater"] = "two-sided",
    confidence_level: float = 0.95,
    simultaneous: Literal["bonferroni"] | None = None,
    adjust: str = "holm",
    sample_weight: Any = None,
    cluster: Any = None,
    missing: Literal["raise", "drop", "group"] = "raise",
    groups: Sequence[Hashable] | None = None,
    n_resamples: int = 999,
    rng: SeedOrGenerator = None,
) -> DecompositionResult:
    """Split the gap between each group and the reference into an explained part and the rest.

    Explained is what the gap would be if the reference's regression held for both groups, whose
    circumstances differ; the rest is what remains at equal circumstances (Oaxaca–Blinder [1]_ [2]_;
    with one circumstance of several kinds Kitagawa's rate standardisation [3]_).

    Parameters
    ----------
    y : array-like, shape (n,)
        A number in any unit, or 0/1.
    sensitive_features : array-like (n,) or (n, k), data frame or mapping
        Group of each row; several columns are crossed.
    circumstances : data frame or mapping of columns, or one column
        What may explain a gap: numbers enter as they are, text and categories by an indicator for
        each value.
    regression : {"linear", "logistic"}, optional
        Of the reference's rows. Default: logistic where every `y` is 0 or 1, else linear.
    reference : hashable, optional
        Reference group (value or label), whose regression is used: another reference gives another
        split. Default: the largest, said in the result.
    comparisons : {"reference", "all", "rest"}, default "reference"
        Each other group against the reference; all pairs, the regression that of the second of
        each; or each group against all other rows, whose regression is used.
    method : {"delta", "bootstrap"}, default "delta"
        Of limits and tests: Student's t with standard errors by the delta method; or the
        studentised bootstrap of rows (clusters) of both groups, with a regression for each resample.
    margin : float, default 0
        Up to it a difference counts as fair.
    alternative : {"two-sided", "less", "greater"}, default "two-sided"
        Of interval and test.
    confidence_level : float, default 0.95
        Of intervals; verdicts have the error 1 − confidence_level.
    simultaneous : {None, "bonferroni"}
        Make the intervals of each part hold for all comparisons at once.
    adjust : str, default "holm"
        Adjustment of p-values, and so of verdicts, over the groups, for each part by itself: holm,
        bonferroni, sidak, hommel, fdr_bh or none.
    sample_weight, cluster : array-like, shape (n,), optional
        Weights, and sampling units, each of which lies within one group.
    missing : {"raise", "drop", "group"}, default "raise"
        What to do with missing values.
    groups : sequence, optional
        Order of the groups; default category order, else by decreasing size.
    n_resamples, rng
        Of the bootstrap: draws, at least 199, and their seed or Generator.

    Returns
    -------
    DecompositionResult
        Of each group the rows "gap", "explained" and "rest"; the standardised value, the
        reference's regression at the group's circumstances, is `rate_reference` of "rest".

    Raises
    ------
    InputError
        For input that cannot be used.

    Warns
    -----
    InsufficientEvidenceWarning
        Where a group has fewer than 20 effective rows, the reference fewer than 20 and 10 for each
        coefficient, or where the group has circumstances that the reference has not.

    Notes
    -----
    Standard errors are by the delta method, from the influence of every row, with leverage (HC3),
    and count that circumstances were drawn; t by Satterthwaite. Simulated (2,000 samples each; 40/400
    to 400/60 rows, linear and logistic, exponential errors, clusters): coverage .94 to .97. A split
    describes: circumstances such as rank or department may be the result of unequal treatment, and
    a rest may be due to circumstances that were not recorded. Neither part is a cause.

    A stratum is a circumstance: a column of text gives the standardised rates of its strata. A split
    of a ratio does not add up, one against everybody would count the group's own rows on both sides,
    and a regression needs rows: there are no such arguments. The limits of a bootstrap are for small
    groups whose errors are skewed; each resample draws rows or clusters of both groups and fits
    anew (``n_resamples`` regressions a pair).

    References
    ----------
    .. [1] Oaxaca (1973). Male–female wage differentials in urban labor markets. International
       Economic Review 14, 693–709.
    .. [2] Blinder (1973). Wage discrimination: reduced form and structural estimates. Journal of
       Human Resources 8, 436–455.
    .. [3] Kitagawa (1955). Components of a difference between two rates. JASA 50, 1168–1194.
    .. [4] Jann (2008). The Blinder–Oaxaca decomposition for linear regression models. Stata Journal
       8, 453–479.

    Examples
    --------
    >>> import numpy as np, fairstats as fs
    >>> rng = np.random.default_rng(1)
    >>> sex = np.repeat(["m", "f"], [400, 300])
    >>> years = rng.gamma(4, np.where(sex == "m", 3.0, 2.0))
    >>> wage = 15 + 0.8 * years - 1.0 * (sex == "f") + rng.normal(0, 2, 700)
    >>> result = fs.decompose(wage, sensitive_features=sex, circumstances={"years": years})
    >>> for row in result.comparisons:
    ...     print(f"{row.metric:9} {row.estimate:6.2f}  {row.verdict}")
    gap        -3.71  violated
    explained  -2.95  violated
    rest       -0.77  violated
    """
    circumstance_columns, names = numbers_of_circumstances(circumstances)
    settings = make_number_settings(
        margin=margin,
        threshold=0.8,
        ratio=False,
        alternative=alternative,
        confidence_level=confidence_level,
        simultaneous=simultaneous,
        comparisons=comparisons,
        adjust=adjust,
    )
    check_choice("comparisons", comparisons, COMPARISONS, cure='comparisons="rest"')
    check_choice("simultaneous", simultaneous, (None, "bonferroni"))
    check_choice("method", method, ("delta", "bootstrap"))
    check_whole("n_resamples", n_resamples, low=199)
    check_that(
        comparisons != "rest" or reference is None,
        "reference",
        reference,
        "None: each group is compared with all other rows",
    )
    check_choice("regression", regression, (None, "linear", "logistic"))
    numbers = {"y": y, **circumstance_columns}
    outcomes = Outcomes.from_arrays(
        sensitive_features=sensitive_features,
        sample_weight=sample_weight,
        cluster=cluster,
        missing=missing,
        groups=groups,
        numbers=numbers,
    )
    generator, seed = as_generator(rng) if method == "bootstrap" else (None, None)
    if method == "bootstrap":
        settings = replace(settings, n_resamples=n_resamples, seed=seed)
    return decompose_outcomes(outcomes, names, settings, reference, regression, rng=generator)


def decompose_outcomes(
    outcomes: Outcomes,
    names: tuple[str, ...],
    settings: Inference,
    reference: Hashable | None,
    regression: Regression | None,
    *,
    rng: np.random.Generator | None = None,
) -> DecompositionResult:
    """Split the gaps of validated rows.

    Parameters
    ----------
    outcomes : Outcomes
        With the number "y", and the columns of the circumstances among the other numbers.
    names : tuple of str
        Of the circumstances.
    settings : Inference
        With the comparisons.
    reference : hashable, optional
        The reference group.
    regression : {"linear", "logistic"}, optional
        None: logistic where every outcome is 0 or 1.
    generator : Generator, optional
        Draws resamples; None: limits by the delta method.
    """
    outcome = outcomes.numbers["y"]
    is_binary = bool(np.isin(outcome, (0.0, 1.0)).all())
    if regression is None:
        regression = "logistic" if is_binary else "linear"
    if regression == "logistic" and not is_binary:
        raise InputError(
            "y",
            got="numbers other than 0 and 1",
            allowed='0 and 1 with regression="logistic"',
            cure='regression="linear"',
        )
    moments = MomentCounts._from_outcomes(outcomes, {"y": outcome})
    design = np.column_stack([values for name, values in outcomes.numbers.items() if name != "y"])
    rows = _rows_by_group(outcomes, outcome, design)
    return _decompose(rows, moments, settings, reference, regression, names, rng)


def numbers_of_circumstances(circumstances: Any) -> tuple[dict[str, Floats], tuple[str, ...]]:
    """The columns of a regression, each by what it is called, and names of the circumstances."""
    encoded = encode_circumstances(circumstances)
    numbers = {}
    for name, of_name in encoded.items():
        for place, column in enumerate(of_name):
            numbers[f"circumstances {name!r} ({place})"] = column
    return numbers, tuple(encoded)


def encode_circumstances(circumstances: Any) -> dict[str, list[Floats]]:
    """Numbers as they are; of text and categories an indicator for every value but the first."""
    if isinstance(circumstances, dict):
        named = circumstances
    else:
        try:
            frame = as_narwhals(circumstances, "circumstances")
            named = {str(name): frame[name].to_native() for name in frame.columns}
        except (InputError, AttributeError, TypeError):
            named = {str(getattr(circumstances, "name", None) or "circumstance"): circumstances}
    if not named:
        raise InputError(
            "circumstances",
            got="no column",
            allowed="at least one column",
            cure="fs.means, where nothing is to be held alike",
        )
    encoded = {}
    for name, values in named.items():
        argument = f"circumstances[{name!r}]"
        if holds_numbers(values, argument):
            encoded[label_text(name)] = [as_float_column(values, argument)]
            continue
        factor = factorize(values, argument)
        indicators = []
        for level in range(1, len(factor.levels)):
            indicator = (factor.codes == level).astype(np.float64)
            indicator[factor.codes < 0] = np.nan
            indicators.append(indicator)
        if not indicators:
            raise InputError(
                argument,
                got="one value in all rows",
                allowed="a column that varies",
                cure="leave it out: it explains nothing",
            )
        encoded[label_text(name)] = indicators
    return encoded


def _rows_by_group(outcomes: Outcomes, y: Floats, design: Floats) -> list[GroupRows]:
    weight = outcomes.weight
    if weight is None:
        weight = np.ones(y.size)
    if outcomes.cluster is None:
        unit = np.arange(y.size)
    else:
        unit = outcomes.cluster.codes
    groups = []
    for place in range(len(outcomes.groups.labels)):
        of_group = (outcomes.groups.codes == place) & (weight > 0)
        groups.append(
            GroupRows(
                y=y[of_group],
                circumstances=design[of_group],
                weight=weight[of_group],
                unit=np.asarray(unit, dtype=np.int64)[of_group],
            )
        )
    return groups


def _decompose(
    rows: list[GroupRows],
    moments: MomentCounts,
    settings: Inference,
    reference: Hashable | None,
    regression: Regression,
    names: tuple[str, ...],
    rng: np.random.Generator | None,
) -> DecompositionResult:
    """Gap, explained part and rest of every pair of groups, each part a family of its own."""
    check_groups(moments.groups)
    reference_index, rule = find_reference(
        moments.groups, reference, sizes=moments.group_sizes, rates=moments.mean[0]
    )
    if rule == "highest":
        raise InputError(
            "reference",
            got="'highest'",
            allowed="a group, or the largest: its regression is the yardstick",
            cure=f"reference={moments.groups[0]!r}",
        )
    method = METHOD if rng is None else STUDENTISED
    settings = replace(settings, method=method, reference_rule=rule)
    sides = _sides(rows, moments, settings.comparisons, reference_index)
    levels = (settings.confidence_level, 2 * settings.confidence_level - 1)
    if settings.simultaneous:
        levels = (
            level_of_each(levels[0], len(sides), None),
            level_of_each(levels[1], len(sides), None),
        )
    compared: dict[str, list[tuple[NumberComparison, Evidence]]] = {part: [] for part in _PLACES}
    for side in each_of(sides, "decompositions"):
        split = _split_or_why_not(rows[side.group], side.rows, regression)
        draws = None
        if rng is not None and isinstance(split, Split):
            draws = draw_splits(
                split, rows[side.group], side.rows, regression, settings.n_resamples, rng
            )
        for part in _PLACES:
            compared[part].append(
                _compare_part(part, split, draws, moments, side, settings, levels)
            )
    families = [as_family(of_part, settings) for of_part in compared.values()]
    comparisons: list[NumberComparison] = []
    for of_group in zip(*families, strict=True):
        comparisons.extend(of_group)
    return warned(
        DecompositionResult(
            metric="decomposition",
            comparisons=tuple(comparisons),
            settings=settings,
            counts=moments,  # type: ignore[arg-type]
            words="Gap between groups: explained by circumstances, and the rest",
            circumstances=names,
            regression=regression,
        ),
        "decompose",
    )


def _split_or_why_not(
    group: GroupRows, reference: GroupRows, regression: Regression
) -> Split | str:
    """The parts of a gap, or why there are none, by the rows alone but for a regression's end."""
    if not group.y.size or group.effective_units < LEAST_UNITS - 1e-9:
        return f"has fewer than {LEAST_UNITS} effective rows"
    needed = LEAST_UNITS + LEAST_FOR_EACH * reference.circumstances.shape[1]
    if not reference.y.size or reference.effective_units < needed - 1e-9:
        return f"is compared with fewer than {needed} effective rows, which the regression needs"
    return split_gap(group, reference, regression)


@dataclass(frozen=True, eq=False)
class _Side:
    """A group, and the rows of another or of all others, whose regression is used."""

    group: int
    name: str
    n: int
    rows: GroupRows


def _sides(
    rows: list[GroupRows], moments: MomentCounts, comparisons: str, reference: int
) -> list[_Side]:
    """What every group is compared with."""
    n_groups = len(rows)
    sides = []
    if comparisons == "rest":
        for group in range(n_groups):
            others = [rows[other] for other in range(n_groups) if other != group]
            n_others = int(moments.n.sum() - moments.n[group])
            sides.append(_Side(group, REST, n_others, GroupRows.together(others)))
        return sides
    for group, other in make_pairs(n_groups, reference, comparisons):
        sides.append(_Side(group, moments.groups[other], int(moments.n[other]), rows[other]))
    return sides


def _compare_part(
    part: str,
    split: Split | str,
    draws: Mapping[str, Draws] | None,
    moments: MomentCounts,
    side: _Side,
    settings: Inference,
    levels: tuple[float, float],
) -> tuple[NumberComparison, Evidence]:
    """One row, and the evidence of its verdict; `draws`: of every part, of a bootstrap."""
    method = settings.method
    nothing = Interval(
        low=math.nan, high=math.nan, confidence_level=settings.confidence_level, method=method
    )
    comparison = NumberComparison(
        metric=part,
        group=moments.groups[side.group],
        reference=side.name,
        confidence_interval=nothing,
        bounds=nothing,
        verdict="insufficient evidence",
        n=int(moments.n[side.group]),
        n_reference=side.n,
        method=method,
    )
    if isinstance(split, str):
        return replace(comparison, note=f"{comparison.group} {split}."), Evidence()
    estimate, std_error = split.contrast(part)
    of_group, of_reference = _PLACES[part]
    comparison = replace(
        comparison,
        estimate=estimate,
        std_error=std_error,
        rate=float(split.values[of_group]),
        rate_reference=float(split.values[of_reference]),
        value_interval=_interval_of_value(split, of_group, settings),
        value_reference_interval=_interval_of_value(split, of_reference, settings),
    )
    if not std_error > 0:
        note = f"{comparison.group}: no spread in {part}, so no standard error."
        return replace(comparison, note=note), Evidence()
    if draws is None:
        degrees = split.degrees_of_freedom[part]
        decision = decide_by_method(
            Chosen(Wald(degrees, estimate, std_error), METHOD, degrees_of_freedom=degrees),
            "difference",
            settings,
            levels,
            bounded=False,
        )
    else:
        of_part = draws[part]
        lost = float(np.isnan(of_part.values).mean())
        if lost > LARGEST_LOST:
            note = f"{comparison.group}: {lost:.0%} of the resamples have no regression."
            return replace(comparison, note=note), Evidence()
        contrast = BootstrapContrast(
            group=of_part, reference=NO_DRAWS, logarithms=False, studentised=True
        )
        decision = decide_contrast(contrast, "difference", settings, levels, method)
    return (
        replace(
            comparison,
            **decision.fields_of_row(),
        ),
        decision.evidence,
    )


def _interval_of_value(split: Split, place: int, settings: Inference) -> Interval:
    critical = normal_quantile(
        (1 + settings.confidence_level) / 2, split.degrees_of_freedom["rest"]
    )
    value = float(split.values[place])
    reach = critical * math.sqrt(max(float(split.covariance[place, place]), 0.0))
    return Interval(
        low=value - reach,
        high=value + reach,
        confidence_level=settings.confidence_level,
        method=METHOD,
    )
