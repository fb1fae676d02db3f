"""Meaning of verdicts: by region and kind, together, in shadow mode, and without a rule."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from classifeed_common.snapshot import SnapshotError
from classifeed_common.snapshot.snapshot import LOOK_EVERY_S
from classifeed_moderation.domain.rules import NO_VERDICTS, UNKNOWN, RuleSet
from classifeed_moderation.domain.subjects import Kind, Status
from classifeed_moderation.domain.verdicts import Verdict
from classifeed_moderation.rules.loading import rules_snapshot

INSULT = "text_toloka_insult"


def rules(*cases: dict[str, Any], unknown: str = "forbid") -> RuleSet:
    return RuleSet.of({"unknown_verdict": unknown, "verdicts": {INSULT: list(cases) or [{"allowed": False}]}})


def judge(rule_set: RuleSet, *names: str, kind: Kind = Kind.POINT, regions: tuple[int, ...] = (1, 225)) -> Any:
    return rule_set.judge([Verdict(name) for name in names], kind=kind, region_ids=regions, tags=("other",))


@pytest.mark.parametrize(
    ("kind", "regions", "status", "region"),
    [
        (Kind.COMMENT, (1, 225), Status.APPROVED, 0),
        (Kind.POINT, (1, 225), Status.DISAPPROVED, 225),
        (Kind.POINT, (7, 8), Status.APPROVED, 0),
        (Kind.OFFER, (), Status.DISAPPROVED, 0),
    ],
)
def test_cases_hold_by_kind_and_region(kind: Kind, regions: tuple[int, ...], status: Status, region: int) -> None:
    rule_set = rules(
        {"allowed": True, "kinds": ["comment"]},
        {"allowed": False, "kinds": ["point"], "regions": [225]},
        {"allowed": True, "kinds": ["point"]},
        {"allowed": False},
    )
    judged = judge(rule_set, INSULT, kind=kind, regions=regions)
    assert (judged.status, judged.region_id) == (status, region)


def packaged() -> RuleSet:
    """Return the default rules."""
    file = Path(__file__).parents[3] / "src/classifeed_moderation/rules/rules.yaml"
    return RuleSet.of(yaml.safe_load(file.read_text("utf-8")))


def test_the_example_of_tags() -> None:
    judged = judge(packaged(), "request", "police")
    assert (judged.status, judged.tags) == (Status.APPROVED, ("police", "speed_control"))


@pytest.mark.parametrize("kind", Kind)
def test_a_light_threat_and_an_insult_of_two_contours_are_one_decision(kind: Kind) -> None:
    """The example of joint verdicts: one verdict is enough to decide."""
    judged = judge(packaged(), "text_auto_light_threat", INSULT, "police", kind=kind)
    assert (judged.status, judged.rule, judged.tags) == (Status.DISAPPROVED, "text_auto_light_threat", ("other",))
    assert (judged.unknown, judged.reason.message) == ((), "The text threatens somebody.")


def test_what_was_allowed_last_year_is_forbidden_by_the_rules_of_this_one() -> None:
    """Two versions of the rules judge the same stored verdicts."""
    last, this = rules({"allowed": True}), rules({"allowed": False})
    assert [judge(each, INSULT).status for each in (last, this)] == [Status.APPROVED, Status.DISAPPROVED]


def test_one_forbidden_verdict_is_enough_and_leaves_the_tags() -> None:
    rule_set = RuleSet.of(
        {
            "unknown_verdict": "ignore",
            "verdicts": {"a": [{"allowed": True, "tags": {"add": ["police"]}}], "b": [{"allowed": False}]},
        }
    )
    judged = judge(rule_set, "a", "b")
    assert (judged.status, judged.rule, judged.tags) == (Status.DISAPPROVED, "b", ("other",))


@pytest.mark.parametrize(("unknown", "status"), [("forbid", Status.DISAPPROVED), ("ignore", Status.APPROVED)])
def test_verdict_without_a_rule(unknown: str, status: Status) -> None:
    judged = judge(rules(unknown=unknown), "novelty")
    assert (judged.status, judged.unknown) == (status, ("novelty",))
    assert judged.rule == (UNKNOWN if unknown == "forbid" else "all_allowed")


def test_no_verdicts_approve() -> None:
    assert judge(rules()).rule == NO_VERDICTS


def test_shadow_counts_and_changes_nothing() -> None:
    judged = judge(rules({"allowed": False, "shadow": True}, {"allowed": True}), INSULT)
    assert (judged.status, judged.shadows) == (Status.APPROVED, (INSULT,))


def test_last_case_must_hold_for_all() -> None:
    with pytest.raises(ValueError, match=f"verdicts.{INSULT}"):
        rules({"allowed": False, "kinds": ["point"]})


async def test_wrong_file_is_refused_and_the_old_one_stays(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text("unknown_verdict: forbid\nverdicts:\n  a:\n    - allowed: true\n")
    snapshot = rules_snapshot(file)
    await snapshot.open()
    first = snapshot.current
    for wrong in ("unknown_verdict: maybe\nverdicts: {}\n", "unknown_verdict: forbid\nverdicts: {a: []}\n", "{"):
        await swap(snapshot, file, wrong)
        assert snapshot.current is first
        assert "rules" in snapshot.blocked()
    await swap(snapshot, file, "unknown_verdict: forbid\nverdicts:\n  a:\n    - allowed: false\n")
    assert judge(snapshot.current.value, "a").status is Status.DISAPPROVED
    assert snapshot.current.version != first.version
    assert not snapshot.blocked()


async def swap(snapshot: Any, file: Path, content: str) -> None:
    """Replace the content, and poll twice, as the service does every second."""
    new = file.with_suffix(".new")
    await asyncio.to_thread(new.write_text, content, "utf-8")
    os.replace(new, file)  # noqa: PTH105 - as a deployment does
    for _ in range(2):
        await snapshot.look()


async def test_file_that_is_wrong_from_the_start_ends_the_start(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text("verdicts: {}\n")
    with pytest.raises(SnapshotError, match="unknown_verdict"):
        await rules_snapshot(file).open()
    await rules_snapshot(None).open()


def test_a_change_is_in_force_within_5_s() -> None:
    """One poll sees a new file, and the next one loads it."""
    assert 2 * LOOK_EVERY_S + 1.0 <= 5
    assert rules_snapshot(None)._look_every_s == LOOK_EVERY_S


@pytest.mark.parametrize(
    ("wrong", "where"),
    [
        ("verdicts: {a: [{allowed: maybe}]}", "verdicts.a[0].allowed"),
        ("verdicts: {a: [{allowed: true, kinds: [picture]}, {allowed: true}]}", "verdicts.a[0].kinds[0]"),
        ("verdicts: {a: [{allowed: true, regions: [here]}, {allowed: true}]}", "verdicts.a[0].regions[0]"),
        ("verdicts: {a: [{allowed: true, tag: x}]}", "verdicts.a[0]"),
        ("verdicts: {a: [{kinds: [point]}]}", "verdicts.a[0]"),
        ("verdicts: {a: [{allowed: true, tags: {add: police}}]}", "verdicts.a[0].tags.add"),
        ("verdicts: {a: [{allowed: true, regions: [225]}]}", "verdicts.a"),
        ("verdicts: {a: [{allowed: true, shadow: true}]}", "verdicts.a"),
        ("verdicts: {}\nlanes: {tags: [accident]}", "lanes"),
        ("verdicts: {}\nname: two words", "name"),
    ],
)
async def test_a_wrong_file_is_refused_with_its_place(tmp_path: Path, wrong: str, where: str) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(f"unknown_verdict: forbid\n{wrong}\n")
    with pytest.raises(SnapshotError) as refused:
        await rules_snapshot(file).open()
    assert where in str(refused.value)


def test_tags_are_replaced_by_those_of_all_verdicts() -> None:
    rule_set = RuleSet.of(
        {
            "unknown_verdict": "forbid",
            "verdicts": {
                "closed": [{"allowed": True, "tags": {"add": ["closed"], "remove": ["other", "chat"]}}],
                "accident": [{"allowed": True, "tags": {"add": ["accident"], "remove": ["other"]}}],
                "nonroad": [{"allowed": True}],
            },
        }
    )
    names = [Verdict(name) for name in ("accident", "closed", "nonroad")]
    judged = rule_set.judge(names, kind=Kind.POINT, region_ids=(), tags=("police", "other", "chat"))
    assert (judged.status, judged.tags) == (Status.APPROVED, ("accident", "closed", "police"))
