"""RepeatedWork: the former name of `Loop`."""

from __future__ import annotations

from classifeed_common.loops import Loop as RepeatedWork

__all__ = ["RepeatedWork"]
