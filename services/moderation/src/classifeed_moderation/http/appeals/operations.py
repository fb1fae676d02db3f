"""Operations of the pages: decisions."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import BaseModel, Field

from classifeed_common.http.api.operations import ApiRequest, Operation
from classifeed_common.rpc.own_names import person_name
from classifeed_moderation.app.appeals.decide_appeal import DecideAppeal
from classifeed_moderation.domain.subjects import Status
from classifeed_moderation.http.appeals.pages import PATH

_MAX_BODY_BYTES: Final = 32 << 10


class AppealDecision(BaseModel):
    """The decision of a reviewer, with sentences for the author."""

    appeal_id: int = Field(gt=0, lt=1 << 63)
    status: Literal["APPROVED", "DISAPPROVED"]
    rule: str = Field(min_length=1, max_length=128)
    response: str = Field(default="", max_length=2000)


class AppealDecided(BaseModel):
    """Number of the decision."""

    decision_id: int


async def decide_appeal(decide: DecideAppeal, request: ApiRequest) -> AppealDecided:
    """Decide an appeal under the name of the signed-in person."""
    decision: AppealDecision = request.body
    made = await decide(
        appeal_id=decision.appeal_id,
        reviewer=person_name(request.by),
        status=Status(decision.status),
        rule=decision.rule,
        response=decision.response,
    )
    return AppealDecided(decision_id=made.decision_id)


OPERATIONS: Final[tuple[Operation[DecideAppeal], ...]] = (
    Operation(
        "POST",
        f"{PATH}/decisions",
        "Decide an appeal",
        decide_appeal,
        AppealDecided,
        rpc="DecideAppeal",
        body=AppealDecision,
        max_body_bytes=_MAX_BODY_BYTES,
    ),
)
