"""Which sellers a request is about: a rule for each method (ADR 0098), for tokens that are for some sellers only.

A new method needs a line here; without one, such tokens are refused, and a test fails.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from classifeed_common.auth.owners import Closed, InResponse, Named, Narrowed, OwnerRule, OwnerRules, Public
from classifeed_common.errors import PermissionDenied
from classifeed_domain.offer_names import DOCUMENT_CLIENT, SELLER_FIELD

_PREFIX: Final = "sellers/"
_ID_FIELDS: Final = frozenset({"seller_id", "seller_ids"})


def find_sellers(message: Message) -> Iterator[str]:
    """Yield the sellers that a message names: in fields called seller_id, and in each text that begins with sellers/.

    The name of a resource is found by its value, as a field that a later version adds may lack any mark. A text of
    another kind that begins so is taken for a name as well: at worst a request is refused.
    """
    for field, value in message.ListFields():
        values = value if field.is_repeated else (value,)
        if field.message_type is not None:
            if field.message_type.GetOptions().map_entry:
                yield from _in_map(value)
            else:
                for each in values:
                    yield from find_sellers(each)
        elif field.type == FieldDescriptor.TYPE_STRING:
            yield from values if field.name in _ID_FIELDS else _in_texts(values)


def _in_map(entries: Mapping[Any, Any]) -> Iterator[str]:
    for key, value in entries.items():
        yield from _in_texts(each for each in (key, value) if isinstance(each, str))
        if isinstance(value, Message):
            yield from find_sellers(value)


def _in_texts(texts: Any) -> Iterator[str]:
    for text in texts:
        if text.startswith(_PREFIX):
            yield text.removeprefix(_PREFIX).partition("/")[0]


def _narrow_search(request: Any, sellers: frozenset[str]) -> None:
    """Leave the offers of the sellers: a further condition, which no other one can widen."""
    _require_offers(request.client)
    only = request.filters.add(field=SELLER_FIELD)
    for seller in sorted(sellers):
        only.terms.values.add(string_value=seller)


def _narrow_document(request: Any, sellers: frozenset[str]) -> None:
    """Pass the key of an offer of the sellers: seller/namespace/external_id."""
    _require_offers(request.client)
    if request.pk.partition("/")[0] not in sellers:
        raise PermissionDenied(
            "SELLER_NOT_GRANTED",
            f"The token is for {', '.join(sorted(sellers))} only. Read documents of these sellers.",
        )


def _require_offers(client: str) -> None:
    if client != DOCUMENT_CLIENT:
        raise PermissionDenied(
            "SELLER_NOT_GRANTED",
            f"The token is for some sellers only, and documents of {client!r} belong to no seller. Search `offers`.",
        )


_NAME: Final = Named("name")
_PARENT: Final = Named("parent")
_CLOSED: Final = Closed()
_PUBLIC: Final = Public()


def _rules(service: str, rules: Mapping[str, OwnerRule]) -> dict[str, OwnerRule]:
    return {f"/classifeed.{service}/{method}": rule for method, rule in rules.items()}


_TASKS: Final = dict.fromkeys(("GetTask", "ConfirmTask", "RejectTask", "CancelTask", "RerunTask"), _NAME)

RULES: Final[Mapping[str, OwnerRule]] = {
    **_rules(
        "feeds.v1.FeedService",
        {
            **_TASKS,
            **dict.fromkeys(("GetFeed", "PauseFeed", "ResumeFeed", "DeleteFeed", "RunFeed", "GetFetch"), _NAME),
            **dict.fromkeys(
                ("CreateFeed", "ListFeeds", "ListFetches", "ListTasks", "ListOfferErrors", "ExportOfferErrors"), _PARENT
            ),
            "UpdateFeed": Named("feed.name"),
            "ExplainOffer": _NAME,
            "WatchTask": _NAME,
            "UploadFeed": Named("spec.seller_id"),
            "GetUpload": InResponse(),  # uploads/{uuid}
            "ListFormats": _PUBLIC,
            "GetFormatFile": _PUBLIC,
        },
    ),
    **_rules(
        "feeds.v1.TaskService",
        {
            **_TASKS,
            **dict.fromkeys(("ListTasks", "ListOfferErrors", "ExportOfferErrors", "LocateOffer"), _PARENT),
            "CreateTask": _CLOSED,
            "FindTasks": _CLOSED,
            "ListFormats": _PUBLIC,
            "GetFormatFile": _PUBLIC,
        },
    ),
    **_rules(
        "feeds.v1.FeedSourceService",
        {
            "GetFetch": _NAME,
            "ListFetches": _PARENT,
            "GetSourceStates": Named("names"),
            **dict.fromkeys(("PutSources", "RunSource", "ListSources"), _CLOSED),
        },
    ),
    **_rules(
        "offers.v1.OfferService",
        {
            **dict.fromkeys(("GetOffer", "UpdateOffer", "DeleteOffer"), _NAME),
            "ListOffers": _PARENT,
            # Repairs of the operator, some of them of all offers.
            **dict.fromkeys(("RepublishOffers", "GetPublication", "ExportPictureUrls", "RequestPictures"), _CLOSED),
        },
    ),
    **_rules(
        "search.v1.SearchService",
        {
            "Search": Narrowed(_narrow_search),
            "GetDocument": Narrowed(_narrow_document),
            "GetIndexStatus": _PUBLIC,
            "GetDigest": _CLOSED,
        },
    ),
    **_rules(
        "documents.v1.ReceiverService",
        dict.fromkeys(("Push", "PushBatch", "PushStream", "CheckPositions", "ListDocuments"), _CLOSED),
    ),
    **_rules("documents.v1.SchemaService", dict.fromkeys(("PutSchema", "GetSchema", "ListEpochs"), _CLOSED)),
    **_rules(
        "documents.v1.IndexQueueService",
        dict.fromkeys(
            (
                "ReadElements",
                "AppendFailed",
                "ReportProgress",
                "GetQueueEnds",
                "Refill",
                "ScanDocuments",
                "GetDigest",
            ),
            _CLOSED,
        ),
    ),
    **_rules("documents.v1.IndexerService", dict.fromkeys(("GetStatus", "RequestRefill"), _CLOSED)),
    # Jobs, texts by key, points of users, reviews and pictures by URL name no seller in a field of their own.
    **_rules(
        "jobs.v1.JobService",
        dict.fromkeys(
            (
                "TriggerJob",
                "TriggerJobs",
                "GetJob",
                "ListJobs",
                "WatchJob",
                "CancelJob",
                "RetryJob",
                "RetryJobs",
                "ListJobEvents",
                "ListQueues",
                "PauseQueue",
                "ResumeQueue",
                "SetQueueLimits",
                "ListWorkers",
                "GetLocks",
                "ListSchedules",
                "GetSchedule",
                "PutSchedule",
                "DeleteSchedule",
                "PauseSchedule",
                "ResumeSchedule",
            ),
            _CLOSED,
        ),
    ),
    **_rules(
        "moderation.v1.ModerationService",
        dict.fromkeys(
            (
                "SubmitTexts",
                "GetSubject",
                "ApplyVerdicts",
                "ListPending",
                "CheckText",
                "Rejudge",
                "GetRejudgement",
                "Appeal",
                "GetAppeal",
                "ListAppeals",
                "DecideAppeal",
                "ListEvents",
                "GetFigures",
            ),
            _CLOSED,
        ),
    ),
    **_rules(
        "points.v1.PointService",
        dict.fromkeys(("CreatePoint", "GetPoint", "ListPoints", "AddComment", "Vote", "DeletePoint"), _CLOSED),
    ),
    **_rules(
        "cleanweb.v1.CleanwebService",
        dict.fromkeys(
            ("JudgeText", "ClaimReview", "SubmitOpinion", "GetQueues", "ListCallbacks", "ResendCallbacks"), _CLOSED
        ),
    ),
    **_rules(
        "pictures.v1.PictureService",
        dict.fromkeys(
            (
                "GetState",
                "BatchGetStates",
                "RequestPictures",
                "ListSimilar",
                "LookAgain",
                "PutPicture",
                "DeletePictures",
                "ListComparisons",
                "ConfirmComparison",
                "PutNamespace",
                "ListNamespaces",
                "ListBackups",
                "RestoreBackup",
            ),
            _CLOSED,
        ),
    ),
}

OWNER_RULES: Final = OwnerRules(RULES, find_sellers)
"""The rules of the suite."""

# What the program of a shop calls: `token create --may seller`.
SELLER_METHODS: Final = tuple(
    f"/classifeed.{each}"
    for each in (
        *(
            f"feeds.v1.FeedService/{method}"
            for method in (
                "UploadFeed",
                "GetUpload",
                "CreateFeed",
                "GetFeed",
                "ListFeeds",
                "UpdateFeed",
                "PauseFeed",
                "ResumeFeed",
                "DeleteFeed",
                "RunFeed",
                "GetFetch",
                "ListFetches",
                "GetTask",
                "ListTasks",
                "WatchTask",
                "ConfirmTask",
                "RejectTask",
                "CancelTask",
                "RerunTask",
                "ListOfferErrors",
                "ExportOfferErrors",
                "ExplainOffer",
                "ListFormats",
                "GetFormatFile",
            )
        ),
        "offers.v1.OfferService/GetOffer",
        "offers.v1.OfferService/ListOffers",
        "offers.v1.OfferService/UpdateOffer",
        "offers.v1.OfferService/DeleteOffer",
        "search.v1.SearchService/Search",
        "search.v1.SearchService/GetDocument",
        "search.v1.SearchService/GetIndexStatus",
    )
)
