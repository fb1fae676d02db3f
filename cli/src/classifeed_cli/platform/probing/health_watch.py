"""HealthWatch: periodic examination by the supervisor, which records the start time of problems."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from classifeed_cli.platform.probing.examination import Health, examine

PERIOD_S: Final = 3.0


class HealthWatch:
    """Records since when parts and services have had problems. A process that restarts repeatedly stays unwell.

    Args:
        describe: Function that returns the run document.
        on_change: Callback after something fell ill or recovered; it must not raise.
        progress: Callback with a message about it; it must not raise.
    """

    def __init__(
        self,
        describe: Callable[[], Mapping[str, Any]],
        on_change: Callable[[], None],
        progress: Callable[[str], None],
    ) -> None:
        self._describe = describe
        self._on_change = on_change
        self._progress = progress
        self.unwell_since: dict[str, str] = {}

    async def run(self) -> None:
        """Examine the installation every few seconds until cancelled."""
        while True:
            await asyncio.sleep(PERIOD_S)
            try:
                healths = await examine(self._describe())
            except OSError as error:  # temporarily no free file descriptor
                self._progress(f"health was not examined: {error}")
            else:
                self.note(healths)

    def note(self, healths: Mapping[str, Health]) -> None:
        """Record the result of an examination."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        unwell = {name: health for name, health in healths.items() if not health.is_well}
        fell_ill = unwell.keys() - self.unwell_since.keys()
        recovered = self.unwell_since.keys() - unwell.keys()
        for name in sorted(fell_ill):
            self._progress(f"{name}: {'; '.join(problem.text for problem in unwell[name].problems)}")
        for name in sorted(recovered):
            self._progress(f"{name} is healthy again after {self.unwell_since[name]}")
        self.unwell_since = {name: self.unwell_since.get(name, now) for name in unwell}
        if fell_ill or recovered:
            self._on_change()
