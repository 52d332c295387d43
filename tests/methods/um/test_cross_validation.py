"""Cross-validation: counts against a loop by hand, strategies, mitigators, given predictions, bad
input.
"""

from __future__ import annotations

import json
import warnings
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, ShuffleSplit, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import fairstats as fs
from fairstats.ground.errors import DataWarning, InputError, InsufficientEvidenceWarning
from fairstats.methods.um.folds import stratified_folds


class Rows(NamedTuple):
    X: np.ndarray
    y: np.ndarray
    group: np.ndarray


def rows(n: int, seed: int = 1) -> Rows:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    group = rng.choice(["a", "b"], n, p=[0.7, 0.3])
    y = (X[:, 0] + 0.5 * (group == "a") + rng.normal(size=n) > 0).astype(int)
    return Rows(X, y, group)


@pytest.fixture(scope="module")
def data() -> Rows:
    return rows(300)


def cross_validate(data: Rows, estimator: Any = None, **options: Any) -> fs.results.UmPosterior:
    given: dict[str, Any] = {"sensitive_features": data.group, "cv": 5, "rng": 1, "progress": False}
    model = LogisticRegression() if estimator is None else estimator
    return fs.um_cross_validate(model, data.X, data.y, **{**given, **options})


@pytest.mark.filterwarnings("ignore::fairstats.ground.errors.DataWarning")
def test_fits_are_said_before_the_first(data: Rows, caplog: pytest.LogCaptureFixture) -> None:
    """Witness: 4·J·K fits to halves, beside the K of the cross-validation itself."""
    said_at_first_fit = []

    class Listening(LogisticRegression):
        def fit(self, X: Any, y: Any) -> Any:
            said_at_first_fit.append(caplog.text)
            return super().fit(X, y)

    options = {"correlation": "relative", "n_half_splits": 2, "cv": 5}
    with caplog.at_level("INFO", logger="fairstats"):
        cross_validate(data, Listening(), reference_estimator=GaussianNB(), **options)
    assert len(said_at_first_fit) == 5 + 2 * 2 * 5
    words = "45 fits: 5 of Listening to all rows, 20 of GaussianNB to half of the rows, 20 of"
    assert f"{words} Listening to half of the rows" in said_at_first_fit[0]


def test_no_bar_is_drawn_where_nothing_is_a_terminal(
    data: Rows, capfd: pytest.CaptureFixture[str]
) -> None:
    cross_validate(data, correlation="1/K", progress=True)
    assert capfd.readouterr().err == ""


def test_counts_are_those_of_a_loop_by_hand(data: Rows) -> None:
    """Witness: scikit-learn's cross_val_predict on the same folds, counted row by row."""
    result = cross_validate(data, cv=KFold(5), correlation="1/K")
    predicted = cross_val_predict(LogisticRegression(), data.X, data.y, cv=KFold(5))
    for g, name in enumerate(result.groups):
        of = [
            ((data.y == y) & (predicted == p) & (data.group == name)).sum()
            for y, p in ((1, 1), (0, 1), (1, 0), (0, 0))
        ]
        assert result.cross_validation is not None
        assert result.cross_validation.fold_cells.sum(axis=0)[g].tolist() == of
        assert np.allclose(result.counts.totals[g], np.array(of) / (1 + 4 / 5))
        assert result.counts.group_sizes[g] == sum(of)


def test_strategies_shrink_the_counts(data: Rows) -> None:
    uniform = cross_validate(data, correlation="uniform").cross_validation
    assert uniform is not None
    assert np.allclose(uniform.factor, np.log(1.8) / 0.8)
    assert (uniform.rho < 0.2).all()


def test_a_method_that_is_the_reference_gets_the_references_correlation(data: Rows) -> None:
    """Both algorithms see the same half splits and folds: r is exactly 1."""
    reference = LogisticRegression()
    result = cross_validate(
        data, reference_estimator=reference, n_half_splits=2, correlation_metric="accuracy"
    )
    folds = result.cross_validation
    assert folds is not None
    assert folds.variance_ratio is not None
    assert folds.variance_ratio.ratio.tolist() == [1.0, 1.0]
    assert np.allclose(folds.rho, 0.2)
    assert folds.variance_ratio.values.shape == (2, 2, 2, 2)


def test_half_splits_against_a_loop_by_hand(data: Rows) -> None:
    """Witness: every half's value lies on the grid k/n of its group, and r follows from equation
    20.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # a clip is as it may be
        tree = DecisionTreeClassifier(random_state=0)
        result = cross_validate(data, tree, n_half_splits=3, correlation_metric="accuracy")
    assert result.cross_validation is not None
    ratio = result.cross_validation.variance_ratio
    assert ratio is not None
    var = ((ratio.values[:, :, 0] - ratio.values[:, :, 1]) ** 2).mean(axis=1) / 2
    assert np.allclose(ratio.ratio, var[1] / var[0])
    assert (
        "Variance ratio over an RBF support vector machine on accuracy per group"
        in result.summary()
    )


def test_the_default_takes_the_larger_ratio_and_averages(data: Rows) -> None:
    """Witness: both metrics one by one; the factor is the mean over r·F(J, J), by SciPy's F."""
    from scipy.stats import f

    tree = DecisionTreeClassifier(random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        found, accuracy, tpr, both = (
            cross_validate(data, tree, n_half_splits=3, **options).cross_validation
            for options in (
                {},
                {"correlation_metric": "accuracy"},
                {"correlation_metric": "tpr"},
                {"correlation_metric": ["accuracy", "tpr"]},
            )
        )
    ratio = np.maximum(accuracy.variance_ratio.ratio, tpr.variance_ratio.ratio)
    np.testing.assert_allclose(found.variance_ratio.ratio, ratio, rtol=1e-12)
    assert found.variance_ratio.averaged
    assert not accuracy.variance_ratio.averaged
    np.testing.assert_array_equal(found.factor, both.factor)
    # 1 + (K − 1)ρ = r·u with u = 1 + (K − 1)/K, clipped to [1, K]
    shares = f(3, 3).ppf((np.arange(20_000) + 0.5) / 20_000)
    expected = (1 / np.clip(np.outer(ratio, shares) * 1.8, 1, 5)).mean(axis=1)
    np.testing.assert_allclose(found.factor, expected, rtol=1e-3)


def test_default_reference_is_an_rbf_machine(data: Rows) -> None:
    reference = make_pipeline(StandardScaler(), SVC(kernel="rbf"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        named = cross_validate(data, reference_estimator=reference, n_half_splits=2)
        default = cross_validate(data, n_half_splits=2)
    assert named.cross_validation is not None
    assert default.cross_validation is not None
    assert np.array_equal(named.cross_validation.rho, default.cross_validation.rho)


def test_numbers_do_not_depend_on_the_number_of_jobs(data: Rows) -> None:
    one = cross_validate(data, correlation="1/K")
    two = cross_validate(data, correlation="1/K", n_jobs=2)
    assert np.array_equal(one.counts.totals, two.counts.totals)
    assert np.array_equal(one.metric("equal_opportunity"), two.metric("equal_opportunity"))


def test_given_ratio_and_the_clip(data: Rows) -> None:
    result = cross_validate(data, correlation="relative", variance_ratio={"a": 1.0, "b": 2.0})
    assert result.cross_validation is not None
    assert np.allclose(result.cross_validation.rho, [0.2, (1 + 2 * 4 * 0.2) / 4])
    with pytest.warns(DataWarning, match=r"b \(r = 20.00\).*clipped"):
        clipped = cross_validate(data, correlation="relative", variance_ratio={"a": 1.0, "b": 20.0})
    assert np.allclose(clipped.counts.totals[1].sum() * 5, clipped.counts.group_sizes[1])
    assert clipped.cross_validation is not None
    assert 0.999 < clipped.cross_validation.rho[1] < 1


def test_predictions_that_are_already_there(data: Rows) -> None:
    trained = cross_validate(data, correlation="uniform")
    rows_ = trained._rows
    assert rows_ is not None
    assert rows_.fold is not None
    again = fs.um_cross_validate(
        None,
        None,
        data.y,
        sensitive_features=data.group,
        y_pred=rows_.y_pred,
        fold=rows_.fold,
        correlation="uniform",
        rng=1,
    )
    assert np.array_equal(again.counts.totals, trained.counts.totals)
    with pytest.raises(InputError, match="`fold`: got None beside y_pred"):
        fs.um_cross_validate(None, None, data.y, sensitive_features=data.group, y_pred=rows_.y_pred)
    with pytest.raises(InputError, match="already there"):
        fs.um_cross_validate(
            None, None, data.y, sensitive_features=data.group, y_pred=rows_.y_pred, fold=rows_.fold
        )


def test_cross_validations_of_the_same_rows_are_paired(data: Rows) -> None:
    options: dict[str, Any] = {"correlation": "1/K", "draws": 2_000}
    first = cross_validate(data, **options)
    second = cross_validate(data, DecisionTreeClassifier(max_depth=2, random_state=0), **options)
    assert fs.um_compare(first, second, rng=1).paired
    other = cross_validate(data, correlation="relative", variance_ratio=1.5, draws=2_000)
    comparison = fs.um_compare(first, other, rng=1)
    assert comparison.paired
    assert "up to the smaller effective counts" in comparison.joint.reason


def test_pairing_of_uneven_effective_counts_keeps_both_posteriors(data: Rows) -> None:
    """Witness: Kolmogorov–Smirnov against each posterior alone.

    Δ spreads less than independent draws do.
    """
    from scipy import stats

    from fairstats.methods.um.joint import join

    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    options: dict[str, Any] = {"correlation": "relative", "draws": 20_000}
    first = cross_validate(data, variance_ratio=1.0, **options)
    second = cross_validate(data, tree, variance_ratio={"a": 1.6, "b": 0.9}, **options)
    joint = join([first, second], paired="auto", draws=8_192, entropy=5)
    assert joint.uneven
    for posterior, counts in zip((first, second), joint._draw_block(0, 0, 8_192), strict=True):
        for name in ("tp", "fp", "fn", "tn"):
            cell = ("tp", "fp", "fn", "tn").index(name)
            for g in (0, 1):
                assert (
                    stats.ks_2samp(posterior.draws[:, g, cell], counts[:, g, cell]).pvalue > 1e-4
                ), (name, g)
    paired = fs.um_compare(first, second, rng=1).delta_sd
    independent = fs.um_compare(first, second, rng=1, paired=False).delta_sd
    assert (paired < 0.95 * independent).all()
    for posterior in (first, second):
        assert fs.um_compare(
            {"a": first, "b": second, "c": posterior}, rng=1, draws=500
        ).joint.paired
    predictive = [
        cross_validate(data, variance_ratio=r, target="predictive", correlation="relative")
        for r in (1.0, 1.5)
    ]
    assert "different effective sizes" in fs.um_compare(*predictive, rng=1).joint.reason


def test_labels_frames_and_groups_of_any_kind(data: Rows) -> None:
    """The same numbers from text labels, a data frame and a categorical group."""
    base = cross_validate(data, correlation="1/K")
    words = np.where(data.y == 1, "good", "bad")
    frame = pd.DataFrame(data.X, columns=list("wxyz"), index=np.arange(300) * 7)
    result = fs.um_cross_validate(
        LogisticRegression(),
        frame,
        pd.Series(words, frame.index),
        sensitive_features=pd.Categorical(data.group),
        pos_label="good",
        correlation="1/K",
        cv=5,
        rng=1,
        progress=False,
    )
    assert np.array_equal(result.counts.totals, base.counts.totals)


def test_round_trip(data: Rows) -> None:
    result = cross_validate(data, correlation="relative", variance_ratio=1.2)
    back = fs.results.UmPosterior.from_dict(json.loads(json.dumps(result.to_dict())))
    assert back.cross_validation is not None
    assert result.cross_validation is not None
    assert np.array_equal(back.cross_validation.rho, result.cross_validation.rho)
    assert np.array_equal(back.metric("mcc"), result.metric("mcc"))
    assert "y_pred" not in json.dumps(result.to_dict())


@pytest.mark.parametrize("folds", [2, 3, 7])
def test_folds_are_stratified(folds: int, rng: np.random.Generator) -> None:
    strata = rng.integers(0, 4, 101)
    fold = stratified_folds(strata, folds, rng)
    for part in (np.ones(101, dtype=bool), *(strata == s for s in range(4))):
        sizes = np.bincount(fold[part], minlength=folds)
        assert sizes.max() - sizes.min() <= 1


# ---------------------------------------------------------------- estimators that need the
# sensitive column

#: fairlearn 0.15 sets values in ways that pandas 3 deprecates.
FAIRLEARN = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")


@FAIRLEARN
def test_threshold_optimizer_and_pipeline(data: Rows) -> None:
    """Witness: the same thresholds by hand on one fold.

    A pipeline whose last step needs the column.
    """
    postprocessing = pytest.importorskip(
        "fairlearn.postprocessing", reason="fairlearn is not installed"
    )
    mitigator = postprocessing.ThresholdOptimizer(
        estimator=LogisticRegression(),
        constraints="true_positive_rate_parity",
        predict_method="predict_proba",
    )
    result = cross_validate(data, mitigator, correlation="1/K")
    again = cross_validate(data, mitigator, correlation="1/K")
    assert np.array_equal(
        result.counts.totals, again.counts.totals
    )  # predictions are random, with a seed
    gap = abs(result.metric("equal_opportunity").mean())
    assert (
        gap < abs(cross_validate(data, correlation="1/K").metric("equal_opportunity").mean()) + 0.05
    )
    piped = cross_validate(data, make_pipeline(StandardScaler(), mitigator), correlation="1/K")
    assert np.abs(piped.counts.totals - result.counts.totals).max() < 6


@FAIRLEARN
@pytest.mark.filterwarnings("ignore::Warning")
def test_exponentiated_gradient(data: Rows) -> None:
    reductions = pytest.importorskip("fairlearn.reductions", reason="fairlearn is not installed")
    mitigator = reductions.ExponentiatedGradient(
        LogisticRegression(), reductions.DemographicParity(), max_iter=3
    )
    result = cross_validate(data, mitigator, correlation="1/K", cv=3)
    plain = cross_validate(data, correlation="1/K", cv=3)
    assert abs(result.metric("demographic_parity").mean()) < abs(
        plain.metric("demographic_parity").mean()
    )


class Witness(ClassifierMixin, BaseEstimator):
    """Predicts 1 in group a; fails unless it is given the sensitive column where it says."""

    def fit(self, X: Any, y: Any, sensitive_features: Any = None) -> Witness:
        if len(sensitive_features) != len(y):
            raise RuntimeError("the wrong rows")
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any, sensitive_features: Any) -> np.ndarray:
        return (np.asarray(sensitive_features) == "a").astype(int)


def test_the_sensitive_column_comes_with_its_rows(data: Rows) -> None:
    with pytest.warns(InsufficientEvidenceWarning, match="no rows with an unfavourable prediction"):
        result = cross_validate(data, Witness(), correlation="1/K")
    assert result.cross_validation is not None
    total = result.cross_validation.fold_cells.sum(axis=0)
    a, b = (total[result.groups.index(g)] for g in "ab")
    assert a[2] == a[3] == 0  # everyone in a is selected
    assert b[0] == b[1] == 0
    with pytest.raises(TypeError):
        cross_validate(data, Witness(), correlation="1/K", sensitive_at="none")


def test_metadata_routing(data: Rows) -> None:
    import sklearn

    class Asker(ClassifierMixin, BaseEstimator):
        def fit(self, X: Any, y: Any, **options: Any) -> Asker:
            self.told_ = sorted(options)
            self.classes_ = np.unique(y)
            return self

        def predict(self, X: Any) -> np.ndarray:
            return np.full(len(X), int(self.told_ == ["sensitive_features"]))

    with pytest.warns(
        InsufficientEvidenceWarning, match="'b' has no rows with an unfavourable prediction"
    ):
        told = cross_validate(data, Asker(), correlation="1/K", sensitive_at="fit")
    assert (told.counts.totals[:, [2, 3]] == 0).all()
    with sklearn.config_context(enable_metadata_routing=True):
        routed = Witness().set_fit_request(sensitive_features=True)
        routed = routed.set_predict_request(sensitive_features=True)
        with pytest.warns(
            InsufficientEvidenceWarning, match="'a' has no rows with an unfavourable"
        ):
            result = cross_validate(
                data, make_pipeline(StandardScaler(), routed), correlation="1/K"
            )
    assert (result.counts.totals[0, [2, 3]] == 0).all()


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"estimator": object()}, "estimator"),
        ({"estimator": StandardScaler()}, "estimator"),
        ({"estimator": LogisticRegression}, "estimator"),
        ({"cv": 1}, "cv"),
        ({"cv": 301}, "cv"),
        ({"cv": "ten"}, "cv"),
        ({"cv": ShuffleSplit(5, random_state=1)}, "cv"),
        (
            {"cv": [(np.arange(150, 300), np.arange(150)), (np.arange(10), np.arange(150, 300))]},
            "cv",
        ),
        ({"correlation": "1/k"}, "correlation"),
        ({"n_half_splits": 0}, "n_half_splits"),
        ({"correlation_metric": "equal_opportunity"}, "correlation_metric"),
        ({"correlation_metric": "acc"}, "correlation_metric"),
        ({"sensitive_at": "maybe"}, "sensitive_at"),
        ({"variance_ratio": -1}, "variance_ratio"),
        ({"variance_ratio": 0}, "variance_ratio"),
        ({"variance_ratio": {"a": 1.0}}, "variance_ratio"),
        ({"variance_ratio": {"c": 1.0}}, "variance_ratio"),
        ({"reference_estimator": 3}, "reference_estimator"),
        ({"sensitive_features": ["a"] * 20}, "sensitive_features, y_true"),
        ({"prior": -1, "correlation": "1/K"}, "prior"),
    ],
)
def test_refuses(data: Rows, options: dict[str, Any], argument: str) -> None:
    with pytest.raises(InputError) as problem:
        cross_validate(data, **options)
    assert problem.value.argument == argument


def test_folds_that_are_none_are_counted(data: Rows) -> None:
    """Rows 0 to 9 are held out twice, the last five never, and the second fold trains on half of
    the others.
    """
    rows = np.arange(300)
    cv = [
        (rows[100:], rows[:100]),
        (rows[200:], rows[100:200]),
        (rows[:200], np.r_[rows[200:295], rows[:10]]),
    ]
    said = (
        "got 3 splits; 10 rows held out more than once, 5 never; 2 splits train on some of the"
        " other rows only"
    )
    with pytest.raises(InputError, match=said):
        cross_validate(data, cv=cv)


@pytest.mark.filterwarnings("ignore::fairstats.ground.errors.DataWarning")  # a clip is as it may be
def test_rows_of_x_and_text_columns(data: Rows) -> None:
    with pytest.raises(InputError, match="`X`: got 20 rows"):
        fs.um_cross_validate(
            LogisticRegression(), data.X[:20], data.y, sensitive_features=data.group
        )
    frame = pd.DataFrame({"x": data.X[:, 0], "word": "text"})
    model = make_pipeline(make_column_transformer(("passthrough", ["x"])), LogisticRegression())
    found = fs.um_cross_validate(
        model,
        frame,
        data.y,
        sensitive_features=data.group,
        cv=3,
        n_half_splits=1,
        rng=1,
        progress=False,
    )
    assert found.cross_validation is not None
    assert found.cross_validation.variance_ratio is not None  # the default reference reads the word


def test_more_folds_than_rows_of_a_class_warns(data: Rows) -> None:
    group = np.where(np.arange(300) < 6, "tiny", data.group)
    with pytest.warns(
        DataWarning, match="5 folds, but fewer rows of a label in a group: 'tiny' with"
    ):
        result = fs.um_cross_validate(
            LogisticRegression(),
            data.X,
            data.y,
            sensitive_features=group,
            cv=5,
            correlation="1/K",
            rng=1,
            progress=False,
        )
    assert result.counts.group_sizes.min() == 6


def test_a_label_that_only_one_fold_has(data: Rows) -> None:
    y = np.zeros(300, dtype=int)
    y[:3] = 1
    splits = [(np.arange(100, 300), np.arange(100)), (np.arange(100), np.arange(100, 300))]
    with pytest.raises(InputError, match="fold 0, without which no row is favourable"):
        fs.um_cross_validate(
            LogisticRegression(),
            data.X,
            y,
            sensitive_features=data.group,
            cv=splits,
            progress=False,
        )


def test_a_prediction_that_is_no_label(data: Rows) -> None:
    class Stranger(ClassifierMixin, BaseEstimator):
        def fit(self, X: Any, y: Any) -> Stranger:
            self.classes_ = np.unique(y)
            return self

        def predict(self, X: Any) -> np.ndarray:
            return np.full(len(X), 2)

    with pytest.raises(InputError, match="the prediction .*2.* which is no label in y"):
        cross_validate(data, Stranger(), correlation="1/K")


def test_a_metric_that_does_not_vary_falls_back_and_says_so(data: Rows) -> None:
    """A constant prediction has FPR 0 in both halves: no variance, no ratio."""
    with (
        pytest.warns(InsufficientEvidenceWarning, match="no rows with an unfavourable prediction"),
        pytest.warns(InsufficientEvidenceWarning, match="no variance ratio for a, b"),
    ):
        result = cross_validate(
            data,
            Constant(),
            reference_estimator=Constant(),
            correlation_metric="tpr",
            n_half_splits=2,
        )
    assert result.cross_validation is not None
    assert np.allclose(result.cross_validation.rho, 0.2)


class Constant(ClassifierMixin, BaseEstimator):
    def fit(self, X: Any, y: Any) -> Constant:
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> np.ndarray:
        return np.ones(len(X), dtype=int)


def test_every_model_that_leaves_a_rate_without_rows_is_named(data: Rows) -> None:
    """The labels are the same for all, the predictions are not."""
    with pytest.warns(InsufficientEvidenceWarning) as caught:
        fs.um_compare_estimators(
            {"logistic": LogisticRegression(), "constant": Constant()},
            data.X,
            data.y,
            cv=3,
            rng=1,
            sensitive_features=data.group,
            correlation="1/K",
            progress=False,
        )
    told = [str(w.message) for w in caught if "no rows with" in str(w.message)]
    assert len(told) == 1
    assert told[0].startswith(
        "constant: 'a' has no rows with an unfavourable prediction (NPV); 'b' has"
    )


# ------------------------------------------------------------------ target="algorithm"


def test_training_sets_shift_predictions_against_a_loop_by_hand(data: Rows) -> None:
    """Models of one half against those of the other on the same rows, per group and label, as
    logits.
    """
    from fairstats.methods.um.folds import Data, Run, cross_predict

    found = cross_validate(data, target="algorithm", n_half_splits=2, draws=500)
    shifts = found.shifts
    assert shifts is not None
    assert shifts.shape == (2, 2, 2)
    codes = np.where(data.group == found.groups[0], 0, 1)
    stream = np.random.SeedSequence(1).spawn(5)[4]  # of the second split
    rng = np.random.default_rng(stream)
    side = stratified_folds(np.zeros(300, dtype=np.intp), 2, rng)
    halves = [np.flatnonzero(side == h) for h in (0, 1)]
    shares = []  # of each half's models: over all rows, own or others
    for own, others in (halves, halves[::-1]):
        fold = stratified_folds((2 * codes + data.y)[own], 5, rng)
        share = np.zeros(300)
        for k in range(5):
            model = LogisticRegression().fit(data.X[own[fold != k]], data.y[own[fold != k]])
            share[own[fold == k]] = model.predict(data.X[own[fold == k]])
            share[others] += model.predict(data.X[others]) / 5
        shares.append(share)
        run = Run(LogisticRegression(), "none", own, fold, stream, "", others)
        ((predicted, of_others),) = cross_predict(
            [run], Data(data.X, data.y, data.y, data.group), None, False
        )
        assert np.array_equal(predicted, share[own])
        assert np.allclose(of_others, share[others])
    for g in (0, 1):
        for k, label in enumerate((1, 0)):
            cell = (codes == g) & (data.y == label)
            gaps = [(shares[0] - shares[1])[cell & (side == h)].mean() for h in (0, 1)]
            hit, miss = found.counts.totals[g, [k, 2 + k]]
            q = (hit + 0.5) / (hit + miss + 1)
            assert shifts[1, g, k] == pytest.approx(np.mean(gaps) / (q * (1 - q)))


def test_draws_about_the_algorithm_move_predictions_and_keep_labels(data: Rows) -> None:
    """Witness: logit(q) moves by a t variable with J degrees of freedom.

    A quarter of the mean square.
    """
    from dataclasses import replace

    from scipy import stats

    found = cross_validate(data, target="algorithm", draws=20_000)
    folds = found.cross_validation
    assert folds is not None
    assert (folds.factor == 1).all()
    assert folds.correlation == ""
    still = replace(found, target="parameter").draws
    moved = found.draws
    for hit, miss, k in ((0, 2, 0), (1, 3, 1)):
        assert np.allclose((moved - still)[..., [hit, miss]].sum(axis=-1), 0, atol=1e-9)
        logits = [np.log(d[..., hit] / d[..., miss]) for d in (still, moved)]
        scale = np.sqrt((found.shifts[..., k] ** 2).mean(axis=0) / 4)
        for g in (0, 1):
            t = (logits[1] - logits[0])[:, g] / scale[g]
            assert stats.kstest(t, stats.t(5).cdf).pvalue > 1e-4
    assert replace(found, shifts=np.zeros_like(found.shifts)).draws == pytest.approx(still)
    assert "(target: algorithm)" in found.summary()
    assert "target: algorithm" in found.sentences()[0]
    assert set(found.to_frame()["method"]) == {"algorithm, HDI"}
    back = fs.results.UmPosterior.from_dict(json.loads(json.dumps(found.to_dict())))
    assert np.array_equal(back.draws, moved)


def test_an_algorithm_that_learns_nothing_has_no_spread_between_training_sets(data: Rows) -> None:
    from dataclasses import replace

    class Rule(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
        def fit(self, X: Any, y: Any) -> Rule:
            return self

        def predict(self, X: Any) -> Any:
            return (X[:, 0] > 0).astype(int)

    found = cross_validate(data, Rule(), target="algorithm")
    assert (found.shifts == 0).all()
    assert found.draws == pytest.approx(replace(found, target="parameter").draws)


def test_comparisons_about_the_algorithm_say_how_they_draw(data: Rows) -> None:
    """Witness of the spread: that of either algorithm's own draws, and what pairing takes off."""
    from scipy import stats

    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    pair = [cross_validate(data, m, target="algorithm", draws=20_000) for m in (None, tree)]
    alone = [p.metric("accuracy").var() for p in pair]
    apart = fs.um_compare(*pair, paired=False, rng=1)
    assert apart.delta_sd[0] ** 2 == pytest.approx(sum(alone), rel=0.1)
    paired = fs.um_compare(*pair, rng=1)
    assert paired.paired
    assert paired.delta_sd[0] < apart.delta_sd[0]
    for posterior, counts in zip(pair, paired.joint._draw_block(0, 0, 8_192), strict=True):
        assert stats.ks_2samp(posterior.draws[:, 0, 0], counts[:, 0, 0]).pvalue > 1e-4
        assert stats.ks_2samp(posterior.draws[:, 1, 1], counts[:, 1, 1]).pvalue > 1e-4
    fitted = [cross_validate(data, m, correlation="1/K", draws=20_000) for m in (None, tree)]
    assert "for each algorithm apart" in paired.joint.reason
    assert "for each algorithm apart" not in fs.um_compare(*fitted, rng=1).joint.reason


def test_a_posterior_of_rows_is_about_no_algorithm(data: Rows) -> None:
    with pytest.raises(InputError, match="`target`"):
        fs.um_posterior(data.y, data.y, sensitive_features=data.group, target="algorithm")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="`target`.*already there"):
        fs.um_cross_validate(
            None,
            None,
            data.y,
            sensitive_features=data.group,
            y_pred=data.y,
            fold=np.arange(300) % 5,
            target="algorithm",
        )


@pytest.mark.filterwarnings("ignore:the relative correlation")
@pytest.mark.parametrize(
    ("n", "named", "words"),
    [
        (400, None, "an RBF support vector machine"),
        (1_200, None, "least squares on RBF kernels of 64 rows"),
        (400, "landmarks", "least squares on RBF kernels of 64 rows"),
    ],
)
def test_reference_by_rows_and_by_name(n: int, named: str | None, words: str) -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, 3))
    y = (X[:, 0] + rng.normal(size=n) > 0).astype(int)
    found = fs.um_cross_validate(
        GaussianNB(),
        X,
        y,
        sensitive_features=rng.integers(0, 2, n),
        reference_estimator=named,
        cv=3,
        n_half_splits=2,
        draws=100,
        rng=1,
        progress=False,
    )
    assert found.cross_validation is not None
    assert found.cross_validation.variance_ratio is not None
    assert found.cross_validation.variance_ratio.reference == words


def test_landmarks_are_kernel_least_squares() -> None:
    """Witness: the equations of kernel least squares with an intercept, solved over all rows."""
    from fairstats.methods.um.landmarks import LandmarkRBF

    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 2))
    y = np.where(X[:, 0] ** 2 + X[:, 1] > 0.5, "b", "a")
    rule = LandmarkRBF().fit(X, y)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    kernel = np.exp(-0.5 * ((scaled[:, None] - scaled) ** 2).sum(axis=2))
    signs = np.where(y == "b", 1.0, -1.0)
    # |s - b - K a|^2 + a' K a, over a and b at once
    with_one = np.column_stack([kernel, np.ones(60)])
    penalty = np.zeros((61, 61))
    penalty[:60, :60] = kernel
    solved = np.linalg.lstsq(with_one.T @ with_one + penalty, with_one.T @ signs, rcond=None)[0]
    grid = rng.normal(size=(200, 2))
    among = np.exp(
        -0.5 * ((((grid - X.mean(axis=0)) / X.std(axis=0))[:, None] - scaled) ** 2).sum(axis=2)
    )
    values = among @ solved[:60] + solved[60]
    clear = np.abs(values) > 0.01
    predicted = rule.predict(grid)
    assert clear.sum() > 180
    assert (predicted[clear] == np.where(values[clear] > 0, "b", "a")).all()


def test_fewer_landmarks_than_rows_are_ridge_regression_on_nystroem_features() -> None:
    """Witness: scikit-learn's ridge regression on K_nm·K_mm^(−½) of the same landmarks."""
    from sklearn.linear_model import Ridge
    from sklearn.metrics.pairwise import rbf_kernel

    from fairstats.methods.um.landmarks import N_LANDMARKS, LandmarkRBF

    rng = np.random.default_rng(9)
    X = rng.normal(size=(400, 3))
    y = (X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=400) > 0).astype(int)
    rule = LandmarkRBF(standardise=False).fit(X, y)
    assert len(rule.landmarks_) == N_LANDMARKS
    values, vectors = np.linalg.eigh(rbf_kernel(rule.landmarks_, gamma=rule.gamma_))
    root = vectors / np.sqrt(np.maximum(values, 1e-5))
    ridge = Ridge(alpha=1.0).fit(
        rbf_kernel(X, rule.landmarks_, gamma=rule.gamma_) @ root, 2 * y - 1
    )
    grid = rng.normal(size=(500, 3))
    expected = ridge.predict(rbf_kernel(grid, rule.landmarks_, gamma=rule.gamma_) @ root)
    clear = np.abs(expected) > 0.01  # single precision, and 1e-5 on the diagonal
    assert clear.sum() > 450
    np.testing.assert_array_equal(rule.predict(grid)[clear], (expected[clear] > 0).astype(int))


def test_what_is_said_of_the_references_is_their_record() -> None:
    from tests.benchmarks.um_references import summarise

    found = summarise()
    said = " ".join(fs.um_cross_validate.__doc__.split())
    first = found["rho of the first group"]
    second = found["rho of the second group"]
    width = found["width"]
    coverage = found["coverage"]
    for words in (
        f"ρ was {first.landmarks:.3f} and {second.landmarks:.3f} in the two groups instead of"
        f" {first.svm:.3f} and {second.svm:.3f}".replace("0.", "."),
        f"intervals of demographic parity {width.landmarks / width.svm - 1:.1%} wider",
        f"in {coverage.landmarks:.1%} instead of {coverage.svm:.1%} (± {coverage.error:.1%}",
    ):
        assert words in said


def test_an_unknown_reference_names_those_there_are() -> None:
    with pytest.raises(InputError, match="landmarks"):
        fs.um_cross_validate(
            GaussianNB(),
            np.zeros((40, 1)),
            np.arange(40) % 2,
            sensitive_features=np.arange(40) % 3,
            reference_estimator="svc",
        )
