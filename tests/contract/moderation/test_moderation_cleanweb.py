"""Moderation and cleanweb use the same protocol in both directions, with real tokens and without stand-ins."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Final
from uuid import uuid4

import grpc
import pytest

from classifeed.cleanweb.v1.cleanweb_service_pb2 import ClaimReviewRequest, ListCallbacksRequest, SubmitOpinionRequest
from classifeed.cleanweb.v1.cleanweb_service_pb2_grpc import CleanwebServiceStub
from classifeed.moderation.v1.moderation_service_pb2 import SubmitTextsRequest
from classifeed.moderation.v1.moderation_service_pb2_grpc import ModerationServiceStub
from classifeed.moderation.v1.offer_texts_pb2 import OfferText, RemovedOffer, TextsToJudge
from classifeed.points.v1.point_pb2 import Author, Location
from classifeed.points.v1.point_service_pb2 import CreatePointRequest, GetPointRequest
from classifeed.points.v1.point_service_pb2_grpc import PointServiceStub
from classifeed_cleanweb import bootstrap as cleanweb_bootstrap
from classifeed_cleanweb.settings import CleanwebSettings, Receiver
from classifeed_common.auth import KeyStore
from classifeed_common.db import Database
from classifeed_common.kafka import KafkaProducer, message_of
from classifeed_common.rpc.client import open_channel
from classifeed_common.runner import ServiceRunner
from classifeed_devkit.embedded.kafka import EmbeddedKafka
from classifeed_devkit.embedded.ports import pick_free_port
from classifeed_devkit.testing.recovery import until
from classifeed_devkit.testing.topics import begin_at_ends
from classifeed_domain.topics import MODERATION_REQUESTS
from classifeed_moderation import bootstrap as moderation_bootstrap
from classifeed_moderation import parts
from classifeed_moderation.app.judging import close_reviews
from classifeed_moderation.clients.verdict_service import HttpVerdictService, Outcome, Response
from classifeed_moderation.consumers.requests import GROUP
from classifeed_moderation.domain.subjects import Kind, Task, hash_text, offer_key
from classifeed_moderation.parts.judging import build_judging
from classifeed_moderation.settings import ModerationSettings

SERVICE, ENVIRONMENT = "classifeed", "testing"
CONTACTS: Final = "Call me: +7 912 345-67-89"
PLAIN: Final = "A wooden lamp"
BAD: Final = "text_auto_contacts"


@asynccontextmanager
async def running(runner: ServiceRunner) -> AsyncIterator[ServiceRunner]:
    stop = asyncio.Event()
    task = asyncio.create_task(runner.run(stop))
    try:
        await until(lambda: task.done() or runner.is_ready)
        assert not task.done()
        yield runner
    finally:
        stop.set()
        await task


StartCleanweb = Callable[..., Awaitable[ServiceRunner]]


@pytest.fixture
async def start_cleanweb(migrated_database: Any, keys: KeyStore) -> AsyncIterator[StartCleanweb]:
    """Start cleanweb: `await start_cleanweb(callback="http://…", auto_pass=True)`."""
    async with AsyncExitStack() as stack:

        async def start(
            *, callback: str = "http://127.0.0.1:1/", database: Database | None = None, **settings: Any
        ) -> ServiceRunner:
            database = database or await migrated_database("classifeed_cleanweb")
            receivers = {f"{SERVICE}/{ENVIRONMENT}": Receiver(url=callback, audience="moderation")}
            built = cleanweb_bootstrap.build(
                CleanwebSettings(
                    dsn=database.dsn, keys_dir=keys.directory, receivers=receivers, drain_notice_s=0, **settings
                )
            )
            return await stack.enter_async_context(running(built))

        yield start


Request = Callable[..., Awaitable[list[Response]]]


@pytest.fixture
async def request_of(keys: KeyStore) -> AsyncIterator[Callable[..., Request]]:
    """Yield a factory of moderation's client of cleanweb: `await request_of(cleanweb)(task, other)`."""
    clients: list[HttpVerdictService] = []

    def client_of(
        cleanweb: ServiceRunner,
        *,
        environment: str = ENVIRONMENT,
        caller: str = "moderation",
        audience: str = "cleanweb",
    ) -> Request:
        client = HttpVerdictService(
            f"http://{cleanweb.http_address}",
            service=SERVICE,
            environment=environment,
            connect_s=60,
            answer_s=60,
            issue_token=partial(keys.issue, caller, audience),
        )
        clients.append(client)

        async def request(*tasks: Task) -> list[Response]:
            return await client.request(tasks)

        return request

    yield client_of
    for client in clients:
        await client.close()


def offer(text: str, number: int = 1) -> Task:
    return Task(offer_key("a seller", "default", f"№ {number}/1"), Kind.OFFER, text, hash_text(text), (1, 225))


def point(text: str) -> Task:
    return Task(str(uuid4()), Kind.POINT, text, hash_text(text), ())


def names(response: Response) -> Sequence[str]:
    return [verdict.name for verdict in response.verdict_list.verdicts]


async def test_verdicts_at_once_with_their_evidence(start_cleanweb: StartCleanweb, request_of: Any) -> None:
    for task in (offer(CONTACTS), point(CONTACTS)):
        [response] = await request_of(await start_cleanweb())(task)
        assert (response.outcome, response.fault, response.verdict_list.has_end) == (Outcome.VERDICTS, "", True)
        [verdict] = response.verdict_list.verdicts
        [span] = verdict.spans
        assert (verdict.name, verdict.source, verdict.entity) == (BAD, "automatic", "text")
        assert CONTACTS[span.start : span.end] == span.excerpt == "+7 912 345-67-89"


async def test_what_passes_by_itself_has_the_end_verdict_alone(start_cleanweb: StartCleanweb, request_of: Any) -> None:
    [response] = await request_of(await start_cleanweb(auto_pass=True))(offer(PLAIN))
    assert (response.outcome, names(response), response.verdict_list.has_end) == (Outcome.VERDICTS, [], True)


async def test_what_goes_to_people_is_reported_so_each_time(start_cleanweb: StartCleanweb, request_of: Any) -> None:
    request = request_of(await start_cleanweb())
    for _ in range(2):
        assert [response.outcome for response in await request(offer(PLAIN))] == [Outcome.PEOPLE]


async def test_each_text_of_a_batch_has_its_own_response(start_cleanweb: StartCleanweb, request_of: Any) -> None:
    tasks = [offer(CONTACTS if number % 3 == 0 else f"{PLAIN} {number}", number) for number in range(100)]
    responses = await request_of(await start_cleanweb())(*tasks)
    outcomes = [(response.outcome, names(response)) for response in responses]
    assert outcomes == [(Outcome.VERDICTS, [BAD]) if number % 3 == 0 else (Outcome.PEOPLE, []) for number in range(100)]


async def test_an_unknown_environment_is_a_fault_for_each_text(start_cleanweb: StartCleanweb, request_of: Any) -> None:
    request = request_of(await start_cleanweb(), environment="stable")
    for tasks in ([offer(PLAIN)], [offer(PLAIN), offer(CONTACTS, 2)]):
        responses = await request(*tasks)
        assert [(response.outcome, response.fault) for response in responses] == [
            (Outcome.FAULT, "error -32602")
        ] * len(tasks)


@pytest.mark.parametrize(
    ("caller", "audience", "status"), [("moderation", "offers", 401), ("searcher", "cleanweb", 403)]
)
async def test_a_token_that_is_not_for_it_is_a_fault(
    start_cleanweb: StartCleanweb, request_of: Any, caller: str, audience: str, status: int
) -> None:
    [response] = await request_of(await start_cleanweb(), caller=caller, audience=audience)(offer(PLAIN))
    assert (response.outcome, response.fault) == (Outcome.FAULT, f"HTTP {status}")


async def review(cleanweb: CleanwebServiceStub, project: str, *verdicts: str) -> None:
    """Submit two equal opinions about the text that waits longest."""
    for reviewer in ("anna", "ben"):
        claimed = await cleanweb.ClaimReview(ClaimReviewRequest(project=project, reviewer=reviewer))
        await cleanweb.SubmitOpinion(
            SubmitOpinionRequest(review_id=claimed.review_id, reviewer=reviewer, verdicts=verdicts)
        )


@dataclass(frozen=True)
class Both:
    """Running moderation and cleanweb, with clients and queries of their tables."""

    points: PointServiceStub
    moderation: ModerationServiceStub
    reviews: CleanwebServiceStub
    database: Database
    cleanweb_database: Database
    producer: KafkaProducer

    async def count(self, database: Database, query: str) -> int:
        async with database.connection() as connection:
            row = await (await connection.execute(query)).fetchone()
        assert row is not None
        return int(row[0])

    async def remove(self, number: int) -> None:
        """Send the removal of an offer."""
        removed = [RemovedOffer(external_id=str(number), content_version=2)]
        message = TextsToJudge(seller_id="seller", namespace="default", removed=removed)
        await self.producer.send([message_of(MODERATION_REQUESTS, b"seller", message)])

    async def has_open(self, reviews: int, requests: int) -> bool:
        """Return whether there are exactly `reviews` open reviews for `requests` open requests."""
        found = [
            await self.count(self.cleanweb_database, f"SELECT count(*) FROM {table} WHERE ended_at IS NULL")
            for table in ("reviews", "requests")
        ]
        return found == [reviews, requests]


@pytest.fixture
async def both(
    start_cleanweb: StartCleanweb,
    migrated_database: Any,
    kafka: EmbeddedKafka,
    keys: KeyStore,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[Both]:
    monkeypatch.setattr(parts, "build_judging", partial(build_judging, check_interval_s=0.2))
    monkeypatch.setattr(close_reviews, "_RETRY_S", 1.0)  # a key that an equal text holds back
    database = await migrated_database("classifeed_moderation")
    cleanweb_database = await migrated_database("classifeed_cleanweb")
    cleanweb_port = pick_free_port()
    settings = ModerationSettings(
        dsn=database.dsn,
        kafka_bootstrap=kafka.bootstrap,
        keys_dir=keys.directory,
        verdict_url=f"http://127.0.0.1:{cleanweb_port}",
        verdict_batch=100,
        retry_interval_s=1,
        drain_notice_s=0,
    )
    await moderation_bootstrap.prepare(settings)
    await begin_at_ends(database, kafka.bootstrap, GROUP, MODERATION_REQUESTS)
    async with running(moderation_bootstrap.build(settings)) as moderation, AsyncExitStack() as stack:
        callback = f"http://{moderation.http_address}/v2/apply_moderation_verdicts"
        cleanweb = await start_cleanweb(
            database=cleanweb_database, callback=callback, http_listen=f"127.0.0.1:{cleanweb_port}"
        )

        producer = KafkaProducer(kafka.bootstrap, client_id="owner")
        await producer.start()
        stack.push_async_callback(producer.close)

        def channel(runner: ServiceRunner, audience: str) -> Any:
            opened = open_channel(runner.grpc_address, caller="operator", audience=audience, keys=keys)
            stack.push_async_callback(opened.close)
            return opened

        yield Both(
            PointServiceStub(channel(moderation, "moderation")),
            ModerationServiceStub(channel(moderation, "moderation")),
            CleanwebServiceStub(channel(cleanweb, "cleanweb")),
            database,
            cleanweb_database,
            producer,
        )


@pytest.mark.kafka
async def test_a_point_goes_to_people_and_comes_back_by_callback(both: Both) -> None:
    points, reviews, database = both.points, both.reviews, both.database

    async def create(text: str) -> str:
        request = CreatePointRequest(
            point_id=str(uuid4()),
            author=Author(author_id="a"),
            tags=["other"],
            description=text,
            location=Location(latitude=1, longitude=2),
            region_ids=[1, 225],
        )
        return str((await points.CreatePoint(request)).name)

    async def states() -> dict[str, str]:
        async with database.connection() as connection:
            found = await connection.execute("SELECT subject_key, status FROM subjects")
            return {f"points/{key}": status for key, status in await found.fetchall()}

    async def delivered() -> bool:
        return not (await reviews.ListCallbacks(ListCallbacksRequest())).callbacks

    async def is_decided(name: str) -> bool:
        return (await states())[name] != "PENDING"

    async def is_with_people(count: int) -> bool:
        async with database.connection() as connection:
            waiting = await connection.execute(
                "SELECT count(*) FROM subjects WHERE status = 'PENDING'"
                " AND next_retry > clock_timestamp() + interval '1 min'"
            )
            return bool(await waiting.fetchone() == (count,))

    shown = await create("A crash with the police ahead")
    await until(partial(is_with_people, 1))
    await review(reviews, "common_toloka")
    await review(reviews, "custom_map_talks_toloka", "request", "police")
    await until(partial(is_decided, shown))
    approved = await points.GetPoint(GetPointRequest(name=shown))
    assert list(approved.tags) == ["police", "speed_control"]

    removed = await create("A crash with fools ahead")
    await until(partial(is_with_people, 1))
    await review(reviews, "common_toloka", "text_toloka_insult")
    await review(reviews, "custom_map_talks_toloka", "road_accident")
    await until(partial(is_decided, removed))
    assert await states() == {shown: "APPROVED", removed: "DISAPPROVED"}
    await until(delivered)
    async with database.connection() as connection:
        rows = await connection.execute("SELECT request_id, verdicts FROM decisions ORDER BY decision_id")
        (first, kept), (second, others) = await rows.fetchall()
    assert (first.rstrip("0123456789"), second.rstrip("0123456789")) == ("callback-", "callback-")
    assert {item["source"] for item in kept + others} == {"people"}
    assert {len(item["reviewers"]) for item in kept + others} == {2}
    assert [item["name"] for item in kept] == ["police", "request"]
    assert [item["name"] for item in others] == ["road_accident", "text_toloka_insult"]


async def submit(both: Both, title: str, numbers: Iterable[int], version: int) -> None:
    """Send equal texts of several offers."""
    texts = [
        OfferText(external_id=str(number), title=title, text_hash=hash_text(f"{title}\0"), content_version=version)
        for number in numbers
    ]
    sent = TextsToJudge(seller_id="seller", namespace="default", texts=texts)
    await both.moderation.SubmitTexts(SubmitTextsRequest(texts=sent))


@pytest.mark.kafka
async def test_no_review_is_left_that_nobody_needs(both: Both) -> None:
    """Reviews of eight equal texts stay open until the last text changes, and then close."""
    await submit(both, PLAIN, range(8), version=1)
    await until(partial(both.has_open, 1, 8))
    claimed = await both.reviews.ClaimReview(ClaimReviewRequest(project="common_toloka", reviewer="anna"))
    await both.reviews.SubmitOpinion(SubmitOpinionRequest(review_id=claimed.review_id, reviewer="anna"))
    await submit(both, CONTACTS, range(7), version=2)
    decided = "SELECT count(*) FROM subjects WHERE status = 'DISAPPROVED'"

    async def are_decided(count: int) -> bool:
        return await both.count(both.database, decided) == count

    await until(partial(are_decided, 7))
    claimed = await both.reviews.ClaimReview(ClaimReviewRequest(project="common_toloka", reviewer="ben"))
    assert claimed.text.strip() == PLAIN, "the last text keeps the opinion of anna"
    await submit(both, CONTACTS, [7], version=2)
    await until(partial(both.has_open, 0, 0))
    for reviewer in ("ben", "carl"):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await both.reviews.ClaimReview(ClaimReviewRequest(project="common_toloka", reviewer=reviewer))
        assert caught.value.code() is grpc.StatusCode.NOT_FOUND
    assert not (await both.reviews.ListCallbacks(ListCallbacksRequest())).callbacks
    await submit(both, PLAIN, [8], version=1)
    await until(partial(both.has_open, 1, 1))
    await both.remove(8)
    await until(partial(both.has_open, 0, 0))
