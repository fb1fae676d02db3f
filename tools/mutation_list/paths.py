"""Folders and files that mutations of several mechanisms use."""

from __future__ import annotations

from typing import Final

COMMON: Final = "libs/common/src/classifeed_common"
CLEANWEB: Final = "services/cleanweb/src/classifeed_cleanweb"
COMMON_TESTS: Final = "libs/common/tests/integration"
JOBS: Final = "libs/jobs/src/classifeed_jobs"
JOBS_TESTS: Final = "libs/jobs/tests"
API: Final = "services/api/src/classifeed_api"
API_TESTS: Final = "services/api/tests/integration"
PROCESSOR: Final = "services/processor/src/classifeed_processor"
PROCESSOR_TESTS: Final = "services/processor/tests/integration"
LOADER: Final = "services/loader/src/classifeed_loader"
LOADER_TESTS: Final = "services/loader/tests/integration"
OFFERS: Final = "services/offers/src/classifeed_offers"
OFFERS_TESTS: Final = "services/offers/tests/integration"
MODERATION: Final = "services/moderation/src/classifeed_moderation"
MODERATION_TESTS: Final = "services/moderation/tests"
PICTURES: Final = "services/pictures/src/classifeed_pictures"
PICTURES_TESTS: Final = "services/pictures/tests"
