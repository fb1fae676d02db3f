"""ModerationService, joined from the groups of its methods."""

from __future__ import annotations

from collections.abc import Callable

from classifeed.moderation.v1.moderation_service_pb2_grpc import add_ModerationServiceServicer_to_server
from classifeed_common.clock import Clock
from classifeed_common.db import Database
from classifeed_common.outbox import Outbox
from classifeed_common.rpc.server import Servicer
from classifeed_jobs import JobStore
from classifeed_moderation.app.decisions.apply_verdicts import Rules
from classifeed_moderation.app.judging.judge_texts import TextJudge
from classifeed_moderation.app.judging.take_offer_texts import TakeOfferTexts
from classifeed_moderation.rpc.moderation_service.appeals import Appeals
from classifeed_moderation.rpc.moderation_service.events import Events
from classifeed_moderation.rpc.moderation_service.rejudging import Rejudging
from classifeed_moderation.rpc.moderation_service.texts import Texts
from classifeed_moderation.rpc.moderation_service.verdicts import Verdicts


def moderation_servicer(
    database: Database,
    outbox: Outbox,
    clock: Clock,
    *,
    current_rules: Callable[[], Rules],
    judge: TextJudge,
    take_offer_texts: TakeOfferTexts,
    jobs: JobStore,
    on_due: Callable[[], None],
    appeals: Appeals,
) -> Servicer:
    """Return the servicer of ModerationService.

    Args:
        database: database of the texts.
        outbox: sends decisions.
        clock: clock for the time of decisions.
        current_rules: returns the current rules.
        judge: requests verdicts about texts that are checked and not stored.
        take_offer_texts: stores submitted texts.
        jobs: store of the jobs.
        on_due: called after a commit that made texts due.
        appeals: RPC methods of appeals, which the web pages share.
    """
    return Servicer.join(
        add_ModerationServiceServicer_to_server,
        Texts(database, outbox, judge, take_offer_texts, current_rules=current_rules),
        Verdicts(database, outbox, clock, current_rules=current_rules, on_due=on_due),
        appeals,
        Events(database),
        Rejudging(database, jobs),
    )
