"""Limits of requests to users' hosts, shared by all processes: rate, concurrency, pauses (ADR 0059, 0074, 0105)."""

from __future__ import annotations

from classifeed_common.host_limits.limits import HostLimits
from classifeed_common.host_limits.owners import OwnerLimits
from classifeed_common.host_limits.rates import HostPolicy
from classifeed_common.host_limits.table import forget_hosts

__all__ = ["HostLimits", "HostPolicy", "OwnerLimits", "forget_hosts"]
