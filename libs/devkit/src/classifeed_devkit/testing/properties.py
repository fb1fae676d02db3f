"""Settings of property tests: the same examples in each run on any machine; new ones in long campaigns."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

from classifeed_devkit.testing.campaigns import IS_LONG

settings.register_profile(
    "classifeed",
    deadline=None,
    database=None,
    derandomize=not IS_LONG,
    suppress_health_check=list(HealthCheck),
)
settings.load_profile("classifeed")
