"""Texts of offers in the table of texts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from classifeed_common.db import Tx, load_queries
from classifeed_common.db.rows import fetch_named
from classifeed_moderation.domain.subjects import Kind, Task, cache_key

_SQL: Final = load_queries(__package__, "offer_texts.sql")


@dataclass(frozen=True)
class NewOfferText:
    """A text of an offer as its owner sent it."""

    key: str
    seller_id: str
    namespace: str
    external_id: str
    title: str
    description: str
    text_hash: bytes
    content_version: int
    region_ids: tuple[int, ...]

    @cached_property
    def text(self) -> str:
        """The text to judge: title, line end, description."""
        return f"{self.title}\n{self.description}" if self.title else self.description

    @cached_property
    def cache_key(self) -> bytes:
        """The key that equal texts share."""
        return cache_key(Kind.OFFER, self.region_ids, self.text)

    @property
    def task(self) -> Task:
        """The text for the verdict service."""
        return Task(self.key, Kind.OFFER, self.text, self.text_hash, self.region_ids)


async def put_offer_texts(tx: Tx, texts: Sequence[NewOfferText], due_in_s: Sequence[float]) -> set[str]:
    """Store new texts, each of another offer; return their keys.

    Args:
        tx: transaction of the texts.
        texts: texts of offers.
        due_in_s: for each text, the seconds after which it is requested if it still waits.
    """
    parameters = {
        "subject_keys": [text.key for text in texts],
        "texts": [text.text for text in texts],
        "title_chars": [len(text.title) for text in texts],
        "text_hashes": [text.text_hash for text in texts],
        "cache_keys": [text.cache_key for text in texts],
        "content_versions": [text.content_version for text in texts],
        "region_ids": [json.dumps(text.region_ids) for text in texts],
        "seller_ids": [text.seller_id for text in texts],
        "namespaces": [text.namespace for text in texts],
        "external_ids": [text.external_id for text in texts],
        "due_in_s": list(due_in_s),
    }
    return {key for (key,) in await (await tx.execute(_SQL["put_offer_texts"], parameters)).fetchall()}


async def list_decided(tx: Tx, texts: Sequence[NewOfferText]) -> list[Any]:
    """Return the decided texts of `texts`, as rows by name."""
    parameters = {
        "subject_keys": [text.key for text in texts],
        "text_hashes": [text.text_hash for text in texts],
    }
    return await fetch_named(tx, _SQL["list_decided"], parameters)
