"""Routes that accept files: bodies of any type, while other routes accept only JSON."""

from __future__ import annotations

from starlette.routing import Route


class UploadRoute(Route):
    """A route whose body is a file, or a form with one.

    The guard against web pages allows such bodies, but still refuses foreign origins (ADR 0045).
    """
