"""Checks whether robots.txt of a host allows programs to fetch a picture (RFC 9309)."""

from __future__ import annotations

import asyncio
from functools import lru_cache
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from protego import Protego

from classifeed.pictures.v1.picture_pb2 import LoadFailure
from classifeed_common.db import Database
from classifeed_common.fetch import FetchFailed, FetchLimits, FetchRequest
from classifeed_common.fetch.fetcher import Fetcher
from classifeed_common.spool import run_folder
from classifeed_pictures.domain.lifecycle.retries import ROBOTS_DISALLOWED, ROBOTS_UNREACHABLE
from classifeed_pictures.store.files.robots import claim_rules, give_claim_back, save_rules

_ROBOT: Final = "Classifeed"
_DAY_S: Final = 86400.0
_UNREACHABLE_S: Final = 3600.0
_CLAIM_S: Final = 120.0
_TOO_MANY_REQUESTS: Final = 429
# An empty file has no rules, and a file that is too large is not used. The download itself refuses forbidden URLs, with
# a better message.
_NO_RULES: Final = frozenset(
    {
        "TOO_LARGE",
        "EMPTY_RESPONSE",
        "ADDRESS_REFUSED",
        "URL_INVALID",
        "URL_SCHEME",
        "URL_PORT",
        "URL_HAS_CREDENTIALS",
    }
)
# RFC 9309, sections 2.3.1.2 and 2.5: five redirects, and at least 500 KiB.
_LIMITS: Final = FetchLimits(max_bytes=512 << 10, total_s=30, redirects=5)


class RulesPending(Exception):
    """Another process is fetching the rules of the host; retry soon."""


class CheckRobots:
    """Checks URLs against the rules of their hosts. One of all processes fetches them once a day.

    Args:
        database: database with the rules.
        fetcher: HTTP client for untrusted URLs, with SSRF protection.
        spool_dir: folder for fetched files.
    """

    def __init__(self, database: Database, fetcher: Fetcher, spool_dir: Path) -> None:
        self._database = database
        self._fetcher = fetcher
        self._spool_dir = spool_dir

    async def __call__(self, url: str) -> LoadFailure | None:
        """Return why a program may not fetch a URL now; None if it may.

        A host without rules (4xx) allows everything. For a host that cannot be reached the last known rules hold;
        without any, nothing is allowed.

        Raises:
            RulesPending: another process is fetching the rules.
            HostPaused: the host accepts no requests for a while.
            Unavailable: the database does not respond.
        """
        parts = urlsplit(url)
        origin = f"{parts.scheme}://{parts.netloc}"
        async with self._database.transaction() as tx:
            known = await claim_rules(tx, origin, claim_s=_CLAIM_S)
        rules = known.rules
        if known.is_claimed:
            fetched = await self._renew(origin)
            rules = fetched if fetched is not None else rules
        elif not known.is_fresh:
            raise RulesPending
        if rules is None:
            return LoadFailure(
                code=ROBOTS_UNREACHABLE,
                message=f"{origin}/robots.txt cannot be read, and without it no picture of the site is fetched.",
            )
        if await asyncio.to_thread(_allows, rules, url):
            return None
        return LoadFailure(
            code=ROBOTS_DISALLOWED,
            message=f"{origin}/robots.txt forbids programs to fetch the picture. Allow it there for {_ROBOT}.",
        )

    async def _renew(self, origin: str) -> str | None:
        try:
            rules = await self._fetch(origin)
        except BaseException:
            async with self._database.transaction() as tx:
                await give_claim_back(tx, origin)
            raise
        async with self._database.transaction() as tx:
            await save_rules(tx, origin, rules, fresh_s=_UNREACHABLE_S if rules is None else _DAY_S)
        return rules

    async def _fetch(self, origin: str) -> str | None:
        """Return the rules of a host, empty if it has none; None if it cannot be reached."""
        with run_folder(self._spool_dir) as folder:
            path = folder / "robots.txt"
            try:
                await self._fetcher.fetch(FetchRequest(f"{origin}/robots.txt"), path, _LIMITS)
            except FetchFailed as failed:
                is_without = 400 <= failed.http_status < 500 and failed.http_status != _TOO_MANY_REQUESTS
                return "" if is_without or failed.code in _NO_RULES else None
            return path.read_bytes().decode("utf-8", "replace").replace("\0", "")


def _allows(rules: str, url: str) -> bool:
    return bool(_parse(rules).can_fetch(url, _ROBOT))


@lru_cache(maxsize=64)
def _parse(rules: str) -> Protego:
    return Protego.parse(rules)
