"""`python -m classifeed_cleanweb serve | work | migrate | check`."""

from __future__ import annotations

from classifeed_cleanweb.bootstrap import SERVICE, build
from classifeed_cleanweb.settings import CleanwebSettings
from classifeed_common.runner import main

if __name__ == "__main__":
    main(SERVICE, CleanwebSettings, build, "classifeed_cleanweb")
