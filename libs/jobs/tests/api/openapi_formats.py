"""Formats of the OpenAPI document that a pattern cannot express, for schemathesis."""

from __future__ import annotations

from zoneinfo import available_timezones

import schemathesis
from hypothesis import strategies as st

_FIELD = st.sampled_from(["*", "*/2", "1", "1,3", "2-5"])

schemathesis.openapi.format("cron", st.lists(_FIELD, min_size=5, max_size=5).map(" ".join))
schemathesis.openapi.format("time-zone", st.sampled_from(sorted(available_timezones() - {"localtime"})))
