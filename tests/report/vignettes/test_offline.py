"""Pages load nothing from elsewhere; formulas become MathML; pictures have words."""

from __future__ import annotations

import base64
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from fairstats.ground.errors import VignetteError
from fairstats.report.vignettes.page import (
    embed_pictures,
    extract_formulas,
    finish,
    name_pictures,
    refuse_remote,
    remote_addresses,
    to_mathml,
    whole_page,
)

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
        refuse_remote(page, "v")


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
    (tmp_path / "a b.png").write_bytes(b"picture")
    page = embed_pictures('<p><img src="a%20b.png" alt="x"><img src="data:y"></p>', tmp_path, "v")
    data = base64.b64encode(b"picture").decode()
    assert page == f'<p><img src="data:image/png;base64,{data}" alt="x"><img src="data:y"></p>'
    with pytest.raises(VignetteError, match=r"vignette v: the picture .*none\.png is missing"):
        embed_pictures('<img src="none.png">', tmp_path, "v")


def test_pictures_have_words() -> None:
    page = name_pictures(
        '<img src="a"><h2 id="x">Of <em>a</em> &amp; "b"</h2><img src="b" alt=""/><img alt="c">'
    )
    assert (
        page == '<img alt="Figure" src="a"><h2 id="x">Of <em>a</em> &amp; "b"</h2>'
        '<img alt="Figure: Of a &amp; &quot;b&quot;" src="b"/><img alt="c">'
    )


def test_the_last_hand() -> None:
    page = whole_page("<T>", '<math display="block"><mi>x</mi></math>', "")
    done = finish(page, "v", "<footer>f</footer>")
    assert '<span class="formula"><math display="block"><mi>x</mi></math></span>' in done
    assert done.count("<span class=") == finish(done, "v", "").count("<span class=")
    assert "<title>&lt;T&gt;</title>" in done
    assert done.index("<footer>") < done.index("</body>")


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
    pytest.importorskip("latex2mathml")
    root = ET.fromstring(to_mathml(latex, display=True))  # noqa: S314 - made here
    assert root.tag == "{http://www.w3.org/1998/Math/MathML}math"
    assert root.get("display") == "block"
    assert "\\" not in "".join(root.itertext()), "a command that was not understood"


def test_where_formulas_are() -> None:
    pytest.importorskip("latex2mathml")

    text = "a $x$ b `$y$` \\$3 and $4\n\n```\n$z$\n```\n\n$$\nw\n$$\n\n| $v$ | $u$ |"
    marked, put_back = extract_formulas(text)
    back = put_back(marked)
    assert back.count("<math") == 4, "x, w, v, u"
    assert "`$y$` $3 and $4" in back
    assert "```\n$z$\n```" in back
    assert back.count('display="block"') == 1
