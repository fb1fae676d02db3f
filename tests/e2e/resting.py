"""A seller without loads during a campaign, with a row that stays damaged until the next load."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

from bench.kit.generated_feed import write_feed

from tests.e2e.children import problems_of
from tests.e2e.suite import Suite

RESTING_OFFERS: Final = 20
_DAMAGED: Final = "rows of the registry are damaged"


class Resting:
    """A seller without loads during the campaign; a test can damage a row of the registry and remove the index."""

    def __init__(self, suite: Suite, seller: str, folder: Path) -> None:
        self._suite = suite
        self._seller = seller
        self._file = folder / f"{seller}.yml"
        self._damaged = ""

    @property
    def is_damaged(self) -> bool:
        """Return whether a row was damaged."""
        return bool(self._damaged)

    def load(self, revision: int) -> None:
        """Upload all offers; each revision has different prices."""
        write_feed(self._file, RESTING_OFFERS, prefix=self._seller, revision=revision)
        uploaded = self._suite.upload(self._file, self._seller, timeout_s=900)
        assert uploaded.exit_code == 0, uploaded.document

    def is_found(self, count: int) -> bool:
        """Return whether a search finds exactly `count` offers."""
        found = self._suite.run("search", "", "--seller", self._seller, "--limit", "1")
        return found.exit_code == 0 and int(found.document["total"]) == count

    def damage_row(self) -> None:
        """Damage the row of one of the offers in the registry."""
        damage = """
            UPDATE documents SET document = set_byte(document, 0, get_byte(document, 0) # 255)
             WHERE client = 'offers' AND pk = (SELECT min(pk) FROM documents WHERE client = 'offers' AND pk LIKE %s)
            RETURNING pk
        """
        [(self._damaged,)] = self._suite.query("receiver", damage, f"%{self._seller}%")

    def lose_index(self) -> None:
        """Remove the folder of the index, so that the searcher reads the whole registry at its start."""
        folder = self._suite.data / "services" / "searcher" / "offers"
        shutil.rmtree(folder.rename(folder.with_name("lost")))

    def is_named(self) -> bool:
        """Return whether `status` reports the damaged row."""
        return any(_DAMAGED in text and self._damaged in text for text in problems_of(self._suite, "receiver"))

    def is_mended(self) -> bool:
        """Return whether `status` reports no damaged row."""
        return not any(_DAMAGED in text for text in problems_of(self._suite, "receiver"))
