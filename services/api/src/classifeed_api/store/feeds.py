"""Reads and writes of feeds. Each function runs in the caller's transaction; writers hold the namespace's lock."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from classifeed.feeds.v1.feed_pb2 import FEED_STATUS_ACTIVE, FEED_STATUS_REMOVED, FeedSettings
from classifeed_api.domain.feeds import Feed
from classifeed_api.domain.namespaces import NamespaceKey
from classifeed_common.db import Tx, load_queries
from classifeed_common.errors import NotFound

_SQL: Final = load_queries(__package__, "feeds.sql")
# The publish mark of a MarkPusher.
SELECT_DUE: Final = _SQL["select_due"]
ADVANCE_PUBLISHED: Final = _SQL["advance_published"]


async def find(tx: Tx, key: NamespaceKey) -> Feed | None:
    """Return the feed of a namespace, even a removed one."""
    cursor = await tx.execute(_SQL["find_feed"], key._asdict())
    row = await cursor.fetchone()
    return feed_of(row) if row else None


async def find_uploads(tx: Tx, key: NamespaceKey, feed: Feed | None) -> Feed | None:
    """Return the placeholder of a namespace filled by uploads only; None if there are no uploads since its removal.

    Args:
        tx: the caller's transaction.
        key: the namespace.
        feed: the row of the namespace, if it has one.
    """
    if feed is not None and not feed.is_removed:
        return None
    after = 0 if feed is None else feed.version
    cursor = await tx.execute(_SQL["find_uploads"], {**key._asdict(), "after": after, "active": FEED_STATUS_ACTIVE})
    row = await cursor.fetchone()
    return feed_of(row) if row else None


async def newest_upload(tx: Tx, key: NamespaceKey) -> int:
    """Return the version of the newest upload to a namespace; 0 if there is none."""
    [(version,)] = await (await tx.execute(_SQL["newest_upload"], key._asdict())).fetchall()
    return int(version)


async def get(tx: Tx, key: NamespaceKey) -> Feed:
    """Return the source of a namespace: its feed by link, its uploads, or its removed feed.

    Raises:
        NotFound: the namespace never had a feed or an upload.
    """
    feed = await find(tx, key)
    found = await find_uploads(tx, key, feed) or feed
    if found is None:
        raise not_found(key)
    return found


async def get_link(tx: Tx, key: NamespaceKey) -> Feed:
    """Return the feed by link of a namespace.

    Raises:
        NotFound: the namespace never had a feed or an upload.
        FailedPrecondition: the feed was deleted, or the namespace is filled by uploads only.
    """
    feed = await get(tx, key)
    feed.require_there()
    feed.require_link()
    return feed


def not_found(key: NamespaceKey) -> NotFound:
    """Return the error for a namespace that never had a feed or an upload."""
    return NotFound("FEED_NOT_FOUND", f"There is no {key.name}. List the feeds of the seller, or create it.")


async def list_by_seller(tx: Tx, seller_id: str, *, after: str, limit: int) -> list[Feed]:
    """Return the feeds by link and the namespaces with uploads of a seller, by namespace, without removed ones."""
    parameters = {"seller_id": seller_id, "after": after, "limit": limit}
    statuses = {"active": FEED_STATUS_ACTIVE, "removed": FEED_STATUS_REMOVED}
    cursor = await tx.execute(_SQL["list_feeds"], {**parameters, **statuses})
    return [feed_of(row) for row in await cursor.fetchall()]


async def insert(
    tx: Tx, key: NamespaceKey, settings: FeedSettings, sealed_credentials: bytes, request_id: str | None
) -> Feed:
    """Insert an active feed into a namespace that never had one."""
    cursor = await tx.execute(
        _SQL["insert_feed"],
        {
            **key._asdict(),
            "status": FEED_STATUS_ACTIVE,
            "settings": settings.SerializeToString(deterministic=True),
            "sealed_credentials": sealed_credentials,
            "request_id": request_id,
        },
    )
    [row] = await cursor.fetchall()
    return feed_of(row)


async def insert_removed(tx: Tx, key: NamespaceKey, version: int) -> Feed:
    """Insert the removed feed of a namespace that never had a feed by link, and return it."""
    parameters = {**key._asdict(), "version": version, "removed": FEED_STATUS_REMOVED}
    [row] = await (await tx.execute(_SQL["insert_removed"], parameters)).fetchall()
    return feed_of(row)


async def update(tx: Tx, feed: Feed, *, at_least: int = 0) -> Feed:
    """Store a changed feed and return it with its new version, which is at least `at_least`."""
    cursor = await tx.execute(
        _SQL["update_feed"],
        {
            **feed.key._asdict(),
            "status": feed.status,
            "settings": feed.settings.SerializeToString(deterministic=True),
            "sealed_credentials": feed.sealed_credentials,
            "request_id": feed.request_id,
            "at_least": at_least,
            "has_link": feed.has_link,
        },
    )
    [row] = await cursor.fetchall()
    return feed_of(row)


class Published(NamedTuple):
    """A version of a feed that the loader has acknowledged."""

    seller_id: str
    namespace: str
    version: int

    @property
    def name(self) -> str:
        """The resource name of the feed."""
        return NamespaceKey(self.seller_id, self.namespace).name


async def list_published(tx: Tx, after: Published | None, *, limit: int) -> list[Published]:
    """Return the first acknowledged feeds after `after`, by seller and namespace."""
    place = (
        {"seller_id": after.seller_id, "namespace": after.namespace} if after else {"seller_id": "", "namespace": ""}
    )
    cursor = await tx.execute(_SQL["list_published"], {**place, "limit": limit})
    return [Published(*row) for row in await cursor.fetchall()]


async def forget_published(tx: Tx, published: Sequence[Published]) -> int:
    """Make feeds due again that have not changed since; return their number."""
    return (await tx.execute(_SQL["forget_published"], _columns_of(published))).rowcount


async def list_behind(tx: Tx, known: Sequence[Published]) -> list[Published]:
    """Return the feeds whose version here is older than in `known`."""
    cursor = await tx.execute(_SQL["list_behind"], _columns_of(known))
    return [Published(*row) for row in await cursor.fetchall()]


async def list_unknown(tx: Tx, keys: Sequence[NamespaceKey]) -> list[NamespaceKey]:
    """Return the namespaces that never had a feed."""
    columns = {"seller_ids": [key.seller_id for key in keys], "namespaces": [key.namespace for key in keys]}
    cursor = await tx.execute(_SQL["list_unknown"], columns)
    return [NamespaceKey(*row) for row in await cursor.fetchall()]


async def list_unreadable(tx: Tx, prefixes: Sequence[bytes], *, limit: int) -> tuple[list[NamespaceKey], int]:
    """Return the first feeds whose credentials begin with none of `prefixes` (all of one length), and their total
    number.
    """
    parameters = {
        "prefixes": list(prefixes), "length": len(prefixes[0]), "removed": FEED_STATUS_REMOVED, "limit": limit,
    }  # fmt: skip
    rows = await (await tx.execute(_SQL["list_unreadable"], parameters)).fetchall()
    return [NamespaceKey(seller_id, namespace) for seller_id, namespace, _ in rows], rows[0][2] if rows else 0


def _columns_of(published: Sequence[Published]) -> dict[str, list[Any]]:
    return {
        "seller_ids": [feed.seller_id for feed in published],
        "namespaces": [feed.namespace for feed in published],
        "versions": [feed.version for feed in published],
    }


def feed_of(row: tuple[Any, ...]) -> Feed:
    """Build a feed from the nine columns that the queries select."""
    seller_id, namespace, version, status, settings, sealed_credentials, request_id, created_at, updated_at = row
    return Feed(
        NamespaceKey(seller_id, namespace),
        version,
        status,
        FeedSettings.FromString(settings),
        sealed_credentials,
        request_id,
        created_at,
        updated_at,
    )
