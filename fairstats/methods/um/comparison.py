"""`um_compare`: which of two algorithms is better in performance and fairness at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, TypedDict, Unpack, overload

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.backends import unless_asked
from fairstats.ground.checks import check_choice, check_share, check_that
from fairstats.ground.errors import InputError
from fairstats.ground.lazy import Axes, pd
from fairstats.ground.results import Result
from fairstats.ground.serialise import kept_in_memory, serialisable
from fairstats.methods.um.draws import check_draws, check_rope, entropy_of, without_undefined
from fairstats.methods.um.events import TOLERANCE, Event, UmRanking, by_name, probabilities, rank
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

    `names` are the algorithms, A first; `rope` has an ε per metric. `events` is what was asked for, `unconditional` the
    same over all draws, `by_scale` pairs (scale, events) at multiples of the RoPE; the probabilities of `events` sum to
    1, and are conditional where `hdr`, the level of a highest density region, is given: `region_backend` is what
    computed that. `delta_mean`, `delta_sd` and `rope_share`, each of shape (M,), are mean and standard deviation of ΔΘ,
    larger better for A, and P(|Δ_j| ≤ ε_j) of each metric alone, over all draws. `undefined` is the share of the draws
    left out for 0/0; `joint` holds the posteriors, and whether the draws are paired.
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
        first = self.joint.first
        every = self.joint._objectives(as_objectives(self.metrics, first.groups, bool(first.classes)))
        delta = every[:, 0] - every[:, 1]
        return np.asarray(delta[~np.isnan(delta).any(axis=1)])

    @cached_property
    def _region(self) -> Any:
        if self.drawn_region is not None:
            return self.drawn_region
        two = len(self.metrics) == 2
        return highest_density(self.delta, self.hdr or 0.95, backend=unless_asked()) if two else None

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
        check_choice("event", event, tuple(e.event for e in self.events))
        return next(e for e in self.events if e.event == event)

    def sentences(self) -> list[str]:
        """One sentence per event."""
        given = f", given {self.given}" if self.given else ""
        return [f"P({e.name}) = {e.probability:.3f} (± {e.mc_error:.3f}){given}." for e in self.events]

    def _summary_columns(self, frame: pd.DataFrame) -> list[str]:
        """Columns of the printed table."""
        return ["event", "probability", "mc_error", *(["given"] if self.hdr is not None else [])]

    def sensitivity(self) -> pd.DataFrame:
        """Probabilities at multiples of the RoPE, one row each: ``scale``, then one column per event."""
        rows = [{"scale": scale} | {e.name: e.probability for e in events} for scale, events in self.by_scale]
        return pd.DataFrame(rows).fillna(0.0)

    def notes(self) -> list[str]:
        """RoPE, pairing, what a share in the RoPE is a share of."""
        by_size = zip(*([event.probability for event in events[:3]] for _, events in self.by_scale), strict=True)
        each = zip(self.events, by_size, strict=False)
        words = ", ".join(f"P({event.name}) {min(p):.2f} to {max(p):.2f}" for event, p in each)
        lines = [
            f"{self.names[0]} is better where Δ > ε, worse where Δ < −ε, else equivalent; ε (RoPE): "
            f"{by_name(self.metrics, self.rope)}. Every metric is oriented so that larger is better; a "
            "fairness metric is minus its largest gap.",
            self.joint.note,
            "Share of all draws of Δ inside the RoPE, metric by metric: "
            f"{by_name(self.metrics, self.rope_share, '.3f')}; all: {self.unconditional[2].probability:.3f}.",
            f"Over RoPEs of {self.by_scale[0][0]:g} to {self.by_scale[-1][0]:g} times this size: {words}.",
        ]
        if self.hdr is not None:
            lines.append(
                f"Probabilities above are conditional on {self.given}: shares of the draws in that region "
                f"({self.region_backend}); of these draws {self.p_equivalent:.3f} lie inside the RoPE."
            )
        if self.undefined:
            lines.append(f"{self.undefined:.1%} of the draws were undefined (0/0) and left out.")
        return lines

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw ΔΘ with its RoPE and the events (the paper's figure 3), for two metrics."""
        return plot_comparison(self, self._region, ax)


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
    rng: Any


@overload
def um_compare(a: Mapping[Any, UmPosterior], b: None = None, **options: Unpack[_Options]) -> UmRanking: ...
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
    rng: Any = None,
) -> UmComparison | UmRanking:
    """Compare two algorithms in several metrics at once, or rank several.

    ΔΘ = Θ_A − Θ_B, every metric oriented so that larger is better. A coordinate is better (> ε), worse (< −ε) or
    practically equivalent (|Δ| ≤ ε). A ≈ B: equivalent in all; A ≫ B: better in some, worse in none; B ≫ A mirrored;
    mixed events are named by their pattern. The probabilities sum to 1.

    Parameters
    ----------
    a, b : UmPosterior
        Of the same groups. Or `a` a mapping of name to posterior, without `b`: then all are ranked.
    counts : Tally or PairedCounts, instead of posteriors
        With two predictions of the same rows: compares both under the uniform prior, paired.
    metrics : sequence of str or callable
        As in `UmPosterior.metric`. A fairness metric counts as −(largest gap), FPR, FNR as minus; a function as it is.
    rope : float or sequence of float, default 0.01
        ε_j ≥ 0, one for all metrics or one per metric.
    hdr : float, optional
        Probabilities are then P(event | ΔΘ in this highest density region), and labelled so.
    paired : {"auto", True, False}
        "auto": where both posteriors hold predictions of the same rows, the draws are of label × ŷ_A × ŷ_B jointly;
        effective counts of different size are paired up to the smaller. Independent draws, the paper's way, overstate
        the variance of Δ where algorithms agree: intervals are conservative (paired ones where both gaps are 0).
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
        ``.p_a_better``, ``.p_b_better``, ``.p_equivalent``, ``.to_frame()`` (event, probability, mc_error),
        ``.sensitivity()`` over RoPE sizes, ``.plot()``.
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
    cells = None
    if counts is not None:
        if a is not None or b is not None:
            raise InputError("counts", got="posteriors beside it", allowed="one or the other", cure="drop one")
        (a, b), cells = posteriors_of_pairs(counts)
    posteriors, labels, several = _posteriors(a, b, names)
    objectives = as_objectives(metrics, posteriors[0].groups, bool(posteriors[0].classes))
    widths = check_rope(rope, len(objectives.names))
    level = None if hdr is None else check_share("hdr", hdr)
    number = None if draws is None else check_draws(draws)
    joint = join(posteriors, paired=paired, draws=number, entropy=entropy_of(rng), cells=cells)
    if several:
        check_that(hdr is None, "hdr", hdr, "None for several algorithms", "compare two at a time")
        return rank(joint, labels, objectives, widths)
    every = joint._objectives(objectives)
    known, undefined = without_undefined(every[:, 0] - every[:, 1])
    region, kept = None, known
    if level is not None:
        columns = known[:, 0] if known.shape[1] == 1 else known
        region = highest_density(columns, level, backend=unless_asked(backend))
        kept = known[region.contains(columns)]
    about = {"metric": ", ".join(objectives.names), **joint.about}
    given = "" if level is None else f"ΔΘ in its {100 * level:g}% HDR"
    both = labels[0], labels[1]
    words = both, objectives.shorts
    return UmComparison(
        names=both, metrics=objectives.names, shorts=objectives.shorts, rope=widths, hdr=level,
        events=probabilities(kept, widths, *words, given=given, **about),
        unconditional=probabilities(known, widths, *words, **about),
        by_scale=tuple((s, probabilities(kept, [s * w for w in widths], *words)) for s in SCALES),
        drawn=known, drawn_region=region, delta_mean=known.mean(axis=0), delta_sd=known.std(axis=0, ddof=1),
        rope_share=(np.abs(known) <= np.asarray(widths) + TOLERANCE).mean(axis=0), undefined=undefined,
        joint=joint, region_backend="" if region is None else region.backend,
    )  # fmt: skip


def _posteriors(a: Any, b: Any, names: Sequence[str]) -> tuple[list[UmPosterior], list[str], bool]:
    several = isinstance(a, Mapping)
    fine = isinstance(names, (list, tuple)) and len(names) == 2
    check_that(fine, "names", names, "two names, one per posterior", 'names=("A", "B")')
    given, labels = list(a.values()) if several else [a, b], [str(name) for name in (a if several else names)]
    if several and b is not None:
        raise InputError("b", got="a second posterior", allowed="None beside a mapping", cure="add it to `a`")
    strange = [type(p).__name__ for p in given if not isinstance(p, UmPosterior)]
    if strange:
        allowed = "two UmPosteriors, or one mapping of name to UmPosterior"
        cure = "um_compare(um_posterior(…), um_posterior(…))"
        raise InputError("a, b", got=strange[0], allowed=allowed, cure=cure)
    if len(given) < 2 or len(labels) != len(given) or len(set(labels)) < len(labels):
        got = f"{len(given)} posteriors named {labels}"
        allowed = "at least two algorithms with distinct names"
        raise InputError("names" if not several else "a", got=got, allowed=allowed, cure='names=("A", "B")')
    return given, labels, several
