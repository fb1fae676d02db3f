"""Texts: submit, read, list and check them."""

from __future__ import annotations

from typing import Final

from classifeed.moderation.v1.moderation_service_pb2 import (
    CheckTextRequest,
    CheckTextResponse,
    GetSubjectRequest,
    ListPendingRequest,
    ListPendingResponse,
    SubmitTextsRequest,
    SubmitTextsResponse,
)
from classifeed.moderation.v1.subject_pb2 import Subject, SubjectKind
from classifeed_common.db import Database, Tx
from classifeed_common.errors import FieldViolation, InvalidArgument, NotFound, Unavailable
from classifeed_common.rpc.call import remaining_s
from classifeed_common.rpc.context import Context
from classifeed_moderation.app.decisions.record_decisions import Deciding
from classifeed_moderation.app.decisions.report_decisions import verdict_messages
from classifeed_moderation.app.judging.judge_texts import TextJudge
from classifeed_moderation.app.judging.take_offer_texts import TakeOfferTexts
from classifeed_moderation.clients.verdict_service import Outcome
from classifeed_moderation.consumers.decode import fault_of_texts
from classifeed_moderation.domain.bans import ban_of
from classifeed_moderation.domain.decisions import Subject as StoredText
from classifeed_moderation.domain.subjects import Kind, Task, hash_text, offer_key
from classifeed_moderation.rpc.messages import decision_message, subject_message
from classifeed_moderation.rpc.places import parse_place, write_place
from classifeed_moderation.store import decisions, subjects

_DEFAULT_PAGE_TEXTS: Final = 100
# Keys that no text has, in the form that shows the kind.
_CHECKED_KEYS: Final = {Kind.POINT: "check", Kind.COMMENT: "check/0", Kind.OFFER: "offer/check"}


class TextMethods:
    """RPC methods of texts; a check stores nothing."""

    def __init__(
        self, database: Database, deciding: Deciding, judge: TextJudge, take_offer_texts: TakeOfferTexts
    ) -> None:
        self._database = database
        self._deciding = deciding
        self._judge = judge
        self._take_offer_texts = take_offer_texts

    async def SubmitTexts(self, request: SubmitTextsRequest, context: Context) -> SubmitTextsResponse:
        """Store texts of offers, and return them with their moderation status.

        Raises:
            InvalidArgument: a text is invalid.
        """
        if fault := fault_of_texts(request.texts):
            raise InvalidArgument("TEXTS_INVALID", fault, violations=[FieldViolation("texts", fault)])
        sent = request.texts
        if sent.applied_decision_id or sent.removed or any(text.HasField("kept_decision") for text in sent.texts):
            fault = "applied_decision_id, removed and kept_decision come by the topic only. Leave them out."
            raise InvalidArgument("TEXTS_INVALID", fault, violations=[FieldViolation("texts", fault)])
        async with self._database.transaction(timeout_s=remaining_s()) as tx:
            await self._take_offer_texts(tx, [sent])
            keys = [offer_key(sent.seller_id, sent.namespace, text.external_id) for text in sent.texts]
            stored = [await self._read(tx, key) for key in keys]
        self._deciding.outbox.wake()
        return SubmitTextsResponse(subjects=[subject for subject in stored if subject is not None])

    async def GetSubject(self, request: GetSubjectRequest, context: Context) -> Subject:
        """Return one text.

        Raises:
            NotFound: there is no such text.
        """
        async with self._database.transaction(timeout_s=remaining_s()) as tx:
            found = await self._read(tx, request.key)
        if found is None:
            raise NotFound("TEXT_NOT_FOUND", f"There is no text with the key {request.key!r}. Correct the key.")
        return found

    async def ListPending(self, request: ListPendingRequest, context: Context) -> ListPendingResponse:
        """Return a page of waiting texts.

        Raises:
            InvalidArgument: this service did not issue the page token.
        """
        limit = request.page_size or _DEFAULT_PAGE_TEXTS
        kind = _kind(request.kind)
        after = parse_place(request.page_token)
        async with self._database.transaction(timeout_s=remaining_s()) as tx:
            found = await subjects.list_pending(
                tx, kind, after=after, limit=limit + 1, region_id=request.region_id, verdict=request.verdict
            )
        page = found[:limit]
        return ListPendingResponse(
            subjects=[subject_message(subject) for subject in page],
            next_page_token=_write_place(page[-1]) if len(found) > limit else "",
        )

    async def CheckText(self, request: CheckTextRequest, context: Context) -> CheckTextResponse:
        """Request verdicts about a text, and return the judgement of the rules.

        Raises:
            Unavailable: the verdict service gave no verdict.
        """
        regions = tuple(request.region_ids)
        kind = _kind(request.kind)
        task = Task(_CHECKED_KEYS[kind], kind, request.text, hash_text(request.text), regions, is_check=True)
        [response] = await self._judge.request([task])
        if response.outcome is Outcome.PEOPLE:
            return CheckTextResponse(status="MODERATION_STATUS_PENDING")
        if response.outcome is not Outcome.VERDICTS:
            raise Unavailable(
                "VERDICT_SERVICE_UNAVAILABLE", f"The verdict service gave no verdict ({response.fault}). Try again."
            )
        rules = self._deciding.current_rules()
        judgement = rules.value.judge(response.verdict_list.verdicts, kind=task.kind, region_ids=regions)
        checked = CheckTextResponse(
            status=f"MODERATION_STATUS_{judgement.status}", verdicts=verdict_messages(response.verdict_list.verdicts)
        )
        if judgement.reason is not None:
            checked.ban.CopyFrom(ban_of(task.text, 0, judgement.reason, rules.version))
        return checked

    async def _read(self, tx: Tx, key: str) -> Subject | None:
        found = await subjects.find_subject(tx, key)
        if found is None:
            return None
        row = await decisions.find_decision(tx, found.decision_id) if found.decision_id else None
        return subject_message(found, decision_message(row) if row is not None else None)


def _kind(kind: int) -> Kind:
    return Kind(SubjectKind.Name(kind).removeprefix("SUBJECT_KIND_"))


def _write_place(subject: StoredText) -> str:
    assert subject.next_retry is not None
    return write_place(subject.next_retry, subject.key)
