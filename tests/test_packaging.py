"""What is built holds what is needed and nothing else: wheel, source distribution, metadata."""

from __future__ import annotations

import email.message
import email.parser
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import fairstats

ROOT = Path(__file__).resolve().parents[1]
TOP_LEVEL = {
    "fairstats",
    "r",
    "tests",
    "vignettes",
    "README.md",
    "CHANGELOG.md",
    "CITATION.cff",
    "LICENSE",
}
MOST_DATA = 3_000_000

pytest.importorskip("hatchling", reason="hatchling is not installed")
pytest.importorskip("hatch_fancy_pypi_readme", reason="hatch-fancy-pypi-readme is not installed")
if not (ROOT / "pyproject.toml").exists():
    pytest.skip("the package is not in its source tree", allow_module_level=True)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def build(source: Path, kind: str, into: Path) -> Path:
    """Build a ``wheel`` or an ``sdist`` of a source tree."""
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", kind, "--directory", str(into)],
        cwd=source,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (built,) = into.glob("*.whl" if kind == "wheel" else "*.tar.gz")
    return built


def sizes(wheel: Path, folder: str) -> list[int]:
    with zipfile.ZipFile(wheel) as archive:
        return [i.file_size for i in archive.infolist() if i.filename.startswith(folder)]


def contents(wheel: Path) -> dict[str, int]:
    """Name → checksum of the files of a wheel but its list of files."""
    with zipfile.ZipFile(wheel) as archive:
        return {i.filename: i.CRC for i in archive.infolist() if not i.filename.endswith("/RECORD")}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(ROOT, "wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def unpacked_sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sdist")
    with tarfile.open(build(ROOT, "sdist", folder)) as archive:
        archive.extractall(folder / "unpacked", filter="data")
    (top,) = (folder / "unpacked").iterdir()
    return top


@pytest.fixture(scope="module")
def metadata(wheel: Path) -> email.message.Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        return email.parser.BytesParser().parsebytes(archive.read(name))


def test_wheel_holds_the_package(wheel: Path) -> None:
    """Modules, data, templates, the mark of types: every file that is in the tree."""
    package = ROOT / "fairstats"
    wanted = {
        f"fairstats/{p.relative_to(package).as_posix()}"
        for p in package.rglob("*")
        if p.is_file() and "__pycache__" not in p.parts
    }
    carried = ("fairstats/_r/", "fairstats/_vignettes/")
    built = {n for n in contents(wheel) if n.startswith("fairstats/") and not n.startswith(carried)}
    assert built == wanted
    assert "fairstats/py.typed" in built
    assert {n for n in built if n.endswith(".csv.gz")}, "the bundled data"
    assert "fairstats/datasets/catalogue.toml" in built


def test_wheel_holds_nothing_else(wheel: Path) -> None:
    others = {n.partition("/")[0] for n in contents(wheel)} - {"fairstats"}
    assert others == {f"fairstats-{fairstats.__version__}.dist-info"}


def test_wheel_holds_the_r_files(wheel: Path) -> None:
    built = {n for n in contents(wheel) if n.startswith("fairstats/_r/")}
    wanted = {f"fairstats/_r/R/{p.name}" for p in (ROOT / "r" / "R").glob("*") if p.is_file()}
    assert built == wanted | {
        f"fairstats/_r/{n}" for n in ("DESCRIPTION", "NAMESPACE", "inst/metrics.json")
    }


def test_wheel_holds_the_vignettes(wheel: Path) -> None:
    """The texts and the recorded outputs of R.

    Not studies, how-tos, the site, or the README's picture.
    """
    folder = ROOT / "vignettes"
    built = {n for n in contents(wheel) if n.startswith("fairstats/_vignettes/")}
    wanted = {
        p for pattern in ("*.Rmd", "recorded/*.json", "images/*") for p in folder.glob(pattern)
    }
    wanted -= {folder / "images" / "report.png"}
    assert built == {f"fairstats/_vignettes/{p.relative_to(folder).as_posix()}" for p in wanted}


def test_the_page_of_an_index_needs_no_folder(metadata: email.message.Message) -> None:
    """Links and pictures of the README are addresses there; each file that they name is there."""
    page = str(metadata.get_payload(decode=True), "utf-8")
    targets = re.findall(r"\]\(([^)#]+)[^)]*\)", page)
    assert len(targets) > 20
    home = r"https://(?:raw\.githubusercontent\.com/fairstats/fairstats|github\.com/fairstats/fairstats/blob)/main/"
    for target in targets:
        assert target.startswith("https://"), target
        ours = re.match(home, target)
        if ours:
            assert (ROOT / target[ours.end() :]).exists(), target
    assert (
        "(https://raw.githubusercontent.com/fairstats/fairstats/main/vignettes/images/report.png)"
        in page
    )


def test_bundled_data_stay_small(wheel: Path) -> None:
    assert 0 < sum(sizes(wheel, "fairstats/datasets/data/")) < MOST_DATA


def test_wheel_from_sdist_is_the_wheel_from_the_tree(
    wheel: Path, unpacked_sdist: Path, tmp_path: Path
) -> None:
    assert contents(build(unpacked_sdist, "wheel", tmp_path)) == contents(wheel)


def test_sdist_holds_what_is_needed(unpacked_sdist: Path) -> None:
    names = {p.name for p in unpacked_sdist.iterdir()}
    assert names >= TOP_LEVEL - {"r"} | {"pyproject.toml", "PKG-INFO"}
    assert names <= TOP_LEVEL | {"pyproject.toml", "PKG-INFO", ".gitignore"}
    if (ROOT / "r" / "DESCRIPTION").exists():
        assert (unpacked_sdist / "r" / "DESCRIPTION").exists()


def test_sdist_holds_no_outputs(unpacked_sdist: Path) -> None:
    files = [p.relative_to(unpacked_sdist) for p in unpacked_sdist.rglob("*") if p.is_file()]
    hidden = r"(^|/)\.(?!gitignore|Rbuildignore)"
    unwanted = re.compile(rf"__pycache__|\.Rcheck|{hidden}|^tests/benchmarks|/results/")
    assert [str(f) for f in files if unwanted.search(f.as_posix())] == []


@pytest.mark.parametrize("with_r", [True, False])
def test_wheel_with_and_without_r_files(tmp_path: Path, with_r: bool) -> None:
    """`r` may be missing; if not it goes to `fairstats/_r`, and an editable install holds no
    copy.
    """
    source = tmp_path / "source"
    (source / "fairstats").mkdir(parents=True)
    for name in ("pyproject.toml", "README.md", "LICENSE", "fairstats/_version.py"):
        shutil.copy(ROOT / name, source / name)
    (source / "fairstats" / "__init__.py").touch()
    if with_r:
        (source / "r" / "R").mkdir(parents=True)
        (source / "r" / "R" / "rates.R").write_text(
            "rate <- function(k, n) k / n\n", encoding="utf-8"
        )
        (source / "r" / "DESCRIPTION").write_text("Package: fairstats\n", encoding="utf-8")
        (source / "vignettes").mkdir()
        (source / "vignettes" / "a.Rmd").write_text("text\n", encoding="utf-8")
        (source / "vignettes" / "study.md").write_text("text\n", encoding="utf-8")
    built = contents(build(source, "wheel", tmp_path / "out"))
    carried = {"_r/R/rates.R", "_r/DESCRIPTION", "_vignettes/a.Rmd"} if with_r else set()
    assert {n for n in built if "/_r/" in n or "/_vignettes/" in n} == {
        f"fairstats/{n}" for n in carried
    }
    assert not any(n.startswith(("r/", "vignettes/")) for n in built)

    code = "import hatchling.build, sys; hatchling.build.build_editable(sys.argv[1])"
    editable = tmp_path / "editable"
    editable.mkdir()
    command = [sys.executable, "-c", code, str(editable)]
    subprocess.run(command, cwd=source, capture_output=True, check=True)
    assert {n.partition("/")[0] for n in contents(next(editable.glob("*.whl")))} == {
        "_fairstats.pth",
        f"fairstats-{fairstats.__version__}.dist-info",
    }


def test_metadata(metadata: email.message.Message) -> None:
    assert metadata["Name"] == "fairstats"
    assert metadata["Version"] == fairstats.__version__
    assert metadata["License-Expression"] == "BSD-3-Clause"
    assert metadata["Requires-Python"] == ">=3.11"
    extras = {
        "report",
        "cli",
        "files",
        "scale",
        "spark",
        "bayes",
        "search",
        "fast",
        "generate",
        "docs",
        "r",
        "all",
    }
    assert extras | {"test", "dev"} <= set(metadata.get_all("Provides-Extra", []))


def test_all_leaves_out_what_cannot_be_installed_everywhere() -> None:
    (everything,) = PROJECT["optional-dependencies"]["all"]
    assert everything == "fairstats[report,cli,files,bayes,search,scale,fast]"
    optional = PROJECT["optional-dependencies"]
    installed = [
        r
        for extra in ("report", "cli", "files", "bayes", "search", "scale", "fast")
        for r in optional[extra]
    ]
    assert not [
        r for r in [*PROJECT["dependencies"], *installed] if r.startswith(("rpy2", "ctgan"))
    ]


def test_the_readme_names_every_extra_and_counts_those_of_all() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    table = readme.partition("## Extras")[2].partition("\n## ")[0]
    extras = []
    for row in re.findall(r"^\| (`.*`) \|", table, flags=re.MULTILINE):
        extras += re.findall(r"`([a-z]+)`", row)
    assert sorted(extras) == sorted(PROJECT["optional-dependencies"])
    (everything,) = PROJECT["optional-dependencies"]["all"]
    names = everything.partition("[")[2].partition("]")[0].split(",")
    assert extras.index("all") == len(names)
    assert extras[: len(names)] == [name for name in extras if name in names]
    assert f"the {('four', 'five', 'six', 'seven')[len(names) - 4]} above" in table


def test_every_dependency_has_a_lower_bound() -> None:
    optional = PROJECT["optional-dependencies"].values()
    for requirement in [*PROJECT["dependencies"], *(r for extra in optional for r in extra)]:
        assert requirement.startswith("fairstats[") or ">=" in requirement, requirement


def test_citation_and_changelog_name_this_version() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(rf"^version: {re.escape(fairstats.__version__)}$", citation, re.MULTILINE)
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"^## \[{re.escape(fairstats.__version__)}\]", changelog, re.MULTILINE)


def test_command_line_is_declared(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith("entry_points.txt"))
        assert b"fairstats = fairstats.__main__:main" in archive.read(name)
