"""Rejudgements of seeded texts, whose expected changes are computed without our code."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Any

import yaml

from classifeed.moderation.v1.moderation_service_pb2 import GetRejudgementRequest, Rejudgement, RejudgeRequest
from classifeed.moderation.v1.subject_pb2 import (
    SUBJECT_KIND_UNSPECIFIED,
    ModerationStatus,
    SubjectKind,
)
from classifeed_common.snapshot import Loaded
from classifeed_devkit.testing.recovery import until
from classifeed_jobs import JobStore, Registry, Worker
from classifeed_moderation.app.decisions.record_decisions import Rules
from classifeed_moderation.domain.rules import RuleSet
from classifeed_moderation.jobs.rejudge import QUEUE, register_rejudge
from classifeed_moderation.rpc.moderation_service.rejudging import RejudgementMethods

from ..conftest import NO_CONTEXT, Moderation

INSULT, AD = "text_auto_insult", "text_auto_ad"
TURKEY = 225
KINDS = ("OFFER", "POINT", "COMMENT")
GROUPS = 10

# Texts 1 to `n`, in three kinds and ten groups: see `changes_of`.
SEED = """
INSERT INTO subjects (subject_key, kind, text, text_hash, cache_key, region_ids, seller_id, namespace, external_id,
                      status, next_retry, verdicts, decision_id, decided_by)
SELECT CASE n %% 3 WHEN 0 THEN 'offer/s/default/' || n WHEN 1 THEN md5(n::text)::uuid::text
                   ELSE md5(n::text)::uuid || '/0' END,
       ('{OFFER,POINT,COMMENT}'::text[])[n %% 3 + 1], 'text', decode(md5(n::text), 'hex'), decode(md5(n::text), 'hex'),
       CASE WHEN n %% 4 < 2 THEN '{1,225}'::integer[] ELSE '{2,17}' END, o.seller_id, o.namespace, o.external_id,
       CASE g WHEN 2 THEN 'DISAPPROVED' WHEN 4 THEN 'PENDING' ELSE 'APPROVED' END,
       CASE WHEN g = 4 THEN clock_timestamp() END,
       CASE WHEN g > 4 THEN '[]' ELSE jsonb_build_array(jsonb_build_object(
            'name', ('{text_auto_insult,text_auto_insult,text_auto_ad,police,police}'::text[])[g + 1],
            'source', 'automatic', 'entity', 'text', 'spans', '[]'::jsonb)) END,
       CASE WHEN g <> 4 THEN n END, ('{RULE,REVIEWER,RULE,RULE,NULL,EXEMPTION,RULE,RULE,RULE,RULE}'::text[])[g + 1]
FROM generate_series(1, %(n)s) AS n
CROSS JOIN LATERAL (SELECT (n / 12) %% 10) AS _ (g)
LEFT JOIN LATERAL (SELECT 's', 'default', n::text) AS o (seller_id, namespace, external_id) ON n %% 3 = 0;
INSERT INTO points (point_id, author_id, author_role, tags, latitude, longitude, version)
SELECT subject_key::uuid, 'a', 'USER', '{police,speed_control}', 1, 2, 1 FROM subjects WHERE kind = 'POINT';
INSERT INTO decisions (decision_id, subject_key, kind, content_version, text_hash, region_ids, status, verdicts, rule,
                       rule_set, region_id, maker, is_automatic, is_applied, tags_before, tags_after, decided_at)
OVERRIDING SYSTEM VALUE
SELECT decision_id, subject_key, kind, 1, text_hash, region_ids, status, verdicts, 'all_allowed', 'old', 0, decided_by,
       true, true, CASE WHEN kind = 'POINT' THEN '{police,speed_control}'::text[] END,
       CASE WHEN kind = 'POINT' THEN '{police,speed_control}'::text[] END, clock_timestamp()
FROM subjects WHERE decision_id IS NOT NULL;
SELECT setval(pg_get_serial_sequence('decisions', 'decision_id'), %(n)s);
"""


def document_with(**verdicts: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the default rules document with other cases for some verdicts."""
    document: dict[str, Any] = yaml.safe_load(files("classifeed_moderation.rules").joinpath("rules.yaml").read_bytes())
    document["verdicts"] |= verdicts
    return document


def rules_with(version: str = "new", /, **verdicts: list[dict[str, Any]]) -> Rules:
    """Return the default rules with other cases for some verdicts."""
    return Loaded(RuleSet.of(document_with(**verdicts)), version)


# Insults are refused only in Turkey, ads are allowed, and `police` has one more tag.
OTHER: dict[str, list[dict[str, Any]]] = {
    INSULT: [{"allowed": False, "regions": [TURKEY], "message": "no insults"}, {"allowed": True}],
    AD: [{"allowed": True}],
    "police": [{"allowed": True, "tags": {"add": ["police", "camera"], "remove": ["speed_control"]}}],
}


def other_rules() -> Rules:
    """Return the default rules with the cases of `OTHER`."""
    return rules_with(**OTHER)


async def seed(moderation: Moderation, count: int) -> None:
    async with moderation.database.transaction() as tx:
        for statement in SEED.split(";\n"):
            if statement.strip():
                await tx.execute(statement, {"n": count})
    async with moderation.database.connection() as connection:
        await connection.execute("ANALYZE subjects, points, decisions")


def changes_of(count: int) -> tuple[int, Counter[tuple[str, int, str, str]]]:
    """Return how many seeded texts a rule decided, and the changes by other rules, computed without our code."""
    judged, changes = 0, Counter[tuple[str, int, str, str]]()
    for n in range(1, count + 1):
        kind, group, is_turkish = KINDS[n % 3], n // 12 % GROUPS, n % 4 < 2
        judged += group not in (1, 4, 5)  # decided by a reviewer, waiting, or exempt
        if group == 0 and is_turkish:
            changes[kind, TURKEY, INSULT, "DISAPPROVED"] += 1
        elif (group == 2 and kind == "OFFER") or (group == 3 and kind == "POINT"):  # a refused point stays removed
            changes[kind, 0, "all_allowed", "APPROVED"] += 1
    return judged, changes


def found_of(rejudgement: Rejudgement) -> tuple[int, Counter[tuple[str, int, str, str]]]:
    changes = Counter(
        {
            (
                SubjectKind.Name(each.kind).removeprefix("SUBJECT_KIND_"),
                each.region_id,
                each.rule,
                ModerationStatus.Name(each.status).removeprefix("MODERATION_STATUS_"),
            ): each.texts
            for each in rejudgement.changes
        }
    )
    return rejudgement.judged, changes


class Rejudger:
    """The RPC methods and the job, over the parts of moderation."""

    def __init__(self, moderation: Moderation, rules: Rules) -> None:
        self.moderation = moderation
        self.tasks = Registry()
        register_rejudge(self.tasks, moderation.deciding_by(rules))
        self.store = JobStore(tasks=self.tasks)
        self.rpc = RejudgementMethods(moderation.database, self.store)

    async def begin(
        self, request_id: str = "r", *, dry_run: bool = False, kind: SubjectKind = SUBJECT_KIND_UNSPECIFIED
    ) -> Rejudgement:
        request = RejudgeRequest(request_id=request_id, dry_run=dry_run, kind=kind)
        return await self.rpc.Rejudge(request, NO_CONTEXT)

    async def get(self, request_id: str = "r") -> Rejudgement:
        return await self.rpc.GetRejudgement(GetRejudgementRequest(request_id=request_id), NO_CONTEXT)

    @asynccontextmanager
    async def working(self) -> AsyncIterator[asyncio.Event]:
        """Run a worker during the block; yield the event that stops it."""
        stop = asyncio.Event()
        worker = Worker(
            self.moderation.database, self.store, self.tasks, queues={QUEUE: 1}, claim_backoff_s=0.2, drain_grace_s=0.0
        )
        running = asyncio.create_task(worker.run(stop))
        try:
            yield stop
        finally:
            stop.set()
            await running

    async def ends(self, request_id: str = "r", *, within_s: float = 120.0) -> Rejudgement:
        async def is_done() -> bool:
            return (await self.get(request_id)).done

        async with self.working():
            await until(is_done, within_s=within_s)
        return await self.get(request_id)


async def made(moderation: Moderation, count: int) -> Counter[tuple[str, int, str, str]]:
    """Return the new decisions, counted by content; check that each is about another text."""
    rows = await moderation.rows(
        "SELECT kind, region_id, rule, status, count(*), count(DISTINCT subject_key) FROM decisions"
        " WHERE decision_id > %s GROUP BY 1, 2, 3, 4",
        count,
    )
    assert [row[4] for row in rows] == [row[5] for row in rows]
    return Counter({row[:4]: row[4] for row in rows})
