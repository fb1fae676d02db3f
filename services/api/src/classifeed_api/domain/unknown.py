"""An answer that could not be had, which is not the same as the answer that there is nothing."""

from __future__ import annotations

from enum import Enum
from typing import Final


class Unknown(Enum):
    """The one value that stands for an answer that could not be had."""

    UNKNOWN = "UNKNOWN"


UNKNOWN: Final = Unknown.UNKNOWN
