"""Two fairness metrics at once with their regions, tails of groups, and what an audit could have shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fairstats.plots.picture import LIMIT, NEUTRAL, Picture, contours, mark

_POINTS = 20


def posterior_plane(region: Any, names: Sequence[str], rope: Sequence[float], title: str) -> Picture:
    """Highest density regions of two differences, with the box of practical equivalence.

    `region`: an `HdrResult` in two dimensions; `rope`: half-widths of the box.
    """
    x, y = region.axes
    marks = [mark("rule", 0.0, (), NEUTRAL), mark("rule", (), 0.0, NEUTRAL)]
    reach = [[-rope[0], rope[0]], [-rope[1], rope[1]]]
    for k, part in enumerate(sorted(region.regions, key=lambda r: r.prob)):
        label = f"{100 * part.prob:g}% region"
        for xs, ys in contours(x, y, region.values, part.falpha):
            marks.append(mark("area", xs, ys, 0))
            marks.append(mark("line", xs, ys, k, label))
            label = ""
            reach = [[*reach[0], xs.min(), xs.max()], [*reach[1], ys.min(), ys.max()]]
    marks.append(mark("dots", region.mode[0], region.mode[1], 0, "most probable"))
    box = np.array([-rope[0], rope[0]]), np.array([-rope[1], rope[1]])
    marks.append(mark("box", *box, LIMIT, f"practically equal: within ±{rope[0]:g}"))
    xlim, ylim = ((min(v) - 0.06 * np.ptp(v), max(v) + 0.06 * np.ptp(v)) for v in reach)
    return Picture(title, names[0], names[1], xlim, ylim, tuple(marks))


def return_levels(result: Any, group: str) -> Picture:
    """Return levels of a group and of the reference by number of interactions, with bands and horizons.

    `result`: an `EcdResult`, read by its `tails` and `settings`.
    """
    m = result.settings.interactions
    tails = [result[group], result.tails[-1]]
    marks, ends, top = [], [m], 0.0
    for k, tail in enumerate(tails):
        if tail.fit is None:
            levels = tail.ordered_levels
            at = np.array([level.interactions for level in levels])
        else:
            at = np.geomspace(1.05 / tail.rate, max(20.0 * m, 50.0 / tail.rate), _POINTS)
            levels = [tail.fit.return_level(float(v)) for v in at]
        low, high = np.array([list(level.confidence_interval) for level in levels]).T
        estimate = np.array([level.estimate for level in levels])
        marks.append(mark("band", at, np.minimum(high, 9.0), k, low=low))
        marks.append(mark("line" if tail.fit is not None else "dots", at, estimate, k, tail.group))
        ends += at.tolist()
        top = max(top, float(estimate.max()), float(np.nanmin([high[at <= m].max(initial=0.0), 1.0])))
        if tail.type is not None and np.isfinite(tail.type.horizon) and tail.type.horizon <= at[-1]:
            marks.append(mark("rule", tail.type.horizon, (), k, f"horizon of {tail.group}: no claim beyond"))
    marks.append(mark("rule", m, (), NEUTRAL, f"the question: {m:,.0f} interactions"))
    limits = (min(ends), max(ends)), (0.0, min(1.15 * top, 1.05) or 1.0)
    words = "interactions", "largest discrimination to expect"
    title = f"Return levels of {group} and {tails[-1].group}"
    return Picture(title, *words, *limits, tuple(marks), log=True)


def power_curves(curves: Sequence[tuple[str, Any, Any]], threshold: float) -> Picture:
    """Chance of the verdict that is right, by true ratio; `curves`: name, ratios, chances of each group."""
    marks = [mark("rule", threshold, (), LIMIT, f"threshold {threshold:g}"), mark("rule", (), 0.8, NEUTRAL)]
    marks += [mark("line", x, y, k, name) for k, (name, x, y) in enumerate(curves)]
    words = "true ratio of the selection rates", "chance of the right verdict"
    lowest = min(float(np.min(x)) for _, x, _ in curves)
    return Picture("What this audit could have shown", *words, (lowest, 1.0), (0.0, 1.0), tuple(marks))
