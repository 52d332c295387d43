"""Posterior draws against closed forms: Beta marginals, Beta-binomial predictions, independence."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from scipy import stats

import fairstats as fs
from fairstats.ground.errors import InsufficientEvidenceWarning
from fairstats.ground.results import TIDY_COLUMNS
from fairstats.methods.um.draws import Summaries, describe

from .conftest import TABLE, Sample, cells

DRAWS = 40_000
#: Monte Carlo error: 5 standard errors of a mean; of a variance of near-normal draws √(2/T)
#: relative.
MEAN_TOLERANCE = 5 / np.sqrt(DRAWS)
VARIANCE_TOLERANCE = 5 * np.sqrt(2 / DRAWS)


def beta_moments(a: float, b: float) -> tuple[float, float]:
    return a / (a + b), a * b / ((a + b) ** 2 * (a + b + 1))


def posterior(**options: Any) -> fs.results.UmPosterior:
    return fs.um_posterior(counts=TABLE, draws=DRAWS, rng=7, **options)


@pytest.mark.parametrize("prior", [1.0, 0.5, 0.0])
@pytest.mark.parametrize(
    ("metric", "yes", "no"),
    [
        ("tpr", ("tp",), ("fn",)),
        ("tnr", ("tn",), ("fp",)),
        ("fpr", ("fp",), ("tn",)),
        ("fnr", ("fn",), ("tp",)),
        ("ppv", ("tp",), ("fp",)),
        ("npv", ("tn",), ("fn",)),
        ("accuracy", ("tp", "tn"), ("fp", "fn")),
        ("selection_rate", ("tp", "fp"), ("tn", "fn")),
        ("base_rate", ("tp", "fn"), ("tn", "fp")),
    ],
)
def test_rates_of_a_group_are_beta(
    metric: str, yes: tuple[str, ...], no: tuple[str, ...], prior: float
) -> None:
    """Witness: aggregation of a Dirichlet, in closed form.

    The whole law by Kolmogorov and Smirnov.
    """
    draws = posterior(prior=prior).metric(metric, group="women")
    a, b = (sum(TABLE["women"][c] + prior for c in side) for side in (yes, no))
    mean, variance = beta_moments(a, b)
    assert draws.mean() == pytest.approx(mean, abs=MEAN_TOLERANCE * np.sqrt(variance))
    assert draws.var() == pytest.approx(variance, rel=VARIANCE_TOLERANCE)
    assert stats.kstest(draws, stats.beta(a, b).cdf).pvalue > 1e-4


def test_differences_have_the_moments_of_independent_betas() -> None:
    """Witness: difference of two independent Betas."""
    draws = posterior().metric("equal_opportunity")
    women = beta_moments(151, 51)
    men = beta_moments(421, 81)
    assert draws.mean() == pytest.approx(
        women[0] - men[0], abs=MEAN_TOLERANCE * np.sqrt(women[1] + men[1])
    )
    assert draws.var() == pytest.approx(women[1] + men[1], rel=VARIANCE_TOLERANCE)


def test_metrics_of_all_rows_weight_groups_by_rows() -> None:
    """Witness: a fixed mixture of independent Betas."""
    draws = posterior().metric("accuracy")
    parts = [beta_moments(800 + 2, 200 + 2), beta_moments(380 + 2, 120 + 2)]
    weights = [1000 / 1500, 500 / 1500]
    mean = sum(w * m for w, (m, _) in zip(weights, parts, strict=True))
    variance = sum(w**2 * v for w, (_, v) in zip(weights, parts, strict=True))
    assert draws.mean() == pytest.approx(mean, abs=MEAN_TOLERANCE * np.sqrt(variance))
    assert draws.var() == pytest.approx(variance, rel=VARIANCE_TOLERANCE)


def test_differences_of_tpr_and_fpr_are_independent() -> None:
    """Remark 2.1; witness: correlations of the draws and of their squares are 0 within Monte Carlo
    error.
    """
    odds = posterior().metric("equalized_odds")
    assert odds.shape == (DRAWS, 2)
    for power in (1, 2):
        r = np.corrcoef((odds - odds.mean(axis=0)).T ** power)[0, 1]
        assert abs(r) < 4 / np.sqrt(DRAWS)


def test_selection_rate_of_another_test_set_is_beta_binomial() -> None:
    """Witness: the Beta-binomial variance; and 1.4 = √2 times wider than the parameter."""
    predictive = posterior(target="predictive")
    draws = predictive.metric("selection_rate", group="women")
    a = 222.0
    b = 282.0
    n = 500
    mean, beta_variance = beta_moments(a, b)
    variance = mean * (1 - mean) * (a + b + n) / (n * (a + b + 1))
    assert draws.mean() == pytest.approx(mean, abs=MEAN_TOLERANCE * np.sqrt(variance))
    assert draws.var() == pytest.approx(variance, rel=VARIANCE_TOLERANCE)
    assert np.sqrt(draws.var() / beta_variance) == pytest.approx(1.41, abs=0.03)
    counts = predictive.draws
    assert (counts == np.rint(counts)).all()
    assert (counts.sum(axis=2) == [1000, 500]).all()


def test_parameter_draws_are_expected_counts() -> None:
    draws = posterior().draws
    assert draws.shape == (DRAWS, 2, 4)
    assert np.allclose(draws.sum(axis=2), [1000, 500])


def test_effective_counts_stay_as_they_are_and_trials_are_rounded() -> None:
    """Witness: Beta with fractional parameters.

    The number of trials 30.5 + … = 60.6 rounds to 61.
    """
    counts = {"a": {"tp": 20.3, "tn": 20.2, "fp": 10.0, "fn": 10.1}}
    draws = fs.um_posterior(counts=counts, draws=DRAWS, rng=1).metric("tpr")
    mean, variance = beta_moments(21.3, 11.1)
    assert draws.mean() == pytest.approx(mean, abs=MEAN_TOLERANCE * np.sqrt(variance))
    sampler = fs.um_posterior(counts=counts, target="predictive", rng=1).dirichlet
    assert sampler.trials is not None
    assert sampler.trials.tolist() == [61]


def test_rows_confusion_counts_and_mapping_agree(two_models: Sample) -> None:
    rows = fs.um_posterior(two_models.y, two_models.a, sensitive_features=two_models.group, rng=1)
    counts = fs.ConfusionCounts.from_arrays(
        two_models.y, two_models.a, sensitive_features=two_models.group
    )
    counted = fs.um_posterior(counts=counts, rng=1)
    frame = fs.um_posterior(counts=counts.to_frame().drop(columns="n"), rng=1)
    for other in (counted, frame):
        assert other.groups == rows.groups
        assert np.array_equal(other.counts.totals, rows.counts.totals)
        assert np.array_equal(other.metric("mcc"), rows.metric("mcc"))


@pytest.mark.parametrize("target", ["parameter", "predictive"])
def test_numbers_do_not_depend_on_threads_or_on_what_is_asked_together(target: Any) -> None:
    result = fs.um_posterior(counts=TABLE, draws=100_000, rng=3, target=target)
    names = ("accuracy", "equal_opportunity", "mcc")
    one = result.metrics(names, n_jobs=1)
    two = result.metrics(names, n_jobs=2)
    again = fs.um_posterior(counts=TABLE, draws=100_000, rng=3, target=target)
    for name in names:
        assert np.array_equal(one[name], two[name])
        assert np.array_equal(one[name], again.metric(name))


def test_more_draws_begin_with_the_same_blocks() -> None:
    short = fs.um_posterior(counts=TABLE, draws=8192, rng=3).metric("f1")
    long = fs.um_posterior(counts=TABLE, draws=20_000, rng=3).metric("f1")
    assert np.array_equal(short, long[:8192])


def test_a_generator_gives_a_seed_that_is_kept() -> None:
    first = fs.um_posterior(counts=TABLE, rng=np.random.default_rng(1))
    second = fs.um_posterior(counts=TABLE, rng=np.random.default_rng(1))
    assert np.array_equal(first.metric("f1"), second.metric("f1"))
    assert first.entropy == second.entropy


def test_a_function_of_the_counts_is_a_metric() -> None:
    result = posterior()

    def cost(counts: np.ndarray) -> np.ndarray:
        return (2 * counts[..., 1] + counts[..., 2]).sum(axis=1)  # type: ignore[no-any-return]

    draws = result.metrics([cost, "accuracy"])
    expected = (2 * result.draws[..., 1] + result.draws[..., 2]).sum(axis=1)
    assert np.array_equal(draws["cost"], expected)
    assert result.to_frame([cost])["metric"].tolist() == ["cost"]


def test_joint_draws_belong_together() -> None:
    """Witness: TPR + FNR = 1 draw by draw."""
    result = posterior()
    assert np.allclose(result.metric("tpr") + result.metric("fnr"), 1)


def test_table(table: dict[str, Any]) -> None:
    result = posterior()
    frame = result.to_frame(
        ["accuracy", "equal_opportunity", "equal_opportunity_max"], rope=0.05, prob=0.9
    )
    assert tuple(frame.columns[: len(TIDY_COLUMNS)]) == TIDY_COLUMNS
    assert frame["group"].tolist() == ["all", "men", "women", "women", "largest gap"]
    gap = result.metric("equal_opportunity")
    row = frame.iloc[3]
    assert row["estimate"] == pytest.approx(gap.mean())
    assert row["std_error"] == pytest.approx(gap.std(ddof=1))
    assert row["p_rope"] == pytest.approx((np.abs(gap) <= 0.05).mean())
    assert row["observed"] == pytest.approx(150 / 200 - 420 / 500)
    assert row["reference"] == "men"
    inside = (gap >= row["ci_low"]) & (gap <= row["ci_high"])
    assert inside.mean() == pytest.approx(0.9, abs=1e-4)
    assert frame["p_rope"].isna().tolist() == [True, True, True, False, False]
    assert "group − reference ('men', largest)" in result.summary()


def test_shortest_interval_of_a_beta() -> None:
    """Witness: the highest-density interval of Beta(3, 9) by numerical optimisation."""
    from scipy.optimize import minimize_scalar

    law = stats.beta(3, 9)
    best = minimize_scalar(
        lambda p: law.ppf(p + 0.95) - law.ppf(p), bounds=(0, 0.05), method="bounded"
    )
    counts = {"a": {"tp": 2, "fn": 8, "tn": 5, "fp": 5}}
    row = fs.um_posterior(counts=counts, draws=200_000, rng=1).to_frame(["tpr"]).iloc[0]
    assert row["ci_low"] == pytest.approx(law.ppf(best.x), abs=0.006)
    assert row["ci_high"] == pytest.approx(law.ppf(best.x + 0.95), abs=0.006)


def test_round_trip_gives_the_same_draws() -> None:
    result = fs.um_posterior(counts=TABLE, rng=5, reference="women")
    back = fs.results.UmPosterior.from_dict(json.loads(json.dumps(result.to_dict())))
    assert back.reference == "women"
    assert np.array_equal(back.metric("mcc"), result.metric("mcc"))


def test_hdr_of_two_metrics_holds_its_share() -> None:
    result = fs.um_posterior(counts=TABLE, rng=5)
    region = result.hdr(("accuracy", "equal_opportunity"), 0.9)
    assert region.dimension == 2
    assert region.mass == pytest.approx(0.9, abs=2e-3)


def test_many_groups_compare_with_the_reference(rng: np.random.Generator) -> None:
    counts = {
        g: dict(zip(("tp", "tn", "fp", "fn"), rng.integers(5, 60, 4), strict=True)) for g in "abcd"
    }
    result = fs.um_posterior(counts=counts, rng=1, reference="b")
    by_group = result.metric("tpr", by_group=True)
    gaps = result.metric("equal_opportunity")
    assert gaps.shape == (10_000, 3)
    assert np.allclose(gaps, by_group[:, [0, 2, 3]] - by_group[:, [1]])
    assert np.allclose(
        result.metric("equal_opportunity_ratio"), by_group[:, [0, 2, 3]] / by_group[:, [1]]
    )
    assert np.allclose(result.metric("equal_opportunity_absolute"), np.abs(gaps))
    spread = by_group.max(axis=1) - by_group.min(axis=1)
    assert np.allclose(result.metric("equal_opportunity_max"), spread)
    fpr = result.metric("fpr", by_group=True)
    both = np.maximum(spread, fpr.max(axis=1) - fpr.min(axis=1))
    assert np.allclose(result.metric("equalized_odds_max"), both)


@pytest.mark.parametrize(("name", "alpha"), [("uniform", 1.0), ("jeffreys", 0.5), ("perks", 0.25)])
def test_priors_by_name(name: str, alpha: float) -> None:
    """Witness: the mean of a beta posterior of a rate, and the draws under the number."""
    named, given = (
        fs.um_posterior(counts=TABLE, prior=p, rng=1, draws=50_000) for p in (name, alpha)
    )
    assert np.array_equal(named.draws, given.draws)
    row = TABLE["men"]
    mean = (row["tp"] + alpha) / (row["tp"] + row["fn"] + 2 * alpha)
    draws = named.metric("tpr", group="men")
    assert draws.mean() == pytest.approx(mean, abs=5 * draws.std() / np.sqrt(50_000))
    several = fs.um_multiclass(counts=TABLE, prior=name, rng=1)
    assert (several.prior == alpha).all()


def test_a_group_without_rows_has_no_value_and_says_so() -> None:
    """Its rows stay in the table, NaN throughout, and nothing but our own words is said of 0/0."""
    counts = {"men": cells(5, 6, 2, 1), "women": cells(0, 0, 0, 0)}
    with pytest.warns(InsufficientEvidenceWarning, match="'women' has no rows"):
        posterior = fs.um_posterior(counts=counts, rng=1)
    with pytest.warns(InsufficientEvidenceWarning, match="draws undefined") as said:
        table = posterior.to_frame()
    assert {w.category for w in said} == {InsufficientEvidenceWarning}
    women = table[table["group"] == "women"]
    assert len(women) == 13
    assert women[["estimate", "observed", "ci_low", "ci_high"]].isna().all(axis=None)
    assert (women["undefined"] == 1).all()
    assert (
        table[(table["metric"] == "accuracy") & (table["group"] == "men")]["observed"].item()
        == 11 / 14
    )


def test_few_errors_are_said_to_be_few() -> None:
    """Ten errors, or ten hits, are enough; of one or two groups Jeffreys' prior needs no word."""

    def note(errors: float, prior: Any = 1.0, hits: float = 80) -> str:
        counts = {
            "men": cells(200, 200, 30, 30),
            "women": cells(hits / 2, hits / 2, errors / 2, errors / 2),
        }
        return "\n".join(fs.um_posterior(counts=counts, prior=prior, rng=1).notes())

    assert "Fewer than 10 errors (or as few hits) in women: the uniform prior" in note(9)
    assert "Fewer" not in note(10)
    assert "in women: the uniform prior" in note(30, hits=8)
    assert "Perks' prior" in note(4, "perks")
    assert "Fewer" not in note(4, "jeffreys")
    four = {name: cells(40, 40, 2, 2) for name in "abcd"}
    (words,) = (
        n for n in fs.um_posterior(counts=four, prior="jeffreys", rng=1).notes() if "Fewer" in n
    )
    assert "in a, b, c, d: the prior adds 4 errors (or hits) to them" in words
    for names, shown in (
        ("abcde", "in a, b, c, d, e: the"),
        ("abcdefg", "in a, b, c, d, e and 2 more: the"),
    ):
        many = fs.um_posterior(
            counts={name: cells(40, 40, 2, 2) for name in names}, prior="jeffreys", rng=1
        )
        assert shown in "\n".join(many.notes())
    assert "women: the prior adds 3 errors" in note(4, 1.5)
    assert "women: the prior adds 2.2 errors" in note(4, {"tp": 0, "fp": 1.2, "fn": 1, "tn": 0.1})
    assert "women: the uniform prior" in note(30, {"tp": 2, "fp": 0.1, "fn": 0.1, "tn": 0}, hits=8)
    assert "yours is smaller" not in note(4, "perks")
    for less in (0.24, 0.05, 0):
        assert "in women: 95% intervals of one such group" in note(4, less)
        assert "yours is smaller" in note(4, less)
    assert all("Fewer" not in note(4, prior) for prior in (0.3, 0.5, 0.9))


def test_where_small_priors_are_felt_in_differences() -> None:
    """From 100 rows of a label on, under the uniform prior and of one group there is nothing to
    say.
    """

    def said(prior: Any, labels: int, groups: str = "ab") -> bool:
        half = labels // 2
        counts = {g: cells(half, half, labels - half, labels - half) for g in groups}
        notes = fs.um_posterior(counts=counts, prior=prior, rng=1).notes()
        return any(note.startswith("Differences from or to") for note in notes)

    assert said("jeffreys", 99)
    assert said("perks", 99)
    assert not said("jeffreys", 100)
    assert not said("uniform", 20)
    assert not said("perks", 20, groups="a")


@pytest.mark.parametrize(
    ("alpha", "groups", "errors", "least", "most"),
    [
        (0.05, 1, 5, 0.85, 0.91),
        (0.05, 1, 1, 0.60, 0.67),
        (0.3, 1, 5, 0.93, 0.97),
        (0.5, 2, 5, 0.93, 0.97),
        (0.5, 2, 1, 0.92, 0.96),
        (0.75, 2, 5, 0.89, 0.94),
        (0.5, 8, 5, 0.81, 0.87),
        (0.5, 8, 1, 0.39, 0.46),
        (1.0, 2, 1, 0.61, 0.68),
        (0.25, 8, 1, 0.82, 0.88),
    ],
)
def test_where_the_note_on_few_errors_is_due(
    alpha: float, groups: int, errors: int, least: float, most: float
) -> None:
    """Coverage of the shortest 95% interval of accuracy, from beta posteriors of groups of 100
    rows.

    In one group: of α a cell and half to ten expected errors .87 on average at .01, .88 at .05, .92
    at .125, .94 at .25 (least .84), .95 at .3 (.89), .96 at .5 (.92), exactly by binomial sums. In
    several the sum of priors counts: with five errors expected in each .95 where it adds two errors
    to two groups, .90 to .92 where three to two or to three, .83 where eight to eight; with one,
    .93, .82 to .88 and .42. So the rule: one note from three on (one group: from two, as the
    uniform prior), the other up to half of one a group. Bounds: three binomial errors of 1,000
    samples about 1,500 of another seed."""
    rng = np.random.default_rng(4)
    held = 0
    for _ in range(1_000):
        wrong = rng.binomial(100, errors / 100, groups)
        draws = np.sort(
            rng.beta(2 * alpha + wrong, 2 * alpha + 100 - wrong, (1_000, groups)).mean(axis=1)
        )
        low = int((draws[950:] - draws[:-950]).argmin())
        held += draws[low] <= errors / 100 <= draws[low + 950]
    assert least < held / 1_000 < most
    counts = {f"g{k}": cells(47, 48, errors - errors // 2, errors // 2) for k in range(groups)}
    noted = any("Fewer" in n for n in fs.um_posterior(counts=counts, prior=alpha, rng=1).notes())
    assert noted == (least < 0.92)


def test_the_interval_of_a_largest_gap_says_what_it_cannot() -> None:
    """Its draws are above 0, and so is the interval, of groups that are alike.

    A difference holds 0.
    """
    from dataclasses import replace

    alike = {g: cells(35, 40, 12, 13) for g in "abcdefgh"}
    result = fs.um_posterior(counts=alike, rng=1)
    row, *_ = (r for r in result.comparisons if r.metric == "demographic_parity_max")
    assert row.confidence_interval.low > 0 == row.observed
    assert any("never 0 among draws" in note for note in result.notes())
    plain = replace(result, table_metrics=("accuracy", "demographic_parity"))
    assert not any("never 0 among draws" in note for note in plain.notes())
    assert not any(
        "never 0 among draws" in n for n in fs.um_posterior(counts={"a": cells(9, 9, 9, 9)}).notes()
    )


def test_a_long_table_is_made_of_fewer_draws_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """300 groups: the same seed gives the same table whatever was asked before.

    Means within 5 errors.
    """
    monkeypatch.setattr("fairstats.methods.um.draws._MOST_VALUES", 4_000_000)
    rng = np.random.default_rng(1)
    many = {f"g{k}": cells(*rng.multinomial(80, (0.3, 0.4, 0.1, 0.2)).tolist()) for k in range(300)}
    result = fs.um_posterior(counts=many, draws=2_000, rng=1)
    frame = result.to_frame()
    assert len(frame) == 8 * 301 + 5 * 299 + 3
    assert any("made of 1,024 draws of its own" in note for note in result.notes())
    again = fs.um_posterior(counts=many, draws=2_000, rng=1)
    every = again.metric("accuracy", by_group=True).mean(axis=0)
    assert again.to_frame().equals(frame)
    own = frame[(frame["metric"] == "accuracy") & (frame["group"] != "all")]
    assert (abs(own["estimate"] - every) < 5 * own["mc_error"] * np.sqrt(1 + 1_024 / 2_000)).all()
    assert len(again.to_frame(["accuracy"])) == 301
    from dataclasses import replace

    assert not any(
        "of its own" in note for note in replace(again, table_metrics=("accuracy",)).notes()
    )


def test_a_row_of_draws_by_hand() -> None:
    """The ends of the region of equivalence belong to it; NaN is left out.

    The error of the mean is sd/√n.
    """
    row = describe(np.array([0.01, np.nan, -0.01, 0.02, 0.03]), 0.5, 0.01)
    assert row.p_rope == 0.5
    assert row.undefined == pytest.approx(0.2)
    assert (row.estimate, row.median) == (pytest.approx(0.0125), pytest.approx(0.015))
    spread = np.std([0.01, -0.01, 0.02, 0.03], ddof=1)
    assert (row.std_error, row.mc_error) == (pytest.approx(spread), pytest.approx(spread / 2))
    assert tuple(row.confidence_interval) == (0.01, 0.03)
    nothing = describe(np.full(3, np.nan), 0.95)
    assert nothing.undefined == 1
    assert np.isnan(
        [nothing.estimate, nothing.median, nothing.p_rope, *nothing.confidence_interval]
    ).all()


@pytest.mark.parametrize("rope", [0.2, np.nan])
def test_every_row_of_draws_one_by_one(rope: float) -> None:
    """Witness: a plain loop over rows, of none, one, two or many known draws each, and over
    windows.
    """
    rng = np.random.default_rng(6)
    draws = rng.normal(size=(150, 40))
    known = rng.choice([0, 1, 2, 3, 39, 40], 150)
    for row, n in zip(draws, known, strict=True):
        row[rng.permutation(40)[n:]] = np.nan
    found = Summaries(draws, 0.8, rope)
    np.testing.assert_allclose(found.undefined, 1 - known / 40, atol=1e-15)
    for row, n, mine in zip(draws, known, found.columns.T, strict=True):
        values = sorted(v for v in row if v == v)
        if not values:
            assert np.isnan(mine).all()
            continue
        sd = np.std(values, ddof=1) if n > 1 else np.nan
        held = min(int(np.floor(0.8 * n)), n - 1)
        low, high = min(
            ((values[k], values[k + held]) for k in range(n - held)), key=lambda e: e[1] - e[0]
        )
        inside = np.nan if np.isnan(rope) else np.mean([abs(v) <= rope for v in values])
        wanted = [np.mean(values), sd, low, high, np.median(values), inside, sd / np.sqrt(n)]
        np.testing.assert_allclose(mine, wanted, rtol=1e-12)


def test_sentences_notes_and_events_by_hand() -> None:
    """Notes written down; sentences from the rows, formatted here."""
    counts = {"a": cells(20, 30, 12, 11), "b": cells(21, 38, 13, 15)}
    first = fs.um_posterior(counts=counts, draws=500, rng=1)
    about = "metrics of all rows weight the groups by the rows evaluated."
    ends = [
        (
            "The size of a gap is never 0 among draws: its interval lies above 0 even where groups"
            " are alike. Read p_rope, the probability that it is small."
        ),
        "Conditional on the fitted model; of new people only if these rows did not train it.",
    ]
    assert first.notes() == [
        "Posterior of the metrics themselves (target: parameter); intervals are the shortest.",
        "500 exact draws, Dirichlet prior (1, 1, 1, 1) per group.",
        f"Differences are group − reference ('b', largest); {about}",
        *ends,
    ]
    prior = {"tp": 1, "tn": 2, "fp": 1, "fn": 1}
    second = fs.um_posterior(
        counts=counts, draws=500, rng=1, prior=prior, target="predictive", reference="a"
    )
    assert second.notes() == [
        (
            "Posterior predictive: the metrics of another test set of the same size (target:"
            " predictive), wider than the posterior of the metrics themselves."
        ),
        "500 exact draws, Dirichlet prior as given per cell and group.",
        f"Differences are group − reference ('a', named); {about}",
        *ends,
    ]
    for result, target in ((first, "parameter"), (second, "predictive")):
        for row, said in zip(result.comparisons, result.sentences(), strict=True):
            of = row.metric + (f" of {row.group}" if row.group else "")
            of += f" against {row.reference}" if row.reference else ""
            low, high = row.confidence_interval
            inside = f"; {100 * row.p_rope:.1f}% of it within ±0.01" if row.p_rope >= 0 else ""
            assert (
                said
                == f"{of}: posterior mean {row.estimate:.3f} (95% shortest interval {low:.3f} to"
                f" {high:.3f}; target: {target}){inside}."
            )
    found = fs.um_compare(first, first, rng=1, draws=500)
    said = [f"P({e.name}) = {e.probability:.3f} (± {e.mc_error:.3f})." for e in found.events]
    assert found.sentences() == said
    inside = np.abs(found.delta) <= 0.01 + 1e-12
    shares = ", ".join(
        f"{m} {v:.3f}" for m, v in zip(found.metrics, inside.mean(axis=0), strict=True)
    )
    by_size = found.sensitivity()
    events = [e.name for e in found.events[:3]]
    spans = ", ".join(f"P({e}) {by_size[e].min():.2f} to {by_size[e].max():.2f}" for e in events)
    assert found.notes() == [
        (
            "A is better where Δ > ε, worse where Δ < −ε, else equivalent; ε (RoPE): accuracy 0.01,"
            " equal_opportunity 0.01. Every metric is oriented so that larger is better; a fairness"
            " metric is minus its largest gap."
        ),
        "Independent draws: row-wise predictions are not there for all.",
        (
            "The counts are the same for A and B: nothing that was observed tells them apart, and"
            " probabilities of a difference are what the prior and independent draws allow."
        ),
        (
            f"Share of all draws of Δ inside the RoPE, metric by metric: {shares}; all:"
            f" {inside.all(axis=1).mean():.3f}."
        ),
        f"Over RoPEs of 0 to 3 times this size: {spans}.",
    ]
    assert by_size["scale"].iloc[[0, -1]].tolist() == [0, 3]


@pytest.mark.parametrize("options", [{"group": "women"}, {"group": "nobody"}, {"by_group": True}])
def test_a_function_is_of_all_groups(options: dict[str, Any]) -> None:
    """It gets the counts of every group: `group=` would be ignored without a word."""
    with pytest.raises(fs.InputError, match=r"counts\[:, k\]"):
        posterior().metric(lambda counts: counts[..., 0].sum(axis=1), **options)
