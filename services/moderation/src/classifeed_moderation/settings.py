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
        description="Seconds until a text is requested again after a request without a verdict. Raise it if requests "
        "cost money.",
    )
    max_pending_duration_s: float = Field(
        default=600,
        gt=0,
        description="Seconds that people may have a text before it is requested again: the time that reviewers take.",
    )
    workers: int = Field(
        default=512,
        ge=1,
        le=2000,
        description="Maximum number of texts at the verdict service at a time. It decides memory and throughput; texts "
        "of offers use at most 95 %.",
    )
    verdict_url: str = Field(
        default="http://127.0.0.1:8088",
        pattern=r"^https?://[^\s/]+$",
        description="Address of the verdict service; requests go to /v2/ there. Set it to use another verdict service.",
    )
    verdict_service: str = Field(
        default="classifeed",
        min_length=1,
        description="`service` of the requests: the name under which the verdict service knows this installation. Its "
        "operator gives it.",
    )
    verdict_environment: Literal["stable", "testing", "load"] = Field(
        default="testing",
        description="`environment` of the requests: stable in production; testing makes at most 50 requests a second; "
        "with load, no request is ever made.",
    )
    verdict_batch: int = Field(
        default=1,
        ge=1,
        le=100,
        description="Maximum texts of offers in one request, as a batch of JSON-RPC; 1: the verdict service does not "
        "support batches. Raise it for a service that does.",
    )
    answer_s: float = Field(
        default=5,
        gt=0,
        description="Timeout of a response, in seconds. Raise it if the verdict service takes longer.",
    )
    fake_clean_web: Literal["off", "on"] = Field(
        default="off",
        description="Whether verdicts are generated in this process: no request is made. Turn it on for load tests.",
    )
    rules_file: Path | None = Field(
        default=None,
        description="Rules file, read again when it changes; unset: the file that the service includes. Set it to "
        "change a rule without a release.",
    )
    points_while_silent: Literal["wait", "show"] = Field(
        default="wait",
        description="Policy for points without a verdict once RETRY_INTERVAL_S has passed: hidden, or shown. Set it "
        "to show if late points cost more than bad ones.",
    )
    comments_while_silent: Literal["wait", "show"] = Field(
        default="wait",
        description="Policy for comments without a verdict once RETRY_INTERVAL_S has passed: hidden, or shown. Set it "
        "to show if late comments cost more than bad ones.",
    )
    kept_verdicts_s: int = Field(
        default=30 * 24 * 3600,
        ge=0,
        description="Seconds that verdicts are kept for equal texts. It decides the size of a table and the number of "
        "requests.",
    )
    receiver_address: str = Field(
        default="127.0.0.1:50055",
        pattern=TARGET,
        description="gRPC address of the receiver, [dns:///]host:port. Your network decides; dns:/// balances over "
        "replicas.",
    )
    decisions_days: int = Field(
        default=400,
        ge=1,
        description="Days that superseded decisions, decided texts of offers and removed points are kept. It decides "
        "the size of tables.",
    )
