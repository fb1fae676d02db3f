"""A fake verdict service over real HTTP, and the parts of moderation, connected as in the bootstrap."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib.resources import files
from typing import Any, cast
from uuid import UUID, uuid4

import pytest
import yaml

from classifeed_common.clock import Clock, SystemClock
from classifeed_common.db import Database
from classifeed_common.outbox import Outbox
from classifeed_common.rpc.context import Context
from classifeed_common.snapshot import Loaded
from classifeed_devkit.testing.databases import MigratedDatabase
from classifeed_moderation.app.decisions.apply_verdicts import Applied, Arrived, apply_verdicts
from classifeed_moderation.app.decisions.record_decisions import Deciding, Rules
from classifeed_moderation.app.points.create_point import create_point
from classifeed_moderation.clients.breaker import Breaker
from classifeed_moderation.clients.verdict_service import HttpVerdictService
from classifeed_moderation.domain.decisions import Subject
from classifeed_moderation.domain.points import Author, AuthorRole
from classifeed_moderation.domain.rules import RuleSet
from classifeed_moderation.domain.subjects import point_key
from classifeed_moderation.domain.verdicts import Verdict, VerdictList
from classifeed_moderation.parts.judging import build_judging
from classifeed_moderation.settings import ModerationSettings
from classifeed_moderation.store import subjects

END = {"name": "clean_web_moderation_end", "value": True, "entity": "text"}
RETRY_S = 60.0
PENDING_S = 600.0
PROBE_S = 0.2
# For servicer methods that are called as functions and ignore their context.
NO_CONTEXT = cast(Context, None)

MakeModeration = Callable[..., Awaitable["Moderation"]]


def verdict(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "subsource": "tmu", "value": True, "entity": "text", "source": "test", **fields}


def result(*verdicts: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"verdicts": list(verdicts)}}).encode()


def errors(**found: str) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"errors": found}}).encode()


CLEAN = result(END)
PEOPLE = result()


def refused_if_bad(params: dict[str, Any]) -> bytes:
    return result(verdict("text_auto_obscene"), END) if "bad" in params["body"]["text"] else CLEAN


def default_rules() -> Rules:
    """Return the default rules."""
    content = files("classifeed_moderation.rules").joinpath("rules.yaml").read_bytes()
    return Loaded(RuleSet.of(yaml.safe_load(content)), "default")


@dataclass
class Received:
    """A received request: head, body and time."""

    head: str
    body: bytes
    at_s: float

    @property
    def items(self) -> list[dict[str, Any]]:
        """The requests in it: one, or those of a batch."""
        found = json.loads(self.body)
        return found if isinstance(found, list) else [found]

    @property
    def params(self) -> dict[str, Any]:
        [item] = self.items
        params: dict[str, Any] = item["params"]
        return params


@dataclass
class StandIn:
    """Fake verdict service: responds as `respond` says, and keeps every request. `released` lets responses go.

    The responses of a batch come in reverse order, unless `batch_content` sets them.
    """

    port: int = 0
    status: int = 200
    content: bytes = CLEAN
    respond: Callable[[dict[str, Any]], bytes] | None = None
    batch_content: bytes | None = None
    requests: list[Received] = field(default_factory=list)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    released: asyncio.Event = field(default_factory=asyncio.Event)

    writers: list[asyncio.StreamWriter] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.released.set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def texts(self) -> list[str]:
        return [item["params"]["body"]["text"] for request in self.requests for item in request.items]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.append(writer)
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                [length] = [
                    line.split(":")[1] for line in head.split("\r\n") if line.lower().startswith("content-length")
                ]
                body = await reader.readexactly(int(length))
                received = Received(head, body, asyncio.get_running_loop().time())
                self.requests.append(received)
                self.arrived.set()
                await self.released.wait()
                content = self._content(received)
                writer.write(f"HTTP/1.1 {self.status} -\r\nContent-Length: {len(content)}\r\n\r\n".encode() + content)
                await writer.drain()
        writer.close()

    def _content(self, received: Received) -> bytes:
        found = [self.respond(item["params"]) if self.respond is not None else self.content for item in received.items]
        if len(found) == 1:
            return found[0]
        if self.batch_content is not None:
            return self.batch_content
        numbered = [json.loads(one) | {"id": item["id"]} for one, item in zip(found, received.items, strict=True)]
        return json.dumps(numbered[::-1]).encode()


@pytest.fixture
async def stand_in() -> AsyncIterator[StandIn]:
    stand_in = StandIn()
    server = await asyncio.start_server(stand_in.serve, "127.0.0.1", 0)
    stand_in.port = server.sockets[0].getsockname()[1]
    yield stand_in
    stand_in.released.set()
    server.close()
    for writer in stand_in.writers:
        writer.close()
    await server.wait_closed()


@dataclass
class Moderation:
    """One process of moderation: its queue, workers and corrector over a database.

    Its queue has room even before the workers start, unless it `is_closed`.
    """

    database: Database
    stand_in: StandIn
    workers: int = 4
    queue_size: int = 100
    rules: Rules = field(default_factory=default_rules)
    answer_s: float = 30.0
    breaker_failures: int = 1000
    kept_s: float = 0.0
    batch: int = 1
    check_s: float = 3600.0
    is_closed: bool = False

    def __post_init__(self) -> None:
        self.clock: Clock = SystemClock()
        self.outbox = Outbox()
        self.deciding = Deciding(self.outbox, self.clock, lambda: self.rules)
        self.service = HttpVerdictService(
            self.stand_in.url,
            service="maps-core-jams-infopoints",
            environment="testing",
            connect_s=60.0,
            answer_s=self.answer_s,
            issue_token=lambda: "the-token",
        )
        self.breaker = Breaker(self.clock, failures=self.breaker_failures, probe_s=PROBE_S, most=self.workers)
        judging = build_judging(
            ModerationSettings(
                workers=self.workers,
                retry_interval_s=RETRY_S,
                max_pending_duration_s=PENDING_S,
                kept_verdicts_s=int(self.kept_s),
                verdict_batch=self.batch,
                verdict_environment="stable",
            ),
            self.database,
            self.deciding,
            self.service,
            on_decided=self.outbox.wake,
            breaker=self.breaker,
            queue_size=self.queue_size,
            check_interval_s=self.check_s,
        )
        self.queue, self.record_verdicts, self.corrector = judging.queue, judging.record_verdicts, judging.corrector
        self.judge, self.closer, self.store_texts = judging.judge, judging.closer, judging.store_texts
        self.take_offer_texts = judging.take_offer_texts
        if not self.is_closed:
            self.queue.open()
        self._stop = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    def start(self, *runs: Callable[[asyncio.Event], Awaitable[None]]) -> None:
        """Run roles until `close`; without arguments, the workers."""
        for run in runs or (self.judge.run,):
            self._tasks.append(asyncio.ensure_future(run(self._stop)))

    async def close(self) -> None:
        self._stop.set()
        await asyncio.gather(*self._tasks)
        await self.service.close()

    async def create_point(
        self,
        description: str = "pothole",
        *,
        tags: tuple[str, ...] = ("other",),
        role: AuthorRole = AuthorRole.USER,
        regions: tuple[int, ...] = (1, 2, 100),
        point_id: UUID | None = None,
        author: str = "author",
    ) -> UUID:
        point_id = point_id or uuid4()
        await create_point(
            self.database,
            self.store_texts,
            self.rules.value,
            point_id=point_id,
            author=Author(author, role),
            tags=tags,
            description=description,
            latitude=1.5,
            longitude=2.5,
            region_ids=regions,
        )
        return point_id

    async def subject(self, key: str | UUID) -> Subject:
        async with self.database.connection() as connection:
            found = await subjects.find_subject(connection, point_key(key) if isinstance(key, UUID) else key)
        assert found is not None
        return found

    async def apply(self, key: str | UUID, *names: str, has_end: bool = True, request_id: str = "") -> Applied:
        """Apply verdicts as a callback sends them."""
        verdict_list = VerdictList(tuple(Verdict(name) for name in sorted(names)), has_end)
        async with self.database.transaction() as tx:
            return await apply_verdicts(tx, [Arrived(str(key), verdict_list, request_id)], self.deciding)

    def deciding_by(self, rules: Rules) -> Deciding:
        """Return what decisions by other rules need."""
        return replace(self.deciding, current_rules=lambda: rules)

    async def record(self, key: str | UUID, *names: str) -> None:
        """Record verdicts like the callback, together with others that arrive meanwhile."""
        verdict_list = VerdictList(tuple(Verdict(name) for name in sorted(names)), has_end=True)
        await self.record_verdicts([Arrived(str(key), verdict_list)])

    async def refuse_decisions(self, key: str | UUID) -> None:
        """Make the database refuse decisions about a text from now on."""
        async with self.database.connection() as connection:
            await connection.execute(
                "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
                f" IF NEW.subject_key = '{key}' THEN RAISE 'broken row'; END IF; RETURN NEW; END $$"
            )
            await connection.execute(
                "CREATE TRIGGER refuse BEFORE INSERT ON decisions FOR EACH ROW EXECUTE FUNCTION refuse()"
            )

    async def advance(self, duration_s: float) -> None:
        """Move the clock of the table: all stored texts are older, and are due earlier."""
        async with self.database.connection() as connection:
            await connection.execute(
                "UPDATE subjects SET started = started - %(s)s * interval '1 second',"
                " next_retry = next_retry - %(s)s * interval '1 second'",
                {"s": duration_s},
            )

    async def rows(self, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
        async with self.database.connection() as connection:
            return await (await connection.execute(query, parameters)).fetchall()


@pytest.fixture
async def make_moderation(migrated_database: MigratedDatabase, stand_in: StandIn) -> AsyncIterator[MakeModeration]:
    """Yield a factory of processes over one database."""
    made: list[Moderation] = []
    database = await migrated_database("classifeed_moderation", max_size=8)

    async def make(**options: Any) -> Moderation:
        moderation = Moderation(database, stand_in, **options)
        made.append(moderation)
        return moderation

    yield make
    for moderation in made:
        await moderation.close()


@pytest.fixture
async def moderation(make_moderation: MakeModeration) -> Moderation:
    return await make_moderation()
