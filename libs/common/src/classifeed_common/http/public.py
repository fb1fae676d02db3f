"""Routes whose responses stand in pages of other sites, such as pictures."""

from __future__ import annotations

from starlette.routing import Route


class PublicRoute(Route):
    """A route that anybody may read, from any page, by GET and HEAD alone.

    The guard against web pages lets such requests of other origins through (ADR 0045). Scripts of these pages do not
    read the response: it has no header of CORS.
    """
