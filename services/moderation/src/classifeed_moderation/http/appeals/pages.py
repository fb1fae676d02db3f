"""The pages: open appeals, and one appeal with its text, its decision and the form."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, cast

from starlette.requests import Request
from starlette.responses import Response

from classifeed.moderation.v1.moderation_service_pb2 import (
    APPEAL_STATE_OPEN,
    AppealRecord,
    AppealState,
    GetAppealRequest,
    ListAppealsRequest,
)
from classifeed.moderation.v1.subject_pb2 import Decision, DecisionMaker
from classifeed_common.db import Database
from classifeed_common.http.pages.guarding import page_not_found
from classifeed_common.http.pages.templates import Html, Templates, markup
from classifeed_common.rpc.call import remaining_s
from classifeed_common.rpc.context import Context
from classifeed_moderation.rpc.moderation_service.appeals import Appeals
from classifeed_moderation.store import subjects

API: Final = "appeals"
PATH: Final = "/appeals"
PAGES: Final = Templates(__package__, path=PATH, brand="Appeals", script="appeals.js")
# Appeals are read through the RPC methods, which do not use the context.
NO_CONTEXT: Final = cast(Context, None)
_PAGE_APPEALS: Final = 20
_NUMBER: Final = re.compile("[0-9]{1,18}")
_GONE: Final = "The text is gone."


@dataclass(frozen=True, slots=True)
class AppealPages:
    """Handlers of GET requests.

    Attributes:
        database: database of the texts.
        appeals: RPC methods of appeals.
    """

    database: Database
    appeals: Appeals

    async def open_appeals(self, request: Request, reviewer: str) -> Response:
        """Show a page of open appeals, oldest first."""
        token = request.query_params.get("page", "")
        found = await self.appeals.ListAppeals(
            ListAppealsRequest(page_size=_PAGE_APPEALS, page_token=token), NO_CONTEXT
        )
        cards = [
            PAGES.html_of(
                "card.html",
                appeal_id=appeal.appeal_id,
                key=appeal.key,
                author=appeal.author_id,
                reason=appeal.reason,
                rule=appeal.decision.rule,
                time=_time_of(appeal.decision),
            )
            for appeal in found.appeals
        ]
        more = markup(
            '<a class="action" href="$path?page=$page" data-key="n"><kbd>n</kbd> Next page</a>',
            path=PATH,
            page=found.next_page_token,
        )
        pieces = {
            "cards": Html("".join(cards)) or markup('<p class="lead">No appeal is open.</p>'),
            "more": more if found.next_page_token else Html(""),
        }
        return PAGES.page("Open appeals", PAGES.html_of("open_appeals.html", pieces), who=reviewer)

    async def appeal(self, request: Request, reviewer: str) -> Response:
        """Show one appeal, with the decision form if it is open."""
        given = request.path_params["appeal_id"]
        if not _NUMBER.fullmatch(given):
            raise page_not_found(request)
        appeal = await self.appeals.GetAppeal(GetAppealRequest(appeal_id=int(given)), NO_CONTEXT)
        async with self.database.transaction(timeout_s=remaining_s()) as tx:
            subject = await subjects.find_subject(tx, appeal.key)
        is_open = appeal.state == APPEAL_STATE_OPEN
        form = PAGES.html_of("decision.html", appeal_id=appeal.appeal_id, rule=appeal.decision.rule)
        main = PAGES.html_of(
            "appeal.html",
            {"form": form if is_open else Html("")},
            **_facts_of(appeal),
            text=subject.text if subject is not None else _GONE,
        )
        return PAGES.page(f"Appeal {appeal.appeal_id}", main, who=reviewer)


def _facts_of(appeal: AppealRecord) -> dict[str, str | int]:
    decision = appeal.decision
    maker = DecisionMaker.Name(decision.maker).removeprefix("DECISION_MAKER_").lower()
    return {
        "appeal_id": appeal.appeal_id,
        "key": appeal.key,
        "author": appeal.author_id,
        "reason": appeal.reason,
        "rule": decision.rule,
        "verdicts": ", ".join(verdict.name for verdict in decision.verdicts) or "–",
        "maker": f"{maker} {decision.reviewer}".strip(),
        "time": _time_of(decision),
        "state": AppealState.Name(appeal.state).removeprefix("APPEAL_STATE_").lower(),
        "response": appeal.response,
    }


def _time_of(decision: Decision) -> str:
    return f"{decision.decide_time.ToDatetime():%Y-%m-%d %H:%M} UTC"
