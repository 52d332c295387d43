"""`vignettes/um-german-credit.md` from the figures of the study, and its pictures from the record.

python -m tests.benchmarks.um_german_page [--pictures]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks import um_german_many
from tests.benchmarks.um_german_figures import (
    FEW,
    FIGURES,
    PAIRS,
    TARGETS,
    TRUTHS,
    Record,
    compared,
    events_of,
    loaded,
    posterior,
)
from tests.benchmarks.um_german_figures import strategies as ratios_of
from tests.benchmarks.um_german_methods import HARDT
from tests.benchmarks.um_german_paper import (
    EVENTS,
    GRID,
    STRATEGIES,
    TABLE_12_1,
    TABLE_13_1,
    TABLES_2_3,
    TRUTH,
)

PAGE = Path(__file__).parents[2] / "vignettes" / "um-german-credit.md"
IMAGES = PAGE.parent / "images"
ORDER = (*(m for m in TABLE_12_1 if m != "Zafar"), "Agarwal + LR")
TITLES = {name: f"{a} against {b}" for name, (a, b) in PAIRS.items()}
#: The targets in short.
SHORT = {"predictive": "pred.", "parameter": "param."}


def number(value: float) -> str:
    """Two digits, as the paper prints them."""
    return f"{value:.2f}".removeprefix("0") if value < 1 else f"{value:.2f}"


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table in Markdown."""
    names = list(head)
    lines = [names, ["---"] * len(names), *map(list, rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def events(shares: dict[str, float]) -> list[str]:
    """The five events in the paper's order."""
    return [number(shares.get(event, 0.0)) for event in EVENTS]


def likeliest(shares: dict[str, float]) -> str:
    """The event of the largest probability."""
    return max(shares, key=lambda e: shares[e])


class Page:
    """The figures, and the parts of the page."""

    def __init__(self, figures: dict[str, Any]) -> None:
        self.fast = figures["fast"]
        self.drawn = {key: entry["value"] for key, entry in figures["drawn"].items()}

    def count(self, run: int, kind: str, method: str) -> int:
        """Pieces of one kind."""
        return int(self.fast["number"].get(f"{run}|{method}|{kind}", 0))

    def runs(self) -> str:
        """What every run computed."""
        rows = []
        for run in (1, 2, 3):
            for method in ORDER:
                found = [self.count(run, kind, method) for kind in ("cv", "halves")]
                found[1] += self.count(run, "ratio", method) + self.count(run, "ratio tpr", method)
                if any(found):
                    rows.append([str(run), method, *map(str, found)])
        return table(
            ["run", "method", "cross-validations", "half splits (run 1: ratios, J = 5)"], rows
        )

    def truths(self) -> str:
        """Both truths of every comparison."""
        rows = []
        for name in PAIRS:
            if name in TRUTH:
                rows.append(
                    [
                        f"({name}) {TITLES[name]}",
                        "paper",
                        "10,000",
                        *map(number, TRUTH[name]["0.01"]),
                    ]
                )
            for truth in TRUTHS:
                found = self.fast["truths"].get(f"{name}|{truth}")
                if found:
                    rows.append(
                        [f"({name})", truth, str(found["n"]), *events(found["events"]["0.01"])]
                    )
        return table(["comparison", "truth", "cross-validations", *EVENTS], rows)

    def regions(self) -> str:
        """Tables 1 and 12.1 beside ours."""
        rows = []
        for method in (*ORDER, "Zafar"):
            if method in TABLE_12_1:
                printed = TABLE_12_1[method]
                cells = [f"{printed[2 * k]:.4f}, {printed[2 * k + 1]:.2f}" for k in range(4)]
                rows.append([method, "paper", *cells, ""])
            found = self.drawn.get(f"regions|{method}", [])
            for target in TARGETS:
                own = {row["strategy"]: row for row in found if row["target"] == target}
                for name, ending in (("J = all", ""), ("J = 5", ", J = 5")):
                    plain = not ending
                    asked = [s if plain or "ρ" not in s else s + ending for s in STRATEGIES]
                    if not own or (not plain and asked[2] not in own):
                        continue
                    cells = [self.region(own.get(s)) if plain or "ρ" in s else "" for s in asked]
                    default = self.region(own.get("API default")) if not plain else ""
                    rows.append(["", f"{target}, {name}", *cells, default])
        return table(["method", "", *STRATEGIES, "r on accuracy"], rows)

    @staticmethod
    def region(row: dict[str, Any] | None) -> str:
        """Area, %RES of the means over folds, and of the summed counts."""
        if row is None:
            return ""
        return f"{row['area']:.4f}, {row['shares'][0]:.1f} ({row['shares'][1]:.1f})"

    def ratios(self) -> str:
        """Variance ratios over the SVM."""
        rows = []
        for method in ORDER:
            splits = max(self.count(run, "halves", method) for run in (2, 3))
            if splits >= FEW:
                found = [
                    self.fast["ratios"][f"{method}|{metric}"] for metric in ("accuracy", "tpr")
                ]
                rows.append([method, str(splits), *(f"{r:.2f}" for pair in found for r in pair)])
        rates = [
            f"{rate}, {group}"
            for rate in ("accuracy", "true positives")
            for group in ("older", "young")
        ]
        return table(["method", "half splits", *rates], rows)

    def points(self) -> str:
        """Means over the cross-validations of both definitions."""
        rows = []
        for method in ORDER:
            if method in self.fast["points"]:
                mean, summed = self.fast["points"][method]
                rows.append([method, f"{mean[0]:.3f}", f"{mean[1]:.3f}", f"{summed[1]:.3f}"])
        return table(["method", "accuracy", "gap, mean over folds", "gap, summed counts"], rows)

    def case(self, case: str) -> str:
        """Table 2 or 3 beside ours, in the 95% HDR."""
        rows = []
        for name in PAIRS:
            found = self.drawn.get(f"comparison|{name}")
            if found is None:
                continue
            rows.append([f"({name}) {TITLES[name]}", *[""] * 5])
            for k, strategy in enumerate(STRATEGIES):
                if name in TABLES_2_3[case]:
                    rows.append([f"{strategy}, paper", *map(number, TABLES_2_3[case][name][k])])
                for target in TARGETS:
                    rows.append(
                        [
                            f"{strategy}, {SHORT[target]}",
                            *events(found["found"][case][f"{strategy}|{target}"]),
                        ]
                    )
            for strategy in ("ρ_rel↑, J = 5", "API default"):
                for target in TARGETS:
                    rows.append(
                        [
                            f"{strategy}, {SHORT[target]}",
                            *events(found["found"][case][f"{strategy}|{target}"]),
                        ]
                    )
        return table(["", *EVENTS], rows)

    def grid(self) -> str:
        """Tables 12.2 to 12.5 beside ours."""
        rows = []
        for name in PAIRS:
            found = self.drawn.get(f"comparison|{name}")
            for case in ("most probable", "worst") if found else ():
                rows.append([f"({name}), {case}", *[""] * 10])
                for rope in ("0.01", "0.02", "0"):
                    for k, level in enumerate(("none", "0.95", "0.9", "0.8")):
                        paper = GRID.get((case, name), {}).get(rope)
                        ours = events(found["found"][f"{case}, grid"][f"{rope}|{level}"])
                        theirs = list(map(number, paper[k])) if paper else [""] * 5
                        rows.append([f"RoPE {rope}, HDR {level}", *ours, *theirs])
        return table(["", *EVENTS, *(f"paper: {e}" for e in EVENTS)], rows)

    def three(self) -> str:
        """Table 13.1 beside ours."""
        rows = []
        for name in TABLE_13_1:
            found = self.drawn.get(f"three|{name}")
            printed = TABLE_13_1[name]
            for k, strategy in enumerate(("truth", *STRATEGIES)):
                rows.append([f"({name}) {strategy}, paper", *map(number, printed[k])])
                if strategy == "truth":
                    for truth in TRUTHS:
                        of = self.fast["truths"].get(f"{name}|{truth}", {}).get("three")
                        if of:
                            rows.append(
                                [
                                    f"({name}) {truth}, {of['n']} cross-validations",
                                    *events(of["events"])[:3],
                                ]
                            )
                elif found:
                    for target in TARGETS:
                        rows.append(
                            [
                                f"({name}) {strategy}, {SHORT[target]}",
                                *events(found[f"{strategy}|{target}"])[:3],
                            ]
                        )
        return table(["", *EVENTS[:3]], rows)

    def agreeing(self, name: str, strategy: str, target: str) -> list[str]:
        """Share of initial cross-validations with each truth's likeliest event, and its mean
        probability.
        """
        found = self.drawn[f"comparison|{name}"]["found"][f"initial|{strategy}|{target}"]
        cells = []
        for truth in TRUTHS:
            event = likeliest(self.fast["truths"][f"{name}|{truth}"]["events"]["0.01"])
            share = 100 * found["likeliest"].get(event, 0.0)
            cells.append(f"{share:.0f}%, {number(found['mean'].get(event, 0.0))}")
        return cells

    def initial(self) -> str:
        """How often the truth's likeliest event is the posterior's likeliest."""
        rows = []
        for name in PAIRS:
            if f"comparison|{name}" not in self.drawn:
                continue
            wanted = [
                likeliest(self.fast["truths"][f"{name}|{t}"]["events"]["0.01"]) for t in TRUTHS
            ]
            rows.append([f"({name}) {TITLES[name]}: likeliest", *wanted, *wanted])
            for strategy in (*STRATEGIES, "ρ_rel, J = 5", "ρ_rel↑, J = 5", "API default"):
                cells = [c for target in TARGETS for c in self.agreeing(name, strategy, target)]
                rows.append([strategy, *cells])
        head = [f"{target}, {truth}" for target in TARGETS for truth in TRUTHS]
        return table(["", *head], rows)

    def calls(self) -> str:
        """The API's own answers."""
        rows = []
        for name in PAIRS:
            for target in TARGETS:
                found = self.fast["calls"].get(f"{name}|{target}")
                if found:
                    first = ", ".join(f"{e} {100 * p:.0f}%" for e, p in found["likeliest"].items())
                    rows.append([f"({name}), {target}", *events(found["mean"]), first])
        return table(["", *EVENTS, "likeliest in"], rows)

    def fill(self, template: str) -> str:
        """The page: every ``{{name}}`` or ``{{name: argument}}`` replaced."""
        text = template
        for part in (
            "runs",
            "truths",
            "regions",
            "ratios",
            "points",
            "grid",
            "three",
            "initial",
            "calls",
        ):
            text = text.replace("{{" + part + "}}", getattr(self, part)())
        for case in ("most probable", "worst"):
            text = text.replace("{{case: " + case + "}}", self.case(case))
        for key, value in self.words():
            text = text.replace("{{" + key + "}}", value)
        return text

    def words(self) -> Iterator[tuple[str, str]]:
        """Single numbers of the text."""
        for run, total in self._totals().items():
            yield f"pieces {run}", f"{total:,}"
        for key, (low, high) in self.fast["few"].items():
            yield f"few {key}", f"{low:.2g} to {high:.2g}"
        yield "many", many_truths()
        yield "calls made", str(self.fast["calls"]["n"])
        for name in PAIRS:
            for k, truth in enumerate(TRUTHS):
                found = self.fast["truths"].get(f"{name}|{truth}")
                if found:
                    best = likeliest(found["events"]["0.01"])
                    yield f"likeliest {name}{k}", best
                    yield f"share {name}{k}", number(found["events"]["0.01"][best])
                    yield f"n {name}", str(found["n"])
                    for event in EVENTS:
                        yield f"{event} {name}{k}", number(found["events"]["0.01"].get(event, 0.0))
            if f"comparison|{name}" in self.drawn:
                for strategy in (*STRATEGIES, "API default"):
                    for target in TARGETS:
                        for k, cell in enumerate(self.agreeing(name, strategy, target)):
                            yield f"right {name}{k} {strategy} {target}", cell.split("%")[0] + "%"
        for method in ORDER:
            for row in self.drawn.get(f"regions|{method}", []):
                yield f"area {method} {row['strategy']} {row['target']}", f"{row['area']:.4f}"[1:]
                for k in (0, 1):
                    yield (
                        f"RES{k} {method} {row['strategy']} {row['target']}",
                        f"{row['shares'][k]:.1f}",
                    )

    def _totals(self) -> dict[str, int]:
        totals: dict[str, int] = {}
        for key, n in self.fast["number"].items():
            run = key.partition("|")[0]
            totals[run] = totals.get(run, 0) + n
        return totals


#: The comparisons of section 14.2, and what the table calls them.
OF_SECTION_14 = {
    "14.2, case 1": ("SVM + Hardt", "Lin. SVM + Hardt"),
    "14.2, case 2": ("Lin. SVM + Hardt", "LFERM"),
}


def many_truths() -> str:
    """Truths of all comparisons by the cross-validations of run 4, as a table."""
    pairs = {f"({name})": PAIRS[name] for name in "ab"} | OF_SECTION_14
    rows = []
    for name, pair in pairs.items():
        delta = um_german_many.differences(*pair)
        shares = events_of(delta, 0.01)
        rows.append(
            [name, f"{len(delta):,}", *(f"{shares.get(event, 0.0):.3f}" for event in EVENTS)]
        )
    return table(["", "cross-validations", *EVENTS], rows)


def page(figures: Path = FIGURES) -> str:
    """The page of these figures."""
    template = Path(__file__).with_name("um_german_credit.md").read_text(encoding="utf-8")
    return Page(json.loads(figures.read_text(encoding="utf-8"))).fill(template)


def pictures(record: Record) -> None:
    """Both posteriors in one plane with the RoPE; events over RoPE and ρ; TPR and FPR by group."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from tests.benchmarks.um_german_figures import METRICS, cases

    figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
    for ax, (name, pair) in zip(axes, PAIRS.items(), strict=True):
        k = cases(record, pair)["most probable"]
        centres = []
        for method, colour in zip(pair, ("tab:blue", "tab:orange"), strict=True):
            strategy, ratios = next(
                (s, r) for n, s, r in ratios_of(record, method) if n == "ρ_rel↑"
            )
            made = posterior(record.sums[method][k], strategy, ratios[0], "predictive", k)
            draws = np.column_stack(list(made.metrics(METRICS[:2]).values()))
            rounds = record.shared(pair)
            points = record.of(method, TRUTHS[0], rounds)
            ax.plot(draws[:1500, 0], draws[:1500, 1], ",", color=colour, alpha=0.5)
            region = made.hdr(METRICS[:2], 0.95, backend="scipy", support=[(0, 1), (0, 1)])
            x, y = region.axes
            ax.contour(x, y, region.values.T, levels=[region.regions[0].falpha], colors=[colour])
            ax.plot(points[:, 0], points[:, 1], ".", color=colour, markersize=2, label=method)
            centres.append(np.median(draws, axis=0))
        corner = centres[1] - 0.01
        ax.add_patch(plt.Rectangle(corner, 0.02, 0.02, fill=False, color="black"))
        ax.set(title=f"({name})", xlabel="accuracy", ylabel="|equal opportunity difference|")
        ax.legend(fontsize=7)
    figure.savefig(IMAGES / "um-german-plane.png", dpi=75)
    figure, axes = plt.subplots(2, 3, figsize=(11, 5.6), layout="constrained", sharey=True)
    sizes = np.linspace(0, 0.06, 13)
    shares = np.linspace(0, 0.6, 13)
    for column, (name, pair) in enumerate(PAIRS.items()):
        k = cases(record, pair)["most probable"]
        found = compared(record, pair, k, k, "ρ_rel↑", "predictive")
        from tests.benchmarks.um_german_figures import events_of

        over_rope = [events_of(found.delta, rope) for rope in sizes]
        over_rho = []
        for rho in shares:
            made = [_at(record.sums[m][k], rho, i) for i, m in enumerate(pair)]
            import fairstats as fs

            both = fs.um_compare(*made, metrics=("accuracy", "equal_opportunity"), rope=0.01, rng=k)
            over_rho.append({e.event: e.probability for e in both.events})
        for ax, grid, over in (
            (axes[0, column], sizes, over_rope),
            (axes[1, column], shares, over_rho),
        ):
            for event in EVENTS:
                ax.plot(grid, [o.get(event, 0.0) for o in over], label=event)
        axes[0, column].set(title=f"({name})", xlabel="RoPE, ρ_rel↑")
        axes[1, column].set(xlabel="ρ of both, RoPE .01")
    axes[0, 0].legend(fontsize=7)
    figure.savefig(IMAGES / "um-german-events.png", dpi=75)
    shown = ("SVM", "Lin. SVM" + HARDT, "Feldman + SVM", "FERM")
    figure, axes = plt.subplots(
        1, 4, figsize=(11, 3), layout="constrained", sharex=True, sharey=True
    )
    for ax, method in zip(axes, shown, strict=True):
        k = min(record.sums[method])
        made = posterior(record.sums[method][k], "1/K", np.ones((1, 2)), "predictive", k)
        for group, colour in (("older", "tab:purple"), ("young", "tab:green")):
            region = made.hdr(
                ["fpr", "tpr"], 0.95, group=group, backend="scipy", support=[(0, 1), (0, 1)]
            )
            x, y = region.axes
            ax.contour(x, y, region.values.T, levels=[region.regions[0].falpha], colors=[colour])
            ax.plot(*region.mode, "+", color=colour, label=group)
        ax.set(title=method, xlabel="false positive rate")
    axes[0].set_ylabel("true positive rate")
    axes[0].legend(fontsize=7)
    figure.savefig(IMAGES / "um-german-groups.png", dpi=75)


def _at(cells: np.ndarray, rho: float, seed: int) -> Any:
    """The predictive posterior of summed counts under one ρ in both groups."""
    import fairstats as fs

    factor = 1 / (1 + 9 * rho)
    return fs.um_posterior(
        counts=fs.ConfusionCounts(("older", "young"), cells * factor, cells),
        target="predictive",
        rng=seed,
    )


def main() -> None:
    """Write the page, and the pictures where asked for."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.um_german_page", description=__doc__
    )
    parser.add_argument("--pictures", action="store_true")
    options = parser.parse_args()
    if options.pictures:
        pictures(loaded())
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
