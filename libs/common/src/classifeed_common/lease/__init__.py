"""Leases: at most one process at a time works for a name, and a paused process cannot write late (ADR 0006)."""

from __future__ import annotations

from classifeed_common.lease.keeper import LeaseKeeper
from classifeed_common.lease.leases import Lease, LeaseLost, Leases
from classifeed_common.lease.loop import LeasedLoop

__all__ = ["Lease", "LeaseKeeper", "LeaseLost", "LeasedLoop", "Leases"]
