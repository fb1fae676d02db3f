"""Identifiers drawn in the process: for holders of leases, runs, requests."""

from __future__ import annotations

import os
import secrets
import socket


def random_id(prefix: str = "") -> str:
    """Return a name nobody else has: 80 random bits in lower-case hex, after an optional prefix and a dash."""
    value = secrets.token_hex(10)
    return f"{prefix}-{value}" if prefix else value


def new_incident() -> str:
    """Return what a fault is called in the log and in words to whom it hit: 48 random bits in lower-case hex."""
    return secrets.token_hex(6)


def process_holder(role: str) -> str:
    """Who holds a lease: role, host and pid for people to read, and a random part, since pids come again."""
    return random_id(f"{role}-{socket.gethostname()}-{os.getpid()}")
