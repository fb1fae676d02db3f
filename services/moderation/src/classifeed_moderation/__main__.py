"""`python -m classifeed_moderation serve | work | migrate | check`."""

from __future__ import annotations

from classifeed_common.runner import main
from classifeed_moderation.bootstrap import GROWABLE, SERVICE, build, prepare
from classifeed_moderation.settings import ModerationSettings

if __name__ == "__main__":
    main(SERVICE, ModerationSettings, build, "classifeed_moderation", prepare=prepare, growable=GROWABLE)
