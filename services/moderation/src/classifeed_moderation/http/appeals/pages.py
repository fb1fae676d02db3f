"""The pages: open appeals, and one appeal with its text, its decision and the form."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from classifeed_common.db import Database
from classifeed_common.http.pages.guarding import page_not_found
from classifeed_common.http.pages.templates import Html, Templates, markup
from classifeed_common.rpc.call import remaining_s
from classifeed_moderation.app.appeals.describe_appeals import Appeal, get_appeal, list_appeals
from classifeed_moderation.domain.appeals import AppealState
from classifeed_moderation.domain.verdicts import from_json
from classifeed_moderation.rpc.moderation_service.appeals import appeal_of_token, token_after
from classifeed_moderation.store import subjects

API: Final = "appeals"
PATH: Final = "/appeals"
PAGES: Final = Templates(__package__, path=PATH, brand="Appeals", script="appeals.js")
_PAGE_APPEALS: Final = 20
_NUMBER: Final = re.compile("[0-9]{1,18}")
_GONE: Final = "The text is gone."


@dataclass(frozen=True, slots=True)
class AppealPages:
    """Handlers of GET requests over the database of the texts."""

    database: Database

    async def open_appeals(self, request: Request, reviewer: str) -> Response:
        """Show a page of open appeals, oldest first."""
        after = appeal_of_token(request.query_params.get("page", ""))
        page, has_more = await list_appeals(self.database, after=after, limit=_PAGE_APPEALS)
        cards = [PAGES.html_of("card.html", {}, **_facts_of(appeal)) for appeal in page]
        more = Html("")
        if has_more:
            link = '<a class="action" href="$path?page=$page" data-key="n"><kbd>n</kbd> Next page</a>'
            more = markup(link, path=PATH, page=token_after(page[-1]))
        pieces = {"cards": Html("".join(cards)) or markup('<p class="lead">No appeal is open.</p>'), "more": more}
        return PAGES.page("Open appeals", PAGES.html_of("open_appeals.html", pieces), who=reviewer)

    async def appeal(self, request: Request, reviewer: str) -> Response:
        """Show one appeal, with the decision form if it is open."""
        given = request.path_params["appeal_id"]
        if not _NUMBER.fullmatch(given):
            raise page_not_found(request)
        appeal = await get_appeal(self.database, int(given))
        async with self.database.transaction(timeout_s=remaining_s()) as tx:
            subject = await subjects.find_subject(tx, appeal.key)
        form = PAGES.html_of("decision.html", appeal_id=appeal.appeal_id, rule=appeal.decision.rule)
        main = PAGES.html_of(
            "appeal.html",
            {"form": form if appeal.state is AppealState.OPEN else Html("")},
            **_facts_of(appeal),
            text=subject.text if subject is not None else _GONE,
        )
        return PAGES.page(f"Appeal {appeal.appeal_id}", main, who=reviewer)


def _facts_of(appeal: Appeal) -> dict[str, str | int]:
    decision = appeal.decision
    return {
        "appeal_id": appeal.appeal_id,
        "key": appeal.key,
        "author": appeal.author_id,
        "reason": appeal.reason,
        "rule": decision.rule,
        "verdicts": ", ".join(verdict.name for verdict in from_json(decision.verdicts)) or "–",
        "maker": f"{decision.maker.lower()} {decision.reviewer}".strip(),
        "time": f"{decision.decided_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC",
        "state": appeal.state.lower(),
        "response": appeal.response,
    }
