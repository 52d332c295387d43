"""Writes the pages that follow from the package: public names, pages of the repository, vignettes, report."""

from __future__ import annotations

import inspect
import os
import re
import shutil
from pathlib import Path
from typing import Any

import fairstats
from fairstats.report.vignettes.source import vignette_titles

__all__ = ["BUILT", "write_pages"]

VIGNETTES = Path(__file__).resolve().parents[1]
#: Where ``fairstats vignettes build --out build/vignettes`` writes.
BUILT = VIGNETTES.parent / "build" / "vignettes"
#: Beginning of a module's name → file, title. The first that fits.
GROUPS = (
    ("fairstats.methods.rates", "rates", "Rates, ratios and differences"),
    ("fairstats.numerics.rates", "counts", "Counts: intervals and tests of one rate and of two"),
    ("fairstats.methods.madd", "madd", "Score distributions: MADD"),
    ("fairstats.methods.hfm", "hfm", "Set distances: HFM"),
    ("fairstats.methods.um", "um", "Posteriors: Uncertainty Matters"),
    ("fairstats.methods.ecd", "ecd", "Extreme counterfactual discrimination"),
    ("fairstats.report", "report", "Audits and reports"),
    ("fairstats.numerics.evt", "evt", "Extreme values"),
    ("fairstats.numerics.hdr", "hdr", "Highest density regions"),
    ("fairstats.datasets", "datasets", "Data sets"),
    ("fairstats.ground", "ground", "Counts, back ends, errors"),
)


#: Page of the repository → its place in the site; those of `vignettes/` keep their own.
ELSEWHERE = {
    "README.md": ("start.md", "Start"),
    "CHANGELOG.md": ("changelog.md", "Changelog"),
    ".github/CONTRIBUTING.md": ("contributing.md", "Map of the project"),
    ".github/CODE_OF_CONDUCT.md": ("conduct.md", "Code of conduct"),
}
ROOT = VIGNETTES.parent


def write_pages(folder: Path) -> None:
    """Write every generated page into ``folder/made``, which git ignores."""
    made = folder / "made"
    if made.is_dir():
        shutil.rmtree(made)
    (made / "extra").mkdir(parents=True)
    listed: dict[str, list[str]] = {name: [] for _, name, _ in GROUPS}
    for path, home in _public():
        group = next(name for beginning, name, _ in GROUPS if home.startswith(beginning))
        listed[group].append(path)
    for _, name, title in GROUPS:
        paths = sorted(
            listed[name], key=lambda path: inspect.isclass(_value(path))
        )  # functions first
        (made / f"{name}.rst").write_text(_group(title, paths), encoding="utf-8")
    (made / "vignettes.md").write_text(_vignettes(made / "extra" / "vignettes"), encoding="utf-8")
    places = places_of_pages()
    for page, place in places.items():
        target = made / place
        target.parent.mkdir(exist_ok=True)
        target.write_text(_within_site(page, place, places), encoding="utf-8")
    # What the first page does not list by name is a study.
    first = (folder / "index.rst").read_text(encoding="utf-8")
    names = [f"made/{place.with_suffix('').as_posix()}" for place in sorted(places.values())]
    studies = "\n".join(f"   {name}" for name in names if f"   {name}\n" not in first)
    groups = "\n".join(f"   made/{name}" for _, name, _ in GROUPS)
    (made / "studies.txt").write_text(_toctree("Studies", studies), encoding="utf-8")
    (made / "names.txt").write_text(_toctree("Reference", groups), encoding="utf-8")
    fairstats.report.audit.demo_report().to_html(made / "extra" / "report.html")


def places_of_pages() -> dict[Path, Path]:
    """Every page of the repository that the site shows, and its path below `made`."""
    own = [*VIGNETTES.glob("*.md"), *VIGNETTES.glob("howto/*.md")]
    places = {page: page.relative_to(VIGNETTES) for page in sorted(own)}
    return {ROOT / name: Path(place) for name, (place, _) in ELSEWHERE.items()} | places


def _vignette_page(name: str) -> str:
    """Address of a built vignette, or of the page that says how to build it."""
    return f"vignettes/{name}.html" if (BUILT / f"{name}.html").is_file() else "made/vignettes.html"


def _within_site(page: Path, place: Path, places: dict[Path, Path]) -> str:
    """A page with links that fit its place in the site; what is no part of the site is named, not linked."""
    text = page.read_text(encoding="utf-8")
    if page.relative_to(ROOT).as_posix() in ELSEWHERE:
        text = re.sub(r"\A# .*", f"# {ELSEWHERE[page.relative_to(ROOT).as_posix()][1]}", text)
    up = "../" * len(place.parent.parts)  # to `made`

    def fit(match: re.Match[str]) -> str:
        words, target = match["words"], match["target"]
        if re.match(r"https?:|#", target):
            return match[0]
        name, _, heading = target.partition("#")
        path = Path(os.path.normpath(page.parent / name))
        if path in places:
            return f"[{words}]({up}{places[path].as_posix()}{'#' * bool(heading)}{heading})"
        if path.parent == VIGNETTES / "images":
            return f"[{words}]({up}../../images/{path.name})"
        if path.suffix == ".Rmd":
            return f'<a href="{up}../{_vignette_page(path.stem)}">{words}</a>'
        return f"{words} (`{path.relative_to(ROOT).as_posix()}`)"

    return re.sub(r"\[(?P<words>[^]]*)\]\((?P<target>[^)\s]+)\)", fit, text)


def _public() -> list[tuple[str, str]]:
    """Public name as users write it, and the module that it is made in."""
    found = []
    for name in fairstats.__all__:
        value = getattr(fairstats, name)
        if inspect.ismodule(value):
            for part in value.__all__:
                home = getattr(value, part).__module__ if name == "results" else value.__name__
                if not (name == "results" and hasattr(fairstats.evt, part)):  # described there
                    found.append((f"fairstats.{name}.{part}", home))
        elif not name.startswith("_"):
            found.append((f"fairstats.{name}", value.__module__))
    return found


def _value(path: str) -> Any:
    base, _, name = path.rpartition(".")
    return getattr(
        __import__(base, fromlist=[name]) if base.startswith("fairstats.ground") else _module(base),
        name,
    )


def _module(path: str) -> Any:
    return fairstats if path == "fairstats" else getattr(fairstats, path.rpartition(".")[2])


def _group(title: str, paths: list[str]) -> str:
    lines = [title, "=" * len(title), "", ".. autosummary::", "   :nosignatures:", ""]
    lines += [f"   {path}" for path in paths] + [""]
    for path in paths:
        value = _value(path)
        if inspect.isclass(value):
            lines += [
                f".. autoclass:: {path}",
                *([] if issubclass(value, Exception) else ["   :members:"]),
                "",
            ]
        else:
            lines += [f".. autofunction:: {path}", ""]
    return "\n".join(lines)


def _toctree(caption: str, entries: str) -> str:
    return f".. toctree::\n   :maxdepth: 1\n   :caption: {caption}\n\n{entries}\n"


def _vignettes(into: Path) -> str:
    """A list of the vignettes; those that lie built are copied into the site."""
    lines = [
        "# Vignettes",
        "",
        (
            "Each method told on real data, from the question to the decision and its limits, with"
            " Python and R"
        ),
        "side by side. The pages are those that `fairstats vignettes build` writes.",
        "",
    ]
    for name, title in vignette_titles().items():
        page = BUILT / f"{name}.html"
        if page.is_file():
            into.mkdir(parents=True, exist_ok=True)
            shutil.copy(page, into / page.name)
            lines.append(f'- <a href="../vignettes/{name}.html">{title}</a>')
        else:
            lines.append(f"- {title}: `fairstats vignettes build {name} --out build/vignettes`")
    return "\n".join(lines) + "\n"
