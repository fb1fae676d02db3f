"""The task queue of a namespace: uploads and removals of its feed, in the order in which they were acknowledged.

The position in the queue is a version of the publish mark. It is assigned under the lock of the namespace, so positions
are in the order of commits: a reader that sees a waiting entry sees all entries before it.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Final, TypeAlias

from opentelemetry.context import Context
from psycopg.types.json import Jsonb

from classifeed_api.domain.feeds import FeedDeletion
from classifeed_api.domain.namespaces import NamespaceKey
from classifeed_api.domain.uploads import Upload
from classifeed_common.db import Tx, load_queries
from classifeed_common.telemetry.tracing import context_of, kept_trace

_SQL: Final = load_queries(__package__, "task_line.sql")
# The publish mark of a MarkPusher.
SELECT_DUE: Final = _SQL["select_due"]
ADVANCE_PUBLISHED: Final = _SQL["advance_published"]

Waiting: TypeAlias = Upload | FeedDeletion


async def lock(tx: Tx, key: NamespaceKey) -> None:
    """Lock the feed and the queue of the namespace until the transaction ends."""
    await tx.execute(_SQL["lock_namespace"], key._asdict())


async def next_place(tx: Tx, key: NamespaceKey, *, above: int = 0) -> int:
    """Return a position after all waiting entries and above `above`. The caller holds the lock."""
    cursor = await tx.execute(_SQL["next_place"], {**key._asdict(), "above": above})
    [(place,)] = await cursor.fetchall()
    return int(place)


async def list_waiting_dispositions(tx: Tx, key: NamespaceKey) -> set[int]:
    """Return the dispositions of removals of the namespace that have no task yet."""
    cursor = await tx.execute(_SQL["list_waiting_dispositions"], key._asdict())
    return {disposition for (disposition,) in await cursor.fetchall()}


async def insert_deletion(tx: Tx, deletion: FeedDeletion) -> None:
    """Queue the removal of a feed at the position of its version; its task belongs to the current trace."""
    parameters = {
        **deletion.key._asdict(),
        "version": deletion.version,
        "disposition": deletion.disposition,
        "trace_context": Jsonb(kept_trace()),
    }
    await tx.execute(_SQL["insert_deletion"], parameters)


async def count(tx: Tx) -> int:
    """Return the number of waiting entries in all queues."""
    [(waiting,)] = await (await tx.execute(_SQL["count_due"])).fetchall()
    return int(waiting)


def waiting_of(row: Any) -> Waiting:
    """Build the upload or removal from a row of `select_due`, by column names."""
    if row.upload_id is None:
        return FeedDeletion(NamespaceKey(row.seller_id, row.namespace), row.version, row.disposition)
    return Upload(**{field.name: getattr(row, field.name) for field in fields(Upload)})


def trace_of(row: Any) -> Context:
    """Return the trace in which a row of `select_due` was acknowledged; an empty context if there was none."""
    return context_of(row.trace_context)
