"""Settings of the processor."""

from __future__ import annotations

import tempfile
from pathlib import Path

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from classifeed_jobs import ServiceJobSettings


class ProcessorSettings(ServiceJobSettings):
    """Settings of the processor, from variables CLASSIFEED_PROCESSOR_*."""

    model_config = SettingsConfigDict(env_prefix="CLASSIFEED_PROCESSOR_", frozen=True)

    spool_dir: Path = Field(
        default=Path(tempfile.gettempdir()) / "classifeed-processor",
        description="Folder for the files of running tasks. Put it on a disk that has room for all of them at a time.",
    )
    concurrency: int = Field(
        default=4,
        ge=1,
        le=64,
        description="Tasks that one process runs at a time; one seller's at most half of them, so 2 or more. Raise it "
        "on a machine with more CPU and memory.",
    )
    history_tasks: int = Field(
        default=20,
        ge=1,
        description="Completed tasks that are kept of each namespace, with their issues and statistics. Raise it if "
        "sellers ask about older loads; each takes space in the database.",
    )
    jobs_lease_s: int = Field(
        default=20,
        ge=3,
        le=600,
        description="Seconds without a heartbeat after which another process takes over a task. Raise it for machines "
        "and databases that pause for longer.",
    )
