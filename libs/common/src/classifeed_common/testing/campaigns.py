"""What long campaigns have and `make test` leaves to shorter tests of the same promise."""

from __future__ import annotations

import os
from typing import Final

import pytest

IS_LONG: Final = os.environ.get("CLASSIFEED_CAMPAIGN") == "long"
in_campaigns = pytest.mark.skipif(not IS_LONG, reason="campaigns have it")
