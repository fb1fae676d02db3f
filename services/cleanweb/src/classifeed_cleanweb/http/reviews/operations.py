"""Operations of the pages: submit opinions, and give texts back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pydantic import BaseModel, Field

from classifeed_cleanweb.app.submit_opinion import EnqueueCallback, submit_opinion
from classifeed_cleanweb.domain.review_terms import ReviewTerms
from classifeed_cleanweb.store import reviews
from classifeed_common.db import Database
from classifeed_common.http.api.operations import ApiRequest, Operation
from classifeed_common.rpc.call import remaining_s
from classifeed_common.rpc.own_names import person_name

_MAX_BODY_BYTES: Final = 16 << 10


@dataclass(frozen=True, slots=True)
class ReviewServices:
    """Services that the operations use."""

    database: Database
    enqueue: EnqueueCallback
    terms: ReviewTerms


class Opinion(BaseModel):
    """Verdicts about a text; empty: nothing is wrong with it."""

    review_id: int = Field(gt=0, lt=1 << 63)
    verdicts: list[str] = Field(max_length=20)


class OpinionStored(BaseModel):
    """Whether the review has ended."""

    ended: bool


class GiveBack(BaseModel):
    """The text to give back."""

    review_id: int = Field(gt=0, lt=1 << 63)


class GivenBack(BaseModel):
    """Whether the reviewer had the text."""

    given_back: bool


async def send_opinion(services: ReviewServices, request: ApiRequest) -> OpinionStored:
    """Store the opinion of the signed-in reviewer; only the first opinion of a reviewer about a text counts."""
    opinion: Opinion = request.body
    ended = await submit_opinion(
        services.database,
        services.enqueue,
        review_id=opinion.review_id,
        reviewer=person_name(request.by),
        verdicts=set(opinion.verdicts),
        cost=services.terms.opinion_cost,
    )
    return OpinionStored(ended=ended)


async def give_back(services: ReviewServices, request: ApiRequest) -> GivenBack:
    """End the lease of the signed-in reviewer, so that another reviewer gets the text at once."""
    given: GiveBack = request.body
    async with services.database.transaction(timeout_s=remaining_s()) as tx:
        return GivenBack(given_back=await reviews.give_back(tx, given.review_id, person_name(request.by)))


OPERATIONS: Final[tuple[Operation[ReviewServices], ...]] = (
    Operation(
        "POST",
        "/reviews/opinions",
        "Send an opinion",
        send_opinion,
        OpinionStored,
        rpc="SubmitOpinion",
        body=Opinion,
        max_body_bytes=_MAX_BODY_BYTES,
    ),
    Operation(
        "POST",
        "/reviews/given-back",
        "Return a text",
        give_back,
        GivenBack,
        rpc="ClaimReview",
        body=GiveBack,
        max_body_bytes=_MAX_BODY_BYTES,
    ),
)
