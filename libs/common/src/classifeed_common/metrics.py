"""Metrics that every service has, in one place so that names are not chosen twice.

RED for each RPC (rate, errors and duration all come from one histogram), calls in flight, failed roles, backlogs. Rooms
with metrics of their own declare them beside the code that moves them.
"""

from __future__ import annotations

from typing import Final

from prometheus_client import Counter, Gauge, Histogram

_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)

RPC_SERVER_DURATION: Final = Histogram(
    "rpc_server_call_duration_seconds",
    "Duration of calls answered (OpenTelemetry rpc.server.call.duration), by method and status code.",
    ("rpc_method", "rpc_response_status_code"),
    buckets=_SECONDS,
)
RPC_SERVER_ACTIVE: Final = Gauge("rpc_server_active_calls", "Calls being answered now.", ("rpc_method",))
ROLE_FAILURES: Final = Counter("role_failures_total", "Roles that ended with an exception.", ("role",))
ROLE_BLOCKED: Final = Gauge(
    "role_blocked_items", "What a role cannot go on with, by role; above 0 for minutes: see /health/ready.", ("role",)
)
BACKLOG: Final = Gauge(
    "backlog_items", "Work that waits, by role and item; 0 everywhere is a settled service.", ("item",)
)
