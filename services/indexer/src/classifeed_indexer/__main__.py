"""`python -m classifeed_indexer serve | work | migrate | check`."""

from __future__ import annotations

from classifeed_common.runner import main
from classifeed_indexer.bootstrap import SERVICE, build, prepare
from classifeed_indexer.settings import IndexerSettings

if __name__ == "__main__":
    main(SERVICE, IndexerSettings, build, "classifeed_indexer", prepare=prepare)
