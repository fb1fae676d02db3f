"""The page on hosts that block us has the defaults of the code."""

from __future__ import annotations

import inspect
import re

from classifeed.pictures.v1.picture_pb2 import LoadFailure
from classifeed_common.fetch.permits import Outcome
from classifeed_common.host_limits import HostPolicy
from classifeed_common.host_limits.rates import rate_change
from classifeed_pictures.domain.lifecycle.retries import RULES, FailureClass, class_of
from classifeed_pictures.parts import outside
from classifeed_pictures.settings import PicturesSettings
from tests.docs.pages import ROOT

PAGE = re.sub(r"\s+", " ", (ROOT / "docs/how-to/a-host-that-blocks-us.md").read_text("utf-8"))


def default_of(name: str) -> str:
    return f"{PicturesSettings.model_fields[name].default:g}"


def test_rates_are_those_of_the_settings_and_of_the_policy() -> None:
    assert f"| {default_of('host_first_rate')} requests a second" in PAGE
    assert f"{default_of('downloads_per_host')} at a time" in PAGE
    policy = HostPolicy()
    assert f"adds {policy.step} to it, up to {default_of('host_highest_rate')} a second" in PAGE
    assert f"one request in {1 / policy.lowest_rate:g} seconds" in PAGE
    assert "is halved" in PAGE
    assert rate_change(8, Outcome.SLOW_DOWN, policy).applied_to(8, policy) == 4
    assert rate_change(8, Outcome.REFUSED, policy).applied_to(8, policy) == 8


def test_attempts_are_those_of_the_classes() -> None:
    slow, forbidden = (class_of(LoadFailure(code=f"HTTP_{code}")) for code in ("TOO_MANY_REQUESTS", "FORBIDDEN"))
    assert (slow, forbidden) == (FailureClass.TRANSIENT, FailureClass.RARE)
    minutes = [RULES[slow].pause(number).total_seconds() / 60 for number in (1, 2, 9)]
    assert (minutes, RULES[slow].lasting_after) == ([1, 4, 24 * 60], 3)
    days = [RULES[forbidden].pause(number).days for number in (1, 2, 9)]
    assert (days, RULES[forbidden].lasting_after) == ([1, 2, 7], 1)


def test_the_name_that_sites_let_through_is_the_one_that_is_sent() -> None:
    [name] = re.findall(r"User-Agent: ([^`]+)`", PAGE)
    assert f'user_agent="{name}"' in inspect.getsource(outside.fetcher_of)
