"""Memory that is left for new processes: on the machine, and in the control groups of this process."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_ROOT: Final = Path("/")
# File pages that the kernel drops when memory is needed; the names of cgroup v1 and v2.
_DROPPED: Final = re.compile(r"^(?:total_)?inactive_file (\d+)$", re.M)


def free_memory_bytes(root: Path = _ROOT) -> int | None:
    """Return the number of bytes that other processes may still take; None where the system does not report it.

    `/proc/meminfo` shows the machine's memory without a container's limit, so the limits of control groups count as
    well.

    Args:
        root: root of the file system.
    """
    try:
        found = re.search(r"^MemAvailable: +(\d+) kB", (root / "proc/meminfo").read_text(), re.M)
    except OSError:
        return None
    if found is None:
        return None
    return max(0, min([int(found[1]) << 10, *_left_in_groups(root)]))


def _left_in_groups(root: Path) -> Iterator[int]:
    """Yield the free bytes of each control group around this process."""
    for folder, limit, usage in _groups(root):
        try:
            highest = int((folder / limit).read_text())
            used = int((folder / usage).read_text())
            dropped = max(map(int, _DROPPED.findall((folder / "memory.stat").read_text())), default=0)
        except (OSError, ValueError):  # the group is not visible from here, or has no limit: "max"
            continue
        yield highest - used + dropped


def _groups(root: Path) -> Iterator[tuple[Path, str, str]]:
    """Yield the folder of each control group around this process, with the file names of its limit and its usage."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    mounted = root / "sys/fs/cgroup"
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            base, limit, usage = mounted, "memory.max", "memory.current"
        elif "memory" in controllers.split(","):
            base, limit, usage = mounted / "memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
        else:
            continue
        # In a container the path may be the host's, while the mounted folder is the container's group.
        own = Path(path.lstrip("/"))
        for each in (own, *own.parents):
            yield base / each, limit, usage
