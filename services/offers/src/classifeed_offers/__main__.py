"""`python -m classifeed_offers serve | work | migrate | check`."""

from __future__ import annotations

from classifeed_common.runner import main
from classifeed_offers.bootstrap import GROWABLE, SERVICE, build, prepare
from classifeed_offers.settings import OffersSettings

if __name__ == "__main__":
    main(SERVICE, OffersSettings, build, "classifeed_offers", prepare=prepare, growable=GROWABLE)
