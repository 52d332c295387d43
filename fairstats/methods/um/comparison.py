"""`um_compare`: which of two algorithms is better in performance and fairness at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, overload

import numpy as np

from fairstats.ground.errors import InputError
from fairstats.ground.randomness import as_generator
from fairstats.methods.um.checks import check_draws, check_rope, check_share, without_undefined
from fairstats.methods.um.comparison_result import UmComparison
from fairstats.methods.um.events import probabilities
from fairstats.methods.um.joint import JointDraws, join
from fairstats.methods.um.objectives import Objectives, as_objectives
from fairstats.methods.um.ranking import UmRanking, rank
from fairstats.methods.um.result import UmPosterior

__all__ = ["um_compare"]

#: RoPE sizes, relative to the one asked for, at which the probabilities are given.
SCALES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0)


@overload
def um_compare(
    a: UmPosterior,
    b: UmPosterior,
    *,
    metrics: Any = ...,
    rope: Any = ...,
    hdr: float | None = ...,
    paired: Any = ...,
    names: Sequence[str] = ...,
    draws: int | None = ...,
    backend: str | None = ...,
    rng: Any = ...,
) -> UmComparison: ...


@overload
def um_compare(
    a: Mapping[Any, UmPosterior],
    b: None = None,
    *,
    metrics: Any = ...,
    rope: Any = ...,
    hdr: float | None = ...,
    paired: Any = ...,
    names: Sequence[str] = ...,
    draws: int | None = ...,
    backend: str | None = ...,
    rng: Any = ...,
) -> UmRanking: ...


def um_compare(
    a: Any,
    b: UmPosterior | None = None,
    *,
    metrics: Any = ("accuracy", "equal_opportunity"),
    rope: Any = (0.01, 0.01),
    hdr: float | None = None,
    paired: Any = "auto",
    names: Sequence[str] = ("A", "B"),
    draws: int | None = None,
    backend: str | None = None,
    rng: Any = None,
) -> UmComparison | UmRanking:
    """Compare two algorithms in several metrics at once, or rank several.

    ΔΘ = Θ_A − Θ_B, every metric oriented so that larger is better. A coordinate is better (> ε), worse (< −ε)
    or practically equivalent (|Δ| ≤ ε). A ≈ B: equivalent in all; A ≫ B: better in some, worse in none; B ≫ A
    mirrored; mixed events are named by their pattern. The probabilities sum to 1.

    Parameters
    ----------
    a, b : UmPosterior
        Of the same groups. Or `a` a mapping of name to posterior, without `b`: then all are ranked.
    metrics : sequence of str or callable
        Names as in `UmPosterior.metric`. A fairness metric counts as −(largest gap between groups), FPR
        and FNR with a minus; a function counts as it is.
    rope : float or sequence of float, default (0.01, 0.01)
        ε_j ≥ 0, one per metric.
    hdr : float, optional
        Probabilities are then P(event | ΔΘ in this highest density region), and labelled so.
    paired : {"auto", True, False}
        "auto": where both posteriors hold predictions of the same rows, the draws are of label × ŷ_A × ŷ_B
        jointly; effective counts of different size are paired up to the smaller. Independent draws are the
        paper's way; for algorithms that agree on most rows they overstate
        the variance of Δ.
    names : (str, str), default ("A", "B")
    draws : int, optional
        Default as many as `a` has.
    backend : str, optional
        Of `fs.hdr`.
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
    >>> def of(tp, tn, fp, fn):
    ...     return {"tp": tp, "tn": tn, "fp": fp, "fn": fn}
    >>> first = fs.um_posterior(
    ...     counts={"men": of(420, 380, 120, 80), "women": of(165, 230, 70, 35)}, rng=1
    ... )
    >>> second = fs.um_posterior(
    ...     counts={"men": of(430, 370, 130, 70), "women": of(150, 230, 70, 50)}, rng=1
    ... )
    >>> comparison = fs.um_compare(first, second, rng=1)
    >>> print(f"P(A ≫ B) = {comparison.p_a_better:.2f}")
    P(A ≫ B) = 0.90
    """
    posteriors, labels, several = _posteriors(a, b, names)
    objectives = as_objectives(metrics)
    widths = check_rope(rope, len(objectives.names))
    level = None if hdr is None else check_share("hdr", hdr)
    generator, seed = as_generator(rng)
    joint = join(
        posteriors,
        paired=paired,
        draws=None if draws is None else check_draws(draws),
        entropy=int(generator.integers(2**62)) if seed is None else seed,
    )
    objectives.check_groups(joint.first.groups)
    if several:
        if level is not None:
            raise InputError(
                "hdr", got=repr(hdr), allowed="None for several algorithms", cure="compare two at a time"
            )
        return rank(joint, labels, objectives, widths)
    return _compare(joint, labels, objectives, widths, level, backend)


def _posteriors(a: Any, b: Any, names: Sequence[str]) -> tuple[list[UmPosterior], list[str], bool]:
    several = isinstance(a, Mapping)
    given = list(a.values()) if several else [a, b]
    labels = [str(name) for name in (a if several else names)]
    if several and b is not None:
        raise InputError("b", got="a second posterior", allowed="None beside a mapping", cure="add it to `a`")
    for posterior in given:
        if not isinstance(posterior, UmPosterior):
            raise InputError(
                "a, b",
                got=type(posterior).__name__,
                allowed="two UmPosteriors, or one mapping of name to UmPosterior",
                cure="um_compare(um_posterior(…), um_posterior(…))",
            )
    if len(given) < 2 or len(labels) != len(given) or len(set(labels)) < len(labels):
        raise InputError(
            "names" if not several else "a",
            got=f"{len(given)} posteriors named {labels}",
            allowed="at least two algorithms with distinct names",
            cure='names=("A", "B")',
        )
    return given, labels, several


def _compare(
    joint: JointDraws,
    labels: list[str],
    objectives: Objectives,
    rope: tuple[float, ...],
    level: float | None,
    backend: str | None,
) -> UmComparison:
    names = (labels[0], labels[1])
    every = objectives.draws(joint)
    delta = every[:, 0] - every[:, 1]
    known, undefined = without_undefined(delta)
    region, inside = None, np.ones(len(known), dtype=bool)
    if level is not None:
        from fairstats.numerics.hdr.region import hdr

        region = hdr(known[:, 0] if known.shape[1] == 1 else known, level, backend=backend)
        inside = region.contains(known[:, 0] if known.shape[1] == 1 else known)
    kept = known[inside]
    shorts = objectives.shorts
    result = UmComparison(
        names=names,
        metrics=objectives.names,
        shorts=tuple(shorts),
        rope=rope,
        hdr=level,
        events=probabilities(kept, rope, names, shorts),
        unconditional=probabilities(known, rope, names, shorts),
        by_scale=tuple(
            (scale, probabilities(kept, [scale * w for w in rope], names, shorts)) for scale in SCALES
        ),
        delta_mean=known.mean(axis=0),
        delta_sd=known.std(axis=0, ddof=1),
        rope_share=(np.abs(known) <= np.asarray(rope) + 1e-12).mean(axis=0),
        undefined=undefined,
        joint=joint,
        region_backend="" if region is None else region.backend,
    )
    object.__setattr__(result, "_delta", known)
    object.__setattr__(result, "_region", region)
    return result
