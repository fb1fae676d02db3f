"""Settings of moderation."""

from __future__ import annotations

from pydantic_settings import SettingsConfigDict

from classifeed_common.settings import ServiceSettings


class ModerationSettings(ServiceSettings):
    """What moderation needs to know, from variables CLASSIFEED_MODERATION_*."""

    model_config = SettingsConfigDict(env_prefix="CLASSIFEED_MODERATION_", frozen=True)
