"""Who may call what: full method and its callers. What is not listed is refused, whoever calls.

A caller is the name of a service, or `operator`: the command line, on behalf of whoever holds its key, or `service`:
the key by which a person tests or repairs as if a service called; it may call what any service may. Tokens of teams
may call some of the operator's methods; `owner_rules` says for which sellers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from classifeed_common.auth.policy import LARGEST_REQUEST_BYTES, OPERATOR, SERVICE, Policy
from classifeed_domain.owner_rules import OWNER_RULES

# The services that implement a gRPC service; a token for its methods is made for them.
SERVED_BY: Final[Mapping[str, tuple[str, ...]]] = {
    "classifeed.feeds.v1.FeedService": ("api",),
    "classifeed.feeds.v1.TaskService": ("processor",),
    "classifeed.feeds.v1.FeedSourceService": ("loader",),
    "classifeed.offers.v1.OfferService": ("offers",),
    "classifeed.documents.v1.ReceiverService": ("receiver",),
    "classifeed.documents.v1.SchemaService": ("receiver",),
    "classifeed.documents.v1.IndexQueueService": ("receiver",),
    "classifeed.documents.v1.IndexerService": ("indexer",),
    "classifeed.jobs.v1.JobService": ("api", "loader", "processor", "offers", "moderation", "cleanweb", "pictures"),
    "classifeed.search.v1.SearchService": ("searcher",),
    "classifeed.moderation.v1.ModerationService": ("moderation",),
    "classifeed.points.v1.PointService": ("moderation",),
    "classifeed.cleanweb.v1.CleanwebService": ("cleanweb",),
    "classifeed.pictures.v1.PictureService": ("pictures",),
}


def _allow(service: str, methods: Mapping[str, tuple[str, ...]]) -> dict[str, frozenset[str]]:
    table = {}
    for method, callers in methods.items():
        stand_in = () if set(callers) == {OPERATOR} else (SERVICE,)
        table[f"/{service}/{method}"] = frozenset((*callers, *stand_in))
    return table


CALLERS: Final[Mapping[str, frozenset[str]]] = {
    **_allow(
        "classifeed.feeds.v1.FeedService",
        {
            **dict.fromkeys(
                (
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
                    "ExplainOffer",
                    "ListFormats",
                    "GetFormatFile",
                ),
                (OPERATOR,),
            ),
            "UploadFeed": (OPERATOR,),
            "GetUpload": (OPERATOR,),
            "GetTask": (OPERATOR,),
            "ListTasks": (OPERATOR,),
            "WatchTask": (OPERATOR,),
            **dict.fromkeys(("ConfirmTask", "RejectTask", "CancelTask", "RerunTask"), (OPERATOR,)),
            "ListOfferErrors": (OPERATOR,),
            "ExportOfferErrors": (OPERATOR,),
        },
    ),
    **_allow(
        "classifeed.feeds.v1.TaskService",
        {
            "CreateTask": ("api", "loader"),
            **dict.fromkeys(("ConfirmTask", "RejectTask", "CancelTask", "RerunTask"), ("api",)),
            "GetTask": ("api", OPERATOR),
            "ListTasks": ("api", OPERATOR),
            "FindTasks": ("api", "loader"),
            "ListOfferErrors": ("api", OPERATOR),
            "ExportOfferErrors": ("api", OPERATOR),
            "LocateOffer": ("api", OPERATOR),
            "ListFormats": ("api", OPERATOR),
            "GetFormatFile": ("api", OPERATOR),
        },
    ),
    **_allow(
        "classifeed.feeds.v1.FeedSourceService",
        {
            "PutSources": ("api",),
            "RunSource": ("api",),
            "GetSourceStates": ("api", OPERATOR),
            "ListSources": ("api", OPERATOR),
            "GetFetch": ("api", OPERATOR),
            "ListFetches": ("api", OPERATOR),
        },
    ),
    **_allow(
        "classifeed.offers.v1.OfferService",
        {
            "GetOffer": ("api", OPERATOR),
            "ListOffers": ("api", OPERATOR),
            "UpdateOffer": (OPERATOR,),
            "DeleteOffer": (OPERATOR,),
            "RepublishOffers": (OPERATOR,),
            "GetPublication": (OPERATOR,),
            "ExportPictureUrls": ("pictures",),
            "RequestPictures": ("pictures", OPERATOR),
        },
    ),
    **_allow(
        "classifeed.documents.v1.ReceiverService",
        dict.fromkeys(("Push", "PushBatch", "PushStream", "CheckPositions", "ListDocuments"), ("offers", "moderation")),
    ),
    **_allow(
        "classifeed.documents.v1.SchemaService",
        {
            "PutSchema": ("offers", "moderation", OPERATOR),
            "GetSchema": ("offers", "moderation", "indexer", "searcher", OPERATOR),
            "ListEpochs": ("offers", "moderation", "indexer", "searcher", OPERATOR),
        },
    ),
    **_allow(
        "classifeed.documents.v1.IndexQueueService",
        {
            "ReadElements": ("indexer",),
            "AppendFailed": ("indexer",),
            "ReportProgress": ("indexer",),
            "GetQueueEnds": ("indexer", "searcher", OPERATOR),
            "Refill": ("indexer",),
            "ScanDocuments": ("searcher",),
            "GetDigest": ("searcher", OPERATOR),
        },
    ),
    **_allow("classifeed.documents.v1.IndexerService", dict.fromkeys(("GetStatus", "RequestRefill"), (OPERATOR,))),
    **_allow(
        "classifeed.jobs.v1.JobService",
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
            (OPERATOR,),
        ),
    ),
    **_allow(
        "classifeed.search.v1.SearchService",
        {
            "Search": ("api", OPERATOR),
            "GetDocument": ("api", OPERATOR),
            "GetIndexStatus": ("api", OPERATOR),
            "GetDigest": (OPERATOR,),
        },
    ),
    **_allow(
        "classifeed.moderation.v1.ModerationService",
        {
            **dict.fromkeys(("SubmitTexts", "GetSubject"), ("offers", "api", OPERATOR)),
            "ApplyVerdicts": ("cleanweb",),
            **dict.fromkeys(
                (
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
                (OPERATOR,),
            ),
        },
    ),
    **_allow(
        "classifeed.points.v1.PointService",
        dict.fromkeys(("CreatePoint", "GetPoint", "ListPoints", "AddComment", "Vote", "DeletePoint"), (OPERATOR,)),
    ),
    **_allow(
        "classifeed.cleanweb.v1.CleanwebService",
        {
            "JudgeText": ("moderation",),
            **dict.fromkeys(
                ("ClaimReview", "SubmitOpinion", "GetQueues", "ListCallbacks", "ResendCallbacks"), (OPERATOR,)
            ),
        },
    ),
    **_allow(
        "classifeed.pictures.v1.PictureService",
        {
            **dict.fromkeys(("GetState", "BatchGetStates"), ("offers", "api", OPERATOR)),
            **dict.fromkeys(
                (
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
                (OPERATOR,),
            ),
        },
    ),
}

# Batches that only services send.
LARGE_REQUESTS: Final[Mapping[str, int]] = dict.fromkeys(
    (
        "/classifeed.documents.v1.ReceiverService/Push",
        "/classifeed.documents.v1.ReceiverService/PushBatch",
        "/classifeed.documents.v1.ReceiverService/PushStream",
        "/classifeed.documents.v1.IndexQueueService/AppendFailed",
        "/classifeed.feeds.v1.FeedSourceService/PutSources",
    ),
    LARGEST_REQUEST_BYTES,
)

POLICY: Final = Policy(CALLERS, SERVED_BY, OWNER_RULES, LARGE_REQUESTS)
"""The policy of the suite."""
