"""Table of all RPC methods: the services that serve them, their callers, and the rule for tokens of some sellers.

A method that is not listed refuses every caller. A caller is the name of a service, `operator` or `service`. The
command line calls as `operator`, with the operator's key. The key `service` is for tests and repairs: it may call
every method that a service may call. Tokens of teams may call some of the operator's methods (ADR 0098).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from classifeed_common.auth.owners import Closed, InResponse, Named, Narrowed, OwnerRule, OwnerRules, Public
from classifeed_common.auth.policy import LARGEST_REQUEST_BYTES, OPERATOR, REQUEST_LIMIT_BYTES, SERVICE, Policy
from classifeed_domain.owner_rules import list_sellers, narrow_document, narrow_search


@dataclass(frozen=True, slots=True)
class Methods:
    """Methods of a service with the same permissions and limits.

    Attributes:
        names: Names of the methods, separated by blanks.
        callers: Callers that may call them.
        rule: Requests that a token for some sellers may send.
        for_shops: Whether programs of shops call them (`token create --may seller`).
        limit_bytes: Maximum size of a request, in bytes; batches that only services send are larger.
    """

    names: str
    callers: tuple[str, ...]
    rule: OwnerRule
    for_shops: bool = False
    limit_bytes: int = REQUEST_LIMIT_BYTES


_Service = tuple[tuple[str, ...], tuple[Methods, ...]]


def _served(by: tuple[str, ...], *methods: Methods) -> _Service:
    """Return the services that implement a gRPC service, which are the audience of its tokens, and its methods."""
    return by, methods


_NAME: Final = Named("name")
_PARENT: Final = Named("parent")
# Repairs of the operator, and data without a field for the seller: jobs, texts by key, pictures by URL.
_CLOSED: Final = Closed()
_PUBLIC: Final = Public()

SERVICES: Final[Mapping[str, _Service]] = {
    "feeds.v1.FeedService": _served(
        ("api",),
        Methods(
            "CreateFeed ListFeeds ListFetches ListTasks ListOfferErrors ExportOfferErrors",
            (OPERATOR,),
            _PARENT,
            for_shops=True,
        ),
        Methods(
            "GetFeed PauseFeed ResumeFeed DeleteFeed RunFeed GetFetch ExplainOffer GetTask WatchTask ConfirmTask "
            "RejectTask CancelTask RerunTask",
            (OPERATOR,),
            _NAME,
            for_shops=True,
        ),
        Methods("UpdateFeed", (OPERATOR,), Named("feed.name"), for_shops=True),
        Methods("ListFormats GetFormatFile", (OPERATOR,), _PUBLIC, for_shops=True),
        Methods("UploadFeed", (OPERATOR,), Named("spec.seller_id"), for_shops=True),
        Methods("GetUpload", (OPERATOR,), InResponse(), for_shops=True),
    ),
    "feeds.v1.TaskService": _served(
        ("processor",),
        Methods("CreateTask FindTasks", ("api", "loader"), _CLOSED),
        Methods("ConfirmTask RejectTask CancelTask RerunTask", ("api",), _NAME),
        Methods("GetTask", ("api", OPERATOR), _NAME),
        Methods("ListTasks ListOfferErrors ExportOfferErrors LocateOffer", ("api", OPERATOR), _PARENT),
        Methods("ListFormats GetFormatFile", ("api", OPERATOR), _PUBLIC),
    ),
    "feeds.v1.FeedSourceService": _served(
        ("loader",),
        Methods("PutSources", ("api",), _CLOSED, limit_bytes=LARGEST_REQUEST_BYTES),
        Methods("RunSource", ("api",), _CLOSED),
        Methods("GetSourceStates", ("api", OPERATOR), Named("names")),
        Methods("ListSources", ("api", OPERATOR), _CLOSED),
        Methods("GetFetch", ("api", OPERATOR), _NAME),
        Methods("ListFetches", ("api", OPERATOR), _PARENT),
    ),
    "offers.v1.OfferService": _served(
        ("offers",),
        Methods("GetOffer", ("api", OPERATOR), _NAME, for_shops=True),
        Methods("ListOffers", ("api", OPERATOR), _PARENT, for_shops=True),
        Methods("UpdateOffer DeleteOffer", (OPERATOR,), _NAME, for_shops=True),
        Methods("RepublishOffers GetPublication", (OPERATOR,), _CLOSED),
        Methods("ExportPictureUrls", ("pictures",), _CLOSED),
        Methods("RequestPictures", ("pictures", OPERATOR), _CLOSED),
    ),
    "documents.v1.ReceiverService": _served(
        ("receiver",),
        Methods("Push PushBatch PushStream", ("offers", "moderation"), _CLOSED, limit_bytes=LARGEST_REQUEST_BYTES),
        Methods("CheckPositions ListDocuments", ("offers", "moderation"), _CLOSED),
    ),
    "documents.v1.SchemaService": _served(
        ("receiver",),
        Methods("PutSchema", ("offers", "moderation", OPERATOR), _CLOSED),
        Methods("GetSchema ListEpochs", ("offers", "moderation", "indexer", "searcher", OPERATOR), _CLOSED),
    ),
    "documents.v1.IndexQueueService": _served(
        ("receiver",),
        Methods("ReadElements ReportProgress Refill", ("indexer",), _CLOSED),
        Methods("AppendFailed", ("indexer",), _CLOSED, limit_bytes=LARGEST_REQUEST_BYTES),
        Methods("GetQueueEnds", ("indexer", "searcher", OPERATOR), _CLOSED),
        Methods("ScanDocuments", ("searcher",), _CLOSED),
        Methods("GetDigest", ("searcher", OPERATOR), _CLOSED),
    ),
    "documents.v1.IndexerService": _served(
        ("indexer",),
        Methods("GetStatus RequestRefill", (OPERATOR,), _CLOSED),
    ),
    "jobs.v1.JobService": _served(
        ("api", "loader", "processor", "offers", "moderation", "cleanweb", "pictures"),
        Methods(
            "TriggerJob TriggerJobs GetJob ListJobs WatchJob CancelJob RetryJob RetryJobs ListJobEvents "
            "ListQueues PauseQueue ResumeQueue SetQueueLimits ListWorkers GetLocks ListSchedules GetSchedule "
            "PutSchedule DeleteSchedule PauseSchedule ResumeSchedule",
            (OPERATOR,),
            _CLOSED,
        ),
    ),
    "search.v1.SearchService": _served(
        ("searcher",),
        Methods("Search", ("api", OPERATOR), Narrowed(narrow_search), for_shops=True),
        Methods("GetDocument", ("api", OPERATOR), Narrowed(narrow_document), for_shops=True),
        Methods("GetIndexStatus", ("api", OPERATOR), _PUBLIC, for_shops=True),
        Methods("GetDigest", (OPERATOR,), _CLOSED),
    ),
    "moderation.v1.ModerationService": _served(
        ("moderation",),
        Methods("SubmitTexts GetSubject", ("api", "offers", OPERATOR), _CLOSED),
        Methods("ApplyVerdicts", ("cleanweb",), _CLOSED),
        Methods(
            "ListPending CheckText Rejudge GetRejudgement Appeal GetAppeal ListAppeals DecideAppeal ListEvents "
            "GetFigures",
            (OPERATOR,),
            _CLOSED,
        ),
    ),
    "points.v1.PointService": _served(
        ("moderation",),
        Methods("CreatePoint GetPoint ListPoints AddComment Vote DeletePoint", (OPERATOR,), _CLOSED),
    ),
    "cleanweb.v1.CleanwebService": _served(
        ("cleanweb",),
        Methods("JudgeText", ("moderation",), _CLOSED),
        Methods("ClaimReview SubmitOpinion GetQueues ListCallbacks ResendCallbacks", (OPERATOR,), _CLOSED),
    ),
    "pictures.v1.PictureService": _served(
        ("pictures",),
        Methods("GetState BatchGetStates", ("api", "offers", OPERATOR), _CLOSED),
        Methods(
            "RequestPictures ListSimilar LookAgain PutPicture DeletePictures ListComparisons ConfirmComparison "
            "PutNamespace ListNamespaces ListBackups RestoreBackup",
            (OPERATOR,),
            _CLOSED,
        ),
    ),
}


def _methods() -> Iterator[tuple[str, Methods]]:
    for service, (_, rows) in SERVICES.items():
        for row in rows:
            for name in row.names.split():
                yield f"/classifeed.{service}/{name}", row


def _with_stand_in(callers: tuple[str, ...]) -> frozenset[str]:
    return frozenset(callers if set(callers) == {OPERATOR} else (*callers, SERVICE))


SERVED_BY: Final[Mapping[str, tuple[str, ...]]] = {f"classifeed.{name}": by for name, (by, _) in SERVICES.items()}
CALLERS: Final[Mapping[str, frozenset[str]]] = {method: _with_stand_in(row.callers) for method, row in _methods()}
RULES: Final[Mapping[str, OwnerRule]] = {method: row.rule for method, row in _methods()}
SELLER_METHODS: Final = tuple(method for method, row in _methods() if row.for_shops)
LARGE_REQUESTS: Final[Mapping[str, int]] = {
    method: row.limit_bytes for method, row in _methods() if row.limit_bytes != REQUEST_LIMIT_BYTES
}

POLICY: Final = Policy(CALLERS, SERVED_BY, OwnerRules(RULES, list_sellers), LARGE_REQUESTS)
"""The policy of the suite."""
