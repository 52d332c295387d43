"""Pages load nothing from elsewhere; formulas become MathML; pictures have words."""

from __future__ import annotations

import base64
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from fairstats.ground.errors import VignetteError
from fairstats.report.vignettes.by_python import _render_markdown
from fairstats.report.vignettes.page import finish, remote_addresses, to_mathml

for package in ("bs4", "latex2mathml", "nbconvert"):
    pytest.importorskip(package)
REMOTE = "https://cdn.example.org/x"


@pytest.mark.parametrize(
    "page",
    [
        f'<script src="{REMOTE}"></script>',
        f"<script async\n src='{REMOTE}'></script>",
        f"<SCRIPT SRC={REMOTE}></SCRIPT>",
        '<script src="//cdn.example.org/x"></script>',
        f'<link rel="stylesheet" href="{REMOTE}">',
        f'<img alt="" src="{REMOTE}">',
        f'<img srcset="{REMOTE} 2x">',
        f'<iframe src="{REMOTE}"></iframe>',
        f'<object data="{REMOTE}"></object>',
        f'<svg><image href="{REMOTE}"/></svg>',
        f"<style>@import '{REMOTE}';</style>",
        f"<style>body {{ background: url({REMOTE}) }}</style>",
        f"<p style=\"background: url('{REMOTE}')\">x</p>",
        f"<script>import('{REMOTE}')</script>",
        f'<script>s.src = "{REMOTE}"</script>',
    ],
)
def test_what_a_page_would_load(page: str) -> None:
    assert [url.removeprefix("https:") for url in remote_addresses(page)] == ["//cdn.example.org/x"]
    with pytest.raises(
        VignetteError, match=r"vignette v: the page would load .*cdn\.example\.org/x"
    ):
        finish(page, "v", "")


@pytest.mark.parametrize(
    "page",
    [
        f'<a href="{REMOTE}">a link</a>',
        '<img src="data:image/png;base64,AA">',
        '<math xmlns="http://www.w3.org/1998/Math/MathML"></math>',
        f"<pre>&lt;script src='{REMOTE}'&gt;, url({REMOTE})</pre>",
        '<script>var x = "http://www.w3.org/2000/svg"</script>',
    ],
)
def test_what_it_would_not(page: str) -> None:
    assert remote_addresses(page) == []


def test_pictures_go_into_the_page(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"picture")
    page = _render_markdown('![x](a.png)\n\n<img src="a.png" alt="y">\n', str(tmp_path))
    data = base64.b64encode(b"picture").decode()
    assert page.count(f'src="data:image/png;base64,{data}"') == 2
    with pytest.raises(VignetteError, match=r"vignette v: the picture none\.png is missing"):
        finish(_render_markdown("![x](none.png)", str(tmp_path)), "v", "")


def test_headings_have_the_names_that_pandoc_gives() -> None:
    page = finish("<h2>2. Of <em>a</em>, b</h2><h3>1</h3><h4 id='x'>y</h4>", "v", "")
    assert [name.split('"')[1] for name in page.split("<h")[1:]] == ["of-a-b", "section", "x"]


def test_pictures_have_words() -> None:
    page = finish(
        '<img src="data:a"><h2 id="x">Of <em>a</em> &amp; "b"</h2><img alt="" src="data:b"><img'
        ' alt="c">',
        "v",
        "",
    )
    assert (
        page == '<img alt="Figure" src="data:a"/><h2 id="x">Of <em>a</em> &amp; "b"</h2>'
        """<img alt='Figure: Of a &amp; "b"' src="data:b"/><img alt="c"/>"""
    )


def test_the_last_hand() -> None:
    page = '<body><math display="block"><mi>x</mi></math><pre>wide</pre></body>'
    done = finish(page, "v", "<footer>f</footer>")
    assert '<span class="formula"><math display="block"><mi>x</mi></math></span>' in done
    assert '<pre tabindex="0">' in done
    assert done.endswith("<footer>f</footer></body>")


FORMULAS = [
    r"\hat p_1 / \hat p_0",
    r"\widehat{DI} = \frac{\hat p_1}{\hat p_0}",
    r"\operatorname{Var}(X) \approx \sum_{s \in \{0, 1\}} \frac{1 - p_s}{n_s p_s}",
    r"\begin{cases} 1 & x > 0 \\ 0 & \text{otherwise} \end{cases}",
    r"\Pr(Y = 1 \mid S = s) \le \alpha, \quad \mathbb{E}\left[\lvert X \rvert\right]",
    r"\left(1 + \xi \frac{x - u}{\sigma}\right)^{-1/\xi}",
    (
        r"\min_{i} \max_{j \ne i} \lVert x_i - x_j \rVert_2, \; \mathcal{D}, \ldots, \int_0^1"
        r" f\,\mathrm{d}x"
    ),
]


@pytest.mark.parametrize("latex", FORMULAS, ids=range(len(FORMULAS)))
def test_formulas_become_mathml(latex: str) -> None:
    root = ET.fromstring(to_mathml(latex, display=True))  # noqa: S314 - made here
    assert root.tag == "{http://www.w3.org/1998/Math/MathML}math"
    assert root.get("display") == "block"
    assert "\\" not in "".join(root.itertext()), "a command that was not understood"


def test_where_formulas_are() -> None:
    text = "a $x$ b `$y$` \\$3 and $4\n\n```\n$z$\n```\n\n$$\nw\n$$\n\n| $v$ | $u$ |\n|---|---|\n"
    page = _render_markdown(text, ".")
    assert page.count("<math") == 4, "x, w, v, u"
    assert "<code>$y$</code> $3 and $4" in page
    assert "$z$" in page
    assert page.count('display="block"') == 1
