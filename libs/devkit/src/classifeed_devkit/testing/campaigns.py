"""Tests and sizes for long campaigns, which `make test` leaves out."""

from __future__ import annotations

import os
from typing import Final

import pytest

_CAMPAIGN: Final = os.environ.get("CLASSIFEED_CAMPAIGN", "")
if _CAMPAIGN not in {"", "short", "long"}:
    raise ValueError(f"CLASSIFEED_CAMPAIGN is {_CAMPAIGN!r}; it takes short (the sizes of `make test`) or long")
IS_LONG: Final = _CAMPAIGN == "long"
in_campaigns = pytest.mark.skipif(not _CAMPAIGN, reason="campaigns have it")
