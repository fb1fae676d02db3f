"""How much memory is left for what is started: of the machine, and of the control group that holds this process."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_ROOT: Final = Path("/")
# Files in memory that the kernel drops as soon as somebody wants it; the names of cgroup v1 and v2.
_DROPPED: Final = re.compile(r"^(?:total_)?inactive_file (\d+)$", re.M)


def free_memory_bytes(root: Path = _ROOT) -> int | None:
    """Return how many bytes processes beside this one may take; None where the system does not report it.

    A container's limit is not in `/proc/meminfo`, which is the machine's: what its control groups leave counts as well.

    Args:
        root: of the file system.
    """
    try:
        found = re.search(r"^MemAvailable: +(\d+) kB", (root / "proc/meminfo").read_text(), re.M)
    except OSError:
        return None
    if found is None:
        return None
    return max(0, min([int(found[1]) << 10, *_left_in_groups(root)]))


def _left_in_groups(root: Path) -> Iterator[int]:
    """Yield what each control group around this process leaves, in bytes."""
    for folder, limit, usage in _groups(root):
        try:
            highest = int((folder / limit).read_text())
            used = int((folder / usage).read_text())
            dropped = max(map(int, _DROPPED.findall((folder / "memory.stat").read_text())), default=0)
        except (OSError, ValueError):  # no such group seen from here, or no limit: "max"
            continue
        yield highest - used + dropped


def _groups(root: Path) -> Iterator[tuple[Path, str, str]]:
    """Yield the folder of each control group around this process, with the names of its limit and its usage."""
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
        # In a container the path may be that of the host, and what is mounted is the container's own group.
        own = Path(path.lstrip("/"))
        for each in (own, *own.parents):
            yield base / each, limit, usage
