"""Settings of the api."""

from __future__ import annotations

import tempfile
from pathlib import Path

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from classifeed_common.settings import TARGET
from classifeed_jobs import ServiceJobSettings


class ApiSettings(ServiceJobSettings):
    """Settings of the api, from variables CLASSIFEED_API_*."""

    model_config = SettingsConfigDict(env_prefix="CLASSIFEED_API_", frozen=True)

    processor_address: str = Field(
        pattern=TARGET,
        description="gRPC address of the processor, [dns:///]host:port. Your network decides; dns:/// balances over "
        "replicas.",
    )
    loader_address: str = Field(
        pattern=TARGET,
        description="gRPC address of the loader, [dns:///]host:port. Your network decides; dns:/// balances over "
        "replicas.",
    )
    offers_address: str = Field(
        pattern=TARGET,
        description="gRPC address of offers, [dns:///]host:port. Your network decides; dns:/// balances over replicas.",
    )
    searcher_address: str = Field(
        pattern=TARGET,
        description="gRPC address of the searcher, [dns:///]host:port. Your network decides; dns:/// balances over "
        "replicas.",
    )
    secrets_file: Path | None = Field(
        default=None,
        description="File with the keys that encrypt credentials of feeds for the loader; unset: they are refused. "
        "Set it if sellers' sites require a password.",
    )
    min_interval_s: float = Field(
        default=600,
        gt=0,
        description="Shortest allowed interval between fetches of a feed, in seconds; the same as the loader's. "
        "Raise it for fewer requests to sites.",
    )
    allow_loopback: bool = Field(
        default=False, description="Allow links to this machine. Turn it on for tests and demos, never in production."
    )
    spool_dir: Path = Field(
        default=Path(tempfile.gettempdir()) / "classifeed-api",
        description="Folder for uploads until they are in the object store. Set it to a disk with space for all open "
        "uploads.",
    )
    upload_limit_bytes: int = Field(
        default=2 * 1024**3,
        gt=0,
        description="Largest accepted file, in bytes: part of the contract with sellers. The spool folder needs the "
        "space.",
    )
    upload_streams: int = Field(
        default=64,
        gt=0,
        description="Maximum number of open uploads in this process; more are refused. The space of the spool "
        "folder decides.",
    )
    upload_streams_per_seller: int = Field(
        default=8,
        gt=0,
        description="Maximum number of open uploads of one seller in this process, so that others can upload, too. "
        "Raise it for sellers with many namespaces.",
    )
    history_uploads: int = Field(
        default=20,
        ge=1,
        description="Number of uploads per namespace that are kept after their loads were removed. Lower it "
        "for less space.",
    )
    removed_days: int = Field(
        default=45,
        ge=31,
        description="Days for which removed feeds are kept; must be longer than the receiver keeps its tombstones. "
        "Raise both together.",
    )
