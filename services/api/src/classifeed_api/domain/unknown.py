"""A missing response, which differs from the response that there is nothing."""

from __future__ import annotations

from enum import Enum
from typing import Final


class Unknown(Enum):
    """The type of the value UNKNOWN: there was no response."""

    UNKNOWN = "UNKNOWN"


UNKNOWN: Final = Unknown.UNKNOWN
