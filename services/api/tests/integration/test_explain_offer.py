"""ExplainOffer over real gRPC, with services that respond, lack the offer, hang or are unavailable."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC
from typing import Any

import grpc
import pytest

from classifeed.feeds.v1 import explanation_pb2, feed_pb2, load_pb2, task_pb2
from classifeed.feeds.v1 import feed_source_service_pb2 as sources_pb2
from classifeed.feeds.v1 import task_service_pb2 as tasks_pb2
from classifeed.feeds.v1.explanation_pb2 import ExplainOfferRequest, ExplanationStage, ExplanationState, OfferFate
from classifeed.feeds.v1.feed_service_pb2_grpc import (
    FeedServiceServicer,
    FeedServiceStub,
    add_FeedServiceServicer_to_server,
)
from classifeed.feeds.v1.feed_source_service_pb2_grpc import (
    FeedSourceServiceServicer,
    add_FeedSourceServiceServicer_to_server,
)
from classifeed.feeds.v1.task_service_pb2_grpc import TaskServiceServicer, add_TaskServiceServicer_to_server
from classifeed.offers.v1 import offer_pb2, offer_service_pb2
from classifeed.offers.v1.offer_service_pb2_grpc import OfferServiceServicer, add_OfferServiceServicer_to_server
from classifeed.search.v1 import search_service_pb2
from classifeed.search.v1.search_service_pb2_grpc import SearchServiceServicer, add_SearchServiceServicer_to_server
from classifeed_api.app.explain_offer import ExplainOffer
from classifeed_api.clients.loader import LoaderClient
from classifeed_api.clients.offers import OffersClient
from classifeed_api.clients.processor import ProcessorClient
from classifeed_api.clients.searcher import SearcherClient
from classifeed_api.domain.namespaces import NamespaceKey
from classifeed_api.domain.uploads import NewUpload
from classifeed_api.rpc.feed_service.explanations import ExplanationMethods
from classifeed_api.store import feeds, uploads
from classifeed_common.db import Database
from classifeed_common.errors import NotFound, Unavailable
from classifeed_common.rpc.server import Servicer
from classifeed_devkit.testing.rpc import OpenChannel, StartServer

PARENT = "sellers/shop/feeds/default"
# In the year 2100: after everything that a test stores now.
VERSION = 4_102_444_800_000_000


@dataclass
class World(TaskServiceServicer, FeedSourceServiceServicer, OfferServiceServicer, SearchServiceServicer):
    """Fakes of all other services: their data, which of them are unavailable, and the calls that they got."""

    tasks: list[task_pb2.Task] = field(default_factory=list)
    files: dict[int, dict[str, list[int]]] = field(default_factory=dict)
    issues: dict[int, list[load_pb2.OfferError]] = field(default_factory=dict)
    offers: dict[str, offer_pb2.Offer] = field(default_factory=dict)
    documents: dict[str, search_service_pb2.Hit] = field(default_factory=dict)
    fetches: dict[str, feed_pb2.Fetch] = field(default_factory=dict)
    states: dict[str, feed_pb2.FeedSourceState] = field(default_factory=dict)
    away: set[str] = field(default_factory=set)
    hanging: set[str] = field(default_factory=set)
    located: list[int] = field(default_factory=list)

    def load(
        self, number: int, status: str = "SUCCEEDED", lines: dict[str, list[int]] | None = None, **more: Any
    ) -> None:
        """Add a load that is newer than the others; its file has offers on `lines`."""
        task = task_pb2.Task(
            **{
                "name": f"{PARENT}/tasks/{number}",
                "task_id": number,
                "kind": "TASK_KIND_LOAD",
                "status": f"TASK_STATUS_{status}",
                "phase": "TASK_PHASE_DONE",
                "mode": "LOAD_MODE_REPLACE",
                "format": "yml",
                "run": 1,
                **more,
            }
        )
        task.create_time.FromMicroseconds(VERSION)
        self.tasks.insert(0, task)
        self.files[number] = lines or {}

    def report(self, load: int, code: str, line: int, kind: str = "VALIDATION", **more: Any) -> None:
        """Add an error of the offer A on a line of a load's file."""
        values = {"level": "ISSUE_LEVEL_ERROR", "kind": f"ISSUE_KIND_{kind}", "code": code, "line": line, **more}
        self.issues[load] = [load_pb2.OfferError(external_id="A", **values)]

    def keep(self, external_id: str, load: int, status: str = "ACTIVE", **more: Any) -> None:
        """Add an offer to the offers service, and to the search if it is active."""
        name = f"{PARENT}/offers/{external_id}"
        self.offers[name] = offer_pb2.Offer(
            name=name,
            status=f"OFFER_STATUS_{status}",
            last_task_id=load,
            version=VERSION,
            published_version=VERSION,
            **more,
        )
        if status == "ACTIVE":
            pk = f"shop/default/{external_id}"
            self.documents[pk] = search_service_pb2.Hit(pk=pk, version=VERSION)
            self.documents[pk].index_time.FromMicroseconds(VERSION + 1_000_000)

    async def _serve(self, what: str) -> None:
        if what in self.hanging:
            await asyncio.sleep(3600)
        if what in self.away:
            raise Unavailable("AWAY", "not now")

    async def ListTasks(self, request: tasks_pb2.ListTasksRequest, context: Any) -> tasks_pb2.ListTasksResponse:
        await self._serve("processor")
        return tasks_pb2.ListTasksResponse(tasks=self.tasks[: request.page_size])

    async def GetTask(self, request: tasks_pb2.GetTaskRequest, context: Any) -> task_pb2.Task:
        return next(task for task in self.tasks if task.name == request.name)

    async def LocateOffer(self, request: tasks_pb2.LocateOfferRequest, context: Any) -> tasks_pb2.OfferLocation:
        number = int(request.parent.rpartition("/")[2])
        self.located.append(number)
        await self._serve("file")
        lines = self.files[number].get(request.external_id, [])
        location = tasks_pb2.OfferLocation(batch_id=1 if lines else 0)
        location.places.extend(tasks_pb2.OfferPlace(ordinal=line, line=line, column=1) for line in lines)
        if lines:
            location.check_time.FromMicroseconds(VERSION - 2)
            location.send_time.FromMicroseconds(VERSION - 1)
            location.answer_time.FromMicroseconds(VERSION + 1)
        return location

    async def ListOfferErrors(
        self, request: tasks_pb2.ListOfferErrorsRequest, context: Any
    ) -> tasks_pb2.ListOfferErrorsResponse:
        found = self.issues.get(int(request.parent.rpartition("/")[2]), [])
        return tasks_pb2.ListOfferErrorsResponse(errors=[it for it in found if it.external_id == request.external_id])

    async def GetFetch(self, request: sources_pb2.GetFetchRequest, context: Any) -> feed_pb2.Fetch:
        await self._serve("loader")
        return self.fetches[request.name]

    async def GetSourceStates(
        self, request: sources_pb2.GetSourceStatesRequest, context: Any
    ) -> sources_pb2.GetSourceStatesResponse:
        await self._serve("loader")
        empty = feed_pb2.FeedSourceState()
        return sources_pb2.GetSourceStatesResponse(states=[self.states.get(name, empty) for name in request.names])

    async def GetOffer(self, request: offer_service_pb2.GetOfferRequest, context: Any) -> offer_pb2.Offer:
        await self._serve("offers")
        if request.name not in self.offers:
            raise NotFound("OFFER_NOT_FOUND", "There is none.")
        return self.offers[request.name]

    async def GetDocument(self, request: search_service_pb2.GetDocumentRequest, context: Any) -> search_service_pb2.Hit:
        await self._serve("search")
        if request.client != "offers" or request.pk not in self.documents:
            raise NotFound("DOCUMENT_NOT_FOUND", "There is none.")
        return self.documents[request.pk]


@pytest.fixture
def world() -> World:
    return World()


Explain = Callable[..., Awaitable[explanation_pb2.OfferExplanation]]


@pytest.fixture
async def explain(
    request: pytest.FixtureRequest, db: Database, world: World, rpc_server: StartServer, rpc_channel: OpenChannel
) -> Explain:
    # Short if a service never responds; otherwise long, so that a slow machine makes no response late.
    callspec = getattr(request.node, "callspec", None)
    wait_s = 1.5 if callspec is not None and callspec.params.get("how") == "hanging" else 60.0

    async def reach(service: str, add: Callable[..., None]) -> grpc.aio.Channel:
        return rpc_channel(await rpc_server(service, Servicer.of(add, world)), caller="api", audience=service)

    explain_offer = ExplainOffer(
        db,
        ProcessorClient(await reach("processor", add_TaskServiceServicer_to_server)),
        LoaderClient(await reach("loader", add_FeedSourceServiceServicer_to_server), states_timeout_s=wait_s),
        OffersClient(await reach("offers", add_OfferServiceServicer_to_server)),
        SearcherClient(await reach("searcher", add_SearchServiceServicer_to_server)),
        timeout_s=wait_s,
    )
    methods = ExplanationMethods(explain_offer)

    class Explaining(FeedServiceServicer):
        ExplainOffer = methods.ExplainOffer

    own = await rpc_server("api", Servicer.of(add_FeedServiceServicer_to_server, Explaining()))
    stub = FeedServiceStub(rpc_channel(own, caller="operator", audience="api"))

    async def ask(external_id: str, timeout_s: float = 120) -> explanation_pb2.OfferExplanation:
        return await stub.ExplainOffer(ExplainOfferRequest(name=f"{PARENT}/offers/{external_id}"), timeout=timeout_s)

    return ask


def outcome_of(explanation: explanation_pb2.OfferExplanation) -> str:
    return OfferFate.Name(explanation.fate).removeprefix("OFFER_FATE_")


def state_of(explanation: explanation_pb2.OfferExplanation, stage: str) -> str:
    number = ExplanationStage.Value(f"EXPLANATION_STAGE_{stage}")
    state = next(step.state for step in explanation.steps if step.stage == number)
    return ExplanationState.Name(state).removeprefix("EXPLANATION_STATE_")


async def test_uploaded_offer_is_told_from_the_upload_to_the_search(
    explain: Explain, world: World, db: Database
) -> None:
    upload_id = uuid.uuid4()
    async with db.transaction() as tx:
        new = NewUpload("shop", "default", 1, 1, "price.yml", None, "a" * 64, 1234)
        await uploads.insert(tx, upload_id, new)
        stored = await uploads.find(tx, upload_id)
    assert stored is not None
    world.load(1, lines={"a/b": [12]}, upload_id=str(upload_id))
    world.keep("a/b", 1)
    explanation = await explain("a/b")
    assert (outcome_of(explanation), explanation.task) == ("SEARCHABLE", f"{PARENT}/tasks/1")
    assert explanation.name == f"{PARENT}/offers/a/b"
    assert "“price.yml” (1,234 bytes)" in explanation.steps[0].text
    assert explanation.steps[0].time.ToDatetime(tzinfo=UTC) == stored.created_at
    assert explanation.steps[2].line == 12
    assert explanation.steps[-1].time == world.documents["shop/default/a/b"].index_time


async def test_fetched_offer_names_its_fetch(explain: Explain, world: World) -> None:
    world.load(1, lines={"A": [4]}, fetch=f"{PARENT}/fetches/9")
    world.fetches[f"{PARENT}/fetches/9"] = feed_pb2.Fetch(fetch_id=9, bytes=5)
    world.keep("A", 1)
    assert "Fetch 9" in (await explain("A")).steps[0].text
    world.away.add("loader")
    explanation = await explain("A")
    assert (outcome_of(explanation), state_of(explanation, "SOURCE")) == ("SEARCHABLE", "UNKNOWN")


async def make_feed(db: Database, namespace: str = "default") -> None:
    async with db.transaction() as tx:
        await feeds.insert(tx, NamespaceKey("shop", namespace), feed_pb2.FeedSettings(), b"", None)


def failing(failures: int) -> feed_pb2.FeedSourceState:
    state = feed_pb2.FeedSourceState(feed_version=1, failures=failures)
    state.last_fetch.outcome = feed_pb2.FETCH_OUTCOME_FAILED
    state.last_fetch.code = "HTTP_NOT_FOUND"
    state.last_fetch.message = "shop.example answered 404. Check the link."
    state.last_fetch.end_time.FromMicroseconds(VERSION)
    state.next_fetch_time.FromMicroseconds(VERSION + 600_000_000)
    return state


async def test_link_that_never_brought_a_file_is_told_by_its_fault(
    explain: Explain, world: World, db: Database
) -> None:
    await make_feed(db)
    world.states[PARENT] = failing(2)
    explanation = await explain("A")
    source = explanation.steps[0]
    assert (outcome_of(explanation), source.code) == ("NEVER_SEEN", "HTTP_NOT_FOUND")
    assert state_of(explanation, "SOURCE") == "STOPPED"
    assert source.time == world.states[PARENT].last_fetch.end_time
    for words in ("could not be fetched", "shop.example answered 404", "The next fetch is due at"):
        assert words in explanation.summary
    assert explanation.suggestion


async def test_first_fetch_is_waited_for(explain: Explain, world: World, db: Database) -> None:
    await make_feed(db)
    explanation = await explain("A")
    assert (outcome_of(explanation), state_of(explanation, "SOURCE")) == ("ON_ITS_WAY", "WAITING"), (
        "the loader does not know it yet"
    )
    world.states[PARENT] = feed_pb2.FeedSourceState(feed_version=1)
    world.states[PARENT].last_fetch.outcome = feed_pb2.FETCH_OUTCOME_RUNNING
    assert "is being fetched" in (await explain("A")).summary


async def test_link_that_fails_since_the_load_is_told_beside_it(explain: Explain, world: World, db: Database) -> None:
    world.load(1, lines={"A": [4]})
    world.keep("A", 1)
    world.states[PARENT] = failing(3)
    await make_feed(db, "other")
    assert state_of(await explain("A"), "SOURCE") == "DONE", "the namespace has no feed"
    await make_feed(db)
    explanation = await explain("A")
    assert (outcome_of(explanation), state_of(explanation, "SOURCE")) == ("SEARCHABLE", "WARNING")
    assert "The link has failed 3 times since (HTTP_NOT_FOUND); the offers are those of load 1." in explanation.summary


@pytest.mark.parametrize("how", ["away", "hanging"])
async def test_link_that_cannot_be_asked_for_is_unknown(explain: Explain, world: World, db: Database, how: str) -> None:
    await make_feed(db)
    getattr(world, how).add("loader")
    explanation = await explain("A", timeout_s=5)
    assert state_of(explanation, "SOURCE") == "UNKNOWN"
    assert "The fetches of the feed did not respond" in explanation.summary


async def test_rejected_offer_is_told_by_its_error_and_by_the_state_before(explain: Explain, world: World) -> None:
    world.load(1, lines={"A": [4]})
    world.load(2, lines={"A": [5]})
    world.report(2, "PRICE_INVALID", 5, suggestion="Mend it.")
    world.keep("A", 1)
    explanation = await explain("A")
    assert (outcome_of(explanation), state_of(explanation, "CHECKS")) == ("REJECTED", "STOPPED")
    assert explanation.suggestion == "Mend it."
    assert "the state of load 1" in explanation.summary
    assert world.located == [2], "no more files are read than the one that has the offer"


async def test_duplicate_is_told_by_all_its_lines(explain: Explain, world: World) -> None:
    world.load(1, lines={"A": [4, 6]})
    world.report(1, "DUPLICATE_ID", 6, "DUPLICATE")
    world.keep("A", 1)
    explanation = await explain("A")
    assert (outcome_of(explanation), state_of(explanation, "CHECKS")) == ("SEARCHABLE", "WARNING")
    assert list(explanation.duplicate_lines) == [6]


async def test_removed_offer_is_told_by_the_load_that_removed_it(explain: Explain, world: World) -> None:
    world.load(1, lines={"A": [4]})
    world.load(2, "FAILED", lines={"A": [4]})
    world.load(3)
    world.load(4, "SUPERSEDED")
    world.load(5)
    world.load(6, "CANCELED", lines={"A": [9]})
    world.keep("A", 3, "REMOVED")
    explanation = await explain("A")
    assert (outcome_of(explanation), explanation.task) == ("REMOVED", f"{PARENT}/tasks/3")
    for words in ("load 3 does not have the id “A”", "Load 1 had it on line 4", "Load 5, the newest, does not have it"):
        assert words in explanation.summary
    states = [state_of(explanation, stage) for stage in ("OFFER", "APPLIED", "SEARCHABLE")]
    assert states == ["STOPPED", "DONE", "SKIPPED"]
    assert explanation.steps[-1].text == "The search does not have it any more."


async def test_removal_that_left_the_list_is_asked_for_by_its_number(explain: Explain, world: World) -> None:
    world.load(1, kind="TASK_KIND_DELETE")
    for number in range(2, 30):
        world.load(number)
    world.keep("A", 1, "REMOVED")
    explanation = await explain("A")
    assert (outcome_of(explanation), explanation.steps[2].code) == ("REMOVED", "FEED_ENDED")
    assert explanation.task == f"{PARENT}/tasks/1"


async def test_offer_that_came_back_is_told_by_the_load_that_refuses_it(explain: Explain, world: World) -> None:
    world.load(1)
    world.load(2, lines={"A": [4]})
    world.report(2, "PRICE_INVALID", 4)
    world.keep("A", 1, "REMOVED")
    explanation = await explain("A")
    assert (outcome_of(explanation), explanation.task) == ("REJECTED", f"{PARENT}/tasks/2")
    assert "Load 1 had removed the offer before" in explanation.summary


async def test_failed_load_is_told_with_its_fault_and_what_stays(explain: Explain, world: World) -> None:
    world.load(1, lines={"A": [4]})
    world.load(2, "FAILED", error_code="MALFORMED_XML", error_message="A & stands alone.", error_line=5, error_column=3)
    world.keep("A", 1)
    explanation = await explain("A")
    assert (outcome_of(explanation), state_of(explanation, "FILE")) == ("LOAD_FAILED", "STOPPED")
    assert explanation.steps[1].line == 5
    assert "the state of load 1" in explanation.summary


async def test_offer_that_patches_do_not_name_is_told_by_the_load_that_brought_it(
    explain: Explain, world: World
) -> None:
    world.load(1, lines={"A": [4]})
    for number in range(2, 9):
        world.load(number, mode="LOAD_MODE_PATCH")
    world.keep("A", 1)
    explanation = await explain("A")
    assert (outcome_of(explanation), explanation.task) == ("SEARCHABLE", f"{PARENT}/tasks/1")
    assert world.located == [8, 7, 6, 5, 1]


async def test_offer_that_nobody_sent(explain: Explain, world: World) -> None:
    assert outcome_of(await explain("A")) == "NEVER_SEEN"
    for number in range(1, 9):
        world.load(number, lines={"a": [4]})
    explanation = await explain("A")
    assert (outcome_of(explanation), explanation.task) == ("NEVER_SEEN", f"{PARENT}/tasks/8")
    assert "loads 8, 7, 6, 5" in explanation.summary
    assert explanation.suggestion


@pytest.mark.parametrize(
    ("away", "unknown", "outcome"),
    [
        ("processor", ["SOURCE", "FILE", "OFFER", "CHECKS", "BATCH"], "SEARCHABLE"),
        ("offers", ["APPLIED", "MODERATION", "PICTURES", "REGISTERED"], "SEARCHABLE"),
        ("search", ["SEARCHABLE"], "ON_ITS_WAY"),
        ("file", ["OFFER"], "SEARCHABLE"),
    ],
)
@pytest.mark.parametrize("how", ["away", "hanging"])
async def test_who_cannot_be_asked_leaves_his_stations_unknown(
    explain: Explain, world: World, how: str, away: str, unknown: list[str], outcome: str
) -> None:
    world.load(1, lines={"A": [4]})
    world.keep("A", 1)
    getattr(world, how).add(away)
    explanation = await explain("A", timeout_s=5)
    states = {stage: state_of(explanation, stage) for stage in unknown}
    assert states == dict.fromkeys(unknown, "UNKNOWN")
    assert [step.state for step in explanation.steps].count(explanation_pb2.EXPLANATION_STATE_UNKNOWN) == len(unknown)
    assert outcome_of(explanation) == outcome


async def test_nobody_to_be_asked_is_unavailable(explain: Explain, world: World) -> None:
    world.away.update({"processor", "offers", "search"})
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await explain("A")
    assert refused.value.code() is grpc.StatusCode.UNAVAILABLE


async def test_removed_offer_of_a_file_too_long_to_be_read(explain: Explain, world: World) -> None:
    world.load(1)
    world.load(2)
    world.keep("A", 1, "REMOVED")
    world.away.add("file")
    explanation = await explain("A")
    assert (outcome_of(explanation), explanation.task) == ("REMOVED", f"{PARENT}/tasks/1")


async def test_an_offer_that_a_canceled_load_changed_is_explained_by_that_load(explain: Explain, world: World) -> None:
    world.load(1, lines={"A": [5]})
    world.load(2, "CANCELED", lines={"A": [7], "B": [9]})
    world.keep("A", 1)
    world.keep("B", 2)
    assert [(await explain(each)).task for each in "AB"] == [f"{PARENT}/tasks/{number}" for number in (1, 2)]


async def test_api_as_it_runs_asks_everyone(api: Any, refusal: Callable[..., Any]) -> None:
    api.processor.listed = None
    request = ExplainOfferRequest(name=f"{PARENT}/offers/A")
    code, reason, _ = await refusal(api.stub.ExplainOffer(request, timeout=60))
    assert (code, reason) == (grpc.StatusCode.UNAVAILABLE, "EXPLANATION_UNAVAILABLE")
