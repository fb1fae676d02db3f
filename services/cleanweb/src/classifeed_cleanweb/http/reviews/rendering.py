"""Pages out of packaged templates: whatever is put into one is escaped, and the browser gets nothing from elsewhere."""

from __future__ import annotations

from functools import cache
from html import escape
from importlib.resources import files
from string import Template
from typing import Final, NewType

from starlette.responses import HTMLResponse, Response

Html = NewType("Html", str)

SECURITY_HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
_NO_STORE: Final = {**SECURITY_HEADERS, "Cache-Control": "no-store"}
_REVALIDATED: Final = {**SECURITY_HEADERS, "Cache-Control": "no-cache"}
STATIC_FILES: Final = {"reviews.css": "text/css", "reviews.js": "text/javascript", "icon.svg": "image/svg+xml"}


def markup(template: str, **values: str | int) -> Html:
    """Return a template with its values, all escaped.

    Args:
        template: with `$name` for each value.
    """
    return Html(Template(template).substitute({name: escape(str(value)) for name, value in values.items()}))


def html_of(name: str, pieces: dict[str, Html] | None = None, **values: str | int) -> Html:
    """Return a packaged template with pieces of HTML as they are, and with escaped values."""
    escaped = {key: escape(str(value)) for key, value in values.items()}
    return Html(Template(_read("files", name)).substitute({**escaped, **(pieces or {})}))


def page(title: str, main: Html, *, who: str = "", status: int = 200) -> HTMLResponse:
    """Return a whole page.

    Args:
        title: of the window.
        main: what it shows.
        who: name of the reviewer; empty: nobody has signed in.
        status: of HTTP.
    """
    signed_in = html_of("signed_in.html", who=who) if who else Html("")
    content = html_of("layout.html", {"main": main, "signed_in": signed_in}, title=title)
    return HTMLResponse(content, status, headers=_NO_STORE)


def static_file(name: str) -> Response:
    """Return one of the `STATIC_FILES`."""
    return Response(_read("files", name), media_type=STATIC_FILES[name], headers=_REVALIDATED)


def instructions_of(project: str) -> Html:
    """Return the instructions of a project."""
    return Html(_read("instructions", f"{project}.html"))


@cache
def _read(folder: str, name: str) -> str:
    return files(__package__).joinpath(folder, name).read_text("utf-8")
