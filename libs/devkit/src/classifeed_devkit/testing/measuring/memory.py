"""Memory of a process, as counted by Linux.

It does not use `ru_maxrss`, which starts with the peak of the parent process.
"""

from __future__ import annotations

from pathlib import Path


def resident_bytes(pid: int | str = "self") -> int:
    """Return the present memory of a process in bytes."""
    return _read(pid, "VmRSS")


def peak_bytes(pid: int | str = "self") -> int:
    """Return the peak memory of a process in bytes since its start, or since `forget_peak`."""
    return _read(pid, "VmHWM")


def forget_peak() -> None:
    """Reset the peak of this process to its present memory."""
    Path("/proc/self/clear_refs").write_text("5")


def _read(pid: int | str, name: str) -> int:
    [line] = [line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith(f"{name}:")]
    return int(line.split()[1]) << 10
