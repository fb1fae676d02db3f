"""Settings of pictures."""

from __future__ import annotations

from pydantic_settings import SettingsConfigDict

from classifeed_common.settings import ServiceSettings


class PicturesSettings(ServiceSettings):
    """What pictures needs to know, from variables CLASSIFEED_PICTURES_*."""

    model_config = SettingsConfigDict(env_prefix="CLASSIFEED_PICTURES_", frozen=True)
