"""Who may call what: full method → callers. What is not listed is refused, whoever asks.

A caller is the name of a service, or `operator`: the command line, on behalf of whoever holds its key, or `service`:
the key by which a person tests or repairs as if a service called; it may do whatever any service may. Sellers do not
appear here: they come with API tokens of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
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

# Which services answer for a gRPC service; a token for its methods is made for them.
SERVED_BY: Final[Mapping[str, tuple[str, ...]]] = {
    "classifeed.feeds.v1.FeedService": ("api",),
    "classifeed.feeds.v1.TaskService": ("processor",),
    "classifeed.feeds.v1.FeedSourceService": ("loader",),
    "classifeed.offers.v1.OfferService": ("offers",),
    "classifeed.documents.v1.ReceiverService": ("receiver",),
    "classifeed.documents.v1.SchemaService": ("receiver",),
    "classifeed.documents.v1.IndexQueueService": ("receiver",),
    "classifeed.documents.v1.IndexerService": ("indexer",),
    "classifeed.jobs.v1.JobService": ("api", "loader", "processor", "offers"),
    "classifeed.search.v1.SearchService": ("searcher",),
}


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
            **dict.fromkeys(("ConfirmTask", "RejectTask", "CancelTask", "RerunTask"), (OPERATOR,)),
            "ListOfferErrors": (OPERATOR,),
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

    def check(self, method: str, caller: str, may: Set[str] | None = None) -> None:
        """Pass when the table lists the caller.

        Args:
            may: methods that the caller's token names; such a caller may call what the operator may, of these.

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
        if may is not None:
            if method in may and OPERATOR in callers:
                return
            raise PermissionDenied(
                "METHOD_NOT_GRANTED",
                f"The token of {caller} is not for {method}. Ask the operator for one that names it "
                "(`classifeed token create --may`).",
                metadata={"method": method, "caller": caller},
            )
        if caller not in callers:
            raise PermissionDenied(
                "CALLER_NOT_ALLOWED",
                f"{caller} may not call {method}. Allowed: {', '.join(sorted(callers))}.",
                metadata={"method": method, "caller": caller},
            )
