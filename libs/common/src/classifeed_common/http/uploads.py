"""Routes that take files: bodies of any type, where all others take JSON alone."""

from __future__ import annotations

from starlette.routing import Route


class UploadRoute(Route):
    """A route whose body is a file, or a form with one.

    The guard against web pages lets such bodies through; it refuses foreign origins all the same (ADR 0045).
    """
