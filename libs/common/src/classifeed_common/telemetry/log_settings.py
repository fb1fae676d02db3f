"""Settings of the files that a process writes in addition to its log stream."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic_settings import BaseSettings

from classifeed_common.telemetry.log_rotation import Rotation
from classifeed_common.zones import find_zone

_FILE_NAME = r"^[^/]*$"


def _check_zone(name: str) -> str:
    try:
        find_zone(name)
    except ValueError as error:  # the settings error shows the value
        raise ValueError("the time zone is not known") from error
    return name


def _check_rotation(text: str) -> str:
    Rotation.parse(text)
    return text


def _make_writable(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as error:
        raise ValueError(f"cannot be written: {error.strerror}") from error


ZoneName = Annotated[str, AfterValidator(_check_zone)]
"""An IANA name, such as Europe/Moscow."""

WritableFolder = Annotated[Path, AfterValidator(_make_writable)]
"""A folder in which files can be created; it is created when missing."""


class LogFileSettings(BaseSettings):
    """Settings of three files in addition to the log stream; processes may share them."""

    log_path: WritableFolder | None = Field(
        default=None,
        description="Folder of the log as JSON lines; unset: no file. Set it where no collector reads stderr.",
    )
    log_file_name: str = Field(
        default="",
        pattern=_FILE_NAME,
        description="Name of the log in its folder; empty: <service>.log. Set it where a collector expects a name.",
    )
    log_rotation: Annotated[str, AfterValidator(_check_rotation)] = Field(
        default="10 MB",
        description='When files are rotated: "10 MB" (KB, MB, GB), "1 day" (hours, days, weeks), "midnight"; ten old '
        "files are kept. Raise it to keep logs for longer.",
    )
    metric_path: WritableFolder | None = Field(
        default=None,
        description="Folder of the metrics as JSON lines; unset: no file. Set it where nothing scrapes /metrics.",
    )
    metric_file_name: str = Field(
        default="",
        pattern=_FILE_NAME,
        description="Name of the metrics in their folder; empty: <service>-metrics.jsonl. Set it where a collector "
        "expects a name.",
    )
    audit_log_path: WritableFolder | None = Field(
        default=None,
        description="Folder of the audit log: requests, and who changed what; unset: no file, and no audit lines of "
        "gRPC requests. Set it where changes must be traceable.",
    )
    audit_log_file_name: str = Field(
        default="",
        pattern=_FILE_NAME,
        description="Name of the audit log in its folder; empty: <service>-audit.log. Set it where a collector "
        "expects a name.",
    )
