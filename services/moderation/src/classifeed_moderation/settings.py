"""Settings of moderation."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from classifeed_common.settings import TARGET
from classifeed_jobs import ServiceJobSettings


class ModerationSettings(ServiceJobSettings):
    """Settings from environment variables CLASSIFEED_MODERATION_*."""

    model_config = SettingsConfigDict(env_prefix="CLASSIFEED_MODERATION_", frozen=True)

    retry_interval_s: float = Field(
        default=60,
        gt=0,
        description="Seconds until a text is requested again after a request without a verdict.",
    )
    max_pending_duration_s: float = Field(
        default=600, gt=0, description="Seconds that people may have a text before it is requested again."
    )
    check_interval_s: float = Field(default=10, gt=0, description="Seconds between polls for due texts.")
    workers: int = Field(
        default=512, ge=1, le=2000, description="Maximum number of texts at the verdict service at a time."
    )
    offers_share_percent: int = Field(
        default=95,
        ge=1,
        le=100,
        description="Share of the workers that texts of offers may use, in percent; the rest is for other texts.",
    )
    queue_size: int = Field(
        default=10_000,
        ge=1,
        description="Maximum texts of each kind that wait in memory; new texts of offers get half of it. Further texts"
        " are handled once due.",
    )
    verdict_url: str = Field(
        default="http://127.0.0.1:8088",
        pattern=r"^https?://[^\s/]+$",
        description="Address of the verdict service; requests go to /v2/ there.",
    )
    verdict_audience: str = Field(default="cleanweb", min_length=1, description="Audience of the tokens of requests.")
    verdict_service: str = Field(
        default="classifeed",
        min_length=1,
        description="`service` of the requests: the name of this service at the verdict service.",
    )
    verdict_environment: Literal["stable", "testing", "load"] = Field(
        default="testing", description="`environment` of the requests; with load, no request is ever made."
    )
    verdict_batch: int = Field(
        default=1,
        ge=1,
        le=100,
        description="Maximum texts of offers in one request, as a batch of JSON-RPC; 1: the verdict service does not "
        "support batches.",
    )
    testing_requests_s: float = Field(
        default=50, gt=0, description="Maximum texts per second that are requested in the environment testing."
    )
    connect_s: float = Field(default=1, gt=0, description="Timeout of a connection, in seconds.")
    answer_s: float = Field(default=5, gt=0, description="Timeout of a response, in seconds.")
    breaker_failures: int = Field(
        default=10, ge=1, description="Failed requests in a row after which only one request a second is made."
    )
    probe_s: float = Field(default=1, gt=0, description="Seconds between two requests while requests fail.")
    fake_clean_web: Literal["off", "on"] = Field(
        default="off", description="Whether verdicts are generated in this process, for load tests: no request is made."
    )
    fake_delay_s: float = Field(default=0.2, ge=0, description="Seconds until a generated verdict.")
    fake_forbidden_percent: int = Field(
        default=5, ge=0, le=100, description="Share of texts that generated verdicts refuse, in percent."
    )
    fake_people_percent: int = Field(
        default=0,
        ge=0,
        le=100,
        description="Share of texts that go to simulated people, who never respond, in percent.",
    )
    fake_failed_percent: int = Field(
        default=0, ge=0, le=100, description="Share of simulated requests that fail, in percent."
    )
    rules_file: Path | None = Field(
        default=None, description="Rules file, read again when it changes; unset: the file that the service includes."
    )
    points_while_silent: Literal["wait", "show"] = Field(
        default="wait",
        description="What happens to points without a verdict once RETRY_INTERVAL_S has passed: hidden, or shown.",
    )
    comments_while_silent: Literal["wait", "show"] = Field(
        default="wait",
        description="What happens to comments without a verdict once RETRY_INTERVAL_S has passed: hidden, or shown.",
    )
    kept_verdicts_s: int = Field(
        default=30 * 24 * 3600, ge=0, description="Seconds that verdicts are kept for equal texts."
    )
    poll_records: int = Field(default=20, ge=1, description="Maximum messages with texts of offers per transaction.")
    receiver_address: str = Field(
        default="127.0.0.1:50055", pattern=TARGET, description="gRPC address of the receiver, [dns:///]host:port."
    )
    lease_ttl_s: float = Field(default=10, gt=0, description="Lease of a role that one process runs, in seconds.")
    callbacks_s: float = Field(
        default=1000, gt=0, description="Maximum callbacks per second of the verdict service; further ones get 429."
    )
    max_open_appeals_per_author: int = Field(default=100, ge=1, description="Maximum open appeals per author.")
    decisions_days: int = Field(
        default=400,
        ge=1,
        description="Days that superseded decisions, decided texts of offers and removed points are kept.",
    )
