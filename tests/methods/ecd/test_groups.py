"""Several groups in one call: crossed attributes, bands, flips.

Differences, table IV, joint limits.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairstats as fs
from fairstats.ground.checks import as_generator
from fairstats.ground.errors import InsufficientEvidenceWarning
from fairstats.ground.results import Interval
from fairstats.methods.ecd.contrast import (
    NEAR_END,
    Pair,
    _combine_intervals,
    _infer_by_draws,
    _infer_by_likelihood,
    _infer_near_end_point,
    level_of_each,
)
from fairstats.methods.ecd.level_curve import CurveContrast
from fairstats.methods.ecd.sample import CounterfactualSample, GroupSample
from fairstats.methods.ecd.tail import CHARACTERISTICS, GroupLevel

matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
matplotlib.use("Agg")

N = 240
RNG = np.random.default_rng(5)
PEOPLE = pd.DataFrame(
    {
        "sex": RNG.choice(["F", "M"], N),
        "race": RNG.choice(["a", "b", "c"], N),
        "age": RNG.integers(18, 70, N),
    }
)
PEOPLE = PEOPLE[~((PEOPLE["sex"] == "M") & (PEOPLE["race"] == "c"))]


def model(x: pd.DataFrame) -> np.ndarray:
    """An interaction of sex and race, and age."""
    z = (x["sex"] == "M") * (1.0 + (x["race"] == "b")) - 0.5 * (x["race"] == "c") + 0.03 * x["age"]
    return np.asarray(1 / (1 + np.exp(1.5 - z)), dtype=float)


def test_crossed_attributes_have_every_combination_as_counterfactual() -> None:
    """Witness: the model on the frame with each combination that occurs written into it."""
    sample = fs.counterfactual_discrimination(model, PEOPLE, sensitive_features=["sex", "race"])
    cells = [("F", "a"), ("F", "b"), ("F", "c"), ("M", "a"), ("M", "b")]
    assert [g.group for g in sample.groups] == [" & ".join(cell) for cell in cells]
    assert (sample.attribute, sample.pairing) == ("sex & race", "worst")
    own = model(PEOPLE)
    all_of_it = np.array([model(PEOPLE.assign(sex=s, race=r)) for s, r in cells])
    for j, (s, r) in enumerate(cells):
        here = ((PEOPLE["sex"] == s) & (PEOPLE["race"] == r)).to_numpy()
        others = np.delete(all_of_it, j, axis=0)[:, here]
        np.testing.assert_allclose(
            sample[f"{s} & {r}"].cd, others.max(axis=0) - own[here], atol=1e-15
        )
    pairs = fs.counterfactual_discrimination(
        model,
        PEOPLE,
        sensitive_features=["sex", "race"],
        counterfactual="all",
        values=["F & a", ("M", "b")],
    )
    assert [(g.group, g.counterfactual) for g in pairs.groups] == [
        ("F & a", "M & b"),
        ("M & b", "F & a"),
    ]


def test_numbers_of_two_values_are_crossed_where_both_are_on() -> None:
    """0/1 columns with rows where both are 1 are two attributes, not indicators of one.

    They are named.
    """
    coded = pd.DataFrame({"woman": [0, 0, 1, 1] * 5, "old": [0, 1, 0, 1] * 5})
    found = fs.counterfactual_discrimination(
        lambda x: 0.2 + 0.3 * x["woman"] * x["old"], coded, sensitive_features=["woman", "old"]
    )
    assert found.groups[3].group == "woman = 1 & old = 1"
    assert [round(float(g.cd.max()), 12) for g in found.groups] == [0.3, 0.3, 0.3, -0.3]  # type: ignore[union-attr]


@pytest.mark.parametrize("kind", ["pandas", "polars", "array"])
def test_bands_of_a_number(kind: str) -> None:
    """Another band stands for the middle one of its values; witness.

    That value written into the column.
    """
    table: Any = PEOPLE
    ask: Any = model
    column: Any = "age"
    if kind == "polars":
        pl = pytest.importorskip("polars", reason="polars is not installed")
        table = pl.from_pandas(PEOPLE)
        ask = lambda x: model(x.to_pandas())  # noqa: E731
    if kind == "array":
        table = PEOPLE[["age"]].to_numpy(float)
        column = 0
        ask = lambda x: model(PEOPLE.iloc[: len(x)].assign(age=x[:, 0]))  # noqa: E731
    found = fs.counterfactual_discrimination(ask, table, sensitive_features=column, cuts=[25, 60])
    age = PEOPLE["age"].to_numpy()
    bands = {"< 25": age < 25, "25 to < 60": (age >= 25) & (age < 60), "≥ 60": age >= 60}
    middle = {name: np.sort(age[rows])[rows.sum() // 2] for name, rows in bands.items()}
    assert [g.group for g in found.groups] == list(bands)
    for name, rows in bands.items():
        others = [model(PEOPLE.assign(age=v))[rows] for other, v in middle.items() if other != name]
        np.testing.assert_allclose(
            found[name].cd, np.max(others, axis=0) - model(PEOPLE)[rows], atol=1e-15
        )


def test_bands_are_crossed_with_other_columns() -> None:
    found = fs.counterfactual_discrimination(
        model, PEOPLE, sensitive_features=["sex", "age"], cuts={"age": [40]}
    )
    assert [g.group for g in found.groups] == ["F & < 40", "F & ≥ 40", "M & < 40", "M & ≥ 40"]


def test_a_function_flips_a_number() -> None:
    """CD to the age as flipped, by band; witness: the model on the flipped frame."""
    found = fs.counterfactual_discrimination(
        model, PEOPLE, sensitive_features="age", cuts=[40], flip=lambda age: 90 - age, batch=100
    )
    change = model(PEOPLE.assign(age=90 - PEOPLE["age"])) - model(PEOPLE)
    old = PEOPLE["age"].to_numpy() >= 40
    np.testing.assert_allclose(found["≥ 40"].cd, change[old], atol=1e-15)
    np.testing.assert_allclose(found["< 40"].cd, change[~old], atol=1e-15)
    assert {g.counterfactual for g in found.groups} == {"flipped"}


VALUES = {
    name: size * np.random.default_rng(j).beta(2, 8, n)
    for j, (name, size, n) in enumerate(
        [("white", 0.3, 6000), ("black", 0.5, 2000), ("other", 0.35, 1000)]
    )
}


@pytest.fixture(scope="module")
def found() -> fs.results.EcdResult:
    factors = (0.5, 1.6, 2)
    return fs.ecd(
        VALUES, n_resamples=0, calibrated=False, backend="scipy", rng=1, sensitivity=factors
    )


def test_averages_stand_in_the_row_of_the_extremes(found: fs.results.EcdResult) -> None:
    """Welch's difference of means; CVaR's by the two groups' standard errors (independent rows)."""
    from scipy.stats import t

    sample = fs.results.CounterfactualSample.from_values(VALUES)
    for name, row in found.to_frame().query("metric == 'ECD'").set_index("group").iterrows():
        value, interval, test = sample.difference(name, "white")
        assert (row["acd"], row["acd_low"], row["acd_high"]) == pytest.approx(
            (value, *interval), abs=1e-12
        )
        assert row["acd_pvalue"] == pytest.approx(test.pvalue)
        errors = []
        degrees = []
        means = []
        for group in (name, "white"):
            mean, (low, _) = sample.cvar(group)
            people = len(VALUES[group]) - 1
            means.append(mean)
            degrees.append(people)
            errors.append((mean - low) / t.ppf(0.975, people))
        spread = np.hypot(*errors)
        # Welch and Satterthwaite
        df = spread**4 / sum(error**4 / d for error, d in zip(errors, degrees, strict=True))
        difference = means[0] - means[1]
        low = difference - t.ppf(0.975, df) * spread
        assert (row["cvar"], row["cvar_low"]) == pytest.approx((difference, low), abs=1e-12)
        assert row["cvar_pvalue"] == pytest.approx(2 * t.sf(abs(difference / spread), df))


def test_the_row_is_that_of_table_iv(found: fs.results.EcdResult) -> None:
    """μ, σ, ξ with errors are those of the point process of `evt` at blocks of m.

    Then τ, type and B.
    """
    frame = found.to_frame()
    main = frame[(frame["metric"] == "return level") & (frame["interactions"] == 1000)].set_index(
        "group"
    )
    for name, cd in VALUES.items():
        tail = found[name]
        row = main.loc[name]
        process = fs.evt.fit_point_process(cd, tail.threshold, 1000, backend="scipy")
        for column in ("location", "scale", "shape"):
            assert row[column] == pytest.approx(process.params[column], abs=1e-10)
        for column in ("scale_std_error", "shape_std_error"):
            assert row[column] == pytest.approx(
                process.std_error[column.partition("_")[0]], rel=1e-10
            )
        # the number of exceedances is binomial here, a Poisson one there
        assert row["location_std_error"] == pytest.approx(process.std_error["location"], rel=0.03)
        assert (row["threshold"], row["type"]) == (tail.threshold, tail.type.type)
    beside = frame[frame["metric"] == "ECD"].set_index("group")[list(CHARACTERISTICS)]
    pd.testing.assert_frame_equal(beside, main.loc[beside.index, list(CHARACTERISTICS)])


def test_simultaneous_limits_and_the_largest(found: fs.results.EcdResult) -> None:
    """The largest's ends are the largest ends; with equal errors the level is Dunnett's, 2.21."""
    from scipy.stats import norm

    top = found.largest
    assert (top.group, top.estimate) == ("black", found.comparisons[0].estimate)
    sizes = [sorted(map(abs, c.simultaneous)) for c in found.comparisons]
    assert top.confidence_interval.high == max(s[1] for s in sizes)
    assert top.confidence_interval.low == min(map(abs, found.comparisons[0].simultaneous))
    for c in found.comparisons:
        assert (
            c.simultaneous.low
            < c.confidence_interval.low
            < c.confidence_interval.high
            < c.simultaneous.high
        )

    class Alike:
        class level:
            std_error = 0.1

    assert norm.ppf((1 + level_of_each((Alike,) * 3, 0.95)) / 2) == pytest.approx(2.212, abs=0.01)  # type: ignore[arg-type]
    Alike.level.std_error = np.nan
    assert level_of_each((Alike,) * 3, 0.95) == pytest.approx(0.975)  # type: ignore[arg-type]
    assert "Largest over the groups: black" in found.sentences()[-1]
    assert "largest |ECD|" in set(found.to_frame()["metric"])


@pytest.mark.parametrize(
    ("limits", "ends"),
    [
        ([(-0.02, 0.03), (-0.05, 0.01)], (0.0, 0.05)),
        ([(-0.3, -0.1), (0.02, 0.2)], (0.1, 0.3)),
        ([(np.nan, np.nan), (0.02, 0.2)], (0.02, 2.0)),  # nothing is known of one group
        ([(np.nan, np.nan), (-0.01, 0.2)], (0.0, 2.0)),
    ],
)
def test_the_largest_of_intervals(
    found: fs.results.EcdResult, limits: list[tuple[float, float]], ends: tuple[float, float]
) -> None:
    """By hand: at least what every group's size is at least, at most what one may have.

    2 is all there is.
    """
    comparisons = tuple(
        replace(c, simultaneous=Interval(*pair, 0.95, ""))
        for c, pair in zip(found.comparisons, limits, strict=False)
    )
    assert tuple(replace(found, comparisons=comparisons).largest.confidence_interval) == ends


def test_one_comparison_is_its_own_family() -> None:
    two = fs.ecd(VALUES, privileged="white", unprivileged="other", n_resamples=0, calibrated=False)
    assert tuple(two.comparisons[0].simultaneous) == tuple(two.confidence_interval)
    low, high = two.largest.confidence_interval
    assert (low, high) == pytest.approx(tuple(max(0.0, v) for v in two.confidence_interval))


@pytest.mark.slow
def test_the_interval_of_the_largest_covers() -> None:
    """60 samples of four exponential tails, two of them alike.

    At least 95% less three standard errors.
    """
    scale = {"a": 0.04, "b": 0.04, "c": 0.05, "d": 0.06}
    truth = 0.02 * np.log(1000)
    covered = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        cd = {
            g: np.minimum(rng.exponential(s, 4000 if g == "a" else 1000), 1)
            for g, s in scale.items()
        }
        options: dict[str, Any] = {
            "reference": "a",
            "n_resamples": 0,
            "sensitivity": (),
            "other_interactions": (),
        }
        covered += (
            truth in fs.ecd(cd, backend="scipy", rng=seed, **options).largest.confidence_interval
        )
    assert covered / 60 > 0.95 - 3 * np.sqrt(0.95 * 0.05 / 60)


def test_ecd_against_the_exceedances(found: fs.results.EcdResult) -> None:
    black = [c for c in found.sensitivity if c.group == "black"]
    assert [c.metric for c in black] == [
        "ECD, half the exceedances",
        "ECD, 1.6 times the exceedances",
        "ECD, twice the exceedances",
    ]
    assert [c.exceedances for c in black] == [(15, 45), (48, 144), (60, 180)]
    from fairstats.plots.ecd import plot_sensitivity

    ax = plot_sensitivity(found)
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), [15, 30, 48, 60])
    assert ax.lines[0].get_ydata()[1] == found.comparisons[0].estimate


def test_rows_for_a_width() -> None:
    """Four times the rows with four times the exceedances halve the width (within 15%, one sample
    each).
    """
    options: dict[str, Any] = {
        "n_resamples": 0,
        "calibrated": False,
        "backend": "scipy",
        "interactions": 100,
    }
    rng = np.random.default_rng(9)

    def drawn(rows: dict[str, int]) -> dict[str, np.ndarray]:
        return {g: (0.3 if g == "white" else 0.5) * rng.beta(2, 8, n) for g, n in rows.items()}

    pilot = fs.ecd(drawn({"white": 4000, "black": 4000}), threshold=200, **options)
    width = pilot.confidence_interval.width
    wanted = pilot.rows_for(width / 2)
    assert wanted == {"white": 16_000, "black": 16_000}
    again = fs.ecd(drawn(wanted), threshold=800, **options)
    assert again.confidence_interval.width == pytest.approx(width / 2, rel=0.15)
    with pytest.raises(fs.InputError, match="width"):
        pilot.rows_for(0)


def test_forward_stop_goes_down_to_where_the_model_fits() -> None:
    """A generalised Pareto tail over the top 1% of rows, as many as the rule allows, is taken
    whole; half of it not.
    """
    rng = np.random.default_rng(2)
    n = 8000
    low = rng.uniform(0, 0.1, n - 400)
    high = 0.1 + rng.exponential(0.05, 400)
    broken = np.concatenate(
        [rng.uniform(0, 0.1, n - 400), rng.normal(0.2, 0.004, 360), high[:40] + 0.15]
    )
    values = {"good": np.concatenate([low, high]), "broken": broken}
    options: dict[str, Any] = {"n_resamples": 0, "calibrated": False, "backend": "scipy", "rng": 1}
    chosen = fs.ecd(values, threshold="forward_stop", **options)
    assert chosen["good"].n_exceedances == 80
    assert 20 <= chosen["broken"].n_exceedances < 50
    assert "ForwardStop chose" in chosen["good"].sentence
    tied = fs.ecd(
        {g: np.round(v, 2) for g, v in values.items()}, threshold="forward_stop", **options
    )
    assert "ForwardStop" not in tied["good"].sentence
    with pytest.raises(fs.InputError, match="forward_stop"):
        fs.ecd(values, threshold="best")


SHORT: dict[str, Any] = {"n_resamples": 0, "sensitivity": (), "other_interactions": (), "rng": 1}


def test_square_and_add_cuts_at_the_largest_difference() -> None:
    """By hand: levels .5 (.4, .7) and .3 (.2, ∞).

    CD ends at 1, so that does the reference's interval.
    """

    def level(estimate: float, low: float, high: float) -> GroupLevel:
        return GroupLevel(
            1000.0, estimate, np.nan, Interval(low, high, 0.95, "binomial"), True, False
        )

    first = level(0.5, 0.4, 0.7)
    second = level(0.3, 0.2, np.inf)
    assert _combine_intervals(first, second, 0.95).low == pytest.approx(0.2 - np.hypot(0.1, 0.7))
    assert _combine_intervals(first, second, 0.95).high == pytest.approx(0.2 + np.hypot(0.2, 0.1))
    assert _combine_intervals(second, first, 0.95).high == pytest.approx(-0.2 + np.hypot(0.7, 0.1))


def rounded_scores() -> tuple[dict[str, Any], float]:
    """Differences of scores rounded to .1, and what the true largest ones differ by: .111 − .08."""
    score = np.repeat([0.34, 0.36], 400)
    changed = np.repeat([0.451, 0.44], 400)
    changed[:80:2], changed[1:80:2], changed[400:480:2], changed[401:480:2] = 0.34, 0.42, 0.24, 0.30
    cd = np.round(changed, 1) - np.round(score, 1)
    true = changed - score
    return {"a": cd[:400], "b": cd[400:]}, true[:400].max() - true[400:].max()


@pytest.mark.filterwarnings("ignore::fairstats.ground.errors.FairstatsWarning")
def test_rounding_of_both_levels_adds_up() -> None:
    """By hand: .2 ± (.1 + .1), which holds the .031 before rounding; squares gave .059 to .341."""
    samples, true = rounded_scores()
    (c,) = fs.ecd(samples, reference="b", **SHORT).comparisons
    assert tuple(c.confidence_interval) == pytest.approx((0.0, 0.4), abs=1e-9)
    assert c.confidence_interval.low < true < c.confidence_interval.high
    assert c.verdict == "undecided"


@pytest.mark.filterwarnings("ignore::fairstats.ground.errors.FairstatsWarning")
@pytest.mark.parametrize(
    ("jitter", "step", "verdict"), [(1e-4, 0.0, "undecided"), (0.01, 0.02, "insufficient evidence")]
)
def test_levels_of_people_with_several_rows_have_no_interval(
    jitter: float, step: float, verdict: str
) -> None:
    """Persons of five rows that are nearly equal; a single row a person has its interval.

    95% intervals of the level of 1,000 interactions that take rows as independent held .05
    log(1,000) in 9 of 80 samples, and of rounded scores those of resampled people held no
    difference in 163 of 200."""
    rng = np.random.default_rng(4)
    cd = np.repeat(rng.exponential(0.05, (2, 400)), 5, axis=1) + rng.normal(0, jitter, (2, 2000))
    cd = np.round(cd / step) * step if step else cd
    owner = np.repeat(np.arange(400), 5)

    def compared(first: Any, second: Any, rows: int) -> fs.results.EcdResult:
        samples = [
            GroupSample._of(g, "other", v[:rows], np.arange(rows), None, p)
            for g, v, p in zip("ab", cd, (first, second), strict=True)
        ]
        whole = fs.results.CounterfactualSample("s", tuple(samples), "other", 0.95)
        return fs.ecd(whole, reference="b", **SHORT)

    result = compared(owner, owner + 400, 2000)
    for level in (result.tails[0].level, *result.tails[0].levels):
        assert tuple(level.confidence_interval) == (-1, 1)
        assert np.isnan(level.std_error)
    assert "no interval of the level is shown to hold" in " ".join(result.notes())
    assert result.verdict == verdict
    plain = compared(np.arange(2000), np.arange(2000, 4000), 2000)
    assert plain.tails[0].level.confidence_interval.width < 1
    assert "People own several rows" not in " ".join(plain.notes())


def test_levels_of_regular_tails_are_drawn_far_out() -> None:
    """Beside a uniform tail, whose level is known to .001, the draws' interval is that of the heavy
    tail, and what stands is the less sure of the draws and of the likelihood ratio.

    Draws cut at two standard deviations would give nearly the same at 95% and at 99%; the number of
    draws leaves a tenth.
    """
    rng = np.random.default_rng(8)
    cd = {
        "even": 0.1 * rng.random(4000),
        "heavy": np.minimum(np.abs(rng.standard_t(5, 2000)) * 0.03, 1.0),
    }
    widths = []
    for level in (0.95, 0.99):
        result = fs.ecd(
            cd, privileged="even", unprivileged="heavy", confidence_level=level, **SHORT
        )
        (c,) = result.comparisons
        assert c.method == NEAR_END
        tails = (result["heavy"], result["even"])
        fits = (tails[0].fit, tails[1].fit)
        contrast = CurveContrast.of_fits(*fits, 1000)
        samples = CounterfactualSample.from_values(cd)
        pair = Pair(
            tails, (samples["heavy"], samples["even"]), result.settings, as_generator(1)[0], level
        )
        draws, by_draws = _infer_by_draws(fits, contrast, pair)
        widths.append(draws["confidence_interval"].width)
        alone = fits[0].return_level(1000, confidence_level=level).confidence_interval.width
        assert widths[-1] == pytest.approx(alone, rel=0.1)
        ratio, by_ratio = _infer_by_likelihood(fits, contrast, pair)
        whole, evidence = _infer_near_end_point(
            fits, contrast, replace(pair, rng=as_generator(1)[0])
        )
        for name in ("confidence_interval", "bounds", "simultaneous"):
            assert whole[name].low == min(draws[name].low, ratio[name].low)
            assert whole[name].high == max(draws[name].high, ratio[name].high)
        assert whole["pvalue"] == max(draws["pvalue"], ratio["pvalue"])
        assert evidence.above == max(by_draws.above, by_ratio.above)
    assert widths[1] > 1.1 * widths[0]


@pytest.mark.parametrize("rows", [0, 1, 5])
@pytest.mark.parametrize("reference", ["a", "c"])
def test_a_group_of_few_rows_has_no_level_and_says_so(rows: int, reference: str) -> None:
    """It stays in every view; what holds for the others is what holds without it."""
    rng = np.random.default_rng(1)
    cd = {
        "a": 0.3 * rng.beta(2, 8, 3000),
        "b": 0.5 * rng.beta(2, 8, 1500),
        "c": 0.3 * rng.beta(2, 8, rows),
    }
    with pytest.warns(InsufficientEvidenceWarning, match=f"c: among {rows} rows"):
        found = fs.ecd(cd, reference=reference, **SHORT)
    lacking = [c for c in found.comparisons if "c" in (c.group, c.reference)]
    assert {c.verdict for c in lacking} == {"insufficient evidence"}
    assert all("too few rows for a level" in c.note and np.isnan(c.estimate) for c in lacking)
    assert f"c: N = {rows}; no level" in str(found)
    assert "nan" not in " ".join([*found.sentences(), *found.notes()])
    assert "may lie anywhere" in found.sentences()[-1]
    assert (found.to_frame()["group"] == "c").any() or reference == "c"
    again = fs.results.EcdResult.from_dict(json.loads(json.dumps(found.to_dict())))
    assert again.sentences() == found.sentences()
    if reference == "a":
        alone = fs.ecd({g: cd[g] for g in "ab"}, reference="a", **SHORT)
        assert found.comparisons[0].confidence_interval == alone.comparisons[0].confidence_interval
        assert found.largest.confidence_interval.low > 0.1
    with pytest.raises(fs.InputError, match="a pilot without a regular tail of c"):
        found.rows_for(0.1)


def test_two_groups_of_which_one_is_empty_are_refused() -> None:
    with pytest.raises(fs.InputError, match="one group"):
        fs.ecd({"a": np.linspace(0, 0.5, 100), "b": []}, **SHORT)


@pytest.mark.parametrize(
    "errors", [(0.1, 0.3, 0.2), (0.4, 0.02, 0.05), (0.05, 0.06, 0.3), (0.1, 0.2, 0.1, 0.15)]
)
def test_the_joint_level_by_integration(errors: tuple[float, ...]) -> None:
    """Witness: P(all |x_j − r| ≤ q·√(s_j² + s²)) over the reference r ~ N(0, s²), by quadrature, is
    .9. The quantile is simulated: to .003."""
    from scipy.integrate import quad
    from scipy.stats import norm

    tails = [type("T", (), {"level": type("L", (), {"std_error": e})})() for e in errors]
    q = norm.ppf((1 + level_of_each(tuple(tails), 0.9)) / 2)  # type: ignore[arg-type]
    *others, own = errors

    def joint(r: float) -> float:
        reach = [(q * np.hypot(e, own), e) for e in others]
        inside = [norm.cdf((r + width) / e) - norm.cdf((r - width) / e) for width, e in reach]
        return float(np.prod(inside) * norm.pdf(r, scale=own))

    assert quad(joint, -8 * own, 8 * own, limit=200)[0] == pytest.approx(0.9, abs=3e-3)
    assert level_of_each(tuple(tails[-2:]), 0.9) == 0.9  # type: ignore[arg-type]
    tails[0].level.std_error = 0.0
    assert level_of_each(tuple(tails), 0.9) == pytest.approx(1 - 0.1 / len(others))  # type: ignore[arg-type]


def test_square_and_add_by_hand() -> None:
    """Zou and Donner: 3-4-5 triangles; what rounding can do to a level adds up first, and an end
    beyond 1 ends there."""

    def level(estimate: float, low: float, high: float) -> GroupLevel:
        return GroupLevel(100.0, estimate, np.nan, Interval(low, high, 0.9, "x"), True, False)

    a = level(0.5, 0.2, 0.62)
    b = level(0.1, 0.05, 0.5)
    found = _combine_intervals(a, b, 0.9)
    assert (found.low, found.high) == pytest.approx((0.4 - 0.5, 0.4 + 0.13))
    assert (found.confidence_level, found.method) == (0.9, "from the two intervals (MOVER)")
    # widths .06 and .1: (.3 − .06, .4 − .1) below, (.12 − .06, .05 − .05) above
    rounded = _combine_intervals(a, b, 0.9, (0.06, 0.1))
    wanted = 0.4 - 0.16 - np.hypot(0.24, 0.3), 0.4 + 0.11 + 0.06
    assert (rounded.low, rounded.high) == pytest.approx(wanted)
    wide = _combine_intervals(level(0.7, 0.7, np.inf), level(0.6, 0.6, np.inf), 0.9)
    assert (wide.low, wide.high) == pytest.approx((0.1 - 0.4, 0.1 + 0.3))


def result_with(limits: list[tuple[float, float]], estimates: list[float]) -> Any:
    """Comparisons with these simultaneous limits."""
    from dataclasses import replace

    base = fs.ecd(VALUES, n_resamples=0, calibrated=False, backend="scipy", sensitivity=())
    rows = [
        replace(
            base.comparisons[0],
            group=name,
            estimate=value,
            simultaneous=Interval(*ends, 0.975, "x"),
        )
        for name, ends, value in zip("abc", limits, estimates, strict=False)
    ]
    return replace(base, comparisons=tuple(rows))


@pytest.mark.parametrize(
    ("limits", "estimates", "wanted"),
    [
        ([(-0.3, -0.1), (0.05, 0.2)], [-0.2, 0.1], ("a", 0.2, 0.1, 0.3)),
        ([(-0.3, 0.1), (-0.05, 0.2)], [-0.1, 0.15], ("b", 0.15, 0.0, 0.3)),
        ([(0.3, 0.5), (-0.9, 0.95)], [0.4, 0.1], ("a", 0.4, 0.3, 0.95)),
        ([(np.nan, np.nan), (0.1, 0.3)], [np.nan, 0.2], ("b", 0.2, 0.1, 2.0)),
    ],
)
def test_the_largest_by_hand(limits: Any, estimates: Any, wanted: Any) -> None:
    """The largest of the ends of |δ|, none below 0 nor above 2; an unknown one may lie anywhere."""
    top = result_with(limits, estimates).largest
    assert (top.group, top.estimate, *top.confidence_interval) == pytest.approx(wanted)
    assert top.n == sum(x.size for x in VALUES.values())
    assert top.confidence_interval.confidence_level == 0.95


def test_rows_by_the_widest_interval() -> None:
    """(width here / width)², of the widest, rounded up."""
    from dataclasses import replace

    base = result_with([(0.0, 1.0)] * 2, [0.5, 0.5])
    ends = [Interval(0.1, 0.3, 0.95, "x"), Interval(0.1, 0.4, 0.95, "x")]
    rows = [replace(c, confidence_interval=e) for c, e in zip(base.comparisons, ends, strict=True)]
    wanted = replace(base, comparisons=tuple(rows)).rows_for(0.2)
    assert wanted == {name: int(np.ceil(2.25 * x.size)) for name, x in VALUES.items()}
    with pytest.raises(fs.InputError, match="width"):
        base.rows_for(4.1)
    assert base.rows_for(4.0)["white"] >= 1


def test_what_a_comparison_says() -> None:
    """By hand: cost, direction and verdict in words, with the level and the margin as they were
    set.
    """
    from dataclasses import replace

    base = fs.ecd(
        VALUES,
        privileged="white",
        unprivileged="black",
        n_resamples=0,
        calibrated=False,
        backend="scipy",
        sensitivity=(),
        margin=0.04,
        confidence_level=0.9,
        interactions=2000,
    )
    (c,) = base.comparisons
    settles = {
        "violated": "the data show a difference beyond 0.04",
        "satisfied": "the data show that it lies within ±0.04",
        "undecided": "the data do not settle whether it exceeds 0.04",
    }
    for estimate, more in ((0.123, "more"), (-0.123, "less"), (0.0, "more")):
        for verdict, words in settles.items():
            ends = Interval(estimate - 0.01, estimate + 0.02, 0.9, "x")
            width = {"violated": 0.01, "satisfied": 0.01, "undecided": 1.0}[verdict]
            middle = estimate if verdict == "violated" else 0.0
            bounds = Interval(middle - width, middle + width, 0.9, "x")
            row = replace(
                c, estimate=estimate, confidence_interval=ends, bounds=bounds, verdict=verdict
            )
            (said,) = replace(base, comparisons=(row,)).sentences()
            assert said.startswith(
                "In the worst of 2,000 interactions group membership costs black "
                f"{abs(estimate):.3f} {more} in score than white (difference {estimate:.3f}, 90% "
                f"interval {estimate - 0.01:.3f} to {estimate + 0.02:.3f}): {verdict}; {words}."
            )
    none = replace(c, verdict="insufficient evidence", note="Why not.")
    assert replace(base, comparisons=(none,)).sentences() == [
        "Extreme counterfactual discrimination: insufficient evidence. Why not."
    ]


def test_what_a_sample_says() -> None:
    """By hand: means and differences of means with their intervals.

    Then what was left out, and made.
    """
    from scipy.stats import t as student_t

    values = {"a": [0.1, 0.2, 0.4], "b": [0.0, 0.1]}
    sample = fs.results.CounterfactualSample.from_values(
        values, n_synthetic={"b": 1}, attribute="sex", confidence_level=0.9
    )
    means = {}
    ends = {}
    for name, x in values.items():
        means[name], spread = np.mean(x), np.std(x, ddof=1) / np.sqrt(len(x))
        reach = student_t.ppf(0.95, len(x) - 1) * spread
        ends[name] = [means[name] - reach, means[name] + reach]
    first, second, third = sample.sentences()
    assert (
        first
        == f"a: mean {means['a']:.3f} (90% interval {ends['a'][0]:.3f} to {ends['a'][1]:.3f})."
    )
    assert second.startswith(f"b: mean {means['b']:.3f} (90% interval")
    assert third.startswith(
        f"b less a: difference of means {means['b'] - means['a']:.3f} (90% interval"
    )
    assert sample.notes() == [
        (
            "CD = score with another value of sex − score as it is: positive where the other value"
            " would have helped."
        ),
        "1 row is synthetic: intervals and tests describe the generator's law, not people.",
    ]
    frame = sample.to_frame()
    assert frame["maximum"].tolist()[:2] == [0.4, 0.1]
    assert frame["n_synthetic"].tolist()[:2] == [0, 1]
    top = sample.extremes("a", 2)
    assert top["row"].tolist() == [2, 1]
    assert top["cd"].tolist() == [0.4, 0.2]
    assert sample.extremes("a", 0).empty
