"""Detection of transaction poolers, behind which a worker refuses to start (ADR 0095)."""

from __future__ import annotations

from typing import Final

from classifeed_common.db import Database, Tx

_PID: Final = "SELECT pg_backend_pid()"
_ROUNDS: Final = 5


class PoolerError(Exception):
    """The connections of this process do not keep their server session; the message says what to do."""


async def refuse_transaction_pooler(database: Database, connection: Tx) -> None:
    """Check that a connection keeps its session between transactions.

    Behind a pooler, the process id of the connection differs from that of the server process. Then another connection
    takes a session, and the first connection must still have the same one.

    Args:
        database: Database for the other connection.
        connection: Connection in autocommit mode.

    Raises:
        PoolerError: The connection got another session.
    """
    own = await _pid_of(connection)
    if own == connection.pgconn.backend_pid:
        return
    for _ in range(_ROUNDS):
        async with database.dedicated_connection() as other, other.transaction():
            await _pid_of(other)
            if await _pid_of(connection) != own:
                raise PoolerError(
                    "the database is behind a pooler in transaction mode, where LISTEN, prepared statements and the "
                    "settings of a session are lost: this worker does not start. Give processes that work the server's "
                    "own address, or a pooler in session mode; processes that only serve may use PG_USE_POOL=false"
                )


async def _pid_of(connection: Tx) -> int:
    row = await (await connection.execute(_PID, prepare=False)).fetchone()
    return int(row[0]) if row is not None else 0
