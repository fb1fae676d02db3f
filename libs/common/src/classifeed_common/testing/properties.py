"""How tests of properties draw: the same examples in each run, however slow the machine; new ones in long campaigns."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "classifeed",
    deadline=None,
    database=None,
    derandomize=os.environ.get("CLASSIFEED_CAMPAIGN") != "long",
    suppress_health_check=list(HealthCheck),
)
settings.load_profile("classifeed")
