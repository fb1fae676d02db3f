"""`python -m classifeed_searcher serve | work | migrate | check`."""

from __future__ import annotations

from classifeed_common.runner import main
from classifeed_searcher.bootstrap import SERVICE, build
from classifeed_searcher.settings import SearcherSettings

if __name__ == "__main__":
    main(SERVICE, SearcherSettings, build, None)
