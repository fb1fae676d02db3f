"""Reviewers of texts that the rules cannot decide: each has one lease, and opinions need a lease."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from classifeed_devkit.testing.campaigns import IS_LONG
from tests.e2e.suite import Suite
from tests.e2e.test_moderation import Row, write_rows
from tests.e2e.waiting import wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1200)]

_TEXTS = 30
# No rule matches this text, and the model's score is higher than that of any other text in the suite.
_DOUBTFUL = (
    "You are all so ugly and dumb that nobody wants you, get lost. dead end ahead. козёл на дороге отбился от стада. "
    "Инвестируй получи завтра"
)
_PAGE = "/reviews/common_toloka"
_SOON_S = 120.0


class Reviewer:
    """A person with a token, whose browser shows the pages of cleanweb."""

    def __init__(self, suite: Suite, name: str, folder: Path) -> None:
        token = folder / f"{name}.token"
        rights = [
            part for method in ("ClaimReview", "SubmitOpinion") for part in ("--may", f"CleanwebService/{method}")
        ]
        created = suite.run("token", "create", "--for", name, "--all-sellers", *rights, "--ttl", "1h", "--out", token)
        assert created.exit_code == 0, created.document
        self.name = name
        self._browser = httpx.Client(base_url=suite.status()["services"]["cleanweb"]["http"], trust_env=False)
        signed_in = self._call(
            lambda: self._browser.post("/reviews/sign-in", json={"token": token.read_text().strip()})
        )
        assert signed_in.status_code == 204, signed_in.text

    def open_page(self, after: int = 0) -> int | None:
        """Return the id of the review that the page shows; None if no text waits."""
        shown = self._call(lambda: self._browser.get(_PAGE, params={"after": after}))
        found = re.findall(r'data-review="(\d+)"', shown.text)
        assert found or "nothing-waits" in shown.text, shown.text
        return int(found[0]) if found else None

    def submit(self, review_id: int) -> tuple[int, str]:
        """Submit the opinion that a text is clean; return the status, and the reason of a refusal."""
        content = {"review_id": review_id, "verdicts": []}
        response = self._call(lambda: self._browser.post("/reviews/opinions", json=content))
        return response.status_code, response.json().get("reason", "")

    def close(self) -> None:
        """Close the browser."""
        self._browser.close()

    def _call(self, send: Callable[[], httpx.Response]) -> httpx.Response:
        """Return the response; retry after the rate limit and after a connection to a killed process."""

        def respond() -> httpx.Response | None:
            try:
                response = send()
            except httpx.TransportError:
                return None
            return None if response.status_code in {429, 503} else response

        return wait_until(respond, _SOON_S, "cleanweb responds")


@pytest.fixture
def meet(suite: Suite, tmp_path: Path) -> Iterator[Callable[[str], Reviewer]]:
    with ExitStack() as closing:

        def make(name: str) -> Reviewer:
            reviewer = Reviewer(suite, name, tmp_path)
            closing.callback(reviewer.close)
            return reviewer

        yield make


def test_thirty_pages_hold_one_text_and_no_opinion_counts_without_a_lease(
    suite: Suite, seller: str, tmp_path: Path, meet: Callable[[str], Reviewer]
) -> None:
    rows: list[Row] = [(f"n{each}", f"Shelf {seller} {each}", f"{_DOUBTFUL} {each}", 100) for each in range(_TEXTS)]
    suite.upload(write_rows(tmp_path / "doubtful.yml", rows), seller)

    def read(columns: str) -> list[tuple[Any, ...]]:
        sql = f"SELECT {columns} FROM reviews JOIN requests USING (request_id) WHERE key LIKE %s ORDER BY review_id"
        return suite.query("cleanweb", sql, f"offer/{seller}/%")

    suite.wait(lambda: len(read("review_id")) == _TEXTS, _SOON_S, "every text waits for reviewers")
    numbers = [int(number) for (number,) in read("review_id")]
    anna, ben, eve = (meet(f"{name}-{seller}") for name in ("anna", "ben", "eve"))

    assert {anna.open_page(after=number - 1) for number in numbers} == set(numbers)
    holders = [str(holder) for (holder,) in read("CASE WHEN leased_until > clock_timestamp() THEN leased_by END")]
    assert [each for each in holders if each != "None"] == [anna.name], "thirty open pages are one lease"
    assert ben.open_page() == numbers[0]

    refusals = [eve.submit(number) for number in numbers]
    assert refusals == [(412, "REVIEW_LEASED"), *[(412, "REVIEW_NOT_CLAIMED")] * (_TEXTS - 2), (412, "REVIEW_LEASED")]
    assert read("1") == [(1,)] * _TEXTS
    opinions = "SELECT count(*) FROM opinions WHERE reviewer = %s"
    assert suite.query("cleanweb", opinions, eve.name) == [(0,)], "an opinion without a lease counts for nothing"
    assert {offer["status"] for offer in suite.offers(seller).values()} == {"PENDING"}

    rng = random.Random(seller)
    rounds = 0
    # A text that one reviewer holds is not shown to the other, who gets it in a later round.
    while (None,) in read("verdicts"):
        rounds += 1
        assert rounds < 3 * _TEXTS, "each round has an opinion"
        if IS_LONG and rng.random() < 0.1:
            suite.kill("cleanweb")
        for reviewer in (anna, ben):
            if (number := reviewer.open_page()) is not None:
                assert reviewer.submit(number)[0] == 200
    assert read("verdicts") == [([],)] * _TEXTS
    suite.settle()
    assert {offer["status"] for offer in suite.offers(seller).values()} == {"ACTIVE"}
