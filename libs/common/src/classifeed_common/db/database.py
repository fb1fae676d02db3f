"""Database: a bounded pool of connections to one schema."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from classifeed_common.db.connection import Tx, WatchedConnection
from classifeed_common.db.conninfo import UNANSWERED_S, checked_schema, session_dsn
from classifeed_common.db.pool import Pool
from classifeed_common.db.probe import Probe
from classifeed_common.db.unpooled import Unpooled
from classifeed_common.db.watch import ConnectionWatch


class Database:
    """Transactions on one PostgreSQL schema, over at most `max_size` connections.

    Nothing is sent before `open()`. After a restart of the server each pooled connection fails once and is then
    replaced; `is_passing_fault` distinguishes such errors from permanent ones. The server ends a transaction that sends
    nothing for `idle_in_transaction_s`, so that a paused process cannot keep its row locks. A `ConnectionWatch` finds
    open connections that give no response: their statements end with a passing fault, and idle connections are
    replaced.

    Args:
        dsn: any libpq connection string.
        schema: schema of the service's tables, set as the search path.
        application_name: name in pg_stat_activity.
        min_size: number of connections kept open.
        max_size: largest number of connections; a further caller waits for `acquire_timeout_s`, then gets
            `psycopg_pool.PoolTimeout`.
        acquire_timeout_s: seconds that a caller waits for a free connection.
        idle_in_transaction_s: seconds that a transaction may send nothing.
        further_schemas: schemas to search for names that `schema` does not have.
        use_pool: whether connections are kept; if not, each transaction has a new one, and leaves no state on the
            server.
        recycle_s: age in seconds at which a pooled connection is replaced, once it is returned.
        unanswered_s: seconds that a statement may be silent while the server's state is unknown: without a pool, behind
            a pooler, and while the server gives no response at all.
    """

    def __init__(
        self,
        dsn: str,
        *,
        schema: str,
        application_name: str,
        min_size: int = 1,
        max_size: int = 4,
        acquire_timeout_s: float = 30.0,
        idle_in_transaction_s: float = 30.0,
        further_schemas: Sequence[str] = (),
        use_pool: bool = True,
        recycle_s: float = 3600.0,
        unanswered_s: float = UNANSWERED_S,
    ) -> None:
        self.dsn = dsn
        self.schema = checked_schema(schema)
        idle_ms = int(idle_in_transaction_s * 1000)
        self._session_dsn = session_dsn(
            dsn,
            schema,
            application_name,
            {"idle_in_transaction_session_timeout": str(idle_ms)},
            further_schemas,
        )
        self._watch = ConnectionWatch(
            Probe(dsn, application_name) if use_pool else None,
            schema=schema,
            unanswered_s=unanswered_s,
            on_dead=self._replace_idle,
        )
        self._pool: Pool | Unpooled = (
            Pool(
                self._session_dsn,
                connection_class=WatchedConnection,
                kwargs={"autocommit": True, "watch": self._watch},
                min_size=min_size,
                max_size=max_size,
                max_lifetime=recycle_s,
                timeout=acquire_timeout_s,
                name=application_name,
                open=False,
            )
            if use_pool
            else Unpooled(self._session_dsn, max_size=max_size, timeout_s=acquire_timeout_s, watch=self._watch)
        )

    async def open(self, *, must_respond: bool = True) -> None:
        """Connect. Idempotent.

        Args:
            must_respond: whether to wait until `min_size` connections are open; if not, they are opened as soon as
                possible, and a caller who needs one earlier waits.

        Raises:
            psycopg_pool.PoolTimeout: the server cannot be reached.
        """
        await self._pool.open(wait=must_respond, timeout=30.0)

    async def close(self) -> None:
        """Close all connections. Callers that still wait get an error. Idempotent."""
        await self._watch.close()
        await self._pool.close()

    @asynccontextmanager
    async def transaction(self, *, timeout_s: float | None = None) -> AsyncIterator[Tx]:
        """Provide a transaction: committed at the end of the block, rolled back if the block raises.

        READ COMMITTED. If the block ends without an error, the changes are durable. If the commit itself raises, the
        outcome is unknown.

        Args:
            timeout_s: timeout of each statement in seconds (statement_timeout); None: no timeout.

        Raises:
            psycopg.errors.QueryCanceled: a statement took longer than `timeout_s`.
            psycopg_pool.PoolTimeout: no connection became free.
        """
        async with self._pool.connection() as connection, connection.transaction():
            if timeout_s is not None:
                milliseconds = max(1, int(timeout_s * 1000))
                await connection.execute(f"SET LOCAL statement_timeout = {milliseconds}")
            yield connection

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Tx]:
        """Provide a pooled connection in autocommit, for single statements; keep it for a short time only."""
        async with self._pool.connection() as connection:
            yield connection

    @asynccontextmanager
    async def dedicated_connection(self) -> AsyncIterator[Tx]:
        """Provide a connection outside the pool, in autocommit: for LISTEN, session locks and long COPYs."""
        connection = await WatchedConnection.connect(self._session_dsn, autocommit=True, watch=self._watch)
        async with connection:
            yield connection

    def pool_stats(self) -> dict[str, int]:
        """Return the pool's figures (size, waiting callers, errors) by their psycopg_pool names, for metrics."""
        return self._pool.get_stats()

    async def _replace_idle(self) -> None:
        if isinstance(self._pool, Pool):
            await self._pool.drain()
