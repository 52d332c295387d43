"""What a mitigation changes.

Paired changes against closed forms and `compare_models`, weights, wrappers.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.linear_model import LogisticRegression

import fairstats as fs
from fairstats.ground.errors import DataWarning, InputError
from fairstats.methods.madd.mitigation import LabelledSample, MixtureCdfs, fairness_limits, left_out
from fairstats.methods.madd.mitigator import MaddMitigator

from .conftest import Scored, scored


@pytest.fixture(scope="module")
def fitted(paper_rows: Scored) -> MaddMitigator:
    mitigator = MaddMitigator(n_lambdas=101, random_state=1)
    return mitigator.fit(paper_rows.score, paper_rows.y, sensitive_features=paper_rows.group)


def changed(fitted: MaddMitigator, new: Scored, **options: Any) -> fs.results.MitigationResult:
    return fitted.evaluate(
        new.score, new.y, sensitive_features=new.group, n_resamples=199, **options
    )


def test_changes_are_those_of_compare_models(fitted: MaddMitigator) -> None:
    """Scores and predictions before and after as two models.

    The same numbers, but for the draws of MADD.
    """
    new = scored(700, 400, 11)
    effect = changed(fitted, new)
    scores = {
        "before": new.score,
        "after": fitted.transform(new.score, sensitive_features=new.group),
    }
    models = fs.compare_models(
        new.y,
        {name: (s >= 0.5).astype(int) for name, s in scores.items()},
        score=scores,
        metrics=["madd", "disparate_impact", "accuracy"],
        baseline="before",
        sensitive_features=new.group,
        n_resamples=199,
        rng=1,
    )
    assert effect.reference == models.reference == "0"
    for c in models.comparisons:
        own = effect.change(c.metric.removesuffix("_change"), c.group)
        assert (own.before, own.after, own.estimate) == pytest.approx(
            (c.before, c.after, c.estimate)
        )
        if c.metric == "disparate_impact_change":
            assert tuple(own.confidence_interval) == pytest.approx(
                tuple(c.confidence_interval), rel=1e-12
            )
    shares = []
    (bins,) = effect.pairs[0].grids
    for edges, s in zip(bins["edges"], scores.values(), strict=True):
        assert np.allclose(
            edges, np.quantile(s, np.arange(1, 6) / 6), atol=0.01
        )  # ⌈1/h_sup⌉ = 6 of 700 and 400 rows
        ends = [0.0, *edges, 1.0]
        shares.append(
            [np.histogram(s[new.group == g], ends)[0] / (new.group == g).sum() for g in (0, 1)]
        )
    assert (bins["group"], bins["reference"]) == ("1", "0")
    assert bins["rows"].sum(axis=(1, 2)).tolist() == [400, 700]
    distances = [float(np.abs(a - b).sum()) for a, b in shares]
    c = effect.change("madd", "1")
    assert (c.before, c.after) == pytest.approx(tuple(distances))
    again = fs.results.MitigationResult.from_dict(json.loads(json.dumps(effect.to_dict())))
    assert again.to_frame().equals(effect.to_frame())
    with pytest.raises(InputError, match="metric, group"):
        effect.change("auc")


def test_accuracy_by_tango_from_the_discordant_rows(fitted: MaddMitigator) -> None:
    """Both limits are roots of Tango's statistic, written out here.

    (b − c − nδ)/√(n(2q + δ(1 − δ))) = ±z.
    """
    new = scored(300, 200, 12)
    effect = changed(fitted, new)
    right = [
        (s >= 0.5) == (new.y == 1)
        for s in (new.score, fitted.transform(new.score, sensitive_features=new.group))
    ]
    n = new.y.size
    gained = int((right[1] & ~right[0]).sum())
    lost = int((right[0] & ~right[1]).sum())
    c = effect.change("accuracy")
    assert c.estimate == pytest.approx((gained - lost) / n)
    assert effect.error_after == pytest.approx(np.mean(~right[1]))
    for end, sign in zip(c.confidence_interval, (1, -1), strict=True):
        b = -gained - lost + (2 * n - gained + lost) * end
        q = (np.sqrt(b * b + 8 * n * lost * end * (1 - end)) - b) / (4 * n)
        z = (gained - lost - n * end) / np.sqrt(n * (2 * q + end * (1 - end)))
        assert z == pytest.approx(sign * 1.959964, abs=1e-5)


def test_no_map_is_no_change_with_an_interval(fitted: MaddMitigator) -> None:
    """λ = 0: nothing changes, which n rows show to within z²/(n + z²), not to within 0."""
    new = scored(150, 1_500, 13)
    same = fitted.transform(new.score, sensitive_features=new.group, lambda_=0)
    assert np.array_equal(same, new.score)
    still = fitted.__sklearn_clone__()
    still.__dict__.update(fitted.__dict__ | {"lambda_": 0.0})
    effect = changed(still, new)
    for c in effect.comparisons:
        nothing = 1.0 if c.metric == "disparate_impact_change" else 0.0
        low, high = c.confidence_interval
        assert c.estimate == nothing
        assert low < nothing < high
        assert c.pvalue == 1
        assert c.verdict == "undecided"
    c = effect.change("accuracy")
    assert c.confidence_interval.high == pytest.approx(
        1.959964**2 / (1_650 + 1.959964**2), rel=1e-5
    )


def test_changes_are_told_and_found_by_name(fitted: MaddMitigator) -> None:
    """Written down from the numbers of each change.

    Errors are 1 − accuracy of all rows, counted here.
    """
    new = scored(300, 8, 21)
    with pytest.warns(fs.FairstatsWarning):
        effect = changed(fitted, new)
    after = fitted.transform(new.score, sensitive_features=new.group)
    for found, score in ((effect.error_before, new.score), (effect.error_after, after)):
        assert found == pytest.approx(((score >= 0.5) != new.y).mean())
    c = effect.change("accuracy")
    low, high = c.confidence_interval
    assert effect.sentences()[effect.comparisons.index(c)] == (
        f"all rows: accuracy {c.before:.3f} before, {c.after:.3f} after (change {c.estimate:.3f}, "
        f"95% interval {low:.3f} to {high:.3f}): {c.verdict}."
    )
    refused = effect.change("madd", "1")
    assert (refused.verdict, refused.reference) == ("insufficient evidence", "0")
    told = effect.sentences()[effect.comparisons.index(refused)]
    assert told == f"1 against 0: insufficient evidence. {refused.note}"
    notes = effect.notes()
    assert notes[0].startswith(f"λ = {fitted.lambda_:.3f}, predictions 1 from 0.5 on; MADD: see")
    assert notes[1:] == sorted({c.note for c in effect.comparisons if c.note})
    assert refused.note in notes
    stages = effect.to_frame()["stage"]
    assert stages.tolist() == sorted(stages, key=["before", "after", "change"].index)
    with pytest.raises(InputError, match="metric, group"):
        effect.change("accuracy", "2")


def test_changes_of_three_groups_and_of_few_rows(fitted: MaddMitigator, paper_rows: Scored) -> None:
    group = np.where(np.arange(paper_rows.y.size) % 5 == 0, 2, paper_rows.group)
    three = MaddMitigator(n_lambdas=21).fit(
        paper_rows.score, paper_rows.y, sensitive_features=group
    )
    new = scored(200, 150, 14)
    other = np.where(np.arange(350) % 5 == 0, 2, new.group)
    effect = three.evaluate(
        new.score,
        new.y,
        sensitive_features=other,
        reference=1,
        comparisons="reference",
        n_resamples=99,
    )
    assert [(c.group, c.reference) for c in effect.comparisons[:2]] == [("0", "1"), ("2", "1")]
    assert len(effect.comparisons) == 2 + 2 + 4
    few = np.r_[0:8, 200:350]
    with pytest.warns(fs.FairstatsWarning, match="fewer than 10 rows"):
        effect = fitted.evaluate(
            new.score[few], new.y[few], sensitive_features=new.group[few], n_resamples=99
        )
    assert effect.comparisons[0].verdict == "insufficient evidence"


def test_weights_count_as_rows(paper_rows: Scored) -> None:
    """Whole weights against copied rows: maps, losses of the fit, and estimates.

    Not the intervals.
    """
    weight = np.random.default_rng(3).integers(0, 4, paper_rows.y.size)
    copied = np.repeat(np.arange(paper_rows.y.size), weight)
    options: dict[str, Any] = {"splits": None, "n_lambdas": 21, "bandwidth": 0.1, "random_state": 1}
    rows = (paper_rows.score, paper_rows.y)
    weighted = MaddMitigator(**options).fit(
        *rows, sensitive_features=paper_rows.group, sample_weight=weight.astype(float)
    )
    plain = MaddMitigator(**options).fit(
        *(r[copied] for r in rows), sensitive_features=paper_rows.group[copied]
    )
    points = ["lambda_", "loss", "accuracy_loss", "fairness_loss"]
    assert np.allclose(weighted.loss_curve_[points], plain.loss_curve_[points], atol=1e-12)
    new = scored(400, 300, 15)
    own = np.random.default_rng(4).integers(1, 4, 700)
    many = np.repeat(np.arange(700), own)
    by_weight = changed(weighted, new, sample_weight=own.astype(float), n_bins=12)
    by_copy = changed(plain, Scored(new.score[many], new.y[many], new.group[many]), n_bins=12)
    for one, other in zip(by_weight.comparisons, by_copy.comparisons, strict=True):
        assert (one.before, one.after) == pytest.approx((other.before, other.after), abs=1e-9)
        assert one.confidence_interval.low < one.estimate < one.confidence_interval.high
    ones = changed(plain, new, sample_weight=np.ones(700)).change("madd", "1").confidence_interval
    assert tuple(ones) == pytest.approx(
        tuple(changed(plain, new).change("madd", "1").confidence_interval), abs=0.05
    )
    halves = MaddMitigator(n_lambdas=21).fit(
        *rows, sensitive_features=paper_rows.group, sample_weight=weight
    )
    assert 0 < halves.lambda_ <= 1


def test_losses_of_rows_left_out(paper_rows: Scored) -> None:
    """In-sample MADD falls to about 0, left-out rows show more.

    The limits hold the loss of the whole law.
    """
    rows = {"sensitive_features": paper_rows.group}
    inside = MaddMitigator(splits=None).fit(paper_rows.score, paper_rows.y, **rows)
    outside = MaddMitigator().fit(paper_rows.score, paper_rows.y, **rows)
    ends = [m.loss_curve_.iloc[-1] for m in (inside, outside)]
    assert ends[0]["fairness_loss"] < 0.005 < 0.02 < ends[1]["fairness_loss"]
    assert np.isnan(ends[0]["fairness_low"])
    order = np.random.default_rng(1).permutation(paper_rows.y.size)
    moved = MaddMitigator().fit(
        paper_rows.score[order], paper_rows.y[order], sensitive_features=paper_rows.group[order]
    )
    assert moved.lambda_ == outside.lambda_  # the order of rows does not choose the halves
    with pytest.warns(DataWarning, match="no halves"):
        MaddMitigator(bandwidth=0.5).fit([0.1, 0.4, 0.6], [0, 1, 1], sensitive_features=[0, 1, 1])


def test_limits_of_the_loss_cover_that_of_new_rows() -> None:
    """Given maps of 300 rows: 95% limits from 200 + 150 rows against 200,000; 200 runs, se .015."""
    lambdas = np.array([0.0, 0.5, 1.0])

    def groups(seed: int, n0: int, n1: int) -> list[LabelledSample]:
        new = scored(n0, n1, seed)
        own = [np.sort(new.score[new.group == g]) for g in (0, 1)]
        return [LabelledSample(x, np.zeros(x.size, dtype=np.uint8)) for x in own]

    maps = MixtureCdfs.fit([s.scores for s in groups(1, 150, 150)])
    truth = fairness_limits([(maps, groups(2, 100_000, 100_000))], lambdas, 12)[0]
    found = [fairness_limits([(maps, groups(10 + k, 200, 150))], lambdas, 12) for k in range(200)]
    covered = np.mean([(low <= truth) & (truth <= high) for _, low, high in found], axis=0)
    assert (covered >= 0.90).all(), covered
    halves = left_out(groups(3, 11, 8), 2, np.random.default_rng(1))
    assert [[s.scores.size for s in own] for _, own in halves] == [[6, 4], [5, 4]] * 2


def test_limits_of_the_loss_by_plain_loops() -> None:
    """Witness: mapped scores counted in bins one by one, half-normal means and variances written
    out.
    """
    lambdas = np.array([0.0, 0.4, 1.0])
    bins = 8
    level = 0.9
    new = scored(300, 240, 5)
    group = np.where(np.arange(540) % 9 == 0, 2, new.group)
    samples = [
        LabelledSample(np.sort(new.score[group == g]), np.zeros((group == g).sum()))
        for g in range(3)
    ]
    maps = MixtureCdfs.fit([s.scores[::2] for s in samples])
    z = stats.norm.ppf(1 - 0.1 / (2 * 3))
    wanted = np.zeros((3, 3))
    for k, lam in enumerate(lambdas):
        shares = []
        for g, s in enumerate(samples):
            place = np.minimum((maps.map(s.scores, g, lam) * bins).astype(int), bins - 1)
            shares.append([(place == b).mean() for b in range(bins)])
        for i, j in ((0, 1), (0, 2), (1, 2)):
            n = [samples[g].scores.size for g in (i, j)]
            p = [np.array(shares[g]) for g in (i, j)]
            pooled = (n[0] * p[0] + n[1] * p[1]) / sum(n)
            d = p[0] - p[1]
            own = p[0] * (1 - p[0]) / n[0] + p[1] * (1 - p[1]) / n[1]
            variance = np.maximum(own, pooled * (1 - pooled) * (1 / n[0] + 1 / n[1]))
            near = np.abs(d) <= max(
                3, np.sqrt(np.log(min(n))), np.sqrt(2 * np.log(bins))
            ) * np.sqrt(variance)
            sign = np.sign(d)
            far = np.where(near, 0, sign)

            def spread(s: np.ndarray, p: list[np.ndarray] = p, n: list[int] = n) -> float:
                return sum(
                    float((q * s**2).sum() - (q * s).sum() ** 2) / m
                    for q, m in zip(p, n, strict=True)
                )

            half = stats.halfnorm(scale=np.sqrt(variance[near])) if near.any() else None
            mean, turned = (
                (float(half.mean().sum()), float(half.var().sum())) if half else (0.0, 0.0)
            )
            below = max(mean + z * np.sqrt(spread(far) + turned), z * np.sqrt(spread(sign)))
            least = [max(abs((q * far).sum()) - q[near].sum(), 0) for q in p]
            above = z * np.sqrt(sum((1 - m**2) / size for m, size in zip(least, n, strict=True)))
            madd = np.abs(d).sum()
            for row, value in enumerate((madd, max(madd - below, 0), min(madd + above, 2))):
                wanted[row, k] = max(wanted[row, k], value / 2)
    found = fairness_limits([(maps, samples)], lambdas, bins, level)
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)
    assert (wanted[1] > 0).any()
    twice = fairness_limits([(maps, samples)] * 2, lambdas, bins, level)
    np.testing.assert_allclose(twice, wanted, rtol=1e-9, atol=1e-12)


def test_a_classifier_is_wrapped(paper_rows: Scored) -> None:
    """`estimator=`: features in place of scores, in every method."""
    rng = np.random.default_rng(5)
    x = np.column_stack([paper_rows.score, rng.normal(size=paper_rows.y.size)])
    words = np.where(paper_rows.y == 1, "pass", "fail")
    model = LogisticRegression().fit(x, words)
    rows: dict[str, Any] = {"sensitive_features": paper_rows.group}
    options: dict[str, Any] = {"pos_label": "pass", "n_lambdas": 21, "random_state": 1}
    wrapped = MaddMitigator(estimator=model, **options).fit(x, words, **rows)
    scores = model.predict_proba(x)[:, 1]
    by_hand = MaddMitigator(**options).fit(scores, words, **rows)
    assert wrapped.loss_curve_.equals(by_hand.loss_curve_)
    assert np.array_equal(wrapped.predict(x, **rows), by_hand.predict(scores, **rows))
    assert np.array_equal(wrapped.predict_proba(x, **rows)[:, 1], by_hand.transform(scores, **rows))
    assert np.array_equal(wrapped.predict(x, **rows, lambda_=0), model.predict(x))
    for bad in (LogisticRegression(), object()):
        with pytest.raises(InputError, match="`estimator`"):
            MaddMitigator(estimator=bad).fit(x, words, **rows)


def test_set_output(fitted: MaddMitigator) -> None:
    new = scored(30, 30, 16)
    score = pd.Series(new.score, index=[f"r{k}" for k in range(60)])
    plain = fitted.transform(score, sensitive_features=new.group)
    copy = fitted.__sklearn_clone__().set_output(transform="pandas")
    copy.__dict__.update({k: v for k, v in fitted.__dict__.items() if k.endswith("_")})
    frame = copy.transform(score, sensitive_features=new.group)
    assert list(frame) == ["score"]
    assert frame.index.equals(score.index)
    assert np.array_equal(frame["score"], plain)
    assert np.array_equal(
        copy.predict(score, sensitive_features=new.group), (plain >= 0.5).astype(int)
    )
    assert (
        copy.evaluate(new.score, new.y, sensitive_features=new.group, n_resamples=99).lambda_
        == fitted.lambda_
    )
    polars = pytest.importorskip("polars")
    assert isinstance(
        copy.set_output(transform="polars").transform(new.score, sensitive_features=new.group),
        polars.DataFrame,
    )
    again = MaddMitigator(n_lambdas=11).set_output(transform="pandas")
    found = again.fit_transform(new.score, new.y, sensitive_features=new.group)
    assert found.shape == (60, 1)


def test_another_lambda(fitted: MaddMitigator) -> None:
    new = scored(50, 50, 17)
    rows: dict[str, Any] = {"sensitive_features": new.group}
    assert np.array_equal(
        fitted.transform(new.score, **rows, lambda_=fitted.lambda_),
        fitted.transform(new.score, **rows),
    )
    half = fitted.transform(new.score, **rows, lambda_=0.5)
    assert (
        0
        < np.abs(half - new.score).max()
        < np.abs(fitted.transform(new.score, **rows) - new.score).max()
    )
    with pytest.raises(InputError, match="lambda_"):
        fitted.transform(new.score, **rows, lambda_=1.1)


def test_trade_off_is_drawn(fitted: MaddMitigator) -> None:
    axes = fitted.plot(kind="trade-off")
    assert axes.get_xlabel() == "accuracy loss"
    assert len(axes.containers) == 3
    with pytest.raises(InputError, match="kind"):
        fitted.plot(kind="curve")
