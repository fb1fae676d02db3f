"""Free memory is the machine's or that of a control group around the process, whichever is less."""

from __future__ import annotations

from pathlib import Path

import pytest

from classifeed_devkit.embedded.memory import free_memory_bytes

MIB = 1 << 20
MEMINFO = "MemTotal:       24683656 kB\nMemFree:         1048576 kB\nMemAvailable:    8388608 kB\n"


def write(root: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    return root


def test_without_limits_it_is_what_the_machine_has(tmp_path: Path) -> None:
    root = write(tmp_path, {"proc/meminfo": MEMINFO, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n"})
    assert free_memory_bytes(root) == 8192 * MIB


V1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
V2 = ("memory.max", "memory.current", "inactive_file")


@pytest.mark.parametrize(
    ("membership", "folder", "names"),
    [
        ("0::/\n", "", V2),
        ("0::/kubepods/pod1/own\n", "", V2),
        ("0::/pod1/own\n", "pod1", V2),
        ("9:pids:/\n4:memory:/own\n", "memory/own", V1),
        ("4:cpu,memory:/docker/own\n", "memory", V1),
    ],
    ids=["namespace", "path of the host", "group around", "v1", "v1 in a container"],
)
def test_limit_of_a_control_group_counts(
    tmp_path: Path, membership: str, folder: str, names: tuple[str, str, str]
) -> None:
    limit, usage, dropped = (f"sys/fs/cgroup/{folder}/{name}" for name in (*names[:2], "memory.stat"))
    root = write(
        tmp_path,
        {
            "proc/meminfo": MEMINFO,
            "proc/self/cgroup": membership,
            limit: f"{2048 * MIB}\n",
            usage: f"{1536 * MIB}\n",
            dropped: f"anon 5\ninactive_file {MIB}\n{names[2]} {512 * MIB}\n",
        },
    )
    assert free_memory_bytes(root) == 1024 * MIB, "files that the kernel drops are not in the way"


def test_group_over_its_limit_leaves_nothing(tmp_path: Path) -> None:
    files = {"memory.max": "100\n", "memory.current": "200\n", "memory.stat": "inactive_file 0\n"}
    root = write(tmp_path, {"proc/meminfo": MEMINFO, "proc/self/cgroup": "0::/\n"})
    write(root, {f"sys/fs/cgroup/{name}": content for name, content in files.items()})
    assert free_memory_bytes(root) == 0


def test_system_without_reports_has_none(tmp_path: Path) -> None:
    assert free_memory_bytes(tmp_path) is None
    assert free_memory_bytes(write(tmp_path, {"proc/meminfo": "MemTotal: 5 kB\n"})) is None


def test_here_it_is_reported() -> None:
    free = free_memory_bytes()
    assert free is None or free > 0
