"""Choose the verdict service by the settings."""

from __future__ import annotations

from functools import partial
from typing import Final

from classifeed_common.auth import KeyStore
from classifeed_common.clock import Clock
from classifeed_moderation.clients.fake_verdicts import FakeVerdicts, NoVerdicts
from classifeed_moderation.clients.verdict_service import HttpVerdictService, VerdictService
from classifeed_moderation.settings import ModerationSettings

CONNECT_S: Final = 1.0
_AUDIENCE: Final = "cleanweb"  # service that the tokens of requests are issued for


def verdict_service_of(settings: ModerationSettings, clock: Clock, keys: KeyStore) -> VerdictService:
    """Return the configured verdict service: an HTTP client, generated verdicts, or none.

    Args:
        settings: settings of moderation.
        clock: clock for generated delays.
        keys: keys that sign the tokens of requests.
    """
    if settings.fake_clean_web == "on":
        return FakeVerdicts(clock)
    if settings.verdict_environment == "load":
        return NoVerdicts()
    return HttpVerdictService(
        settings.verdict_url,
        service=settings.verdict_service,
        environment=settings.verdict_environment,
        connect_s=CONNECT_S,
        answer_s=settings.answer_s,
        issue_token=partial(keys.issue, settings.service_name(), _AUDIENCE),
    )
