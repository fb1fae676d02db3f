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
        description="Folder for the files of running tasks; each takes the file's size there for as long as it runs.",
    )
    concurrency: int = Field(
        default=4,
        ge=1,
        le=64,
        description="Tasks that one process runs at a time; one seller's at most half of them, so 2 or more.",
    )
    window_batches: int = Field(
        default=16,
        ge=1,
        le=10_000,
        description="Maximum number of batches of one seller in one process that may wait for replies; each has up to "
        "100 offers. All sellers wait for them.",
    )
    history_tasks: int = Field(
        default=20,
        ge=1,
        description="Completed tasks that are kept of each namespace, with their issues and statistics.",
    )
    heartbeat_s: float = Field(default=5, gt=0, le=20, description="How often a process renews its lease, in seconds.")
    jobs_lease_s: int = Field(
        default=20,
        ge=3,
        le=600,
        description="Time without a renewal after which a task is given to another process, in seconds.",
    )
