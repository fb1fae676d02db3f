"""Put the schema of a client's documents, as soon as the receiver responds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, Protocol

import structlog

from classifeed.documents.v1.schema_pb2 import Schema
from classifeed_common.loops import race, retry
from classifeed_common.pacing.backoff import Backoff
from classifeed_common.telemetry.fault_log import log_fault

_log = structlog.get_logger(__name__)

_FIRST_PAUSE_S: Final = 0.2
_LONGEST_PAUSE_S: Final = 5.0


class Schemas(Protocol):
    """Receiver of schemas; idempotent."""

    async def put_schema(self, schema: Schema) -> None:
        """Put the schema of an epoch; raise if it was not accepted."""
        ...


async def put_schema(schemas: Schemas, schema: Schema, stop: asyncio.Event, on_fault: Callable[[str], None]) -> bool:
    """Put a schema, and retry until it is accepted. Return False if `stop` is set before that.

    Even a refusal may be temporary (a receiver of an earlier release). Documents wait in the publish mark until then.

    Args:
        schemas: Receiver of the schema.
        schema: Schema to put.
        stop: Event that ends the retries.
        on_fault: Callback with the reason of a failed attempt, for people; with "" once the schema is accepted.
    """

    def note(error: Exception, pause_s: float) -> None:
        log_fault(_log, "documents.schema.refused", error, client=schema.client, retry_in_s=pause_s)
        on_fault(f"the receiver refuses the schema of {schema.client}, so nothing is published: {error}")

    backoff = Backoff(_FIRST_PAUSE_S, _LONGEST_PAUSE_S)
    [putting] = await race(stop, retry(lambda: schemas.put_schema(schema), backoff, note))
    if putting.cancelled():
        return False
    putting.result()
    on_fault("")
    return True
