"""`um_compare`: which of two algorithms is better in performance and fairness at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, TypedDict, Unpack, overload

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.backends import unless_asked
from fairstats.ground.checks import SeedOrGenerator, check_choice, check_share, check_that
from fairstats.ground.errors import InputError
from fairstats.ground.lazy import Axes, pd
from fairstats.ground.results import Result
from fairstats.ground.serialise import kept_in_memory, serialisable
from fairstats.methods.um.draws import (
    TOLERANCE,
    check_draws,
    check_rope,
    entropy_of,
    without_undefined,
)
from fairstats.methods.um.events import Event, UmRanking, by_name, probabilities, rank
from fairstats.methods.um.joint import JointDraws, join
from fairstats.methods.um.metrics import as_objectives
from fairstats.methods.um.posterior import posteriors_of_pairs
from fairstats.methods.um.result import NO_INTERVAL, NO_TEST, UmPosterior
from fairstats.numerics.hdr.region import hdr as highest_density
from fairstats.plots.hdr import plot_comparison

#: RoPE sizes, relative to the one asked for, at which the probabilities are given.
SCALES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0)


@serialisable(eq=False)
class UmComparison(Result):
    """Probabilities of the events of a comparison.

    `names` are the algorithms, A first; `rope` has an ε per metric. `events` is what was asked for,
    `unconditional` the same over all draws, `by_scale` pairs (scale, events) at multiples of the
    RoPE; the probabilities of `events` sum to 1, and are conditional where `hdr`, the level of a
    highest density region, is given: `region_backend` is what computed that. `delta_mean`,
    `delta_sd` and `rope_share`, each of shape (M,), are mean and standard deviation of ΔΘ, larger
    better for A, and P(|Δ_j| ≤ ε_j) of each metric alone, over all draws. `undefined` is the share
    of the draws left out for 0/0; `joint` holds the posteriors, and whether the draws are paired.
    """

    names: tuple[str, str]
    metrics: tuple[str, ...]
    shorts: tuple[str, ...]
    rope: tuple[float, ...]
    hdr: float | None
    events: tuple[Event, ...]
    unconditional: tuple[Event, ...]
    by_scale: tuple[tuple[float, tuple[Event, ...]], ...]
    delta_mean: NDArray[np.float64]
    delta_sd: NDArray[np.float64]
    rope_share: NDArray[np.float64]
    undefined: float
    joint: JointDraws
    region_backend: str = ""
    drawn: NDArray[np.float64] | None = kept_in_memory(default=None)
    drawn_region: Any = kept_in_memory(default=None)

    title: ClassVar[str] = "Uncertainty Matters: comparison of two algorithms"
    lacks: ClassVar[dict[str, str]] = {**NO_TEST, **NO_INTERVAL}

    @property
    def p_a_better(self) -> float:
        """P(A ≫ B): better in some metric, worse in none."""
        return self.events[0].probability

    @property
    def p_b_better(self) -> float:
        """P(B ≫ A)."""
        return self.events[1].probability

    @property
    def p_equivalent(self) -> float:
        """P(A ≈ B): equivalent in every metric."""
        return self.events[2].probability

    @property
    def paired(self) -> bool:
        """Whether the draws are paired by row."""
        return self.joint.paired

    @cached_property
    def delta(self) -> NDArray[np.float64]:
        """Draws of ΔΘ, larger better for A, shape (n, M), without undefined ones.

        After a round trip through `to_dict` an InputError where a metric was a function.
        """
        if self.drawn is not None:
            return self.drawn
        first_posterior = self.joint.first
        objective_draws = self.joint._draw_objectives(
            as_objectives(self.metrics, first_posterior.groups, bool(first_posterior.classes))
        )
        differences = objective_draws[:, 0] - objective_draws[:, 1]
        return np.asarray(differences[~np.isnan(differences).any(axis=1)])

    @cached_property
    def _density_region(self) -> Any:
        if self.drawn_region is not None:
            return self.drawn_region
        has_two_metrics = len(self.metrics) == 2
        if has_two_metrics:
            return highest_density(self.delta, self.hdr or 0.95, backend=unless_asked())
        return None

    @property
    def given(self) -> str:
        """What the probabilities are conditional on; empty for nothing."""
        return self.events[0].given

    @property
    def backend(self) -> str:
        """What drew."""
        return self.joint.first.backend

    @property
    def comparisons(self) -> tuple[Event, ...]:
        """One row per event."""
        return self.events

    def __getitem__(self, event: Any) -> Event:
        """The row of an event by its name, such as "A≫B"."""
        check_choice("event", event, tuple(row.event for row in self.events))
        return next(row for row in self.events if row.event == event)

    def sentences(self) -> list[str]:
        """One sentence per event."""
        condition = f", given {self.given}" if self.given else ""
        result: list[str] = []
        for event in self.events:
            result.append(
                f"P({event.name}) = {event.probability:.3f} (± {event.mc_error:.3f}){condition}."
            )
        return result

    def _summary_columns(self, frame: pd.DataFrame) -> list[str]:
        """Columns of the printed table."""
        return ["event", "probability", "mc_error", *(["given"] if self.hdr is not None else [])]

    def sensitivity(self) -> pd.DataFrame:
        """Probabilities at multiples of the RoPE, one row each.

        ``rope_scale``, then one column per event.
        """
        table_rows = []
        for rope_scale, events in self.by_scale:
            table_rows.append(
                {"scale": rope_scale} | {event.name: event.probability for event in events}
            )
        return pd.DataFrame(table_rows).fillna(0.0)

    def notes(self) -> list[str]:
        """RoPE, pairing, what a share in the RoPE is a share of."""
        by_size = zip(
            *([event.probability for event in events[:3]] for _, events in self.by_scale),
            strict=True,
        )
        events_and_sizes = zip(self.events, by_size, strict=False)
        range_words = ", ".join(
            f"P({event.name}) {min(probabilities_by_size):.2f} to {max(probabilities_by_size):.2f}"
            for event, probabilities_by_size in events_and_sizes
        )
        sentences = [
            (
                f"{self.names[0]} is better where Δ > ε, worse where Δ < −ε, else equivalent; ε"
                f" (RoPE): {by_name(self.metrics, self.rope)}. Every metric is oriented so that"
                " larger is better; a fairness metric is minus its largest gap."
            ),
            *self.joint._notes_about(self.names),
            (
                "Share of all draws of Δ inside the RoPE, metric by metric:"
                f" {by_name(self.metrics, self.rope_share, '.3f')}; all:"
                f" {self.unconditional[2].probability:.3f}."
            ),
            (
                f"Over RoPEs of {self.by_scale[0][0]:g} to {self.by_scale[-1][0]:g} times this"
                f" size: {range_words}."
            ),
        ]
        if self.hdr is not None:
            sentences.append(
                f"Probabilities above are conditional on {self.given}: shares of the draws in that"
                f" region ({self.region_backend}); of these draws {self.p_equivalent:.3f} lie"
                " inside the RoPE."
            )
        if self.undefined:
            sentences.append(
                f"{self.undefined:.1%} of the draws were undefined (0/0) and left out."
            )
        return sentences

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw ΔΘ with its RoPE and the events (the paper's figure 3), for two metrics."""
        return plot_comparison(self, self._density_region, ax)


class _Options(TypedDict, total=False):
    """The options of `um_compare`, alike for two algorithms and for several."""

    counts: Any
    metrics: Any
    rope: Any
    hdr: float | None
    paired: Any
    names: Sequence[str]
    draws: int | None
    backend: str | None
    rng: SeedOrGenerator


@overload
def um_compare(
    a: Mapping[Any, UmPosterior], b: None = None, **options: Unpack[_Options]
) -> UmRanking: ...
@overload
def um_compare(
    a: UmPosterior | None = None, b: UmPosterior | None = None, **options: Unpack[_Options]
) -> UmComparison: ...
def um_compare(
    a: Any = None,
    b: UmPosterior | None = None,
    *,
    counts: Any = None,
    metrics: Any = ("accuracy", "equal_opportunity"),
    rope: Any = 0.01,
    hdr: float | None = None,
    paired: Any = "auto",
    names: Sequence[str] = ("A", "B"),
    draws: int | None = None,
    backend: str | None = None,
    rng: SeedOrGenerator = None,
) -> UmComparison | UmRanking:
    """Compare two algorithms in several metrics at once, or rank several.

    ΔΘ = Θ_A − Θ_B, every metric oriented so that larger is better. A coordinate is better (> ε),
    worse (< −ε) or practically equivalent (|Δ| ≤ ε; a tie is equivalent, to 1e-12). A ≈ B:
    equivalent in all; A ≫ B: better in some, worse in none; B ≫ A mirrored; mixed events are named
    by their pattern. The probabilities sum to 1.

    Parameters
    ----------
    a, b : UmPosterior
        Of the same groups. Or `a` a mapping of name to posterior, without `b`: then all are ranked.
    counts : Tally or PairedCounts, instead of posteriors
        With two predictions of the same rows: compares both under the uniform prior, paired.
    metrics : sequence of str or callable
        As in `UmPosterior.metric`. A fairness metric counts as −(largest gap), FPR, FNR as minus; a
        function as it is.
    rope : float or sequence of float, default 0.01
        ε_j ≥ 0, one for all metrics or one per metric.
    hdr : float, optional
        Probabilities are then P(event | ΔΘ in this highest density region), and labelled so.
    paired : {"auto", True, False}
        "auto": where both posteriors hold predictions of the same rows, the draws are of label ×
        ŷ_A × ŷ_B jointly; effective counts of different size are paired up to the smaller.
        Independent draws, the paper's way, overstate the variance of Δ where algorithms agree:
        intervals are conservative (paired ones where both gaps are 0).
    names : (str, str), default ("A", "B")
    draws : int, optional
        Default as many as `a` has.
    backend : str, optional
        Of `fs.hdr`; default SciPy, also where R is there, unless `use_backend` asks for R.
    rng : None, int or numpy.random.Generator
        The draws are made anew: those of two posteriors with one seed would move together.

    Returns
    -------
    UmComparison
        ``.p_a_better``, ``.p_b_better``, ``.p_equivalent``, ``.to_frame()`` (event, probability,
        mc_error), ``.sensitivity()`` over RoPE sizes, ``.plot()``.
    UmRanking
        For a mapping: ``.matrix()`` of P(row ≫ column), ``.pareto()``.

    Raises
    ------
    InputError
        Different groups or targets, a negative RoPE, a metric that has no better or worse.

    Warns
    -----
    InsufficientEvidenceWarning
        Where over 5% of the draws are undefined (0/0); they are left out.

    References
    ----------
    .. [1] Barrainkua et al. (2024), section 3, Definition 3.1, events (a) to (c).

    Examples
    --------
    >>> import fairstats as fs
    >>> def posterior(**cells):  # tp, fp, fn, tn
    ...     return fs.um_posterior(counts=fs.ConfusionCounts.from_counts(cells), rng=1)
    >>> first = posterior(men=(420, 120, 80, 380), women=(165, 70, 35, 230))
    >>> second = posterior(men=(430, 130, 70, 370), women=(150, 70, 50, 230))
    >>> comparison = fs.um_compare(first, second, rng=1)
    >>> print(f"P(A ≫ B) = {comparison.p_a_better:.2f}")
    P(A ≫ B) = 0.89
    """
    joint_cells = None
    if counts is not None:
        if a is not None or b is not None:
            raise InputError(
                "counts",
                got="posteriors beside it",
                allowed="one or the other",
                cure="drop one",
            )
        (a, b), joint_cells = posteriors_of_pairs(counts)
    posteriors, labels, several = _check_posteriors(a, b, names)
    objectives = as_objectives(metrics, posteriors[0].groups, bool(posteriors[0].classes))
    half_widths = check_rope(rope, len(objectives.names))
    if hdr is None:
        region_level = None
    else:
        region_level = check_share("hdr", hdr)
    n_draws = None if draws is None else check_draws(draws)
    joint_draws = join(
        posteriors,
        paired=paired,
        draws=n_draws,
        entropy=entropy_of(rng),
        cells=joint_cells,
    )
    if several:
        check_that(hdr is None, "hdr", hdr, "None for several algorithms", "compare two at a time")
        return rank(joint_draws, labels, objectives, half_widths)
    objective_draws = joint_draws._draw_objectives(objectives)
    defined_draws, undefined = without_undefined(objective_draws[:, 0] - objective_draws[:, 1])
    region = None
    kept_draws = defined_draws
    if region_level is not None:
        if defined_draws.shape[1] == 1:
            columns = defined_draws[:, 0]
        else:
            columns = defined_draws
        region = highest_density(columns, region_level, backend=unless_asked(backend))
        kept_draws = defined_draws[region.contains(columns)]
    row_fields = {"metric": ", ".join(objectives.names), **joint_draws.about}
    if region_level is None:
        condition = ""
    else:
        condition = f"ΔΘ in its {100 * region_level:g}% HDR"
    both_names = labels[0], labels[1]
    names_and_shorts = both_names, objectives.shorts
    return UmComparison(
        names=both_names,
        metrics=objectives.names,
        shorts=objectives.shorts,
        rope=half_widths,
        hdr=region_level,
        events=probabilities(
            kept_draws, half_widths, *names_and_shorts, given=condition, **row_fields
        ),
        unconditional=probabilities(defined_draws, half_widths, *names_and_shorts, **row_fields),
        by_scale=tuple(
            (
                rope_scale,
                probabilities(
                    kept_draws,
                    [rope_scale * half_width for half_width in half_widths],
                    *names_and_shorts,
                ),
            )
            for rope_scale in SCALES
        ),
        drawn=defined_draws,
        drawn_region=region,
        delta_mean=defined_draws.mean(axis=0),
        delta_sd=defined_draws.std(axis=0, ddof=1),
        rope_share=(np.abs(defined_draws) <= np.asarray(half_widths) + TOLERANCE).mean(axis=0),
        undefined=undefined,
        joint=joint_draws,
        region_backend="" if region is None else region.backend,
    )


def _check_posteriors(
    a: Any, b: Any, names: Sequence[str]
) -> tuple[list[UmPosterior], list[str], bool]:
    """Posteriors, their names, and whether a mapping of several was given."""
    several = isinstance(a, Mapping)
    are_two_names = isinstance(names, (list, tuple)) and len(names) == 2
    check_that(are_two_names, "names", names, "two names, one per posterior", 'names=("A", "B")')
    posteriors = list(a.values()) if several else [a, b]
    labels = []
    for label in a if several else names:
        labels.append(str(label))
    if several and b is not None:
        raise InputError(
            "b",
            got="a second posterior",
            allowed="None beside a mapping",
            cure="add it to `a`",
        )
    other_types = []
    for posterior in posteriors:
        if not isinstance(posterior, UmPosterior):
            other_types.append(type(posterior).__name__)
    if other_types:
        allowed = "two UmPosteriors, or one mapping of name to UmPosterior"
        suggestion = "um_compare(um_posterior(…), um_posterior(…))"
        raise InputError("a, b", got=other_types[0], allowed=allowed, cure=suggestion)
    if len(posteriors) < 2 or len(labels) != len(posteriors) or len(set(labels)) < len(labels):
        received = f"{len(posteriors)} posteriors named {labels}"
        allowed = "at least two algorithms with distinct names"
        raise InputError(
            "names" if not several else "a",
            got=received,
            allowed=allowed,
            cure='names=("A", "B")',
        )
    return posteriors, labels, several
