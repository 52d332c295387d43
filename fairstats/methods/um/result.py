"""What `um_posterior` and `um_cross_validate` return.

Counts, prior, seed, and draws of any metric.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from fairstats.ground.backends import unless_asked
from fairstats.ground.checks import Floats, check_flag, check_names, check_number, check_that
from fairstats.ground.errors import InputError
from fairstats.ground.groups import group_index
from fairstats.ground.lazy import Axes, pd
from fairstats.ground.results import TIDY_COLUMNS, Result, printed
from fairstats.ground.serialise import kept_in_memory, serialisable
from fairstats.methods.um import draws
from fairstats.methods.um.counting import PRIORS, Rows, only_prior
from fairstats.methods.um.folds import CrossValidation
from fairstats.methods.um.metrics import CLASS_METRICS, Evaluator, evaluator, name_of, several
from fairstats.methods.um.pymc_models import Diagnostics, Pooled, as_arviz
from fairstats.numerics.hdr.region import hdr
from fairstats.numerics.hdr.result import HdrResult
from fairstats.plots.figures import posterior_plane
from fairstats.plots.hdr import plot_posterior
from fairstats.plots.picture import draw

#: What no posterior has, and where to look instead.
NO_TEST = {
    "pvalue": "a posterior has no p-value: .metric(name) gives draws to take probabilities of",
    "statistic": "a posterior has no test statistic: .metric(name) gives its draws",
    "verdict": (
        "a posterior judges nothing: p_rope in .to_frame() is the probability of equivalence"
    ),
}
#: What a probability of an event lacks besides.
NO_INTERVAL = {
    "confidence_interval": "a probability has no interval: .std_error is its Monte Carlo error",
    "verdict": "nothing is judged: the probabilities of the events are in .to_frame()",
}


_TARGET_SENTENCES = {
    "parameter": (
        "Posterior of the metrics themselves (target: parameter); intervals are the shortest."
    ),
    "predictive": (
        "Posterior predictive: the metrics of another test set of the same size "
        "(target: predictive), wider than the posterior of the metrics themselves."
    ),
    "algorithm": (
        "Posterior of the mean metrics of models fitted anew to as many rows (target: algorithm): "
        "the spread between training sets is in the intervals, which are the shortest."
    ),
}
#: Below as many errors (or hits) in a group the prior is felt: cells of tests/calibration/um.py.
FEW_ERRORS = 10
#: Errors (or hits) that the prior adds to all groups with few: from so many on it pulls, one group
#: aside.
_PULLING_ERRORS = 3.0
#: Errors or hits that the prior adds to one group: up to Perks' half of one it holds too little.
_HOLDING_ERRORS = 2 * PRIORS["perks"]
_PULLED_SENTENCE = (
    "{prior}, so that accuracy is pulled towards .5. 95% intervals of accuracy over all rows cover,"
    " of groups with five errors each, .80 to .92 with two groups under the uniform prior (.73 with"
    " four, .45 with eight) and .85 with eight under Jeffreys'; of groups with one error each, .64"
    " with two under the uniform prior and .42 with eight under Jeffreys'. prior='jeffreys' covers"
    " .93 to .95 with two such groups; prior='perks' .92 to .96 with two to eight, .85 with eight"
    " of one error."
)
_LOOSE_SENTENCE = (
    "95% intervals of one such group cover .85 to .98 under Perks' prior (prior='jeffreys' .92 to"
    " .99), those of accuracy over all rows .92 with eight such groups{less}."
)
_POOLED_SENTENCE = (
    "Base rate, true and false positive rate are pooled, each by itself: groups are drawn towards"
    " the mean of all, the small ones most. 95% intervals cover .93 to 1.00 over all groups, not"
    " each one of them: those of a group far from all others cover less. concentration=: a larger"
    " median of κ takes groups to be more alike than the default does."
)
#: Below as many rows of a label in a group the prior is felt in differences of rates of this label.
FEW_CASES = 100
_DIFFERENCES_SENTENCE = (
    "95% intervals of differences of true (or false) positive rates cover .89 to .99 under"
    " Jeffreys' prior and .82 to 1.00 under Perks', where the smaller group has 12 to 60 such rows"
    " (rates .03 to .97; prior='uniform' .92 to .98); from 200 rows on .93 to .96."
)


@serialisable(eq=False)
class UmPosterior(Result, draws.PosteriorDraws):
    """Joint posterior of every metric of the confusion counts.

    Nothing is drawn before a metric is asked for; draws follow from counts, prior and seed, also of
    a stored result.

    `counts` are those per group, effective ones after cross-validation; `prior`, shape (G, 4), the
    Dirichlet parameters before the data, in the order tp, fp, fn, tn, or (G, J²) by class and
    prediction; `target` "parameter", "predictive" or, after cross-validation, "algorithm", with
    `shifts` of the models of half splits; `backend` "exact", or the sampler that gave `stored`;
    `pooled` whether groups borrow strength from each other;
    `entropy` the seed of the draws; `reference` the group that the others are compared with, by the
    rule "named" or "largest". `cross_validation` has folds, correlations and effective counts,
    `diagnostics` the convergence of a sampler, `stored`, shape (n_draws, G, 4), the cell
    probabilities that it gave. `table_metrics` are those of the table, empty for the usual ones;
    `table_prob` is the level of its intervals, `table_rope` its region of practical equivalence.
    `n_unknown` rows have a group, label or prediction that is not known, and are completed within
    the sampler; `rounded` the parts of 1 that their probabilities are rounded to for it, 0 for none.

    Examples
    --------
    >>> import fairstats as fs
    >>> men, women = dict(tp=420, tn=380, fp=120, fn=80), dict(tp=150, tn=230, fp=70, fn=50)
    >>> posterior = fs.um_posterior(counts={"men": men, "women": women}, rng=1)
    >>> posterior.metric("equal_opportunity").shape, posterior.reference
    ((10000,), 'men')
    """

    backend: str = "exact"
    pooled: bool = False
    reference: str = ""
    reference_rule: str = "largest"
    cross_validation: CrossValidation | None = None
    diagnostics: Diagnostics | None = None
    table_metrics: tuple[str, ...] = ()
    table_prob: float = 0.95
    table_rope: float = 0.01
    n_unknown: int = 0
    rounded: int = 0
    _rows: Rows | None = kept_in_memory(default=None)
    _inference: Any = kept_in_memory(default=None)

    title: ClassVar[str] = "Uncertainty Matters: posterior of the metrics"
    lacks: ClassVar[dict[str, str]] = NO_TEST

    def _under_target(self, target: str) -> UmPosterior:
        """The posterior of the same counts, and of the same rows, about another target."""
        return replace(self, target=target, _inference=None)

    def _with_rows(self, rows: Rows | None, inference: Any = None) -> Self:
        """The same posterior with the rows and a sampler's object, which no file holds."""
        return replace(self, _rows=rows, _inference=inference)

    @property
    def groups(self) -> tuple[str, ...]:
        """Group labels."""
        return self.counts.groups

    @property
    def reference_index(self) -> int:
        """Position of the reference group."""
        return self.groups.index(self.reference)

    def metric(
        self,
        name: str | Callable[[Any], Any],
        *,
        group: Hashable | None = None,
        by_group: bool = False,
        n_jobs: int | None = None,
    ) -> Floats:
        """Draws of one metric.

        Parameters
        ----------
        name : str or callable
            "accuracy", "balanced_accuracy", "f1", "tpr", "tnr", "fpr", "fnr", "ppv", "npv",
            "selection_rate", "base_rate", "mcc", "error_ratio" (FN/FP): of all rows.
            "demographic_parity", "equal_opportunity", "predictive_equality", "predictive_parity",
            "equalized_odds", "treatment_equality": between groups. All of them may end in
            "_difference" (group − reference; the default of the latter), "_absolute", "_ratio" or
            "_max" (largest gap between any two groups). A function gets counts of shape (draws, G,
            4), last axis tp, fp, fn, tn, and returns one entry per draw. Of several classes see
            `um_multiclass`.
        group : hashable, optional
            A rate of this group instead of all rows.
        by_group : bool, default False
            A rate of every group, shape (n_draws, G).
        n_jobs : int, optional
            Threads; the numbers do not depend on it.

        Returns
        -------
        ndarray
            Shape (n_draws,); (n_draws, G − 1) of comparisons with the reference; equalized odds:
            (TPR, FPR) last.

        Raises
        ------
        InputError
            Unknown name, unknown group, a comparison or a function of one group.

        Warns
        -----
        InsufficientEvidenceWarning
            Where over 5% of the draws are undefined (0/0); they are NaN.
        """
        return self.metrics([name], group=group, by_group=by_group, n_jobs=n_jobs)[name_of(name)]

    def metrics(
        self,
        names: Sequence[str | Callable[[Any], Any]],
        *,
        group: Hashable | None = None,
        by_group: bool = False,
        n_jobs: int | None = None,
    ) -> dict[str, Floats]:
        """Draws of several metrics from the same joint draws, in one pass; see `metric`."""
        names = several(names)
        by_group = check_flag("by_group", by_group)
        column_names = [name_of(name) for name in names]
        each_once = column_names and len(set(column_names)) == len(column_names)
        check_that(
            each_once, "metrics", column_names, "one name or more, each once", "rename a function"
        )
        functions = [self._function(name, group, by_group) for name in names]
        metric_draws = draws.evaluate(
            self._draw_block, self.n_draws, functions, self.reference_index, n_jobs
        )
        # one comparison needs no axis of comparisons
        draws_by_name = {}
        for each_name, each_draws in zip(column_names, metric_draws, strict=True):
            draws_by_name[each_name] = (
                each_draws[:, 0] if each_draws.ndim > 1 and each_draws.shape[1] == 1 else each_draws
            )
        for column_name, values in draws_by_name.items():
            draws.warn_of_undefined(column_name, values)
        return draws_by_name

    def _function(self, name: Any, group: Hashable | None, by_group: bool) -> Evaluator:
        """The function of counts and reference behind a name."""
        if callable(name):
            if group is not None or by_group:
                received = f"the function {name_of(name)!r} of one group"
                allowed = "a rate by its name, such as 'tpr'"
                raise InputError(
                    "metric",
                    got=received,
                    allowed=allowed,
                    cure="choose the group inside: counts[:, k]",
                )
            return evaluator(name)
        metric = self._parse_metric_name(name)
        if group is None and not by_group:
            metric.needs_groups(self.groups)
            return metric.values
        if metric.between_groups:
            received = f"{name!r} of one group"
            allowed = "a rate, such as 'tpr'"
            raise InputError(
                "metric",
                got=received,
                allowed=allowed,
                cure="leave out group= and by_group=",
            )
        if by_group:
            return lambda counts, _: metric.by_group(counts)
        group_position = group_index(self.groups, group, "group")
        return lambda counts, _: metric.by_group(counts[:, [group_position]])[:, 0]

    def hdr(
        self,
        names: Any,
        prob: Any = 0.95,
        *,
        group: Hashable | None = None,
        backend: str | None = None,
        **options: Any,
    ) -> HdrResult:
        """Highest density region of one metric, or of several jointly; see `fs.hdr`.

        Parameters
        ----------
        names : str, callable, or sequence of them
            Metrics with one value per draw; equalized odds has two.
        prob : float or sequence of float, default 0.95
        group : hashable, optional
            Rates of this group instead of all rows, as in `metric`.
        backend, **options
            Of `fs.hdr`.

        Examples
        --------
        >>> import fairstats as fs
        >>> counts = fs.ConfusionCounts.from_counts({"f": (20, 4, 5, 30), "m": (40, 6, 9, 50)})
        >>> posterior = fs.um_posterior(counts=counts, rng=1)
        >>> posterior.hdr(["tpr", "fpr"], group="f", backend="scipy").mode.round(1)
        array([0.8, 0.1])
        """
        check_names(
            "hdr", options, ("bandwidth", "support", "estimator", "discrete", "gridsize", "level")
        )
        draws_by_name = self.metrics(names, group=group)
        columns = np.column_stack(
            [metric_draws.reshape(self.n_draws, -1) for metric_draws in draws_by_name.values()]
        )
        columns = columns[~np.isnan(columns).any(axis=1)]
        return hdr(
            columns[:, 0] if columns.shape[1] == 1 else columns, prob, backend=backend, **options
        )

    @property
    def comparisons(self) -> tuple[draws.PosteriorRow, ...]:
        """One row per metric and group, of the metrics of the table."""
        return self._table()

    def _table(
        self,
        metrics: Any = None,
        prob: Any = None,
        rope: Any = None,
    ) -> tuple[draws.PosteriorRow, ...]:
        wanted = several(self.table_metrics if metrics is None else metrics)
        if prob is None:
            interval_level = self.table_prob
        else:
            interval_level = prob
        half_width = self.table_rope if rope is None else rope
        return draws.posterior_rows(self, wanted, self.reference_index, interval_level, half_width)

    def __getitem__(self, group: Hashable) -> tuple[draws.PosteriorRow, ...]:
        """The rows of one group, one per metric."""
        group_label = self.groups[group_index(self.groups, group, "group")]
        getitem = []
        for posterior_row in self.comparisons:
            if posterior_row.group == group_label:
                getitem.append(posterior_row)
        return tuple(getitem)

    def sentences(self) -> list[str]:
        """One sentence per row of the table."""
        return [posterior_row.sentence() for posterior_row in self.comparisons]

    def to_frame(
        self,
        metrics: Sequence[Any] | None = None,
        *,
        prob: float | None = None,
        rope: float | None = None,
    ) -> pd.DataFrame:
        """One row per metric and group.

        Parameters
        ----------
        metrics : sequence of str or callable, optional
            Default: the usual rates and differences.
        prob : float, optional
            Of the shortest interval; default 0.95.
        rope : float, optional
            Half-width of the region of practical equivalence of a difference; default 0.01.

        Returns
        -------
        DataFrame
            The tidy columns (`estimate` and `std_error`: posterior mean and standard deviation;
            `ci_low`, `ci_high`: shortest interval, HDI), then ``median``, ``observed`` (the metric
            of the counts), ``rope``, ``p_rope`` = P(|difference| ≤ rope), ties included to 1e-12,
            ``mc_error`` of the mean, ``undefined`` (share of draws 0/0), ``confidence_level``.
            Above 10 million rows × draws the table is made of fewer draws, at least 1,000, and a
            note says how many.
        """
        table_rows = []
        for posterior_row in self._table(metrics, prob, rope):
            table_rows.append(posterior_row._row(self.backend))
        return pd.DataFrame(
            table_rows,
            columns=[
                *TIDY_COLUMNS,
                *(column for column in table_rows[0] if column not in TIDY_COLUMNS),
            ],
        )

    def summary(
        self,
        metrics: Sequence[Any] | None = None,
        *,
        prob: float | None = None,
        rope: float | None = None,
    ) -> str:
        """The table of `to_frame` as text, with notes."""
        frame = self.to_frame(metrics, prob=prob, rope=rope)
        printed_table = frame[self._summary_columns(frame)].rename(
            columns={"estimate": "mean", "std_error": "sd"}
        )
        return printed(self.title, printed_table, self.notes())

    def _summary_columns(self, frame: pd.DataFrame) -> list[str]:
        """Columns of the printed table."""
        columns_shown = [
            "metric",
            "group",
            "reference",
            "estimate",
            "std_error",
            "ci_low",
            "ci_high",
            "p_rope",
        ]
        return [*columns_shown, *(["undefined"] if (frame["undefined"] > 0).any() else [])]

    def notes(self) -> list[str]:
        """Target, prior, reference, where the counts come from."""
        sentences = [*self._of_unknown(), _TARGET_SENTENCES[self.target]]
        if self.stored is None:
            prior_words = "as given per cell and group"
            if np.unique(self.prior).size == 1:
                prior_words = f"({', '.join([f'{self.prior.flat[0]:g}'] * 4)}) per group"
            if self.classes:
                # a quarter of all cells is that of two classes
                prior_of_cell = self.prior[0].sum() / 4
                prior_words = (
                    f"{prior_of_cell:g}, as with two classes: the accuracy of a group has Beta({2 * prior_of_cell:g},"
                    f" {2 * prior_of_cell:g})"
                )
            sentences.append(f"{self.n_draws:,} exact draws, Dirichlet prior {prior_words}.")
            sentences += self._of_few_errors()
            sentences += self._of_differences()
        else:
            sentences.append(f"{self.n_draws:,} draws by {self.backend}.")
        if self.pooled:
            sentences.append(_POOLED_SENTENCE)
        metrics_shown = []
        for metric_name in self.table_metrics or draws.usual_metrics(self):
            if isinstance(metric_name, str):
                metrics_shown.append(metric_name)
        n_table_draws = draws.draws_of_table(
            self, draws.parts_of_table(self, metrics_shown, self.reference_index)
        )
        if n_table_draws < self.n_draws:
            sentence = (
                f"The table has so many rows that it is made of {n_table_draws:,} draws of its own (see"
                " mc_error)"
            )
            sentences.append(
                f"{sentence}; to_frame(…) of fewer metrics takes more, .metric(name) all."
            )
        if len(self.groups) > 1 and not self.classes:
            sentence = (
                f"Differences are group − reference ({self.reference!r}, {self.reference_rule})"
            )
            sentences.append(
                f"{sentence}; metrics of all rows weight the groups by the rows evaluated."
            )
        if self.classes:
            prior_words = only_prior(self.counts)
            if prior_words:
                sentences.append(prior_words)
            sentences.append(
                f"{len(self.classes)} classes ({', '.join(self.classes)}). demographic_parity_micro"
                " is always 0 (a group selects 1/J of its row × class pairs);"
                " equal_opportunity_micro and _macro_micro are the gap of the groups' accuracies."
                " Prefer _macro."
            )
        if len(self.groups) > 1 and any(
            metric_name.endswith(("_max", "_absolute", *CLASS_METRICS))
            for metric_name in metrics_shown
        ):
            sentence = (
                "The size of a gap is never 0 among draws: its interval lies above 0 even where"
                " groups are alike."
            )
            sentences.append(f"{sentence} Read p_rope, the probability that it is small.")
        if self.diagnostics is not None:
            if self.diagnostics.converged:
                verdict = ""
            else:
                verdict = ": not converged, do not use these draws"
            sentences.append(f"Convergence: {self.diagnostics.words}{verdict}.")
        if self.cross_validation is not None:
            sentences += self.cross_validation._correlation_notes(self.groups)
        else:
            sentences.append(
                "Conditional on the fitted model; of new people only if these rows did not"
                " train it."
            )
        sentences += self.counts.missing.sentences
        return sentences

    def _of_unknown(self) -> list[str]:
        """What is not known of some rows, and what is taken for granted of them."""
        if not self.n_unknown:
            return []
        sentence = (
            f"Groups are inferred: {self.n_unknown:,} rows have a group (or label, or prediction)"
            " that is not known, and are completed from its probabilities in every draw; outcomes"
            " are taken to depend on the group, not on the probabilities beside it, and counts are"
            " expected ones."
        )
        if self.rounded:
            sentence += (
                f" Probabilities are rounded to 1/{self.rounded} for this, and rows that are then"
                " alike have their mean."
            )
        return [sentence]

    def _of_few_errors(self) -> list[str]:
        """What a prior does to groups with few errors, where it matters."""
        # of two labels the cells are tp, fp, fn, tn
        is_hit = np.eye(len(self.classes) or 2, dtype=bool).ravel()
        tables = self.counts.totals, self.prior
        counts_seen, prior_added = (
            np.stack([cell_table[:, is_own].sum(axis=1) for is_own in (~is_hit, is_hit)])
            for cell_table in tables
        )
        rarer_index = counts_seen.argmin(axis=0), np.arange(len(self.groups))
        has_few = counts_seen[rarer_index] < FEW_ERRORS
        prior_mass = prior_added[rarer_index].round(12)
        is_loose = has_few & (prior_mass <= _HOLDING_ERRORS)
        uniform = 2 * PRIORS["uniform"]
        is_pulled = has_few & (
            prior_mass > _HOLDING_ERRORS
            if prior_mass[has_few].sum() >= _PULLING_ERRORS
            else prior_mass >= uniform
        )
        prior_words = "the uniform prior adds two errors and two hits to each"
        if not (prior_mass[is_pulled] == uniform).all():
            prior_words = f"the prior adds {prior_mass[is_pulled].sum():g} errors (or hits) to them"
        smaller_words = (
            "; yours is smaller: at .05 a cell those of one group cover .45 to 1, .88 on average"
        )
        if not (prior_mass[is_loose] < _HOLDING_ERRORS).any():
            smaller_words = ""
        sentences = []
        for is_chosen, group_text in (
            (is_pulled, _PULLED_SENTENCE.format(prior=prior_words)),
            (is_loose, _LOOSE_SENTENCE.format(less=smaller_words)),
        ):
            group_names = []
            for group, is_own in zip(self.groups, is_chosen, strict=True):
                if is_own:
                    group_names.append(group)
            name_words = ", ".join(group_names[:5]) + (
                f" and {len(group_names) - 5} more" if len(group_names) > 5 else ""
            )
            sentences += [
                f"Fewer than {FEW_ERRORS} errors (or as few hits) in {name_words}: {group_text}"
            ] * bool(group_names)
        return sentences

    def _of_differences(self) -> list[str]:
        """What a prior of half a case a cell or less does to differences of groups with few rows of
        a label.
        """
        if self.classes or len(self.groups) < 2 or self.prior.max() > PRIORS["jeffreys"]:
            return []
        labels = np.column_stack([self.counts.total("tp", "fn"), self.counts.total("fp", "tn")])
        has_few_rows = labels.min(axis=1) < FEW_CASES
        if not has_few_rows.any():
            return []
        group_names = []
        for group, is_small in zip(self.groups, has_few_rows, strict=True):
            if is_small:
                group_names.append(group)
        name_words = ", ".join(group_names[:5]) + (
            f" and {len(group_names) - 5} more" if len(group_names) > 5 else ""
        )
        return [
            f"Differences from or to {name_words}, with under {FEW_CASES} rows of a label:"
            f" {_DIFFERENCES_SENTENCE}"
        ]

    def to_arviz(self) -> Any:
        """The draws for ArviZ: InferenceData (0.x) or DataTree (1.x).

        Returns
        -------
        arviz.InferenceData or xarray.DataTree
            ``posterior`` with the probabilities ``pi`` (chain, draw, group, cell),
            ``observed_data`` with ``counts`` (group, cell), ``posterior_predictive`` under that
            target. After a sampler: what the sampler returned; after `um_hierarchical` also the
            ``mean`` and ``kappa`` of each pooled rate, and ``prior_predictive``.

        Raises
        ------
        MissingDependencyError
            Without ArviZ.
        """
        if self._inference is None:
            return as_arviz(self)
        if isinstance(self._inference, Pooled):
            return self._inference.for_arviz(self)
        return self._inference

    def plot(
        self,
        metrics: Any = None,
        ax: Axes | None = None,
        *,
        prob: Any = 0.95,
        rope: float | None = None,
    ) -> Axes:
        """Draw the density of one metric with its HDR, or the joint HDR of two.

        Parameters
        ----------
        metrics : str, callable or two of them, optional
            Default: equal opportunity against accuracy where there are two groups, else accuracy.
        ax : matplotlib.axes.Axes, optional
        prob : float or sequence of float, default 0.95
        rope : float, optional
            Half-width of the box of practical equivalence, drawn with the contours of two
            differences.

        Raises
        ------
        InputError
            For more than two metrics, or a box around other than two.
        """
        if metrics is None:
            if self.classes:
                gap_metric = "equal_opportunity"
            else:
                gap_metric = "equal_opportunity_max"
            metrics = ["accuracy", *([gap_metric] if len(self.groups) > 1 else [])]
        metric_names = tuple(name_of(metric_given) for metric_given in several(metrics))
        region = self.hdr(metrics, prob, backend=unless_asked())
        if rope is None:
            return plot_posterior(region, metric_names, ax)
        check_number(
            "rope",
            rope,
            low=0,
            open_low=True,
            allowed="a half-width above 0",
            cure="rope=0.1",
        )
        suggestion = 'metrics=("equal_opportunity", "predictive_equality")'
        check_that(region.dimension == 2, "metrics", metrics, "two metrics for a box", suggestion)
        if len(metric_names) != 2:
            metric_names = ("TPR", "FPR")
        return draw(
            posterior_plane(region, metric_names, (rope, rope), "Posterior of two metrics"), ax
        )
