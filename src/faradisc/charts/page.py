"""The whole page: one file, complete without its script, readable in print and in dark mode.

The page loads nothing: fonts are the reader's own, style sheet and script are inline, and a
Content-Security-Policy forbids everything else. Colours are the Okabe-Ito set, which all kinds of colour
vision distinguish, and one ramp of blues whose lightness falls evenly, so that it keeps its order in grey.
"""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256

from faradisc.charts.markup import Child, Markup, element, join
from faradisc.charts.script import CURSOR
from faradisc.charts.style import STYLE


def page(title: str, *body: Child, script: str = CURSOR, connect: str = "'none'") -> str:
    """Returns a complete document. `connect`: where the script may fetch from (Content-Security-Policy)."""
    script = f"/*<![CDATA[*/{script}/*]]>*/"
    policy = (
        f"default-src 'none'; style-src '{_digest(STYLE)}'; script-src '{_digest(script)}'; "
        f"connect-src {connect}; img-src data:; base-uri 'none'; form-action 'none'"
    )
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
        element("link", rel="icon", href="data:,"),
        element("title", title),
        element("style", Markup(STYLE)),
    )
    document = element(
        "html", head, element("body", element("main", *body), element("script", Markup(script))), lang="en"
    )
    return f"<!DOCTYPE html>\n{document}\n"


def _digest(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def section(title: str, *children: Child, level: int = 2, style: str | None = None) -> Markup:
    return element("section", element(f"h{level}", title), *children, class_=style)


def paragraphs(*texts: Child, style: str | None = None) -> Markup:
    return join(element("p", text, class_=style) for text in texts)
