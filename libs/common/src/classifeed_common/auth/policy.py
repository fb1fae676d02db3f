"""Who may call what: full method → callers. What is not listed is refused, whoever asks.

A caller is the name of a service, or `operator`: the command line, on behalf of whoever holds its key, or `service`:
the key by which a person tests or repairs as if a service called; it may do whatever any service may. Sellers do not
appear here: they come with API tokens of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from classifeed_common.errors import PermissionDenied

OPERATOR: Final = "operator"
SERVICE: Final = "service"

# Standard health and reflection say nothing about sellers, and probes have no keys.
OPEN: Final = (
    "/grpc.health.v1.Health/",
    "/grpc.reflection.v1.ServerReflection/",
    "/grpc.reflection.v1alpha.ServerReflection/",
)


def _allow(service: str, methods: Mapping[str, tuple[str, ...]]) -> dict[str, frozenset[str]]:
    table = {}
    for method, callers in methods.items():
        stand_in = () if set(callers) == {OPERATOR} else (SERVICE,)
        table[f"/{service}/{method}"] = frozenset((*callers, *stand_in))
    return table


POLICY: Final[Mapping[str, frozenset[str]]] = {
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
            "ListOfferErrors": (OPERATOR,),
        },
    ),
    **_allow(
        "classifeed.feeds.v1.TaskService",
        {
            "CreateTask": ("api", "loader"),
            "GetTask": ("api", OPERATOR),
            "ListTasks": ("api", OPERATOR),
            "FindTasks": ("api", "loader"),
            "ListOfferErrors": ("api", OPERATOR),
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
            "RepublishOffers": (OPERATOR,),
            "GetPublication": (OPERATOR,),
        },
    ),
    **_allow(
        "classifeed.documents.v1.ReceiverService",
        dict.fromkeys(("Push", "PushBatch", "PushStream", "CheckPositions"), ("offers",)),
    ),
    **_allow(
        "classifeed.documents.v1.SchemaService",
        {
            "PutSchema": ("offers", OPERATOR),
            "GetSchema": ("offers", "indexer", "searcher", OPERATOR),
            "ListEpochs": ("offers", "indexer", "searcher", OPERATOR),
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
}


class Policy:
    """Answers whether a caller may call a method."""

    def __init__(self, table: Mapping[str, frozenset[str]] = POLICY) -> None:
        self._table = table

    @staticmethod
    def is_open(method: str) -> bool:
        """Whether a method needs no ticket."""
        return method.startswith(OPEN)

    def check(self, method: str, caller: str) -> None:
        """Passes when the table lists the caller.

        Raises:
            PermissionDenied: it does not, or the method is not in the table.
        """
        callers = self._table.get(method)
        if callers is None:
            raise PermissionDenied(
                "METHOD_NOT_IN_POLICY",
                f"Nobody may call {method}: it is missing in classifeed_common/auth/policy.py.",
                metadata={"method": method},
            )
        if caller not in callers:
            raise PermissionDenied(
                "CALLER_NOT_ALLOWED",
                f"{caller} may not call {method}. Allowed: {', '.join(sorted(callers))}.",
                metadata={"method": method, "caller": caller},
            )
