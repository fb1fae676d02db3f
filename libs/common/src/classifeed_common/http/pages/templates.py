"""Web pages from packaged templates: values are escaped, and the browser loads nothing from other hosts."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from html import escape
from importlib.resources import files
from string import Template
from typing import Final, NewType

from starlette.responses import HTMLResponse, Response

# Text that is already HTML.
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
_SHARED: Final = {"pages.css": "text/css", "pages.js": "text/javascript", "icon.svg": "image/svg+xml"}


def markup(template: str, **values: str | int) -> Html:
    """Return a template with all values escaped.

    Args:
        template: text with `$name` for each value.
    """
    return Html(Template(template).substitute({name: escape(str(value)) for name, value in values.items()}))


class Templates:
    """The templates and static files of a service's pages, in the folder `files` of its package.

    Args:
        package: package of the pages.
        path: path of the pages, such as `/reviews`.
        brand: name in the head of each page.
        script: script of the service; it runs after `pages.js`.
    """

    def __init__(self, package: str, *, path: str, brand: str, script: str) -> None:
        self._package = package
        self._path = path
        self._brand = brand
        self._script = script
        self._statics = {name: (__package__, kind) for name, kind in _SHARED.items()}
        self._statics[script] = (package, "text/javascript")

    def html_of(self, name: str, pieces: Mapping[str, Html] | None = None, **values: str | int) -> Html:
        """Return a template of the service with escaped values and unescaped HTML pieces."""
        return _filled(self._package, name, pieces or {}, values)

    def page(self, title: str, main: Html, *, who: str = "", status: int = 200) -> HTMLResponse:
        """Return a whole page.

        Args:
            title: title of the window.
            main: content.
            who: name of the person; empty: not signed in.
            status: HTTP status.
        """
        signed_in = _filled(__package__, "signed_in.html", {}, {"who": who}) if who else Html("")
        values = {"title": title, "path": self._path, "brand": self._brand, "script": self._script}
        content = _filled(__package__, "layout.html", {"main": main, "signed_in": signed_in}, values)
        return HTMLResponse(content, status, headers=_NO_STORE)

    def sign_in(self, message: str, *, status: int) -> HTMLResponse:
        """Return the sign-in form, with the fault of the previous token."""
        return self.page("Sign in", _filled(__package__, "sign_in.html", {}, {"message": message}), status=status)

    def fault(self, message: str, reason: str, *, status: int) -> HTMLResponse:
        """Return the page that explains an error."""
        values = {"message": message, "reason": reason, "path": self._path, "brand": self._brand}
        return self.page(self._brand, _filled(__package__, "fault.html", {}, values), status=status)

    def static_file(self, name: str) -> Response | None:
        """Return a static file of the pages; None: there is no such file."""
        if name not in self._statics:
            return None
        package, kind = self._statics[name]
        return Response(read_file(package, "files", name), media_type=kind, headers=_REVALIDATED)


@cache
def read_file(package: str, folder: str, name: str) -> str:
    """Return the text of a packaged file."""
    return files(package).joinpath(folder, name).read_text("utf-8")


def _filled(package: str, name: str, pieces: Mapping[str, Html], values: Mapping[str, str | int]) -> Html:
    escaped = {key: escape(str(value)) for key, value in values.items()}
    return Html(Template(read_file(package, "files", name)).substitute({**escaped, **pieces}))
