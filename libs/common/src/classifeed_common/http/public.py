"""Routes whose responses other sites may embed, such as pictures."""

from __future__ import annotations

from starlette.routing import Route


class PublicRoute(Route):
    """A route that anybody may read by GET and HEAD, from any page.

    The guard against web pages allows such requests of other origins (ADR 0045). Scripts of these pages cannot read the
    response: it has no CORS header.
    """
