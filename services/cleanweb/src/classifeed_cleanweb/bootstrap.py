"""Composition root: builds the parts of cleanweb and connects them."""

from __future__ import annotations

from functools import partial
from typing import Final

from classifeed.cleanweb.v1.cleanweb_service_pb2_grpc import add_CleanwebServiceServicer_to_server
from classifeed_cleanweb.app.clean_up import cleanweb_clean_up
from classifeed_cleanweb.app.judge_text import TextJudge
from classifeed_cleanweb.app.measure_queues import measure_queues
from classifeed_cleanweb.app.resume_callbacks import ResumeCallbacks
from classifeed_cleanweb.automatics import Automatics
from classifeed_cleanweb.clients.receivers import Receivers
from classifeed_cleanweb.domain.review_terms import ReviewTerms
from classifeed_cleanweb.http.requests import request_routes
from classifeed_cleanweb.http.reviews.operations import ReviewServices
from classifeed_cleanweb.http.reviews.routes import review_routes
from classifeed_cleanweb.jobs import callback
from classifeed_cleanweb.jobs.callback import enqueue_callback, register_callback
from classifeed_cleanweb.rpc.cleanweb_service import CleanwebService
from classifeed_cleanweb.rules.loading import automatics_snapshot
from classifeed_cleanweb.settings import CleanwebSettings
from classifeed_common.auth import KeyStore
from classifeed_common.runner import Role, Servicer, ServiceRunner, Watch
from classifeed_common.runner.command import version_of
from classifeed_common.runner.listening import http_keys
from classifeed_common.runner.parts import SchemaCheck, database_of
from classifeed_domain.policy import POLICY
from classifeed_jobs import Registry
from classifeed_jobs.service import ServiceJobs

SERVICE = "cleanweb"
_MEASURE_S: Final = 10.0
_RESUMED_AFTER_S: Final = 60.0
_CALLBACKS_AT_ONCE: Final = 16


def build(settings: CleanwebSettings) -> ServiceRunner:
    """Return the service without opening anything. Call it inside the event loop."""
    database = database_of(settings)
    rules = automatics_snapshot(settings.rules_file)

    def current() -> Automatics:
        return rules.current.value

    keys = KeyStore(settings.keys_dir) if settings.keys_dir is not None else None
    receivers = Receivers(settings.receivers, partial(keys.issue, SERVICE) if keys is not None else None)
    judge = TextJudge(
        database,
        current,
        auto_pass=settings.auto_pass,
        pass_score=settings.pass_score,
        kept_s=settings.kept_reviews_s,
    )
    terms = ReviewTerms(
        lease_s=settings.lease_s,
        deadline_s=settings.review_deadline_s,
        opinion_cost=settings.opinion_cost,
        time_zone=settings.time_zone,
    )
    tasks = Registry()
    register_callback(tasks, database, receivers, give_up_s=settings.give_up_s)
    jobs = ServiceJobs(
        database,
        tasks,
        clean_up=cleanweb_clean_up(requests_days=settings.requests_days, kept_reviews_s=settings.kept_reviews_s),
        time_zone=settings.time_zone,
        max_open_per_caller=settings.jobs_max_open_per_caller,
    )
    measured = Watch(
        partial(measure_queues, database, deadline_s=settings.review_deadline_s),
        what="queues of reviews",
        period_s=_MEASURE_S,
    )

    async def start() -> None:
        await database.open()

    async def stop() -> None:
        await receivers.close()
        await database.close()
        rules.close()

    enqueue = partial(enqueue_callback, jobs.store)
    resend = partial(enqueue_callback, jobs.store, is_repeated=True)
    resumed = Watch(
        ResumeCallbacks(database, enqueue, age_s=_RESUMED_AFTER_S), what="callbacks without a job", period_s=_MEASURE_S
    )
    verifying = http_keys(settings, required_by="The verdict service")
    return ServiceRunner(
        settings,
        SERVICE,
        version_of(SERVICE),
        roles=[
            Role.together("watch", measured, resumed, rules),
            *jobs.roles({callback.QUEUE: _CALLBACKS_AT_ONCE}, drain_grace_s=settings.drain_grace_s / 2),
        ],
        servicers=[
            Servicer.of(
                add_CleanwebServiceServicer_to_server,
                CleanwebService(database, judge, receivers, enqueue, resend, terms),
            ),
            jobs.servicer(),
        ],
        routes=[
            *request_routes(
                judge,
                receivers,
                database,
                audience=SERVICE,
                keys=verifying,
                policy=POLICY,
                requests_s=settings.requests_s,
            ),
            *review_routes(ReviewServices(database, enqueue, terms), audience=SERVICE, keys=verifying, policy=POLICY),
        ],
        schema=SchemaCheck(database, "classifeed_cleanweb"),
        opens={"rules": rules.open},
        on_start=start,
        on_stop=stop,
        policy=POLICY,
    )
