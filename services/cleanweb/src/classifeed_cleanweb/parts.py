"""Parts of cleanweb: its database, rules, clients and jobs, built from the settings."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final

from classifeed_cleanweb.app.judge_text import JudgeText
from classifeed_cleanweb.app.measure_queues import measure_queues
from classifeed_cleanweb.app.resume_callbacks import ResumeCallbacks
from classifeed_cleanweb.app.submit_opinion import EnqueueCallback
from classifeed_cleanweb.automatics import Automatics
from classifeed_cleanweb.clients.receivers import Receivers
from classifeed_cleanweb.domain.review_terms import ReviewTerms
from classifeed_cleanweb.jobs.callback import enqueue_callback, register_callback
from classifeed_cleanweb.rules.loading import automatics_snapshot
from classifeed_cleanweb.settings import CleanwebSettings
from classifeed_cleanweb.store.cleaning import cleanweb_clean_up
from classifeed_common.auth import KeyStore
from classifeed_common.db import Database
from classifeed_common.runner import Watch
from classifeed_common.runner.listening import required_keys
from classifeed_common.runner.parts import database_of
from classifeed_common.snapshot import Snapshot
from classifeed_jobs import Registry
from classifeed_jobs.service import ServiceJobs

_MEASURE_S: Final = 10.0
_RESUMED_AFTER_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class Parts:
    """What the roles, servicers and routes of cleanweb share.

    Attributes:
        keys: keys that sign and verify tokens.
        rules: current automatic rules.
        judge_text: judges texts.
        receivers: receivers of callbacks.
        terms: terms of reviews.
        enqueue: enqueues the delivery of a callback once.
        resend: enqueues the delivery of a callback that was given up.
        measured: measures the queues of reviewers.
        resumed: enqueues callbacks whose jobs are lost.
    """

    database: Database
    keys: KeyStore
    rules: Snapshot[Automatics]
    judge_text: JudgeText
    receivers: Receivers
    terms: ReviewTerms
    jobs: ServiceJobs
    enqueue: EnqueueCallback
    resend: EnqueueCallback
    measured: Watch
    resumed: Watch

    async def open(self) -> None:
        """Open the database."""
        await self.database.open()

    async def close(self) -> None:
        """Close the connections and the rules."""
        await self.receivers.close()
        await self.database.close()
        self.rules.close()


def build_parts(settings: CleanwebSettings) -> Parts:
    """Return the parts; nothing is opened yet.

    Raises:
        StartError: there are no keys for tokens.
    """
    database = database_of(settings)
    keys = required_keys(settings, by="The verdict service")
    receivers = Receivers(settings.receivers, partial(keys.issue, settings.service_name()))
    rules = automatics_snapshot(settings.rules_file)
    jobs = _jobs_of(settings, database, receivers)
    enqueue = partial(enqueue_callback, jobs.store)
    measure = partial(measure_queues, database, deadline_s=settings.review_deadline_s)
    resume = ResumeCallbacks(database, enqueue, age_s=_RESUMED_AFTER_S)
    return Parts(
        database=database,
        keys=keys,
        rules=rules,
        judge_text=JudgeText(
            database,
            lambda: rules.current.value,
            auto_pass=settings.auto_pass,
            pass_score=settings.pass_score,
        ),
        receivers=receivers,
        terms=ReviewTerms(
            deadline_s=settings.review_deadline_s,
            opinion_cost=settings.opinion_cost,
            time_zone=settings.time_zone,
        ),
        jobs=jobs,
        enqueue=enqueue,
        resend=partial(enqueue_callback, jobs.store, is_repeated=True),
        measured=Watch(measure, what="queues of reviews", period_s=_MEASURE_S),
        resumed=Watch(resume, what="callbacks without a job", period_s=_MEASURE_S),
    )


def _jobs_of(settings: CleanwebSettings, database: Database, receivers: Receivers) -> ServiceJobs:
    tasks = Registry()
    register_callback(tasks, database, receivers)
    return ServiceJobs(
        database,
        tasks,
        clean_up=cleanweb_clean_up(requests_days=settings.requests_days),
        time_zone=settings.time_zone,
        max_open_per_caller=settings.jobs_max_open_per_caller,
    )
