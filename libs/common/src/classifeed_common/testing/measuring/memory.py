"""Memory of a process, as Linux counts it.

Not `ru_maxrss`, which begins with the peak of the process that started this one.
"""

from __future__ import annotations

from pathlib import Path


def resident_bytes(pid: int | str = "self") -> int:
    """Return the memory that a process has now."""
    return _read(pid, "VmRSS")


def peak_bytes(pid: int | str = "self") -> int:
    """Return the most memory that a process has had since it began, or since `forget_peak`."""
    return _read(pid, "VmHWM")


def forget_peak() -> None:
    """Have the peak of this process begin with what it has now."""
    Path("/proc/self/clear_refs").write_text("5")


def _read(pid: int | str, name: str) -> int:
    [line] = [line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith(f"{name}:")]
    return int(line.split()[1]) << 10
