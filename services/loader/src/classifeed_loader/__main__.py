"""`python -m classifeed_loader serve | work | migrate | check`."""

from __future__ import annotations

from classifeed_common.runner import main
from classifeed_loader.bootstrap import SERVICE, build, prepare
from classifeed_loader.settings import LoaderSettings

if __name__ == "__main__":
    main(SERVICE, LoaderSettings, build, "classifeed_loader", prepare=prepare)
