"""Random interleavings of votes, edits, verdicts and rejudgements match a model; nothing forbidden is ever shown."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from hashlib import blake2b

import pytest

from classifeed.moderation.v1.offer_texts_pb2 import OfferText, TextsJudged, TextsToJudge
from classifeed_devkit.testing.campaigns import IS_LONG
from classifeed_moderation.app.decisions.rejudge_texts import rejudge_slice
from classifeed_moderation.app.points.vote_point import vote_point
from classifeed_moderation.domain.subjects import Status
from classifeed_moderation.store import rejudging

from ...conftest import Moderation

BAD = "text_auto_obscene"
_TEXTS = ("lamp", "table", "chair")
# Steps of each of the four histories; a campaign has 100,000 in total.
STEPS = 25_000 if IS_LONG else 120


def hash_of(text: str) -> bytes:
    return blake2b(f"{text}\0".encode(), digest_size=16).digest()


@dataclass
class Offer:
    """Expected state of an offer: its current text, its verdicts, and the decision about each text."""

    text: str = ""
    version: int = 0
    status: Status = Status.PENDING
    verdicts: tuple[str, ...] = ()
    forbidden: set[bytes] = field(default_factory=set)


class Model:
    """Expected state of one offer and one point."""

    def __init__(self, moderation: Moderation, chance: random.Random, number: int) -> None:
        self.moderation = moderation
        self.chance = chance
        self.offer = Offer()
        self.external_id = f"offer-{number}"
        self.key = f"offer/seller/default/{self.external_id}"
        self.point = Status.PENDING
        self.point_verdicts: tuple[str, ...] = ()
        self.votes = 0
        self.number = number

    async def begin(self) -> None:
        self.point_id = await self.moderation.create_point(f"point {self.number}")
        await self.edit()

    async def step(self) -> None:
        steps = (self.edit, self.old_edit, self.judge, self.judge_old, self.judge_bare, self.judge_point, self.vote)
        await self.chance.choice((*steps, self.judge))()

    async def edit(self) -> None:
        text = self.chance.choice(_TEXTS)
        self.offer.version += 1
        await self._send(text, self.offer.version)
        if text != self.offer.text:
            self.offer.text, self.offer.status, self.offer.verdicts = text, Status.PENDING, ()
            self.offer.forbidden.discard(hash_of(text))

    async def old_edit(self) -> None:
        await self._send(self.chance.choice(_TEXTS), 0)

    async def judge(self) -> None:
        names = self.chance.choice(((), ("request",), (BAD,)))
        await self.moderation.apply(f"{self.key}~{hash_of(self.offer.text).hex()}", *names)
        if self.offer.status is Status.DISAPPROVED:
            return
        self.offer.status = Status.DISAPPROVED if BAD in names else Status.APPROVED
        self.offer.verdicts = names
        if BAD in names:
            self.offer.forbidden.add(hash_of(self.offer.text))

    async def judge_old(self) -> None:
        text = self.chance.choice([text for text in _TEXTS if text != self.offer.text])
        await self.moderation.apply(f"{self.key}~{hash_of(text).hex()}", self.chance.choice((BAD, "request")))

    async def judge_bare(self) -> None:
        name = self.chance.choice((BAD, "request"))
        await self.moderation.apply(self.key, name)
        if name == BAD:
            self.offer.status = Status.PENDING

    async def judge_point(self) -> None:
        names = self.chance.choice((("police",), ("request",), ("police", BAD)))
        await self.moderation.apply(self.point_id, *names)
        if self.point is not Status.DISAPPROVED:
            self.point = Status.DISAPPROVED if BAD in names else Status.APPROVED
            self.point_verdicts = names

    async def vote(self) -> None:
        if self.point is not Status.DISAPPROVED:
            self.votes += 1
            await vote_point(
                self.moderation.database, point_id=self.point_id, author_id=f"author {self.votes}", is_for=True
            )

    async def check(self) -> None:
        offer = await self.moderation.subject(self.key)
        assert (offer.text, offer.status) == (f"{self.offer.text}\n", self.offer.status)
        if offer.status is not Status.PENDING:
            assert tuple(item.name for item in offer.verdicts) == self.offer.verdicts
        point = await self.moderation.subject(self.point_id)
        assert point.status is self.point
        assert tuple(item.name for item in point.verdicts) == self.point_verdicts
        rows = await self.moderation.rows("SELECT votes_for, tags FROM points WHERE point_id = %s", self.point_id)
        assert rows[0][0] == self.votes

    async def check_outcomes(self) -> None:
        """Check that the newest outcome of a text equals the text's status."""
        rows = await self.moderation.rows("SELECT value FROM outbox WHERE topic = 'moderation.outcomes.v1' ORDER BY id")
        told = [
            text
            for (value,) in rows
            for text in TextsJudged.FromString(value).texts
            if text.external_id == self.external_id
        ]
        about_now = [text for text in told if text.text_hash == hash_of(self.offer.text)]
        if self.offer.status is not Status.PENDING:
            newest = max(about_now, key=lambda text: text.decision_id)
            assert newest.status == (3 if self.offer.status is Status.DISAPPROVED else 2)

    async def _send(self, text: str, version: int) -> None:
        message = OfferText(external_id=self.external_id, text_hash=hash_of(text), title=text, content_version=version)
        async with self.moderation.database.transaction() as tx:
            await self.moderation.take_offer_texts(
                tx, [TextsToJudge(seller_id="seller", namespace="default", texts=[message])]
            )


@pytest.mark.timeout(3600)
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
async def test_histories_equal_the_model(moderation: Moderation, seed: int) -> None:
    chance = random.Random(seed)
    models = [Model(moderation, chance, number) for number in range(3)]
    for model in models:
        await model.begin()
    for number in range(STEPS):
        model = chance.choice(models)
        await model.step()
        await model.check()
        if number % 40 == 39:
            async with moderation.database.transaction() as tx:
                request_id = f"{seed}-{number}"
                await rejudging.add_rejudgement(tx, request_id, None, is_dry_run=False)
                await rejudge_slice(
                    tx,
                    moderation.deciding,
                    request_id=request_id,
                    kind=None,
                    is_dry_run=False,
                    after="",
                )
            for each in models:
                await each.check()
    for model in models:
        await model.check_outcomes()
