"""Writes the pages that follow from the package: groups of public names, studies, vignettes."""

from __future__ import annotations

import inspect
import re
import shutil
from pathlib import Path
from typing import Any

import fairstats
from fairstats.report.vignettes.source import find_vignette, read_vignette, vignette_names

__all__ = ["BUILT", "write_pages"]

VIGNETTES = Path(__file__).resolve().parents[1]
#: Where ``fairstats vignettes build --out build/vignettes`` writes.
BUILT = VIGNETTES.parent / "build" / "vignettes"
#: Beginning of a module's name → file, title. The first that fits.
GROUPS = (
    ("fairstats.methods.rates", "rates", "Rates, ratios and differences"),
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


def write_pages(folder: Path) -> None:
    """Write every generated page into ``folder/made``, which git ignores."""
    made = folder / "made"
    if made.is_dir():
        shutil.rmtree(made)
    made.mkdir()
    listed: dict[str, list[str]] = {name: [] for _, name, _ in GROUPS}
    for path, home in _public():
        group = next(name for beginning, name, _ in GROUPS if home.startswith(beginning))
        listed[group].append(path)
    for _, name, title in GROUPS:
        paths = sorted(listed[name], key=lambda path: inspect.isclass(_value(path)))  # functions first
        (made / f"{name}.rst").write_text(_group(title, paths), encoding="utf-8")
    (made / "vignettes.md").write_text(_vignettes(made / "extra" / "vignettes"), encoding="utf-8")
    start = (VIGNETTES.parent / "README.md").read_text(encoding="utf-8")
    start = start.replace("# fairstats", "# Start", 1).replace("](vignettes/", "](../")
    (made / "start.md").write_text(_within_site(start), encoding="utf-8")
    for study in sorted(VIGNETTES.glob("*.md")):
        (made / study.name).write_text(_within_site(study.read_text(encoding="utf-8")), encoding="utf-8")
    studies = [path.stem for path in sorted(VIGNETTES.glob("*.md")) if path.stem not in ("guide", "methods")]
    names = "\n".join(f"   made/{name}" for name in studies)
    groups = "\n".join(f"   made/{name}" for _, name, _ in GROUPS)
    (made / "studies.txt").write_text(_toctree("Studies", names), encoding="utf-8")
    (made / "names.txt").write_text(_toctree("Reference", groups), encoding="utf-8")


def _vignette_page(name: str) -> str:
    """Address of a built vignette, or of the page that says how to build it."""
    return f"vignettes/{name}.html" if (BUILT / f"{name}.html").is_file() else "made/vignettes.html"


def _within_site(text: str) -> str:
    """Links of a page of the repository made to fit; what is no part of the site is named, not linked."""

    def fit(match: re.Match[str]) -> str:
        words, target = match["words"], match["target"]
        path = Path(target.partition("#")[0].removeprefix("../"))
        if re.match(r"https?:|#", target):
            return match[0]
        if path.parts[0] == "images":
            return f"[{words}](../../{path.as_posix()})"
        if path.parent == Path() and (VIGNETTES / path).suffix == ".md" and (VIGNETTES / path).is_file():
            return f"[{words}]({target.removeprefix('../')})"
        if path.suffix == ".Rmd":
            return f'<a href="../{_vignette_page(path.stem)}">{words}</a>'
        return f"{words} (`{path.as_posix()}`)"

    return re.sub(r"\[(?P<words>[^]]*)\]\((?P<target>[^)]+)\)", fit, text)


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
        __import__(base, fromlist=[name]) if base.startswith("fairstats.ground") else _module(base), name
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
        "Each method told on real data, from the question to the decision and its limits, with Python and R",
        "side by side. The pages are those that `fairstats vignettes build` writes.",
        "",
    ]
    for name in vignette_names():
        title = read_vignette(find_vignette(name)).title
        page = BUILT / f"{name}.html"
        if page.is_file():
            into.mkdir(parents=True, exist_ok=True)
            shutil.copy(page, into / page.name)
            lines.append(f'- <a href="../vignettes/{name}.html">{title}</a>')
        else:
            lines.append(f"- {title}: `fairstats vignettes build {name} --out build/vignettes`")
    return "\n".join(lines) + "\n"
