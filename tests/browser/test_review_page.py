"""Reviewers use the pages in real browsers, with the keyboard only."""

from __future__ import annotations

import pytest

from classifeed_devkit.testing.recovery import until
from tests.browser.conftest import Reviews, StartReviews
from tests.browser.webdriver import ENTER, ESCAPE, SPACE, TAB, Browser, Browsers

END = "clean_web_moderation_end"
NOTHING = "No text waits for you."
pytestmark = pytest.mark.slow


async def sign_in(browsers: Browsers, reviews: Reviews, name: str) -> Browser:
    """Sign in as `name` and return the browser, which shows the projects."""
    browser = await browsers.open()
    await browser.open(f"{reviews.address}/reviews")
    await browser.wait_for("Paste the token")
    await browser.press(*reviews.token_of(name), ENTER)
    await browser.wait_for(f"Signed in as {name}")
    return browser


async def is_chosen(browser: Browser, *keys: str) -> bool:
    """Return whether exactly the boxes with these keys are checked."""
    script = "[...document.querySelectorAll('input:checked')].map((box) => box.dataset.key)"
    return list(await browser.read(script)) == list(keys)


async def test_two_agree_and_a_third_decides(browsers: Browsers, start_reviews: StartReviews) -> None:
    reviews = await start_reviews(lease_s=600)
    hostile = "A wooden lamp <script>document.title = 1</script>"
    lamp = await reviews.add_text(hostile, 1)
    table = await reviews.add_text("A wooden table", 2)
    anna, ben, cleo = [await sign_in(browsers, reviews, name) for name in ("anna", "ben", "cleo")]

    for browser, shown in ((anna, hostile), (ben, "A wooden table"), (cleo, NOTHING)):  # no text has two reviewers
        await browser.press("1")
        await browser.wait_for(shown)
    assert str(await anna.read("document.title")).startswith("Violations")

    await anna.press(ENTER)
    await anna.wait_for("Type the numbers of the verdicts")
    await anna.press("0", "4")
    assert await is_chosen(anna, "4"), "a verdict takes the place of nothing"
    await anna.press(ENTER)
    await anna.wait_for(NOTHING)
    await ben.press("s")
    await ben.wait_for(NOTHING)
    await ben.press("r")
    await ben.wait_for(hostile)
    await ben.press("4", ENTER)
    await until(lambda: lamp in reviews.received)
    assert reviews.received[lamp] == ["text_toloka_spam", END]

    await ben.wait_for("A wooden table")
    await ben.press("0", ENTER)
    await ben.wait_for(NOTHING)
    await anna.press("r")
    await anna.wait_for("A wooden table")
    await anna.press("2", "7", ENTER)
    await anna.wait_for(NOTHING)
    assert table not in reviews.received
    await cleo.press("r")
    await cleo.wait_for("A wooden table")
    await cleo.press(TAB, SPACE)  # checks the first box with the browser's own keys
    assert await is_chosen(cleo, "1")
    await cleo.press("2", "1")
    assert await is_chosen(cleo, "2")
    await cleo.press(ENTER)
    await until(lambda: table in reviews.received)
    assert reviews.received[table] == ["text_toloka_insult", END], "the verdict that two of three reviewers chose"
    for browser in (anna, ben, cleo):
        assert await browser.complaints() == []


async def test_a_text_comes_back_from_a_browser_that_was_killed(
    browsers: Browsers, start_reviews: StartReviews
) -> None:
    reviews = await start_reviews(lease_s=10)
    anna, ben = [await sign_in(browsers, reviews, name) for name in ("anna", "ben")]
    await reviews.add_text("A wooden shelf", 3)
    await anna.press("1")
    await anna.wait_for("A wooden shelf")
    anna.kill()
    await ben.press("1")
    await ben.wait_for(NOTHING)
    await ben.wait_for("A wooden shelf")  # the page polls
    await ben.press("0", ENTER)
    await ben.wait_for(NOTHING)


async def test_every_page_is_reached_and_left_by_keys(browsers: Browsers, start_reviews: StartReviews) -> None:
    reviews = await start_reviews(lease_s=600)
    await reviews.add_text("A wooden bench", 4)
    anna = await sign_in(browsers, reviews, "anna")
    await anna.press_with_shift("3")
    await anna.wait_for("Drivers leave short messages")
    await anna.press("q")
    await anna.wait_for("Type the number of a project")
    await anna.press("1")
    await anna.wait_for("A wooden bench")
    await anna.press("4", "i")
    await anna.wait_for("When in doubt")
    await anna.press("2", ESCAPE)
    assert await is_chosen(anna, "4"), "keys act on the open dialog only"
    await anna.press("q")
    await anna.wait_for("Returned.")
    await anna.press("o")
    await anna.wait_for("Paste the token")
    assert await anna.complaints() == []
