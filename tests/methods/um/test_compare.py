"""Comparison: events partition, exact probabilities, pairing, HDR, several algorithms."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

import fairstats as fs
from fairstats.ground.errors import InputError
from fairstats.methods.um.counting import CELLS
from fairstats.methods.um.events import event_name, probabilities
from fairstats.methods.um.joint import join, paired_prior
from fairstats.methods.um.metrics import as_objectives

from .conftest import TABLE, Sample, agreeing, cells

OTHER = {"men": cells(430, 370, 130, 70), "women": cells(165, 225, 75, 35)}


def pair(**options: Any) -> tuple[fs.results.UmPosterior, fs.results.UmPosterior]:
    return (
        fs.um_posterior(counts=TABLE, rng=1, **options),
        fs.um_posterior(counts=OTHER, rng=1, **options),
    )


def by_name(events: Any) -> dict[str, float]:
    return {event.name: event.probability for event in events}


def named(sign: tuple[int, ...]) -> str:
    """The event of a pattern, from the words of the definition."""
    if all(s == 0 for s in sign):
        return "A≈B"
    if -1 not in sign:
        return "A≫B"
    if 1 not in sign:
        return "B≫A"
    return ", ".join({1: "A", -1: "B", 0: "≈"}[s] + f"_m{j}" for j, s in enumerate(sign))


@settings(max_examples=60)
@given(
    st.integers(1, 4),
    st.lists(st.lists(st.integers(-3, 3), min_size=4, max_size=4), min_size=1, max_size=40),
)
def test_events_partition(n_metrics: int, raw: list[list[int]]) -> None:
    """Witness: every draw classified by the words of the definition.

    The boundary belongs to the RoPE.
    """
    delta = np.array(raw, dtype=float)[:, :n_metrics] / 100
    shorts = [f"m{j}" for j in range(n_metrics)]
    rope = [0.01] * n_metrics
    expected: dict[str, int] = {}
    for row in raw:
        sign = tuple(0 if abs(v) <= 1 else (1 if v > 0 else -1) for v in row[:n_metrics])
        expected[named(sign)] = expected.get(named(sign), 0) + 1
    found = by_name(probabilities(delta, rope, ("A", "B"), shorts))
    assert sum(found.values()) == pytest.approx(1)
    assert {k: v for k, v in found.items() if v > 0} == {
        k: pytest.approx(v / len(raw)) for k, v in expected.items()
    }


def test_names_are_the_papers() -> None:
    def names(*shorts: str) -> list[str]:
        return [event_name(s, ("A", "B"), shorts) for s in product((-1, 0, 1), repeat=len(shorts))]

    assert set(names("acc", "fair")) == {"A≫B", "B≫A", "A≈B", "A_acc, B_fair", "B_acc, A_fair"}
    patterns = [s for s in product((-1, 0, 1), repeat=3) if 1 in s and -1 in s]
    assert len(set(names("acc", "EOp", "DP"))) == 3 + len(patterns)
    assert "A_acc, B_EOp, ≈_DP" in names("acc", "EOp", "DP")


def test_events_that_never_happen_are_listed_up_to_three_metrics() -> None:
    better = np.ones((50, 4))
    for metrics, mixed in ((2, 2), (3, 12), (4, 0)):
        shorts = [f"m{k}" for k in range(metrics)]
        found = probabilities(better[:, :metrics], [0.1] * metrics, ("A", "B"), shorts)
        assert len(found) == 3 + mixed
        assert [e.probability for e in found] == [1.0] + [0.0] * (2 + mixed)


def test_order_of_the_events_of_a_comparison() -> None:
    result = fs.um_compare(*pair(), rng=2)
    assert [e.name for e in result.events] == [
        "A≫B",
        "B≫A",
        "A≈B",
        "A_acc, B_fair",
        "B_acc, A_fair",
    ]
    assert (result.p_a_better, result.p_b_better, result.p_equivalent) == tuple(
        e.probability for e in result.events[:3]
    )
    assert sum(e.probability for e in result.events) == pytest.approx(1)


def test_probability_of_one_metric_against_integration() -> None:
    """Witness: P(Δ > ε) for two independent Betas by numerical integration.

    4 Monte Carlo errors.
    """
    first = fs.um_posterior(counts={"g": cells(50, 40, 6, 4)}, rng=1, draws=100_000)
    second = fs.um_posterior(counts={"g": cells(45, 42, 7, 6)}, rng=1, draws=100_000)
    result = fs.um_compare(first, second, metrics="accuracy", rope=0.02, rng=3)
    a = stats.beta(92, 12)
    b = stats.beta(89, 15)
    better, _ = integrate.quad(lambda x: a.pdf(x) * b.cdf(x - 0.02), 0, 1, points=[0.85])
    worse, _ = integrate.quad(lambda x: b.pdf(x) * a.cdf(x - 0.02), 0, 1, points=[0.85])
    assert result.p_a_better == pytest.approx(better, abs=4 * result.events[0].mc_error)
    assert result.p_b_better == pytest.approx(worse, abs=4 * result.events[1].mc_error)
    assert result.p_equivalent == pytest.approx(
        1 - better - worse, abs=4 * result.events[2].mc_error
    )


def test_posteriors_of_one_seed_do_not_move_together() -> None:
    """Witness: the variance of Δ is the sum of both variances."""
    first, second = pair()
    delta = fs.um_compare(first, second, metrics="accuracy", rope=0.01, rng=1).delta[:, 0]
    expected = first.metric("accuracy").var() + second.metric("accuracy").var()
    assert delta.var() == pytest.approx(expected, rel=5 * np.sqrt(2 / 10_000))


def test_mc_errors_are_those_of_repeated_runs() -> None:
    """Witness: standard deviation over 200 runs; its own relative error is 5%."""
    first, second = pair(draws=1_000)
    runs = [fs.um_compare(first, second, rng=i).p_a_better for i in range(200)]
    error = fs.um_compare(first, second, rng=0).events[0].mc_error
    assert np.std(runs) == pytest.approx(error, rel=0.2)


# ---------------------------------------------------------------- pairing


def test_paired_draws_have_the_variance_of_the_eight_cells(two_models: Sample) -> None:
    """Witness: variance of a linear function of a Dirichlet, for accuracy in one group, in closed
    form.
    """
    group = np.zeros(two_models.y.size, dtype=int)
    first = fs.um_posterior(
        two_models.y, two_models.a, sensitive_features=group, rng=1, draws=40_000
    )
    second = fs.um_posterior(
        two_models.y, two_models.b, sensitive_features=group, rng=1, draws=40_000
    )
    result = fs.um_compare(first, second, metrics="accuracy", rope=0.01, rng=4)
    assert result.paired
    right = [(two_models.a == two_models.y), (two_models.b == two_models.y)]
    only_a = (right[0] & ~right[1]).sum() + 1  # two cells of prior 1/2
    only_b = (~right[0] & right[1]).sum() + 1
    total = two_models.y.size + 4
    mean = (only_a - only_b) / total
    variance = ((only_a + only_b) / total - mean**2) / (total + 1)
    assert result.delta.mean() == pytest.approx(mean, abs=5 * np.sqrt(variance / 40_000))
    assert result.delta.var() == pytest.approx(variance, rel=5 * np.sqrt(2 / 40_000))


def test_a_tally_with_two_predictions_is_paired_as_its_rows_are(two_models: Sample) -> None:
    """Witness: the posteriors of the rows; the same joint table gives the same draws."""
    frame = pd.DataFrame(two_models._asdict())
    counted = fs.tally(frame, y_true="y", y_pred="a", y_pred_b="b", sensitive_features="group")
    given = {"sensitive_features": two_models.group, "rng": 1}
    first, second = (
        fs.um_posterior(two_models.y, p, **given) for p in (two_models.a, two_models.b)
    )
    of_rows = fs.um_compare(first, second, rng=1)
    for counts in (counted, counted.paired(), fs.Tally.from_json(counted.to_json(exact=True))):
        found = fs.um_compare(counts=counts, rng=1)
        assert found.paired
        assert np.array_equal(found.delta, of_rows.delta)
    assert np.array_equal(fs.um_posterior(counts=counted, rng=1).metric("mcc"), first.metric("mcc"))
    with pytest.raises(fs.InputError, match="second prediction"):
        fs.um_compare(counts=counted.confusion(), rng=1)
    with pytest.raises(fs.InputError, match="posteriors beside it"):
        fs.um_compare(first, counts=counted)


def test_independent_draws_overstate_the_variance() -> None:
    """The case of `vignettes/methods.md`: n = 2,000, 92% agreement: sd .0118 against .0063."""
    sample = agreeing(2_000, 1)
    given = {"sensitive_features": sample.group, "rng": 1}
    first, second = (fs.um_posterior(sample.y, p, **given) for p in (sample.a, sample.b))
    paired = fs.um_compare(first, second, rng=1)
    independent = fs.um_compare(first, second, rng=1, paired=False)
    assert paired.delta_sd[0] == pytest.approx(0.0063, abs=0.0006)
    assert independent.delta_sd[0] == pytest.approx(0.0126, abs=0.0012)
    assert "asked for" in independent.joint.reason
    assert paired.to_frame()["method"].unique().tolist() == ["paired"]


@pytest.mark.parametrize("target", ["parameter", "predictive"])
def test_margins_of_the_pairing_are_the_single_posteriors(two_models: Sample, target: Any) -> None:
    """Witness: Kolmogorov–Smirnov against draws of each alone."""
    given = {"sensitive_features": two_models.group, "rng": 1, "target": target}
    posteriors = [fs.um_posterior(two_models.y, p, **given) for p in (two_models.a, two_models.b)]
    joint = join(posteriors, paired=True, draws=8_192, entropy=9)
    for posterior, counts in zip(posteriors, joint._draw_block(0, 0, 8_192), strict=True):
        for cell in range(4):
            alone = posterior.draws[:, 0, cell]
            assert stats.ks_2samp(alone, counts[:, 0, cell]).pvalue > 1e-4, CELLS[cell]


@pytest.mark.parametrize("m", [2, 3, 5])
def test_prior_of_the_pairing_has_the_single_prior_as_margin(m: int) -> None:
    prior = np.array([[1.0, 1.0, 1.0, 1.0], [0.5, 1.0, 0.0, 2.0], [0, 0, 0, 0]])
    joint = paired_prior(prior, m).reshape(3, 2, *[2] * m)
    for k in range(m):
        others = tuple(2 + j for j in range(m) if j != k)
        margin = joint.sum(axis=others)  # group, y, ŷ_k
        assert np.allclose(margin[:, 1, 1], prior[:, 0])
        assert np.allclose(margin[:, 0, 1], prior[:, 1])
        assert np.allclose(margin[:, 1, 0], prior[:, 2])
        assert np.allclose(margin[:, 0, 0], prior[:, 3])
    assert np.allclose(joint[0], 1 / 2 ** (m - 1))


def test_rows_that_differ_are_not_paired(two_models: Sample) -> None:
    given = {"sensitive_features": two_models.group, "rng": 1}
    first = fs.um_posterior(two_models.y, two_models.a, **given)
    flipped = fs.um_posterior(1 - two_models.y, two_models.b, **given)
    assert "rows differ" in fs.um_compare(first, flipped, rng=1).joint.reason
    other_prior = fs.um_posterior(two_models.y, two_models.b, prior=0.5, **given)
    assert "priors differ" in fs.um_compare(first, other_prior, rng=1).joint.reason


def test_groups_in_another_order_are_aligned(two_models: Sample) -> None:
    first = fs.um_posterior(two_models.y, two_models.a, sensitive_features=two_models.group, rng=1)
    second = fs.um_posterior(
        two_models.y, two_models.b, sensitive_features=two_models.group, groups=["z", "x"], rng=1
    )
    same = fs.um_posterior(two_models.y, two_models.b, sensitive_features=two_models.group, rng=1)
    assert np.array_equal(
        fs.um_compare(first, second, rng=1).delta, fs.um_compare(first, same, rng=1).delta
    )


def test_a_model_against_itself_is_equivalent(two_models: Sample) -> None:
    posterior = fs.um_posterior(
        two_models.y, two_models.a, sensitive_features=two_models.group, rng=1
    )
    assert (
        fs.um_compare(posterior, posterior, rng=1).p_equivalent > 0.95
    )  # the prior has half a row apart


# ---------------------------------------------------------------- HDR, RoPE, priors


def test_where_no_row_is_predicted_differently_the_prior_speaks(two_models: Sample) -> None:
    """D15: P(A ≫ B) of a model against itself was .29 at 200 rows, without a word."""
    y, first, second, group = two_models
    one = fs.um_posterior(y, first, sensitive_features=group, rng=1)
    alike = fs.um_compare(one, one, rng=1)
    assert alike.joint.n_different == 0
    assert "No row is predicted differently" in " ".join(alike.notes())
    other = fs.um_posterior(y, second, sensitive_features=group, rng=1)
    apart = fs.um_compare(one, other, rng=1)
    assert apart.joint.n_different == np.sum(np.asarray(first) != np.asarray(second))
    assert "No row is predicted differently" not in " ".join(apart.notes())
    alone = fs.um_compare(one, one, paired=False, rng=1)
    assert alone.joint.n_different is None
    assert "No row is predicted differently by A and B" in " ".join(alone.notes())


def test_the_prior_speaks_of_same_counts_and_of_one_pair_among_several(two_models: Sample) -> None:
    """Counts without rows; three algorithms of which two are alike, paired, independent, and from a
    file.
    """
    y, first, second, group = two_models
    counts = fs.um_posterior(y, first, sensitive_features=group, rng=1).counts
    mine, other = (fs.um_posterior(counts=counts, rng=seed) for seed in (1, 2))
    words = " ".join(fs.um_compare(mine, other, rng=1).notes())
    assert "The counts are the same for A and B" in words
    three = {
        name: fs.um_posterior(y, predicted, sensitive_features=group, rng=1)
        for name, predicted in (("one", first), ("two", second), ("copy", first))
    }
    for paired in ("auto", False):
        ranked = fs.um_compare(three, paired=paired, rng=1)
        said = [note for note in ranked.notes() if "predicted differently" in note]
        assert len(said) == 1
        assert "by one and copy:" in said[0]
    back = fs.results.UmRanking.from_dict(ranked.to_dict())
    assert "The counts are the same for one and copy" in " ".join(back.notes())


@pytest.mark.parametrize("rope", [0.01, 0.03, 0.05])
def test_a_tie_at_epsilon_is_equivalent(rope: float) -> None:
    """Witness: whole numbers. Rates of 100 rows a group differ by multiples of 1/200 or 1/100 under
    "predictive".
    """
    posteriors = [
        fs.um_posterior(
            counts={g: {"tp": 40 + k, "fp": 10, "fn": 10 - k, "tn": 40} for g in "ab"},
            target="predictive",
            rng=k,
        )
        for k in (0, 3)
    ]
    found = fs.um_compare(*posteriors, metrics="accuracy", rope=rope, rng=1)
    steps = np.rint(found.delta[:, 0] * 200)
    np.testing.assert_allclose(found.delta[:, 0] * 200, steps, rtol=0, atol=1e-9)
    at_most = round(rope * 200)
    assert (np.abs(steps) == at_most).any()
    assert found.p_equivalent == np.mean(np.abs(steps) <= at_most)
    assert found.p_a_better == np.mean(steps > at_most)
    assert found.rope_share[0] == found.p_equivalent
    gap = posteriors[0].metric("demographic_parity")
    row = posteriors[0].to_frame(["demographic_parity"], rope=rope).iloc[0]
    assert row["p_rope"] == np.mean(np.abs(np.rint(gap * 100)) <= round(rope * 100))


def test_hdr_probabilities_are_conditional_and_say_so() -> None:
    """Witness: the share of the event among the draws inside the region."""
    result = fs.um_compare(*pair(), rng=2, hdr=0.9)
    inside = fs.hdr(result.delta, 0.9, backend="scipy").contains(result.delta)
    kept = result.delta[inside]
    better = ((kept > 0.01).any(axis=1) & ~(kept < -0.01).any(axis=1)).mean()
    assert result.p_a_better == pytest.approx(better)
    assert sum(e.probability for e in result.events) == pytest.approx(1)
    assert result.events[0].n_draws == inside.sum()
    assert set(result.to_frame()["given"]) == {"ΔΘ in its 90% HDR"}
    assert "conditional on ΔΘ in its 90% HDR" in result.summary()
    plain = fs.um_compare(*pair(), rng=2)
    assert by_name(result.unconditional) == by_name(plain.events)


def test_three_metrics_and_their_hdr() -> None:
    metrics = ("accuracy", "equal_opportunity", "demographic_parity")
    result = fs.um_compare(*pair(), metrics=metrics, rope=0.01, rng=2, hdr=0.95, draws=2_000)
    assert len(result.events) == 3 + 12
    assert sum(e.probability for e in result.events) == pytest.approx(1)


def test_sensitivity_over_rope_sizes() -> None:
    result = fs.um_compare(*pair(), rng=2)
    table = result.sensitivity()
    assert table["scale"].tolist() == [0.0, 0.5, 1.0, 1.5, 2.0, 3.0]
    assert np.allclose(table.drop(columns="scale").sum(axis=1), 1)
    assert table["A≈B"].is_monotonic_increasing
    assert table["A≈B"][0] == 0
    assert table.loc[2, "A≫B"] == result.p_a_better
    low = table["A≫B"].min()
    high = table["A≫B"].max()
    assert f"0 to 3 times this size: P(A≫B) {low:.2f} to {high:.2f}" in result.summary()


def test_certain_point_estimates_get_a_probability_and_priors_hardly_matter() -> None:
    """The shape of the paper's case 14.1: A better in both estimates.

    Priors 1, 1/2, 0 move events ≤ .05.
    """
    a = {"men": cells(1740, 6800, 560, 1000), "women": cells(300, 4700, 140, 180)}
    b = {"men": cells(1700, 6790, 570, 1040), "women": cells(285, 4690, 150, 195)}
    found = {}
    for prior in (1.0, 0.5, 0.0):
        first, second = (
            fs.um_posterior(counts=c, prior=prior, draws=100_000, rng=1) for c in (a, b)
        )
        found[prior] = by_name(fs.um_compare(first, second, rng=5).events)
    assert 0 < found[1.0]["A≫B"] < 0.9
    for name, probability in found[1.0].items():
        for prior in (0.5, 0.0):
            assert found[prior][name] == pytest.approx(probability, abs=0.05)


# ---------------------------------------------------------------- several algorithms


def test_matrix_and_front_against_pairwise_comparison(two_models: Sample) -> None:
    """Witness: the joint draws, compared one by one."""
    rng = np.random.default_rng(2)
    third = np.where(rng.random(two_models.y.size) < 0.75, two_models.y, 1 - two_models.y)
    posteriors = {
        name: fs.um_posterior(
            two_models.y, p, sensitive_features=two_models.group, rng=1, draws=2_000
        )
        for name, p in (("a", two_models.a), ("b", two_models.b), ("c", third))
    }
    ranking = fs.um_compare(posteriors, rng=8)
    assert isinstance(ranking, fs.results.UmRanking)
    assert ranking.joint.paired
    theta = np.empty((2_000, 3, 2))
    for k, counts in enumerate(ranking.joint._draw_block(0, 0, 2_000)):
        whole = counts.sum(axis=1)
        theta[:, k, 0] = (whole[:, 0] + whole[:, 3]) / whole.sum(axis=1)
        tpr = counts[..., 0] / (counts[..., 0] + counts[..., 2])
        theta[:, k, 1] = -np.abs(tpr[:, 0] - tpr[:, 1])
    front = np.ones((2_000, 3), dtype=bool)
    for i, j in product(range(3), repeat=2):
        if i == j:
            continue
        gap = theta[:, i] - theta[:, j]
        better = (gap > 0.01).any(axis=1) & (gap >= -0.01).all(axis=1)
        assert ranking.better[i, j] == pytest.approx(better.mean(), abs=1e-12)
        front[:, j] &= ~better
    assert np.allclose(ranking.front, front.mean(axis=0))
    assert ranking.matrix().loc["a", "c"] == ranking.better[0, 2]
    assert ranking.pareto()["algorithm"].tolist() == ["a", "b", "c"]
    assert "Pareto front" in ranking.summary()


def test_round_trip() -> None:
    result = fs.um_compare(*pair(), rng=2, hdr=0.9)
    back = fs.results.UmComparison.from_dict(json.loads(json.dumps(result.to_dict())))
    assert by_name(back.events) == by_name(result.events)
    assert np.array_equal(back.delta, result.delta)
    ranking = fs.um_compare(dict(zip("ab", pair(), strict=True)), rng=2)
    assert np.array_equal(
        fs.results.UmRanking.from_dict(json.loads(json.dumps(ranking.to_dict()))).better,
        ranking.better,
    )


def test_functions_are_metrics_but_are_not_stored() -> None:
    def benefit(counts: Any) -> Any:
        return -(counts[..., 1] + 5 * counts[..., 2]).sum(axis=1)

    result = fs.um_compare(*pair(), metrics=("accuracy", benefit), rope=(0.01, 20.0), rng=2)
    assert result.events[3].name == "A_acc, B_benefit"
    back = fs.results.UmComparison.from_dict(json.loads(json.dumps(result.to_dict())))
    with pytest.raises(fs.InputError, match="functions are not stored"):
        _ = back.delta


def test_a_difference_of_0_is_inside_a_region_of_0() -> None:
    def constant(counts: np.ndarray) -> np.ndarray:
        return np.zeros(len(counts))

    result = fs.um_compare(*pair(), metrics=("accuracy", constant), rope=0.0, rng=1)
    assert result.rope_share.tolist() == [0.0, 1.0]
    assert fs.um_compare(*pair(), metrics=constant, rope=0.0, rng=1).p_equivalent == 1


def test_functions_that_are_no_metrics_are_named() -> None:
    """Written down by hand; of the same short name each has its number."""
    counts = {"a": {"tp": 9, "tn": 8, "fp": 2, "fn": 1}, "b": {"tp": 9, "tn": 8, "fp": 3, "fn": 1}}
    posterior = fs.um_posterior(counts=counts, draws=100, rng=1)

    def broken(c: Any) -> Any:
        return c["tp"]

    def two(c: Any) -> Any:
        return c[..., 0]

    allowed = "allowed: a function of counts (draws, groups, 4)"
    with pytest.raises(InputError) as failed:
        posterior.metric(broken)
    assert str(failed.value).startswith("`metric`: got broken, which fails (IndexError: ")
    assert allowed in str(failed.value)
    with pytest.raises(InputError) as shaped:
        fs.um_compare(posterior, posterior, metrics=(two, "accuracy"), rng=1)
    assert (
        str(shaped.value)
        == f"`metrics`: got two, which turns counts of shape (100, 2, 4) into (100, 2); {allowed}"
        " whose answer has one entry per draw first, and nothing else. To fix: tp, fp, fn, tn"
        " are the last axis; keep the first: lambda c: c[..., 0].sum(axis=1)."
    )
    with pytest.raises(InputError) as shaped:
        posterior.metric(lambda c: c.sum())
    assert "whose answer has one entry per draw first. To fix" in str(shaped.value)


def test_objectives_by_hand() -> None:
    """Every orientation and contrast by plain NumPy, group by group, of 40 random tables of three
    groups.
    """
    counts = np.random.default_rng(4).integers(1, 30, (40, 3, 4)).astype(float)
    tp, fp, fn, tn = np.moveaxis(counts, -1, 0)
    tpr = tp / (tp + fn)
    fpr = fp / (fp + tn)
    ppv = tp / (tp + fp)
    whole = counts.sum(axis=1)
    right = whole[:, 0] + whole[:, 3]
    wrong = whole[:, 1] + whole[:, 2]
    others = [0, 2]
    wanted = {
        "accuracy": right / (right + wrong),
        "fpr": -whole[:, 1] / (whole[:, 1] + whole[:, 3]),
        "equal_opportunity": -(tpr.max(axis=1) - tpr.min(axis=1)),
        "predictive_parity_difference": -np.abs(ppv[:, others] - ppv[:, [1]]).max(axis=1),
        "predictive_equality_absolute": -np.abs(fpr[:, others] - fpr[:, [1]]).max(axis=1),
        "equal_opportunity_ratio": -np.abs(np.log(tpr[:, others] / tpr[:, [1]])).max(axis=1),
        "equalized_odds": -np.maximum(np.ptp(tpr, axis=1), np.ptp(fpr, axis=1)),
        "equalized_odds_difference": -np.maximum(
            np.abs(tpr[:, others] - tpr[:, [1]]).max(axis=1),
            np.abs(fpr[:, others] - fpr[:, [1]]).max(axis=1),
        ),
    }
    found = as_objectives(tuple(wanted), ("a", "b", "c"))
    assert found.names == tuple(wanted)
    for function, name in zip(found.functions, wanted, strict=True):
        np.testing.assert_allclose(function(counts, 1), wanted[name], rtol=1e-12, err_msg=name)
    assert found.shorts[:2] == ("acc1", "fpr2")  # some are alike: all are numbered
    pair = ("equal_opportunity", "predictive_parity")
    assert as_objectives((pair[0], "accuracy"), ("a", "b")).shorts == ("fair", "acc")
    apart = as_objectives((*pair, "accuracy"), ("a", "b"))
    alike = ("equal_opportunity", "equal_opportunity_max")
    assert len(set(apart.shorts)) == 3
    short = apart.shorts[0]
    assert as_objectives(alike, ("a", "b")).shorts == (f"{short}1", f"{short}2")
    with pytest.raises(InputError) as problem:
        as_objectives(("equal_opportunity",), ("a",))
    assert (
        str(problem.value)
        == "`metrics`: got 'equal_opportunity' with one group ('a'); allowed: metrics of all rows,"
        " such as 'accuracy'. To fix: pass two groups or more to compare them."
    )
