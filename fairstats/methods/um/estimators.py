"""`um_compare_estimators`: several algorithms from one set of folds and half splits, under both
targets.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal

from fairstats.ground.checks import SeedOrGenerator, check_choice
from fairstats.ground.errors import InputError
from fairstats.ground.lazy import Axes
from fairstats.ground.results import Result
from fairstats.ground.serialise import serialisable
from fairstats.methods.um.comparison import um_compare
from fairstats.methods.um.cross_validation import Checked, Options, cross_validated
from fairstats.methods.um.draws import check_rope
from fairstats.methods.um.events import Event, UmRanking
from fairstats.methods.um.folds import check_estimator, readable
from fairstats.methods.um.metrics import as_objectives, parse_metric, several
from fairstats.methods.um.posterior import TARGETS, Request
from fairstats.methods.um.result import NO_INTERVAL, NO_TEST, UmPosterior
from fairstats.plots.hdr import plane_of_estimators


@serialisable(eq=False)
class UmEstimators(Result):
    """Estimators on the same folds and half splits.

    A `UmRanking` per target, the first of the one asked for.
    """

    rankings: tuple[UmRanking, ...]

    title: ClassVar[str] = "Uncertainty Matters: estimators on the same folds"
    _shown: ClassVar[tuple[str, ...]] = ("group", "event", "estimate", "std_error", "method")
    lacks: ClassVar[dict[str, str]] = {**NO_TEST, **NO_INTERVAL}

    @property
    def backend(self) -> str:
        """What drew."""
        return self.rankings[0].backend

    @property
    def posteriors(self) -> dict[str, UmPosterior]:
        """The posterior of every estimator under the target asked for."""
        return dict(zip(self.rankings[0].names, self.rankings[0].joint.posteriors, strict=True))

    @property
    def comparisons(self) -> tuple[Event, ...]:
        """Per target every event of every pair, then every estimator's place on the Pareto
        front.
        """
        table_rows = []
        for ranking in self.rankings:
            fronts = []
            for event_row in ranking.comparisons:
                if not event_row.reference:
                    fronts.append(event_row)
            method = f"{ranking.joint.first.target}, {ranking.joint.about['method']}"
            for event_row in (*ranking.events, *fronts):
                table_rows.append(replace(event_row, method=method))
        return tuple(table_rows)

    def __getitem__(self, estimator: Any) -> Event:
        """P(a ≫ b) of ``[a, b]``, or an estimator's place on the Pareto front, under the target
        asked for.
        """
        return self.rankings[0][estimator]

    def sentences(self) -> list[str]:
        """One sentence per row."""
        result: list[str] = []
        for event_row in self.comparisons:
            result.append(
                f"P({event_row.event}) = {event_row.estimate:.3f} ({event_row.method})."
                if event_row.reference
                else (
                    f"{event_row.group} is outperformed by none with probability {event_row.estimate:.3f}"
                    f" ({event_row.method})."
                )
            )
        return result

    def notes(self) -> list[str]:
        """Order under each target, RoPE, pairing, and the correlations of every estimator."""
        sentences: list[str] = []
        joint_notes: dict[str, None] = {}
        for ranking in self.rankings:
            order_words = " > ".join(ranking.ranking()["algorithm"])
            target = ranking.joint.first.target
            sentences.append(
                f"{target}: by P(outperforms) − P(is outperformed) {order_words}. {ranking.joint.note}"
            )
            joint_notes.update(dict.fromkeys(ranking.joint._notes_about(ranking.names)[1:]))
        for estimator_name, posterior in self.posteriors.items():
            if posterior.cross_validation is not None:
                for sentence in posterior.cross_validation._correlation_notes(posterior.groups):
                    sentences.append(f"{estimator_name}: {sentence}")
        return [*self.rankings[0].notes()[:2], *joint_notes, *sentences]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the medians and 95% intervals of the first two metrics, every target in a shade of
        its own.
        """
        first_ranking = self.rankings[0]
        objectives = as_objectives(
            first_ranking.metrics,
            first_ranking.joint.first.groups,
            bool(first_ranking.joint.first.classes),
        )
        clouds = {}
        for ranking in self.rankings:
            clouds[ranking.joint.first.target] = ranking.joint._draw_objectives(objectives)[..., :2]
        return plane_of_estimators(clouds, first_ranking.names, first_ranking.metrics[:2], ax)


def um_compare_estimators(
    estimators: Mapping[str, Any],
    X: Any,
    y: Any,
    *,
    sensitive_features: Any,
    metrics: Any = ("accuracy", "equal_opportunity"),
    rope: Any = 0.01,
    target: Literal["parameter", "predictive", "algorithm"] = "predictive",
    cv: Any = 10,
    correlation: Literal["1/K", "uniform", "relative", "relative-uniform"] = "relative",
    reference_estimator: Any = None,
    n_half_splits: int = 5,
    correlation_metric: str | Sequence[str] | None = None,
    sensitive_at: str = "auto",
    paired: Any = "auto",
    prior: Any = 1.0,
    draws: int = 10_000,
    reference: Hashable | None = None,
    pos_label: Any = None,
    label_values: Any = None,
    groups: Sequence[Hashable] | None = None,
    n_jobs: int | None = None,
    progress: bool = True,
    rng: SeedOrGenerator = None,
) -> UmEstimators:
    """Which of several algorithms is better in performance and fairness, from one cross-validation
    of all.

    All estimators meet the same K folds and J half splits, whose reference is fitted once: m of
    them cost m·(K + 2JK) + 2JK fits, with the numbers that `um_cross_validate` and `um_compare`
    give from the same seed.

    Parameters
    ----------
    estimators : mapping of str to estimator
        Two or more, with fit and predict. Where X, a data frame, has columns of text or categories,
        these are one-hot for all but pipelines, which have preprocessing of their own.
    X, y, sensitive_features
        As in `um_cross_validate`.
    metrics, rope, paired
        As in `um_compare`; two objectives, three or more.
    target : {"predictive", "parameter", "algorithm"}
        As in `um_cross_validate`. Beside "predictive" (the paper's) and "parameter" stands the
        other one of these.
    correlation_metric : str or sequence of str, optional
        Default the rates behind `metrics`: their largest r_s, averaged over its uncertainty. One
        name: its own r_s.
    cv, correlation, reference_estimator, n_half_splits, sensitive_at, prior, draws, reference,
    groups, rng
        As in `um_cross_validate`, and so are `pos_label`, `label_values`, `n_jobs` and `progress`.

    Returns
    -------
    UmEstimators
        ``.to_frame()`` (every event of every pair, and the Pareto front, by target), ``.rankings``
        with ``.ranking()`` and ``.matrix()``, ``.posteriors``, ``.plot()``.

    Raises
    ------
    InputError
        Fewer than two estimators, and what `um_cross_validate` and `um_compare` refuse.

    Warns
    -----
    DataWarning, InsufficientEvidenceWarning
        As in `um_cross_validate` and `um_compare`.

    Notes
    -----
    Targets "parameter" and "predictive" are about the fitted models, and leave out the spread
    between training sets: of the algorithms' difference in demographic parity 95% intervals cover
    .81. Averaging steadies r: of an equal of the reference the effective share of the rows (J = 5,
    K = 10) has the standard deviation .24 between runs instead of .33 (5% to 95% of them: .18 to
    .94, .10 to 1). Under "predictive" the draws of estimators with different ρ are independent (the
    paper's way), which overstates the variance of Δ: their next test sets differ in size. Under
    "parameter" they are paired up to the smallest effective counts.

    References
    ----------
    .. [1] Barrainkua et al. (2024), sections 2.3, 3, 9 and 10.

    Examples
    --------
    >>> import numpy as np, fairstats as fs
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> rng = np.random.default_rng(1)
    >>> X = rng.normal(size=(400, 3))
    >>> y = (X[:, 0] + rng.normal(size=400) > 0).astype(int)
    >>> models = {"logit": LogisticRegression(), "tree": DecisionTreeClassifier(random_state=0)}
    >>> found = fs.um_compare_estimators(
    ...     models, X, y, sensitive_features=rng.integers(0, 2, 400), metrics="accuracy", cv=5,
    ...     correlation="1/K", rng=1, progress=False,
    ... )
    >>> print(found.rankings[0].ranking()["algorithm"].tolist())
    ['logit', 'tree']
    """
    if (
        not isinstance(estimators, Mapping)
        or len({str(estimator_name) for estimator_name in estimators}) < 2
    ):
        if isinstance(estimators, Mapping):
            received = f"{len(estimators)} of them"
        else:
            received = type(estimators).__name__
        allowed = "a mapping of name to estimator, two or more"
        suggestion = '{"logit": …, "forest": …}'
        raise InputError("estimators", got=received, allowed=allowed, cure=suggestion)
    for estimator in estimators.values():
        check_estimator(estimator, "estimators")
    check_choice("paired", paired, ("auto", True, False))
    request = Request.checked(draws, target, reference, rng, TARGETS)
    checked_rows = Checked(
        X,
        y,
        sensitive_features=sensitive_features,
        pos_label=pos_label,
        label_values=label_values,
        groups=groups,
    )
    classes = bool(checked_rows.classes)
    objectives = as_objectives(metrics, checked_rows.names, classes)
    check_rope(rope, len(objectives.names))
    if correlation_metric is None:
        rates_behind = []
        for metric in several(metrics):
            if not callable(metric):
                for rate in parse_metric(metric, several=classes).rates:
                    rates_behind.append(rate)
        correlation_metric = list(dict.fromkeys(rates_behind)) or ["accuracy", "tpr"]
    if reference_estimator is None:
        reference_estimator = "auto"
    if not isinstance(reference_estimator, str):
        check_estimator(reference_estimator, "reference_estimator")
        reference_estimator = _with_readable_columns(reference_estimator, X)
    options = Options(
        correlation=correlation,
        n_half_splits=n_half_splits,
        correlation_metric=correlation_metric,
        reference_estimator=reference_estimator,
        sensitive_at=sensitive_at,
        cv=cv,
        prior=prior,
        n_jobs=n_jobs,
        progress=progress,
        several=classes,
    )
    named_estimators = {}
    for estimator_name, estimator in estimators.items():
        named_estimators[str(estimator_name)] = _with_readable_columns(estimator, X)
    posteriors = cross_validated(named_estimators, checked_rows, options, request)
    targets_beside: dict[str, tuple[str, ...]] = {
        "predictive": ("parameter",),
        "parameter": ("predictive",),
    }
    rankings = []
    for target_of_ranking in (target, *targets_beside.get(target, ())):
        posteriors_of_target = dict(
            zip(
                named_estimators,
                (posterior._under_target(target_of_ranking) for posterior in posteriors),
                strict=True,
            )
        )
        if paired is True and target_of_ranking != target:
            pairing = "auto"
        else:
            pairing = paired
        rankings.append(
            um_compare(
                posteriors_of_target,
                metrics=metrics,
                rope=rope,
                paired=pairing,
                rng=request.entropy,
            )
        )
    return UmEstimators(tuple(rankings))


def _with_readable_columns(estimator: Any, X: Any) -> Any:
    """The estimator on columns that it can read; a pipeline sees to that itself."""
    if hasattr(estimator, "steps"):
        return estimator
    return readable(estimator, X)
