"""`python -m classifeed_receiver serve | work | migrate | check`."""

from __future__ import annotations

from classifeed_common.runner import main
from classifeed_receiver.bootstrap import SERVICE, build
from classifeed_receiver.settings import ReceiverSettings

if __name__ == "__main__":
    main(SERVICE, ReceiverSettings, build, "classifeed_receiver")
