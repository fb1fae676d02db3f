"""Choose the verdict service by the settings."""

from __future__ import annotations

from functools import partial

from classifeed_common.auth import KeyStore
from classifeed_common.clock import Clock
from classifeed_moderation.clients.fake_verdicts import FakeVerdicts, NoVerdicts
from classifeed_moderation.clients.verdict_service import HttpVerdictService, VerdictService
from classifeed_moderation.settings import ModerationSettings


def verdict_service_of(settings: ModerationSettings, clock: Clock, *, caller: str) -> VerdictService:
    """Return the configured verdict service: an HTTP client, generated verdicts, or none.

    Args:
        settings: settings of moderation.
        clock: clock for generated delays.
        caller: name of this service in the tokens of requests.
    """
    if settings.fake_clean_web == "on":
        return FakeVerdicts(
            clock,
            delay_s=settings.fake_delay_s,
            forbidden_percent=settings.fake_forbidden_percent,
            people_percent=settings.fake_people_percent,
            failed_percent=settings.fake_failed_percent,
        )
    if settings.verdict_environment == "load":
        return NoVerdicts()
    keys = KeyStore(settings.keys_dir) if settings.keys_dir is not None else None
    return HttpVerdictService(
        settings.verdict_url,
        service=settings.verdict_service,
        environment=settings.verdict_environment,
        connect_s=settings.connect_s,
        answer_s=settings.answer_s,
        issue_token=partial(keys.issue, caller, settings.verdict_audience) if keys is not None else None,
    )
