"""`python -m classifeed_pictures serve | work | migrate | check`."""

from __future__ import annotations

from classifeed_common.runner import main
from classifeed_pictures.bootstrap import GROWABLE, SERVICE, build, prepare
from classifeed_pictures.settings import PicturesSettings

if __name__ == "__main__":
    main(SERVICE, PicturesSettings, build, "classifeed_pictures", prepare=prepare, growable=GROWABLE)
