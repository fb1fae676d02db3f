"""`python -m classifeed_api serve | work | migrate | check`."""

from __future__ import annotations

from classifeed_api.bootstrap import SERVICE, build
from classifeed_api.settings import ApiSettings
from classifeed_common.runner import main

if __name__ == "__main__":
    main(SERVICE, ApiSettings, build, "classifeed_api")
