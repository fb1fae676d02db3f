"""Random identifiers, such as lease holders and incidents."""

from __future__ import annotations

import os
import secrets
import socket


def random_id(prefix: str = "") -> str:
    """Return a unique id: 80 random bits in lower-case hex, after an optional prefix and a dash."""
    value = secrets.token_hex(10)
    return f"{prefix}-{value}" if prefix else value


def new_incident() -> str:
    """Return a new incident id for a log entry and the error message about it: 48 random bits in lower-case hex."""
    return secrets.token_hex(6)


def process_holder(role: str) -> str:
    """Return a lease holder's id: role, host and pid for people, and a random part because pids are reused."""
    return random_id(f"{role}-{socket.gethostname()}-{os.getpid()}")
