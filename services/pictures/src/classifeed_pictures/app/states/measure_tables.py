"""Sets metrics from the tables: the oldest request, the usage of each namespace, refusing hosts."""

from __future__ import annotations

from typing import Final

import structlog

from classifeed_common.db import Database
from classifeed_common.host_limits import HostLimits
from classifeed_pictures.metrics import OLDEST_REQUEST, QUOTA, REFUSING_HOSTS, STORED_BYTES, STORED_PICTURES
from classifeed_pictures.store.files.namespaces import list_namespaces
from classifeed_pictures.store.states.requests import get_oldest_s

_DAY_S: Final = 86400.0
# A host that forbids everything is tried again after a week at the latest.
_WANTED_S: Final = 8 * _DAY_S
_log = structlog.get_logger(__name__)


class MeasureTables:
    """Sets the gauges of tables; for a Watch. It never reports a block.

    Args:
        database: database with the tables.
        hosts: permits for hosts.
    """

    def __init__(self, database: Database, hosts: HostLimits) -> None:
        self._database = database
        self._hosts = hosts
        self._refusing: set[str] = set()

    async def __call__(self) -> dict[str, str]:
        """Read a few rows of each table, and set the gauges."""
        async with self._database.transaction() as tx:
            OLDEST_REQUEST.set(await get_oldest_s(tx))
            for namespace, pictures, used_bytes in await list_namespaces(tx):
                STORED_PICTURES.labels(namespace.name).set(pictures)
                STORED_BYTES.labels(namespace.name).set(used_bytes)
                QUOTA.labels(namespace.name).set(namespace.quota_bytes)
        refusing = await self._hosts.list_refusing(_DAY_S, wanted_s=_WANTED_S)
        REFUSING_HOSTS.set(len(refusing))
        for host in refusing:
            if host not in self._refusing:
                _log.warning("pictures.host.refused", host=host)
        self._refusing = set(refusing)
        return {}
