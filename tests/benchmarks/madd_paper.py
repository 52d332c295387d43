"""Sections 4.4, 4.5, 5 and 6.3 of Verger et al. (2024) at the paper's scale.

    python -m tests.benchmarks.madd_paper [--out FILE] [--only STUDY] [--repeats N]

Every finished piece is a line of JSON in FILE; a run that was broken off goes on where it stopped.
Some 20 minutes in all, nearly all of it for the decay of the error (figure 11), whose largest
samples have two million rows. `tables` (3 and 5) and `oulad` (figure 19) need ../shared/data."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

import fairstats as fs
from fairstats.methods.madd.curve import StableBandwidth, curve_of, stable_bandwidth
from fairstats.methods.madd.mitigation import (
    LabelledSample,
    MixtureCdfs,
    error_losses,
    fairness_losses,
)
from fairstats.methods.madd.mitigator import MaddMitigator
from fairstats.methods.madd.scores import Sample

from ..methods.madd.conftest import scored
from ..methods.madd.densities import RIGHT, draw, l1_distance
from ..methods.madd.test_oulad import (
    BOUNDS,
    CELLS,
    COLUMNS,
    FEATURES,
    SEARCHED,
    STRETCHES,
    cell,
    fitted_probabilities,
)

#: The course tables, as `oulad_course_table` makes them.
TABLES = Path(__file__).parents[3] / "shared" / "data"
#: Rows for training, for the search, and to judge: a fifth of the authors' training part is "about
#: 700".
SHARES = (2_967, 742, 1_590)

#: Section 4.5: n = ⌊exp(5)⌋, ⌊exp(5.5)⌋, …, ⌊exp(14.5)⌋.
EXPONENTS = tuple(k / 2 for k in range(10, 30))
#: Shares of group 0.
BALANCES = (0.5, 0.2)
Key = tuple[Any, ...]


def searched(n0: int, n1: int, rng: np.random.Generator) -> StableBandwidth:
    first, second = (Sample(np.sort(x)) for x in draw(n0, n1, rng))
    return stable_bandwidth(curve_of(first, second, 1000, ("0", "1")))


def simulation(repeats: int) -> Iterator[tuple[Key, Any]]:
    """Section 4.4: 10,000 + 10,000 rows, 1,000 bandwidths."""
    for seed in range(repeats):
        yield (
            ("simulation", seed),
            lambda seed=seed: vars(searched(10_000, 10_000, np.random.default_rng(seed))),
        )


def decay(repeats: int) -> Iterator[tuple[Key, Any]]:
    """Section 4.5: mean error over 50 samples of each size."""
    truth = l1_distance(RIGHT)
    for balance in BALANCES:
        for exponent in EXPONENTS:
            n = int(np.exp(exponent))
            n0 = int(n * balance)

            def errors(n: int = n, n0: int = n0) -> dict[str, float]:
                found = [
                    abs(searched(n0, n - n0, np.random.default_rng([n, n0, k])).mean - truth)
                    for k in range(repeats)
                ]
                return {
                    "n": n,
                    "n0": n0,
                    "error": float(np.mean(found)),
                    "mc_error": float(np.std(found) / repeats**0.5),
                }

            yield ("decay", balance, exponent, repeats), errors


def mitigation(repeats: int) -> Iterator[tuple[Key, Any]]:
    """Section 6.3.1: losses at λ = 0 and 1, λ*, and the effect on new rows."""
    for seed in range(repeats):

        def losses(seed: int = seed) -> dict[str, float]:
            fit = scored(10_000, 10_000, seed)
            new = scored(10_000, 10_000, 10_000 + seed)
            mitigator = MaddMitigator(random_state=1).fit(
                fit.score, fit.y, sensitive_features=fit.group
            )
            effect = mitigator.evaluate(new.score, new.y, sensitive_features=new.group)
            first = mitigator.loss_curve_.iloc[0]
            last = mitigator.loss_curve_.iloc[-1]
            return {
                "error_0": first.accuracy_loss,
                "error_1": last.accuracy_loss,
                "fairness_0": first.fairness_loss,
                "fairness_1": last.fairness_loss,
                "lambda": mitigator.lambda_,
                "new_fairness_before": effect.before.estimate / 2,
                "new_fairness_after": effect.after.estimate / 2,
                "new_error_before": effect.error_before,
                "new_error_after": effect.error_after,
            }

        yield ("mitigation", seed), losses


def line(repeats: int) -> Iterator[tuple[Key, Any]]:
    """Section 6.4: largest gap between MADD(λ) and (1 − λ)·MADD(0) on new rows, against n."""
    grid = np.linspace(0, 1, 101)
    for n in (100, 1_000, 10_000, 100_000):

        def gap(n: int = n) -> dict[str, float]:
            found = []
            for k in range(min(repeats, 20)):
                rng = np.random.default_rng([n, k])
                maps = MixtureCdfs.fit(list(draw(n, n, rng)))
                new = [
                    LabelledSample(np.sort(x), np.zeros(n, dtype=np.uint8)) for x in draw(n, n, rng)
                ]
                madd = 2 * fairness_losses([(maps, new)], grid, 20)
                found.append(float(np.abs(madd - (1 - grid) * madd[0]).max()))
            return {"n": n, "gap": float(np.mean(found))}

        yield ("line", n, repeats), gap


def tables(_: int) -> Iterator[tuple[Key, Any]]:
    """Tables 3 and 5: as published, as its code computes, and what the classifiers do."""
    courses = {c: pd.read_csv(TABLES / f"oulad_{c}.csv.gz") for c in ("BBB", "FFF")}
    proba = fitted_probabilities(courses)
    for course, model, feature in CELLS:

        def compare(
            course: str = course, model: str = model, feature: str = feature
        ) -> dict[str, Any]:
            place = FEATURES.index(feature)
            test = courses[course].query("split == 'test'")
            value, stretch, _ = cell(
                courses, proba[course, model], course, feature, as_published=True
            )
            score = proba[course, model][:, 1]
            own = fs.madd(score, sensitive_features=test[feature].to_numpy(), rng=1).comparisons[0]
            return {
                "published": SEARCHED[course, model][place],
                "stretch": STRETCHES[course, model][place],
                "reproduced": value,
                "reproduced_stretch": stretch,
                "one_score": own.headline,
                "judged": own.estimate,
                "interval": list(own.confidence_interval)[:2],
                "null_mean": own.null_mean,
                "verdict": own.verdict,
            }

        yield ("tables", course, model, feature), compare


def previous(_: int) -> Iterator[tuple[Key, Any]]:
    """Tables 2 and 4: MADD in 100 bins, by the published code's two probabilities."""
    courses = {c: pd.read_csv(TABLES / f"oulad_{c}.csv.gz") for c in ("BBB", "FFF")}
    proba = fitted_probabilities(courses)
    for course, model, feature in CELLS:

        def distance(
            course: str = course, model: str = model, feature: str = feature
        ) -> dict[str, float]:
            test = courses[course].query("split == 'test'")
            group = test[feature].to_numpy()
            first = proba[course, model][group == 0, 0]
            second = proba[course, model][group == 1, 1]
            curve = curve_of(Sample(np.sort(first)), Sample(np.sort(second)), 100, ("0", "1"))
            return {"madd": float(curve.madd[99])}

        yield ("previous", course, model, feature), distance


def rows(_: int) -> Iterator[tuple[Key, Any]]:
    """Table 1 and section 5.1: rows, columns, shares of the groups, accuracies."""
    courses = {c: pd.read_csv(TABLES / f"oulad_{c}.csv.gz") for c in ("BBB", "FFF")}
    for course, frame in courses.items():

        def describe(course: str = course, frame: pd.DataFrame = frame) -> dict[str, Any]:
            test = frame.query("split == 'test'")
            proba = fitted_probabilities({course: frame})
            passed = test["passed"].to_numpy()
            return {
                "rows": len(frame),
                "test": len(test),
                "columns": len(COLUMNS),
                "shares": {name: float(frame[name].mean()) for name in FEATURES},
                "accuracy": {
                    model: float(((p[:, 1] >= 0.5) == passed).mean())
                    for (_, model), p in proba.items()
                },
            }

        yield ("rows", course), describe


def oulad(_: int) -> Iterator[tuple[Key, Any]]:
    """Figure 19: course BBB by poverty, logistic regression, 12 splits.

    Held-out beside in-sample.
    """
    frame = pd.read_csv(TABLES / "oulad_BBB.csv.gz")
    x = frame[COLUMNS].astype(float)
    for column, (low, high) in BOUNDS.items():
        x[column] = (x[column] - low) / (high - low)
    lambdas = np.linspace(0, 1, 1000)
    for seed in range(12):

        def split(seed: int = seed) -> dict[str, Any]:
            order = np.random.default_rng(seed).permutation(len(frame))
            train, search, test = np.split(order, np.cumsum(SHARES)[:2])
            model = LogisticRegression().fit(x.iloc[train].to_numpy(), frame["passed"].iloc[train])
            score = model.predict_proba(x.to_numpy())[:, 1]
            y = frame["passed"].to_numpy()
            group = frame["poverty"].to_numpy()

            def search_with(splits: int | None) -> MaddMitigator:
                own = MaddMitigator(splits=splits, random_state=seed)
                return own.fit(score[search], y[search], sensitive_features=group[search])

            inside = search_with(None)
            outside = search_with(5)
            parts = [test[group[test] == int(g)] for g in outside.groups_]
            parts = [p[np.argsort(score[p], kind="stable")] for p in parts]
            new = [LabelledSample(score[p], y[p].astype(np.uint8)) for p in parts]
            accuracy = error_losses([(outside.maps_, new)], lambdas, 0.5)
            fairness = fairness_losses([(outside.maps_, new)], lambdas, outside.n_bins_)
            loss = (accuracy + fairness) / 2
            found: dict[str, Any] = {
                "n_bins": outside.n_bins_,
                "best": float(lambdas[loss.argmin()]),
            }
            for name, one in (("inside", inside), ("outside", outside)):
                chosen = int(np.abs(lambdas - one.lambda_).argmin())
                curve = one.loss_curve_.iloc[[0, -1]]
                found |= {
                    f"{name}_lambda": one.lambda_,
                    f"{name}_error": curve["accuracy_loss"].tolist(),
                    f"{name}_fairness": curve["fairness_loss"].tolist(),
                    f"{name}_cost": float(loss[chosen] - loss.min()),
                }
            found |= {
                "new_error": accuracy[[0, -1]].tolist(),
                "new_fairness": fairness[[0, -1]].tolist(),
            }
            effect = outside.evaluate(score[test], y[test], sensitive_features=group[test])
            found["changes"] = [
                [
                    c.metric,
                    c.group,
                    c.before,
                    c.after,
                    c.estimate,
                    *list(c.confidence_interval)[:2],
                    c.verdict,
                ]
                for c in effect.comparisons
            ]
            return found

        yield ("oulad", seed), split


STUDIES = {
    "simulation": simulation,
    "decay": decay,
    "mitigation": mitigation,
    "line": line,
    "tables": tables,
    "previous": previous,
    "rows": rows,
    "oulad": oulad,
}


def summary(found: dict[Key, Any]) -> str:
    """What the paper's figures are compared with."""
    lines = []
    means = [v["mean"] for k, v in found.items() if k[0] == "simulation"]
    if means:
        lows, highs = zip(
            *((v["low"], v["high"]) for k, v in found.items() if k[0] == "simulation"), strict=True
        )
        lines.append(
            f"4.4: mean {np.mean(means):.4f} (sd {np.std(means):.4f}, {min(means):.3f} to"
            f" {max(means):.3f}), h from {min(lows):.4f}–{max(lows):.4f} to"
            f" {min(highs):.4f}–{max(highs):.4f}; paper 1.19, [0.007, 0.040]"
        )
    for balance in BALANCES:
        rows = [v for k, v in found.items() if k[0] == "decay" and k[1] == balance]
        if len(rows) > 2:
            slope = np.polyfit(
                np.log([r["n"] for r in rows]), np.log([r["error"] for r in rows]), 1
            )[0]
            lines.append(
                f"4.5: n0/n = {balance:g}: slope {slope:.3f} over {len(rows)} sizes; paper −0.51"
                " for 1:1"
            )
    rows = [v for k, v in found.items() if k[0] == "mitigation"]
    if rows:
        mean = {name: float(np.mean([r[name] for r in rows])) for name in rows[0]}
        lines.append("6.3: " + ", ".join(f"{name} {value:.3f}" for name, value in mean.items()))
    lines += [
        f"6.4: n = {v['n']:,} a group: gap {v['gap']:.4f}"
        for k, v in found.items()
        if k[0] == "line"
    ]
    rows = [v for k, v in found.items() if k[0] == "tables"]
    if rows:
        close = sum(abs(r["published"] - r["reproduced"]) <= 0.0051 for r in rows)
        less = sum(r["one_score"] < r["published"] for r in rows)
        lines.append(
            f"5: {close} of {len(rows)} MADD values as published, {less} smaller with one score"
        )
    rows = [v for k, v in found.items() if k[0] == "oulad"]
    for name in (
        ("inside_lambda", "outside_lambda", "best", "inside_cost", "outside_cost") if rows else ()
    ):
        values = [r[name] for r in rows]
        lines.append(f"19: {name} {np.mean(values):.3f} ({min(values):.3f} to {max(values):.3f})")
    for name in ("inside", "outside", "new") if rows else ():
        for kind in ("error", "fairness"):
            first, last = np.mean([r[f"{name}_{kind}"] for r in rows], axis=0)
            lines.append(f"19: {name} {kind} {first:.3f} to {last:.3f}")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Run what is not in the file yet, then print the summary."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.madd_paper", description=__doc__
    )
    parser.add_argument(
        "--out", type=Path, default=Path("madd_paper.jsonl"), help="checkpoint file"
    )
    parser.add_argument("--only", choices=sorted(STUDIES), help="one of the studies")
    parser.add_argument(
        "--repeats", type=int, default=50, help="samples per setting (the paper: 50)"
    )
    options = parser.parse_args(arguments)
    found: dict[Key, Any] = {}
    if options.out.exists():
        for text in options.out.read_text(encoding="utf-8").splitlines():
            key, value = json.loads(text)
            found[tuple(key)] = value
    for name in [options.only] if options.only else STUDIES:
        for key, compute in STUDIES[name](options.repeats):
            if key in found:
                continue
            found[key] = compute()
            with options.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps([key, found[key]]) + "\n")
    sys.stdout.write(summary(found) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
