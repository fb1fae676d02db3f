"""Processes of the service in the chart's groups of roles, which tests kill and stop.

This file is also the process from which they are forked, since each start of Python takes two seconds.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

import yaml

from classifeed.pictures.v1.orders_pb2 import DownloadOrder
from classifeed_common.db import Database
from classifeed_common.runner import main
from classifeed_jobs.testing import lose_leases
from classifeed_pictures.bootstrap import SERVICE, build, prepare
from classifeed_pictures.jobs.download import TASK
from classifeed_pictures.jobs.orders import OrderArgs
from classifeed_pictures.parts.tuning import Tuning
from classifeed_pictures.settings import PicturesSettings

_VALUES: Final = Path(__file__).parents[4] / "helm/pictures/values.yaml"
RESHARDER: Final = "reshard"
PROCESSOR: Final = "process"
DOWNLOADER: Final = "download"
SERVER: Final = "serve"
_RUNNING: Final = """
SELECT args FROM dl_jobs WHERE status = 'running' AND task = %s AND split_part(claimed_by, ':', 2) = %s
"""


def role_groups() -> dict[str, list[str]]:
    """Return the arguments of each group of roles in the chart."""
    values = yaml.safe_load(_VALUES.read_text("utf-8"))
    return {name: role["args"] for name, role in values["roles"].items()}


@dataclass
class Fleet:
    """Running processes by id, with the names of their groups.

    Attributes:
        database: database of the service.
        environment: environment of each process.
        tuning: periods and limits of each process.
        alive: groups of the living processes.
        again: number of additional downloads allowed per URL, as their downloaders were killed or stopped.
        kills: number of killed processes by group.
        folder: folder where each process writes its addresses.
    """

    database: Database
    environment: dict[str, str]
    tuning: Tuning
    alive: dict[int, str] = field(default_factory=dict)
    again: Counter[str] = field(default_factory=Counter)
    kills: Counter[str] = field(default_factory=Counter)
    folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="fleet-")))
    _struck: set[int] = field(default_factory=set)

    def open(self) -> None:
        """Start the process that the others are forked from."""
        self._parent = subprocess.Popen(
            [sys.executable, __file__, str(self.folder), json.dumps(asdict(self.tuning))],
            env=os.environ | self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def close(self) -> None:
        """Kill all processes."""
        self._parent.communicate(timeout=60)
        shutil.rmtree(self.folder)

    def http_addresses(self) -> list[str]:
        """Return the addresses of the living servers that listen already."""
        files = [self.folder / f"{pid}.json" for pid, group in self.alive.items() if group == SERVER]
        return [json.loads(file.read_text())["http"] for file in files if file.exists()]

    def states(self) -> dict[tuple[str, str], int]:
        """Return the number of processes per group and state: "Z" has ended without a kill, "T" is stopped."""
        stats = {pid: Path(f"/proc/{pid}/stat").read_text() for pid in self.alive}
        return Counter((self.alive[pid], stat.rpartition(")")[2].split()[0]) for pid, stat in stats.items())

    def of_port(self, port: int, group: str) -> int | None:
        """Return the process of a group with a TCP connection from this port; None if there is none."""
        numbers = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        sockets = {f"socket:[{each[9]}]" for each in numbers if int(each[1].partition(":")[2], 16) == port}
        for pid in [pid for pid, name in self.alive.items() if name == group]:
            for opened in Path(f"/proc/{pid}/fd").iterdir():
                with suppress(FileNotFoundError):
                    if str(opened.readlink()) in sockets:
                        return pid
        return None

    async def start(self, group: str) -> int:
        """Start a process of a group, and return its id. It may take a while until it is ready."""
        pid = await asyncio.to_thread(self._fork, role_groups()[group])
        self.alive[pid] = group
        return pid

    async def kill(self, pid: int) -> None:
        """Kill a process, and requeue its jobs."""
        await self.stop(pid)  # so that it starts no further download after its jobs were counted
        os.kill(pid, signal.SIGKILL)
        self.kills[self.alive.pop(pid)] += 1

    async def stop(self, pid: int) -> None:
        """Stop a process with SIGSTOP, and requeue its jobs."""
        os.kill(pid, signal.SIGSTOP)
        await self._count_again(pid)
        self._struck.add(pid)
        await self.lose_leases()

    def resume(self, pid: int) -> None:
        """Resume a stopped process."""
        self._struck.discard(pid)
        os.kill(pid, signal.SIGCONT)

    async def lose_leases(self) -> None:
        """Requeue the jobs of killed and stopped processes, even if they sent heartbeats at the last moment."""
        await lose_leases(self.database, self._struck)

    async def count_all_again(self) -> None:
        """Allow another attempt of every running job: the database is killed, and their results are lost."""
        for pid, group in self.alive.items():
            if group == DOWNLOADER:
                await self._count_again(pid)

    async def _count_again(self, pid: int) -> None:
        if self.alive[pid] != DOWNLOADER:
            return
        async with self.database.connection() as connection:
            rows = await (await connection.execute(_RUNNING, [TASK, str(pid)])).fetchall()
        self.again.update(DownloadOrder.FromString(OrderArgs(**args).message).url for (args,) in rows)

    def _fork(self, arguments: list[str]) -> int:
        stdin, stdout = self._parent.stdin, self._parent.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps(arguments) + "\n")
        stdin.flush()
        return int(stdout.readline())


def serve_forks() -> None:
    """Fork a process of the service for each line of arguments; kill all at the end of the input."""
    forked: list[int] = []
    while line := sys.stdin.readline():
        pid = os.fork()
        if pid == 0:
            _run(json.loads(line))
        forked.append(pid)  # not reaped before the end, so that no other process gets its id
        sys.stdout.write(f"{pid}\n")
        sys.stdout.flush()
    for pid in forked:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def _run(arguments: list[Any]) -> None:
    os.environ["CLASSIFEED_PICTURES_RUN_FILE"] = f"{sys.argv[1]}/{os.getpid()}.json"
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    tuned = partial(build, tuning=Tuning(**json.loads(sys.argv[2])))
    main(SERVICE, PicturesSettings, tuned, "classifeed_pictures", prepare=prepare, argv=arguments)


if __name__ == "__main__":
    serve_forks()
