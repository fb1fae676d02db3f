"""The class path of Apache Kafka: pinned jars with hashes, fetched once by jgo and stored in a cache folder."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from classifeed_devkit.embedded.process import ServerError, explain_os_error

_LOCK_FILE = Path(__file__).with_name("kafka_jars.lock")
CACHE_VARIABLE = "CLASSIFEED_CACHE_DIR"


@dataclass(frozen=True, slots=True)
class Jar:
    """One line of kafka_jars.lock."""

    group: str
    artifact: str
    version: str
    sha256: str

    @property
    def file_name(self) -> str:
        """Name in the cache folder; it includes the hash, so that a folder may serve several versions."""
        return f"{self.artifact}-{self.version}-{self.sha256[:12]}.jar"


def cache_dir() -> Path:
    """Return the folder of fetched files: CLASSIFEED_CACHE_DIR, otherwise `classifeed` in the user's cache folder.

    If neither can be written, it is `cache` in the folder of this Python environment.
    """
    if chosen := os.environ.get(CACHE_VARIABLE):
        return Path(chosen).absolute()
    try:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "classifeed"
    except RuntimeError:  # the user has no home
        return _own_cache_dir()
    existing = next(parent for parent in (folder, *folder.parents) if parent.exists())
    return folder if os.access(existing, os.W_OK) else _own_cache_dir()


def _own_cache_dir() -> Path:
    return Path(sys.prefix) / "cache"


@cache
def pinned_jars() -> tuple[Jar, ...]:
    """Return the pinned jars of one Kafka release."""
    rows = (line.replace(":", " ").split() for line in _LOCK_FILE.read_text().splitlines() if line.strip())
    return tuple(Jar(group, artifact, version, sha256) for group, artifact, version, sha256 in rows)


def kafka_class_path(folder: Path | None = None, progress: Callable[[str], None] | None = None) -> list[Path]:
    """Return the jars of Kafka, and fetch missing ones (45 MB, about 10 s).

    Idempotent and safe between processes: one fetches, others wait. A file is stored only if its hash is right.

    Args:
        folder: folder of the jars; None: `cache_dir()/kafka`.
        progress: called once, with a message, before files are fetched.

    Raises:
        ServerError: a jar cannot be fetched, or its hash differs from the pinned one.
    """
    folder = folder or cache_dir() / "kafka"
    paths = [folder / jar.file_name for jar in pinned_jars()]
    if all(path.exists() for path in paths):
        return paths
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with exclusive(folder / ".lock"):
            missing = [jar for jar in pinned_jars() if not (folder / jar.file_name).exists()]
            if missing and progress is not None:
                progress(f"fetching {len(missing)} files of Apache Kafka into {folder} (once)")
            with ThreadPoolExecutor(8) as pool:
                list(pool.map(lambda jar: _fetch(jar, folder), missing))
    except OSError as error:
        raise ServerError(f"kafka: {explain_os_error(error, folder)}") from error
    return paths


@contextlib.contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on a file; others wait. Raises OSError."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _fetch(jar: Jar, folder: Path) -> None:
    try:
        from jgo.maven import MavenContext
    except ImportError:
        raise ServerError("kafka: package jgo is missing: run `make setup`") from None
    context = MavenContext(repo_cache=folder / "repository", timeout=60)
    coordinates = f"{jar.group}:{jar.artifact}:{jar.version}"
    try:
        artifact = context.project(jar.group, jar.artifact).at_version(jar.version).artifact()
        source = Path(artifact.resolve())
    except Exception as error:
        raise ServerError(
            f"kafka: cannot fetch {coordinates}: {error}: Kafka comes from Maven Central once; check the network, "
            f"or copy a filled cache folder and name it in {CACHE_VARIABLE}"
        ) from error
    digest = hashlib.sha256(source.read_bytes()).hexdigest()
    if digest != jar.sha256:
        source.unlink()
        raise ServerError(f"kafka: {coordinates} has SHA-256 {digest}, expected {jar.sha256}: not used, start again")
    source.replace(folder / jar.file_name)
