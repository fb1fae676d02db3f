"""Builds the parts of pictures, and joins them to roles, jobs and routes. No other package does so."""

from __future__ import annotations

from classifeed_pictures.parts.parts import Parts, build_parts

__all__ = ["Parts", "build_parts"]
