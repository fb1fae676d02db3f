"""A response that did not come, which is not the same as the response that there is nothing."""

from __future__ import annotations

from enum import Enum
from typing import Final


class Unknown(Enum):
    """The one value that stands for a response that did not come."""

    UNKNOWN = "UNKNOWN"


UNKNOWN: Final = Unknown.UNKNOWN
