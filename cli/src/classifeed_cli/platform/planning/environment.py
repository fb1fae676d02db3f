"""Base environment of all Python processes of the platform."""

from __future__ import annotations

import os

from classifeed_devkit.embedded.kafka_jars import cache_dir


def python_environment() -> dict[str, str]:
    """Return a copy of the current environment, tuned for many small processes on one machine."""
    environment = {
        **os.environ,
        "PYTHONUNBUFFERED": "1",
        # By default, the C allocator keeps an arena for each thread, and pools have many threads.
        "MALLOC_ARENA_MAX": "2",
    }
    if environment.pop("PYTHONDONTWRITEBYTECODE", "") and "PYTHONPYCACHEPREFIX" not in environment:
        # The variable keeps byte code out of the source folders. Compiling in each process would cost 1.5 s of CPU per
        # service and start, so the byte code goes to the cache folder instead.
        environment["PYTHONPYCACHEPREFIX"] = str(cache_dir() / "pycache")
    return environment
