"""The publish mark of offers: statements for the pusher."""

from __future__ import annotations

from typing import Final

from classifeed_common.db import load_queries

SQL = load_queries(__package__, "publishing.sql")
SELECT_DUE: Final = SQL["select_due"]
ADVANCE: Final = SQL["advance"]
