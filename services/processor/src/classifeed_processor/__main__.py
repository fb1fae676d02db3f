"""`python -m classifeed_processor serve | work | migrate | check`."""

from __future__ import annotations

from classifeed_common.runner import main
from classifeed_processor.bootstrap import GROWABLE, SERVICE, build, prepare
from classifeed_processor.settings import ProcessorSettings

if __name__ == "__main__":
    main(SERVICE, ProcessorSettings, build, "classifeed_processor", prepare=prepare, growable=GROWABLE)
