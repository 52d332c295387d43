"""HFM as its paper uses it: rules that choose a model by error and fairness, compared on test
rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fairstats.ground import checks
from fairstats.ground.checks import Floats
from fairstats.ground.codes import cross_codes
from fairstats.ground.counts import ConfusionCounts
from fairstats.ground.encoding import as_array
from fairstats.ground.errors import InputError
from fairstats.ground.lazy import Axes, pd
from fairstats.ground.multiplicity import normal_quantile, two_sided_pvalue
from fairstats.ground.predictions import as_features
from fairstats.ground.progress import each_of
from fairstats.ground.registry import CELLS, RATES
from fairstats.ground.results import Comparison, Result
from fairstats.ground.serialise import serialisable
from fairstats.methods.hfm.approx import approximate
from fairstats.methods.hfm.encoding import make_scene
from fairstats.methods.hfm.result import harmonic
from fairstats.methods.hfm.risk import discriminative_risk, find_attributes, labels_of
from fairstats.methods.hfm.rows import Mask, Rows, as_pandas
from fairstats.methods.hfm.selection import RankingResult, rank_rules, select_model
from fairstats.methods.hfm.set_distance import measure as measure_sets

#: Measures of the paper, and the rate whose largest gap some of them are.
_RATE_OF_GAP = {"DP": "selection_rate", "EO": "tpr", "PQP": "ppv"}
_MEASURES = (*_RATE_OF_GAP, "DR", "HFM", "HFM approx")
#: Differences of folds this near to each other are one number, up to rounding.
_EQUAL_WITHIN = 1e-12


@dataclass(frozen=True, kw_only=True)
class RuleComparison(Comparison):
    """Mean and `sd` over folds of what one rule chose in one case, by a paired t-test against the
    baseline.

    `outcome`: "win" of the baseline, "loss" or "tie"; `pvalue_corrected`: Nadeau and Bengio's, as
    folds share rows.
    """

    further: ClassVar[tuple[str, ...]] = ("case", "sd", "outcome", "pvalue_corrected")

    case: str
    sd: float
    outcome: str
    pvalue_corrected: float


@serialisable(eq=False)
class HfmExperiment(Result):
    """Rules that choose models by error and fairness, compared on test rows.

    `measure=` of its methods is the measure of a rule ("DR"); default accuracy or F1 of what was
    chosen.

    Attributes
    ----------
    rules, cases : tuple of str
        "Accuracy" or "F1" (the error alone), then one per measure; data set and sensitive
        attribute.
    train, test : tuple of array of float, shape (folds, models, rules)
        Of each case the error, then the measures, on training and test rows.
    ratios : tuple of float
        Test rows by training rows of each case.
    baseline, alpha, confidence_level, seed
        As they were asked for.
    """

    title: ClassVar[str] = "Rules that choose a model by error and fairness, on test rows"
    backend: ClassVar[str] = "scipy"
    lacks: ClassVar[Mapping[str, str]] = {
        "confidence_interval": "folds share rows; .ranking() has the critical difference",
        "std_error": "folds share rows; .to_frame() has `sd` over folds",
        "verdict": "nothing is judged; .wins() counts what differs significantly",
        "__getitem__": "a rule has a row in every case: .to_frame(), or .ranking()[rule]",
    }

    rules: tuple[str, ...]
    cases: tuple[str, ...]
    train: tuple[Floats, ...]
    test: tuple[Floats, ...]
    ratios: tuple[float, ...]
    baseline: str
    alpha: float
    confidence_level: float
    seed: int | None

    def scores(self, rule: str, measure: str = "", alpha: float | None = None) -> list[Floats]:
        """Value on test rows of what a rule chooses with α, per case one of every fold.

        Parameters
        ----------
        rule : str
            One of `rules`.
        measure : str, optional
            What is measured of the models that it chooses, one of `rules`; default accuracy or F1.
        alpha : float in [0, 1], optional
            Weight of the error when a model is chosen; default that of the experiment.

        Returns
        -------
        list of ndarray of float, shape (folds,)
            One of each case.

        Raises
        ------
        InputError
            For a rule or measure that the experiment does not have, or a weight outside [0, 1].
        """
        checks.check_choice("rule", rule, self.rules)
        self._check_measure(measure)
        if alpha is not None:
            alpha = checks.check_share("alpha", alpha, closed=True, cure="0.05, as in the paper")
        rule_index = self.rules.index(rule)
        measure_index = self.rules.index(measure or self.rules[0])
        if rule_index == 0:
            alpha = 1.0
        elif alpha is None:
            alpha = self.alpha
        values_by_case = []
        for train_values, test_values in zip(self.train, self.test, strict=True):
            fairness = np.nan_to_num(train_values[:, :, rule_index], nan=np.inf)
            chosen = []
            for errors, fairness_values in zip(train_values[:, :, 0], fairness, strict=True):
                chosen.append(select_model(errors, fairness_values, alpha=alpha))
            values = test_values[np.arange(len(test_values)), chosen, measure_index]
            values_by_case.append(np.abs(values) if measure_index else 1 - values)
        return values_by_case

    def _check_measure(self, measure: Any, *, error: bool = True) -> None:
        """Raise unless `measure` is empty or one of the rules.

        Without `error` one that measures fairness.
        """
        measures = self.rules if error else self.rules[1:]
        checks.check_choice(
            "measure", measure, ("", *measures), cure="leave it out, or name one of the experiment"
        )

    def compare(self, measure: str = "") -> tuple[RuleComparison, ...]:
        """Every rule in every case.

        Parameters
        ----------
        measure : str, optional
            What is compared, one of `rules`; default accuracy or F1.

        Raises
        ------
        InputError
            For a measure that the experiment does not have.
        """
        self._check_measure(measure)
        smaller = measure in self.rules[1:]
        measure_name = measure or self.rules[0]
        baseline_cases = list(
            zip(self.cases, self.scores(self.baseline, measure), self.ratios, strict=True)
        )
        comparisons = []
        for rule in self.rules:
            for (case_name, baseline_values, test_by_train), rule_values in zip(
                baseline_cases, self.scores(rule, measure), strict=True
            ):
                t_statistic, pvalue, corrected = _paired_t(
                    baseline_values - rule_values, test_by_train
                )
                if pvalue >= 1 - self.confidence_level:
                    outcome = "tie"
                else:
                    outcome = "loss" if smaller == (t_statistic > 0) else "win"
                mean_value = _mean_of_folds(rule_values)
                comparisons.append(
                    RuleComparison(
                        metric=measure_name,
                        group=rule,
                        reference=self.baseline,
                        case=case_name,
                        estimate=mean_value,
                        statistic=t_statistic,
                        sd=math.sqrt(_mean_of_folds((rule_values - mean_value) ** 2)),
                        pvalue=pvalue,
                        pvalue_corrected=corrected,
                        n=len(rule_values),
                        outcome="" if rule == self.baseline else outcome,
                        method="paired t-test over folds",
                    )
                )
        return tuple(comparisons)

    @property
    def comparisons(self) -> tuple[RuleComparison, ...]:
        """Of accuracy or F1."""
        return self.compare()

    def ranking(self, measure: str = "") -> RankingResult:
        """Average ranks over cases where all are defined, Friedman's test, Nemenyi's critical
        difference.

        `measure`: as in `compare`; InputError for one that the experiment does not have.
        """
        self._check_measure(measure)
        mean_values = np.array(
            [
                [_mean_of_folds(fold_values) for fold_values in self.scores(rule, measure)]
                for rule in self.rules
            ]
        ).T
        mean_values = mean_values[~np.isnan(mean_values).any(axis=1)]
        larger = measure not in self.rules[1:]
        confidence_level = self.confidence_level
        return rank_rules(
            mean_values,
            rules=self.rules,
            larger_is_better=larger,
            confidence_level=confidence_level,
        )

    def wins(self, measure: str = "") -> pd.DataFrame:
        """Wins, ties, losses of the baseline against each rule.

        Tests that Nadeau and Bengio's confirms.

        `measure`: as in `compare`; InputError for one that the experiment does not have.
        """
        counts_by_rule = {}
        for rule in self.rules:
            counts_by_rule[rule] = dict.fromkeys(("win", "tie", "loss", "confirmed"), 0)
        for comparison in self.compare(measure):
            if comparison.outcome:
                counts_by_rule[comparison.group][comparison.outcome] += 1
                counts_by_rule[comparison.group]["confirmed"] += (
                    comparison.pvalue_corrected < 1 - self.confidence_level
                )
        return pd.DataFrame(counts_by_rule).T.drop(index=self.baseline)

    def tradeoff(self, alphas: Sequence[float] | None = None, *, measure: str = "") -> pd.DataFrame:
        """α·error + (1 − α)·|fairness| on test rows of what each rule chooses with α (the paper's
        figure 1c).

        Parameters
        ----------
        alphas : sequence of float in [0, 1], optional
            Weights of the error; default 0, 0.05, …, 1.
        measure : str, optional
            The fairness of all rules; default each one's own, whose sizes do not compare.

        Returns
        -------
        DataFrame
            `alpha`, `rule`, means over cases of `accuracies`, `fairness_values`, `costs`, and the cost's t
            interval.

        Raises
        ------
        InputError
            For weights outside [0, 1], or a measure that the experiment does not have.
        """
        self._check_measure(measure, error=False)
        weights = _checked_weights(alphas)
        n_cases = len(self.cases)
        table_rows = []
        quantile = normal_quantile((1 + self.confidence_level) / 2, n_cases - 1) / math.sqrt(
            n_cases
        )
        for alpha in weights:
            for rule in self.rules[1:]:
                values_of_both = (
                    self.scores(rule, measure_name, alpha) for measure_name in ("", measure or rule)
                )
                accuracies, fairness_values = (
                    np.array([_mean_of_folds(fold_values) for fold_values in values])
                    for values in values_of_both
                )
                costs = alpha * (1 - accuracies) + (
                    (1 - alpha) * fairness_values if alpha < 1 else 0
                )
                mean_cost = costs.mean()
                half_width = quantile * costs.std(ddof=1)
                table_rows.append(
                    (
                        alpha,
                        rule,
                        1 - accuracies.mean(),
                        fairness_values.mean(),
                        mean_cost,
                        mean_cost - half_width,
                        mean_cost + half_width,
                    )
                )
        return pd.DataFrame(
            table_rows, columns=["alpha", "rule", "error", "fairness", "cost", "ci_low", "ci_high"]
        )

    def sentences(self) -> list[str]:
        """The ranking, Friedman's test, and how the baseline fares against each rule."""
        ranking = self.ranking()
        sentence_form = "{} against {}: {} wins, {} ties, {} losses; {} confirmed."
        counts = []
        for wins_row in self.wins().itertuples():
            counts.append(sentence_form.format(self.baseline, *wins_row))
        return [
            *ranking.sentences(),
            f"Friedman's test over {ranking.n} cases: p = {ranking.pvalue:.3g}.",
            *counts,
        ]

    def notes(self) -> list[str]:
        """Settings, and what the tests leave out of account."""
        choice_words = (
            f"{self.alpha:g}·error + {1 - self.alpha:g}·|fairness| on training rows chooses"
        )
        shared = (
            "Folds share training rows, which pvalue_corrected allows for; cases of one data set"
            " share rows"
        )
        sentence = (
            f"{choice_words}; `outcome` is that of {self.baseline}. {shared}, which Friedman's test does not"
            " know."
        )
        return [sentence, *self.sentences()[:2]]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Friedman chart of `ranking()`.

        `tradeoff()` is drawn by `fairstats.plots.hfm.plot_tradeoff`.
        """
        return self.ranking().plot(ax)


def _checked_weights(alphas: Any) -> list[float]:
    """Weights of the error, checked; without any asked for 0, 0.05, …, 1."""
    if alphas is None:
        return list(map(float, np.linspace(0, 1, 21)))
    allowed = "numbers from 0 to 1, in one dimension"
    weights = checks.finite_array("alphas", alphas, allowed)
    are_shares = (
        weights.ndim == 1 and weights.size > 0 and bool(((weights >= 0) & (weights <= 1)).all())
    )
    checks.check_that(are_shares, "alphas", alphas, allowed, "[0, 0.05, 0.1]")
    return list(map(float, weights))


def _mean_of_folds(values: Floats) -> float:
    """Mean of the folds in which the value is defined."""
    if np.isnan(values).all():
        return math.nan
    return float(np.nanmean(values))


def _paired_t(differences: Floats, test_by_train: float) -> tuple[float, float, float]:
    """t, its p-value, and that of Nadeau and Bengio, over the folds where both are defined."""
    defined = differences[~np.isnan(differences)]
    n_folds = defined.size
    if defined.size:
        mean_difference = float(defined.mean())
    else:
        mean_difference = 0.0
    if n_folds < 2 or np.ptp(defined) <= _EQUAL_WITHIN:
        if n_folds < 2 or abs(mean_difference) <= _EQUAL_WITHIN:
            return (0.0, 1.0, 1.0)
        return (math.copysign(math.inf, mean_difference), 0.0, 0.0)
    t_statistic, corrected_t = (
        mean_difference / math.sqrt(defined.var(ddof=1) * variance_share)
        for variance_share in (1 / n_folds, 1 / n_folds + test_by_train)
    )
    return (
        t_statistic,
        two_sided_pvalue(t_statistic, n_folds - 1),
        two_sided_pvalue(corrected_t, n_folds - 1),
    )


def hfm_experiment(
    models: Mapping[str, Any],
    data: Mapping[str, tuple[Any, Any, Any]],
    *,
    measures: Sequence[str] = _MEASURES,
    baseline: str | None = None,
    error: str = "accuracy",
    alpha: float = 0.05,
    cv: Any = 5,
    refit: bool = True,
    pos_label: Any = None,
    label_values: Any = None,
    confidence_level: float = 0.95,
    rng: Any = None,
) -> HfmExperiment:
    """Choose among models by α·error + (1 − α)·|fairness| on training rows, and compare on test
    rows.

    Parameters
    ----------
    models : mapping of name to estimator
        The pool, with fit and predict; or of every data set to its pool.
    data : mapping of name to (X, y, sensitive)
        A data frame of features, labels, and the sensitive column or columns of `X`, which the
        models see; each is a case, two or more in all.
    measures : sequence of str, default ("DP", "EO", "PQP", "DR", "HFM", "HFM approx")
        Two or more, a rule each, beside that of the error alone: largest gaps between groups in
        selection rate, true positive rate, positive predictive value; `discriminative_risk`; HFM,
        exactly and by ApproxDist.
    baseline : str, optional
        The rule that others are compared with; default the last.
    error : {"accuracy", "f1"}, default "accuracy"
        What the error is 1 minus of.
    alpha : float in [0, 1], default 0.05
        Weight of the error (the paper takes 0.1 with F1).
    cv : int, splitter, or list of (train, test), default 5
        As in scikit-learn. A number makes random folds, even in label and groups.
    refit : bool, default True
        Fit a clone to each training part. False takes fitted models; the training part, unseen by
        them, only chooses.
    pos_label, label_values : optional
        The favourable label, where they are not 0/1, and the labels that may occur, as in
        `disparate_impact`.
    confidence_level : float, default 0.95
        Of tests and critical difference.
    rng : None, int or numpy.random.Generator
        Of folds, disturbed attributes, projections.

    Returns
    -------
    HfmExperiment
        Means by rule and case, ``.ranking()``, ``.wins()``, ``.tradeoff()``.

    Raises
    ------
    InputError
        For fewer than two models, measures or cases; labels or groups that cannot be used.

    Notes
    -----
    A gap is undefined where a group has no cases: such a model is chosen last, such a fold left out
    of means.

    References
    ----------
    .. [1] Bian, Y. and Luo, Y. (2024), section 4.2, tables 1 and 3, figures 1 and 2.
    .. [2] Nadeau, C. and Bengio, Y. (2003), Inference for the generalization error, Machine
       Learning 52.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> import fairstats as fs
    >>> rng = np.random.default_rng(1)
    >>> X = pd.DataFrame(rng.integers(0, 2, (120, 2)), columns=["sex", "old"]).assign(x=rng.normal(size=120))
    >>> y = (X["x"] + X["sex"] + rng.normal(size=120) > 0).astype(int)
    >>> pool = {"tree": DecisionTreeClassifier(max_depth=3, random_state=1), "bayes": GaussianNB()}
    >>> result = fs.hfm_experiment(pool, {"made": (X, y, ["sex", "old"])}, measures=("DP", "HFM"), rng=1)
    >>> result.cases, [round(rank, 2) for rank in result.ranking().ranks]
    (('made, sex', 'made, old'), [2.75, 1.5, 1.75])
    """
    checks.check_names("measures", measures, _MEASURES)
    checks.check_choice("error", error, ("accuracy", "f1"))
    rules = ({"accuracy": "Accuracy", "f1": "F1"}[error], *measures)
    if baseline is None:
        baseline = rules[-1]
    checks.check_choice("baseline", baseline, rules)
    checks.check_flag("refit", refit)
    confidence = checks.check_confidence_level(confidence_level)
    alpha = checks.check_share("alpha", alpha, closed=True, cure="0.05, as in the paper")
    checks.check_that(
        isinstance(models, Mapping), "models", models, "a mapping of name to estimator"
    )
    checks.check_that(
        isinstance(data, Mapping), "data", data, "a mapping of name to (X, y, sensitive)"
    )
    generator, seed = checks.as_generator(rng)
    values_of_cases: list[tuple[str, Floats, Floats, float]] = []
    label_options = {"pos_label": pos_label, "label_values": label_values}
    for data_name, data_set in each_of(tuple(data.items()), "data sets"):
        checks.check_that(
            isinstance(data_set, tuple) and len(data_set) == 3,
            "data",
            data_set,
            "(X, y, sensitive)",
        )
        if isinstance(models.get(data_name), Mapping):
            model_pool = models[data_name]
        else:
            model_pool = models
        (train_values, test_values), sensitive, test_by_train = _run_data_set(
            model_pool, data_set, rules, cv, refit, label_options, generator
        )
        for case_index, column in enumerate(sensitive):
            values_of_cases.append(
                (
                    f"{data_name}, {column}",
                    train_values[case_index],
                    test_values[case_index],
                    test_by_train,
                )
            )
    enough_cases = len(values_of_cases) > 1 and len(rules) > 2
    checks.check_that(
        enough_cases,
        "data, measures",
        ([case_name for case_name, *_ in values_of_cases], measures),
        "two or more of each",
    )
    case_names, on_train, on_test, ratios = zip(*values_of_cases, strict=True)
    return HfmExperiment(
        rules=rules,
        cases=case_names,
        train=on_train,
        test=on_test,
        ratios=ratios,
        baseline=baseline,
        alpha=alpha,
        confidence_level=confidence,
        seed=seed,
    )


def _run_data_set(
    model_pool: Any,
    data_set: Any,
    rules: tuple[str, ...],
    cv: Any,
    refit: bool,
    label_options: dict[str, Any],
    rng: np.random.Generator,
) -> tuple[Floats, list[str], float]:
    """Values of one data set, shape (2, attributes, folds, models, rules); its attributes.

    Test by train.
    """
    from sklearn.base import clone
    from sklearn.model_selection import PredefinedSplit, check_cv

    needed_methods = ("fit", "predict") if refit else ("predict",)
    models = list(model_pool.values())
    are_usable = []
    for model in models:
        are_usable.append(
            not isinstance(model, type)
            and all(callable(getattr(model, a, None)) for a in needed_methods)
        )
    checks.check_that(
        all(are_usable) and len(are_usable) > 1,
        "models",
        model_pool,
        "two or more estimators with " + ", ".join(needed_methods),
    )
    X, y, columns = data_set
    checks.check_that(
        as_pandas(X, "data") is not None, "data", X, "a data frame with the sensitive columns"
    )
    feature_table = as_features(X)
    labels = as_array(y, "y")
    attributes = find_attributes(feature_table, columns)
    classes, label_codes = np.unique(labels, return_inverse=True)
    crossed = [(attribute.codes, len(attribute.levels)) for attribute in attributes]
    strata = cross_codes((label_codes, classes.size), *crossed)
    try:
        if isinstance(cv, (int, np.integer)):
            cv = checks.check_whole("cv", cv, low=2, cure="cv=5")
            fold_codes = np.empty(feature_table.n_rows, dtype=int)
            fold_codes[np.lexsort((rng.random(fold_codes.size), strata))] = (
                np.arange(fold_codes.size) % cv
            )
            cv = PredefinedSplit(fold_codes)
        splits = list(check_cv(cv).split(np.zeros(strata.size), strata))
        checks.check_that(bool(splits), "cv", cv, "at least one split of the rows", "cv=5")
        values_of_models = []
        for split in each_of(splits, "fitted folds"):
            train_rows = feature_table.rows(split[0])
            fitted_models = []
            for model in models:
                fitted_models.append(
                    clone(model).fit(train_rows, labels[split[0]]) if refit else model
                )
            for row_numbers in split:
                groups = {}
                for a in attributes:
                    groups[a.name] = np.array(a.labels, dtype=object)[a.codes[row_numbers]]
                split_part = _SplitPart(
                    X=feature_table.rows(row_numbers),
                    y=labels[row_numbers],
                    named=label_options,
                    groups=groups,
                    reference=train_rows,
                    known={},
                )
                values_of_models.append(
                    [split_part.values(model.predict, rules, rng) for model in fitted_models]
                )
    except (IndexError, TypeError, ValueError) as problem:
        if isinstance(problem, InputError):
            raise
        allowed = "splits of the rows, models that can be fitted to them, one label per row"
        raise InputError("models, data, cv", got=str(problem), allowed=allowed) from problem
    values = np.array(values_of_models).reshape(
        len(splits), 2, len(models), len(attributes), len(rules)
    )
    test_by_train = float(np.mean([len(test) / len(train_rows) for train_rows, test in splits]))
    return np.transpose(values, (1, 3, 0, 2, 4)), [a.name for a in attributes], test_by_train


@dataclass(frozen=True, eq=False)
class _SplitPart:
    """Training or test rows of a split.

    `named`: pos_label and label_values; `reference`: the training rows; `known`: distances D, once
    found.
    """

    X: Any
    y: NDArray[Any]
    named: dict[str, Any]
    groups: dict[str, NDArray[Any]]
    reference: Any
    known: dict[tuple[str, str], float]

    def values(self, predict: Any, rules: tuple[str, ...], rng: np.random.Generator) -> Floats:
        """Error and measures of one model, shape (attributes, rules)."""
        y_pred = labels_of(predict, self.X, self.y.size)
        measured = np.empty((len(self.groups), len(rules)))
        for attribute_index, group_column in enumerate(self.groups.values()):
            counts = ConfusionCounts.from_arrays(
                self.y, y_pred, sensitive_features=group_column, **self.named
            )
            checks.check_that(
                len(counts.totals) > 1, "cv", "a part with one group", "two groups in every part"
            )
            cell_counts = dict(zip(CELLS, counts.totals.T, strict=True))
            total_counts = {}
            for attribute_name, group_cells in cell_counts.items():
                total_counts[attribute_name] = group_cells.sum()
            measured[attribute_index, 0] = 1 - RATES[rules[0].lower()].evaluate(total_counts)
            for rule_name in _RATE_OF_GAP.keys() & set(rules):
                measured[attribute_index, rules.index(rule_name)] = np.ptp(
                    RATES[_RATE_OF_GAP[rule_name]].evaluate(cell_counts)
                )
        if "DR" in rules:
            risk = discriminative_risk(
                predict, self.X, sensitive_features=list(self.groups), rng=rng
            )
            measured[:, rules.index("DR")] = risk.estimate
        distance_functions: dict[str, Any] = {"HFM": partial(measure_sets, statistic="max")}
        distance_functions["HFM approx"] = partial(approximate, m1=25, m2=None, rng=rng, seed=None)
        distance_rules = []
        for rule_name in distance_functions:
            if rule_name in rules:
                distance_rules.append(rule_name)
        if distance_rules:
            options: dict[str, Any] = {
                "sensitive_features": self.groups,
                "reference_data": self.reference,
            }
            scene = make_scene(
                self.X, self.y, y_pred, scale="minmax", intersections=False, **options
            )
        for rule_name, (attribute_index, attribute_name) in product(
            distance_rules, enumerate(self.groups)
        ):
            value_masks = []
            for side in scene.sides:
                if side.attribute == attribute_name:
                    value_masks.append(side.rows)
            if (rule_name, attribute_name) not in self.known:
                self.known[rule_name, attribute_name] = _farthest_of_values(
                    distance_functions[rule_name], scene.with_true, value_masks
                )
            d_f = _farthest_of_values(distance_functions[rule_name], scene.with_pred, value_masks)
            measured[attribute_index, rules.index(rule_name)] = harmonic(
                self.known[rule_name, attribute_name], d_f
            )
        return measured


def _farthest_of_values(distance_function: Any, rows: Floats, value_masks: list[Mask]) -> float:
    """Largest distance of the rows with one value from all others."""
    return max(
        float(distance_function(Rows(rows[value_mask]), Rows(rows[~value_mask])).value)
        for value_mask in value_masks
    )
