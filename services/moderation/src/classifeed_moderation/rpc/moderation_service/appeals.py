"""Appeals: authors make them, reviewers decide them."""

from __future__ import annotations

import re
from typing import Final

from classifeed.moderation.v1.moderation_service_pb2 import (
    AppealRecord,
    AppealRequest,
    DecideAppealRequest,
    GetAppealRequest,
    ListAppealsRequest,
    ListAppealsResponse,
)
from classifeed.moderation.v1.subject_pb2 import Decision, ModerationStatus
from classifeed_common.db import Database
from classifeed_common.rpc.context import Context
from classifeed_common.rpc.paging import page_token_refused, read_page_token, write_page_token
from classifeed_moderation.app.appeals.decide_appeal import DecideAppeal
from classifeed_moderation.app.appeals.describe_appeals import Appeal, get_appeal, list_appeals
from classifeed_moderation.app.appeals.make_appeal import MOST_OPEN, make_appeal
from classifeed_moderation.domain.subjects import Status
from classifeed_moderation.rpc.messages import decision_message

_DEFAULT_PAGE_APPEALS: Final = 100
_APPEAL_ID: Final = re.compile(r"[0-9]{1,18}")


class AppealMethods:
    """RPC methods of appeals; the use cases raise the errors.

    Args:
        database: database of the appeals.
        decide_appeal: decides appeals.
        most_open: maximum open appeals per author.
    """

    def __init__(self, database: Database, decide_appeal: DecideAppeal, *, most_open: int = MOST_OPEN) -> None:
        self._database = database
        self._decide_appeal = decide_appeal
        self._most_open = most_open

    async def Appeal(self, request: AppealRequest, context: Context) -> AppealRecord:
        """Store an appeal against the newest decision about a text."""
        return _message(
            await make_appeal(
                self._database,
                key=request.key,
                author_id=request.author_id,
                reason=request.reason,
                most_open=self._most_open,
            )
        )

    async def GetAppeal(self, request: GetAppealRequest, context: Context) -> AppealRecord:
        """Return an appeal and its state."""
        return _message(await get_appeal(self._database, request.appeal_id))

    async def ListAppeals(self, request: ListAppealsRequest, context: Context) -> ListAppealsResponse:
        """Return a page of open appeals.

        Raises:
            InvalidArgument: this service did not issue the page token.
        """
        limit = request.page_size or _DEFAULT_PAGE_APPEALS
        page, has_more = await list_appeals(self._database, after=appeal_of_token(request.page_token), limit=limit)
        return ListAppealsResponse(
            appeals=[_message(appeal) for appeal in page],
            next_page_token=token_after(page[-1]) if has_more else "",
        )

    async def DecideAppeal(self, request: DecideAppealRequest, context: Context) -> Decision:
        """Decide an appeal; a repeated request returns the first decision."""
        made = await self._decide_appeal(
            appeal_id=request.appeal_id,
            reviewer=request.reviewer,
            status=Status(ModerationStatus.Name(request.status).removeprefix("MODERATION_STATUS_")),
            rule=request.rule,
            response=request.response,
        )
        return decision_message(made)


def token_after(appeal: Appeal) -> str:
    """Return the token of the page after an appeal."""
    return write_page_token(str(appeal.appeal_id))


def appeal_of_token(token: str) -> int:
    """Return the number after which a page begins.

    Raises:
        InvalidArgument: PAGE_TOKEN_INVALID.
    """
    appeal_id = read_page_token(token) or "0"
    if not _APPEAL_ID.fullmatch(appeal_id):
        raise page_token_refused()
    return int(appeal_id)


def _message(appeal: Appeal) -> AppealRecord:
    return AppealRecord(
        appeal_id=appeal.appeal_id,
        key=appeal.key,
        decision=decision_message(appeal.decision),
        author_id=appeal.author_id,
        reason=appeal.reason,
        state=f"APPEAL_STATE_{appeal.state}",
        response=appeal.response,
    )
