"""Settings of cleanweb."""

from __future__ import annotations

from pydantic_settings import SettingsConfigDict

from classifeed_common.settings import ServiceSettings


class CleanwebSettings(ServiceSettings):
    """What cleanweb needs to know, from variables CLASSIFEED_CLEANWEB_*."""

    model_config = SettingsConfigDict(env_prefix="CLASSIFEED_CLEANWEB_", frozen=True)
