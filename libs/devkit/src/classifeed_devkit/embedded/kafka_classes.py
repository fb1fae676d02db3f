"""A cache of the classes that Kafka loads: its Java process starts in less than half of the time.

Java calls it an AOT cache (JEP 483, JEP 514). A short run of a broker creates it, once for each release of Kafka and of
Java; it is stored next to the jars (64 MB). Java reports a cache that is damaged or does not fit, and starts without
it.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from classifeed_devkit.embedded.kafka_jars import exclusive
from classifeed_devkit.embedded.process import ServerError

# Saved adapters of native calls do not fit the next start: Java would warn about each.
_OPTIONS: Final = ("-XX:+UnlockDiagnosticVMOptions", "-XX:-AOTAdapterCaching")
_MAKING: Final = "making-classes-"


class KafkaClasses:
    """The cache for one class path and one Java.

    Args:
        class_path: the jars, all in one folder.
        java: release of Java and its options, which the cache depends on.
    """

    def __init__(self, class_path: Sequence[Path], java: Sequence[str]) -> None:
        self._folder = class_path[0].parent
        key = hashlib.sha256("\n".join([*(jar.name for jar in class_path), *java]).encode()).hexdigest()
        self.path = self._folder / f"classes-{key[:12]}.aot"

    @property
    def java_options(self) -> tuple[str, ...]:
        """Java options that use the cache; empty while there is none."""
        return (*_OPTIONS, f"-XX:AOTCache={self.path}") if self.path.exists() else ()

    def make(self, run: Callable[[Path, tuple[str, ...]], None], progress: Callable[[str], None]) -> None:
        """Create the cache if it is missing: one process does, others wait. After a failure Kafka starts without it.

        Args:
            run: function that starts a broker in a folder with further Java options, and stops it. May raise
                ServerError.
            progress: called with a message before the work, and after a failure.
        """
        if self.path.exists():
            return
        try:
            with exclusive(self._folder / ".lock"):
                if not self.path.exists():
                    progress("preparing Apache Kafka for quick starts (once)")
                    self._make(run)
        except (OSError, ServerError) as error:
            progress(f"Kafka starts slowly, as its classes cannot be kept in {self._folder}: {error}")

    def _make(self, run: Callable[[Path, tuple[str, ...]], None]) -> None:
        for left in self._folder.glob(f"{_MAKING}*"):
            shutil.rmtree(left, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix=_MAKING, dir=self._folder) as folder:
            draft = Path(folder) / "classes.aot"
            run(Path(folder), (*_OPTIONS, f"-XX:AOTCacheOutput={draft}"))
            draft.replace(self.path)
