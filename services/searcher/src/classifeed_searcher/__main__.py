"""`python -m classifeed_searcher serve | work | migrate | check`."""

from __future__ import annotations

from classifeed_common.runner import main
from classifeed_searcher.bootstrap import build
from classifeed_searcher.settings import SearcherSettings

if __name__ == "__main__":
    main("searcher", SearcherSettings, build, None)
