"""The environment that every Python process of the platform starts from."""

from __future__ import annotations

import os

from classifeed_common.embedded.kafka_jars import cache_dir


def python_environment() -> dict[str, str]:
    """Return a copy of ours, set up for many small processes on one machine."""
    environment = {
        **os.environ,
        "PYTHONUNBUFFERED": "1",
        # Few arenas: the C allocator otherwise keeps one for each thread, and pools have many.
        "MALLOC_ARENA_MAX": "2",
    }
    if environment.pop("PYTHONDONTWRITEBYTECODE", "") and "PYTHONPYCACHEPREFIX" not in environment:
        # Whoever sets it wants no files beside the sources. Compiling anew in each process would cost 1.5 s of CPU,
        # for each service, at each start: keep the byte code elsewhere instead.
        environment["PYTHONPYCACHEPREFIX"] = str(cache_dir() / "pycache")
    return environment
