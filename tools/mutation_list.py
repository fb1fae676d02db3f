"""The mutations, as data for tools/mutations.py."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Mutation:
    """A change that breaks one promise.

    Attributes:
        name: what it is called on the command line.
        mechanism: the heading under which the page has it; those of one mechanism stand together.
        breaks: what is not true any more, in words.
        file: path of the file, from the root of the repository; below a `src` folder.
        before: text that occurs once in the file.
        after: what takes its place.
        tests: ids of tests that fail with it and pass without.
    """

    name: str
    mechanism: str
    breaks: str
    file: str
    before: str
    after: str
    tests: tuple[str, ...]


_COMMON: Final = "libs/common/src/classifeed_common"
_CLEANWEB: Final = "services/cleanweb/src/classifeed_cleanweb"
_CLEANWEB_TESTS: Final = "services/cleanweb/tests/unit/automatics"
_MODERATION: Final = "services/moderation/src/classifeed_moderation"
_MODERATION_TESTS: Final = "services/moderation/tests"
_CALLBACK_TESTS: Final = f"{_MODERATION_TESTS}/integration/test_callback.py"
_DELIVERY_TESTS: Final = "services/cleanweb/tests/integration/test_callbacks.py"
_COMMON_TESTS: Final = "libs/common/tests/integration"
_LEASE_SQL: Final = f"{_COMMON}/lease/queries.sql"
_GUARD_TESTS: Final = "libs/common/tests/unit/test_browser_guard.py"
_HTTP_API_TESTS: Final = f"{_COMMON_TESTS}/http_api"
_SNAPSHOT_TESTS: Final = f"{_COMMON_TESTS}/snapshot"
_LEASE_TESTS: Final = f"{_COMMON_TESTS}/lease/test_lease.py"
_OUTBOX_TESTS: Final = f"{_COMMON_TESTS}/kafka/test_outbox.py"
_JOBS: Final = "libs/jobs/src/classifeed_jobs"
_JOBS_TESTS: Final = "libs/jobs/tests"
_API: Final = "services/api/src/classifeed_api"
_API_TESTS: Final = "services/api/tests/integration"
_LOADER: Final = "services/loader/src/classifeed_loader"
_LOADER_TESTS: Final = "services/loader/tests/integration"
_PROCESSOR: Final = "services/processor/src/classifeed_processor"
_PROCESSOR_TESTS: Final = "services/processor/tests/integration"
_OFFERS: Final = "services/offers/src/classifeed_offers"
_OFFERS_TESTS: Final = "services/offers/tests/integration"
_RECEIVER: Final = "services/receiver/src/classifeed_receiver"
_RECEIVER_TESTS: Final = "services/receiver/tests/integration"
_INDEXER: Final = "services/indexer/src/classifeed_indexer"
_INDEXER_TESTS: Final = "services/indexer/tests/integration"
_SEARCHER: Final = "services/searcher/src/classifeed_searcher"
_SEARCHER_TESTS: Final = "services/searcher/tests"

_LEASES: Final = (
    Mutation(
        "lease-guard-without-fence",
        "Leases and fences",
        "A process that lost a lease and took it again passes the guard with the older fence.",
        _LEASE_SQL,
        before="AND fence = %(fence)s AND expires_at > clock_timestamp()",
        after="AND expires_at > clock_timestamp()",
        tests=(f"{_LEASE_TESTS}::test_the_same_holder_is_refused_with_an_older_fence",),
    ),
    Mutation(
        "lease-guard-without-lock",
        "Leases and fences",
        "A lease is taken over between a guard and the commit of what it guards.",
        _LEASE_SQL,
        before="clock_timestamp()\n   FOR KEY SHARE",
        after="clock_timestamp()",
        tests=(f"{_LEASE_TESTS}::test_no_zombie_overwrites_its_successor",),
    ),
    Mutation(
        "lease-taken-while-held",
        "Leases and fences",
        "A lease is taken although it has not expired.",
        _LEASE_SQL,
        before="WHERE name = ANY(%(names)s::text[]) AND expires_at <= clock_timestamp()",
        after="WHERE name = ANY(%(names)s::text[])",
        tests=(f"{_LEASE_TESTS}::test_a_name_has_one_holder_until_it_expires_and_the_fence_grows",),
    ),
    Mutation(
        "lease-renewed-with-any-fence",
        "Leases and fences",
        "Whoever held a lease before its revocation goes on renewing it.",
        _LEASE_SQL,
        before=" AND leases.fence = held.fence",
        after="",
        tests=(f"{_LEASE_TESTS}::test_revoking_waits_for_guarded_work_and_fences_off_the_rest",),
    ),
    Mutation(
        "lease-revoked-during-guarded-work",
        "Leases and fences",
        "A lease is revoked without waiting for the transactions that it guards.",
        _LEASE_SQL,
        before="WHERE name = %(name)s FOR UPDATE",
        after="WHERE name = %(name)s",
        tests=(f"{_LEASE_TESTS}::test_revoking_waits_for_guarded_work_and_fences_off_the_rest",),
    ),
    Mutation(
        "lease-released-before-its-work-stopped",
        "Leases and fences",
        "On a drain the next holder begins beside the one that is still stopping.",
        f"{_COMMON}/lease/keeper.py",
        before="        try:\n            await self._on_loss(lease)\n",
        after="        try:\n            await self._leases.release(lease)\n            await self._on_loss(lease)\n",
        tests=(f"{_COMMON_TESTS}/lease/test_lease_keeper.py::test_a_lease_is_kept_until_the_work_for_it_has_stopped",),
    ),
)

_KAFKA: Final = (
    Mutation(
        "position-moved-by-a-zombie",
        "Ordered consumer",
        "A consumer that lost its partition commits its effect although another one has moved the position.",
        f"{_COMMON}/kafka/table_positions.py",
        before="if cursor.rowcount != len(expected):",
        after="if cursor.rowcount > len(expected):",
        tests=(f"{_COMMON_TESTS}/kafka/test_ordered_consumer.py::test_two_owners_of_one_partition[True-None]",),
    ),
    Mutation(
        "poison-passed-over-without-a-letter",
        "Ordered consumer",
        "A record with a lasting fault is passed over, and no dead letter says so.",
        f"{_COMMON}/kafka/effects.py",
        before="            await self._dead_letters.put(self._group, record, reason)\n",
        after="",
        tests=(
            f"{_COMMON_TESTS}/kafka/test_ordered_consumer_faults.py::test_poison_goes_to_the_dead_letters_and_is_answered_in_its_place",
        ),
    ),
    Mutation(
        "poison-not-answered",
        "Ordered consumer",
        "The sender of a record that went to the dead letters never hears of it.",
        f"{_COMMON}/kafka/effects.py",
        before="if self._refuse is not None:",
        after="if False:",
        tests=(
            f"{_COMMON_TESTS}/kafka/test_ordered_consumer_faults.py::test_poison_goes_to_the_dead_letters_and_is_answered_in_its_place",
        ),
    ),
    Mutation(
        "outbox-removes-what-it-did-not-send",
        "Outbox and relay",
        "A message whose transaction commits while later ones are being sent is removed with them.",
        f"{_COMMON}/outbox/queries.sql",
        before="id = ANY(%(ids)s)",
        after="id <= (SELECT max(i) FROM unnest(%(ids)s) AS i)",
        tests=(f"{_OUTBOX_TESTS}::test_a_commit_between_sending_and_removal_is_not_removed_unsent",),
    ),
    Mutation(
        "outbox-out-of-order",
        "Outbox and relay",
        "Messages are sent in another order than their ids have.",
        f"{_COMMON}/outbox/queries.sql",
        before="ORDER BY id\n",
        after="ORDER BY id DESC\n",
        tests=(f"{_OUTBOX_TESTS}::test_order_within_and_between_puts",),
    ),
    Mutation(
        "relay-without-its-lease",
        "Outbox and relay",
        "A relay reads and sends although another one holds the lease of the shard.",
        f"{_COMMON}/outbox/relay.py",
        before="            await self._leases.guard(tx, lease)\n",
        after="",
        tests=(f"{_OUTBOX_TESTS}::test_relay_that_lost_its_lease_stops_sending",),
    ),
    Mutation(
        "relay-removes-before-acknowledgement",
        "Outbox and relay",
        "Messages are removed before Kafka has acknowledged them.",
        f"{_COMMON}/outbox/relay.py",
        before="        await self._producer.send([_message(row) for row in rows], limit_s=None)\n",
        after="        asyncio.ensure_future(self._producer.send([_message(row) for row in rows], limit_s=None))\n",
        tests=(f"{_OUTBOX_TESTS}::test_death_between_acknowledgement_and_removal_sends_again",),
    ),
)

_PUBLISH_MARKS: Final = (
    Mutation(
        "mark-moved-without-the-lease",
        "Publish mark",
        "A pusher that was revoked for a full push marks rows as known that the other side has lost.",
        f"{_COMMON}/publish_mark/pusher.py",
        before="                await self._leases.guard(tx, lease)\n",
        after="",
        tests=(
            f"{_COMMON_TESTS}/publish_mark/test_publish_mark.py::test_a_full_push_again_reaches_what_was_under_way",
        ),
    ),
    Mutation(
        "mark-of-offers-falls",
        "Publish mark",
        "A late pusher moves the mark of an offer back.",
        f"{_OFFERS}/store/publishing.sql",
        before=" AND o.published_version < n.version",
        after="",
        tests=(f"{_OFFERS_TESTS}/test_published_versions.py::test_the_mark_moves_by_version_and_never_falls",),
    ),
    Mutation(
        "mark-of-feeds-falls",
        "Publish mark",
        "A late pusher moves the mark of a feed back.",
        f"{_API}/store/feeds.sql",
        before=" AND f.published_version < d.version",
        after="",
        tests=(f"{_API_TESTS}/test_push_sources.py::test_mark_moves_by_version_and_never_falls",),
    ),
    Mutation(
        "mark-of-uploads-falls",
        "Publish mark",
        "A late pusher moves the mark of an upload back.",
        f"{_API}/store/task_line.sql",
        before=" AND u.published_version < d.version",
        after="",
        tests=(f"{_API_TESTS}/test_task_line.py::test_mark_of_an_upload_moves_by_version_and_never_falls",),
    ),
    Mutation(
        "version-of-an-offer-falls",
        "Publish mark",
        "After the clock stepped back a change gets a lower version than the one before, and is never published.",
        f"{_OFFERS}/store/applying.sql",
        before="greatest(o.version + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)",
        after="(extract(epoch FROM clock_timestamp()) * 1000000)::bigint",
        tests=(
            f"{_OFFERS_TESTS}/test_published_versions.py"
            "::test_a_version_is_above_the_one_before_when_the_clock_steps_back[updated]",
        ),
    ),
)

_JOB_ENGINE: Final = (
    Mutation(
        "claim-guard-without-fence",
        "Jobs",
        "An effect is committed under a claim that was given to another run.",
        f"{_JOBS}/claim/guard.sql",
        before="AND j.claim_no = %(claim_no)s AND j.status = 'running'\nFOR KEY SHARE OF j",
        after="AND j.status = 'running'\nFOR KEY SHARE OF j",
        tests=(f"{_JOBS_TESTS}/claim/test_claims.py::test_guard_refuses_a_claim_that_was_taken_back",),
    ),
    Mutation(
        "claim-guard-without-lock",
        "Jobs",
        "A claim is taken back between its guard and the commit of the effect.",
        f"{_JOBS}/claim/guard.sql",
        before="\nFOR KEY SHARE OF j",
        after="",
        tests=(f"{_JOBS_TESTS}/claim/test_claims.py::test_guard_holds_off_the_reaper_until_the_effect_is_in",),
    ),
    Mutation(
        "checkpoint-of-a-lost-claim",
        "Jobs",
        "Slices of a run that lost its claim are committed beside those of its successor.",
        f"{_JOBS}/claim/guard.py",
        before="    await guard_claim(tx, job_id, claim_no)\n",
        after="",
        tests=(f"{_JOBS_TESTS}/claim/test_claims.py::test_guard_refuses_a_claim_that_was_taken_back",),
    ),
    Mutation(
        "reaper-takes-from-the-living",
        "Jobs",
        "Jobs are taken from a process that has renewed its lease in time.",
        f"{_JOBS}/maintenance/reaper.sql",
        before="      AND j.lease_ttl_sec < ceil(extract(epoch FROM statement_timestamp() - w.renewed_at))::integer\n",
        after="",
        tests=(f"{_JOBS_TESTS}/claim/test_claims.py::test_reaper_returns_fails_or_cancels_what_is_lost",),
    ),
    Mutation(
        "idempotency-key-taken-over",
        "Jobs",
        "A request that is repeated makes a second job.",
        f"{_JOBS}/enqueue/jobs.sql",
        before="        WHERE k.expires_at <= clock_timestamp()\n    RETURNING job_id",
        after="    RETURNING job_id",
        tests=(
            f"{_JOBS_TESTS}/worker/test_worker.py::test_idempotency_key_gives_the_first_job_and_names_what_differs",
        ),
    ),
    Mutation(
        "wake-of-a-running-job-lost",
        "Jobs",
        "A job that is made due while it runs sleeps all the same.",
        f"{_JOBS}/enqueue/jobs.sql",
        before=" OR j.status = 'running')\n",
        after=")\n",
        tests=(f"{_JOBS_TESTS}/enqueue/test_make_due.py::test_job_made_due_while_it_runs_does_not_sleep",),
    ),
    Mutation(
        "drain-uses-up-an-attempt",
        "Jobs",
        "A job that a stopping process hands back has one attempt less.",
        f"{_JOBS}/claim/finish.sql",
        before="WHEN f.outcome IN ('snoozed', 'returned') THEN j.attempt - 1",
        after="WHEN f.outcome IN ('snoozed') THEN j.attempt - 1",
        tests=(f"{_JOBS_TESTS}/worker/test_worker.py::test_drain_hands_back_without_using_the_attempt",),
    ),
)

_LOADS: Final = (
    Mutation(
        "namespace-not-locked",
        "Loads",
        "An upload and the removal of its feed get their places at the same time, in either order.",
        f"{_API}/store/task_line.sql",
        before="SELECT pg_advisory_xact_lock(hashtextextended('namespace/'",
        after="SELECT (hashtextextended('namespace/'",
        tests=(f"{_API_TESTS}/test_task_line.py::test_upload_waits_for_a_removal_under_way_and_stands_behind_it",),
    ),
    Mutation(
        "older-source-taken",
        "Loads",
        "A version of a feed that comes late replaces a newer one.",
        f"{_LOADER}/store/sources.sql",
        before="WHERE excluded.feed_version > t.feed_version",
        after="WHERE true",
        tests=(f"{_LOADER_TESTS}/test_feed_source_service.py::test_an_older_version_changes_nothing",),
    ),
    Mutation(
        "task-id-given-twice",
        "Loads",
        "After a restore a task id is given again, and the owner takes the new file for the old one.",
        f"{_PROCESSOR}/store/tasks.sql",
        before="greatest(last_task_id + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)",
        after="last_task_id + 1",
        tests=(f"{_PROCESSOR_TESTS}/test_making.py::test_no_id_and_no_run_is_given_twice_across_a_restore",),
    ),
    Mutation(
        "run-number-given-twice",
        "Loads",
        "A task that begins again after a restore uses a run number that the owner knows.",
        f"{_PROCESSOR}/store/tasks.sql",
        before="greatest(run + 1, (extract(epoch FROM clock_timestamp()) - 1735689600)::integer)",
        after="run + 1",
        tests=(f"{_PROCESSOR_TESTS}/test_making.py::test_no_id_and_no_run_is_given_twice_across_a_restore",),
    ),
    Mutation(
        "end-before-acknowledgement",
        "Loads",
        "The end of a run is sent before Kafka has acknowledged all its batches.",
        f"{_PROCESSOR}/app/send_run.py",
        before="await parts.sender.send(chunk.messages[-len(fresh) :])",
        after="asyncio.ensure_future(parts.sender.send(chunk.messages[-len(fresh) :]))",
        tests=(f"{_PROCESSOR_TESTS}/test_task_order.py::test_the_end_is_said_only_once_every_batch_is_acknowledged",),
    ),
    Mutation(
        "earlier-task-overtaken",
        "Loads",
        "A task begins before the earlier one of its namespace has ended.",
        f"{_PROCESSOR}/store/tasks.sql",
        before="  AND status <> %(held)s\n)",
        after="  AND status <> %(held)s AND false\n)",
        tests=(
            f"{_PROCESSOR_TESTS}/test_task_order.py::test_a_removal_waits_for_the_load_before_it_and_takes_the_place_of_a_held_one",
        ),
    ),
    Mutation(
        "result-counted-twice",
        "Loads",
        "A result that comes twice is added up twice.",
        f"{_PROCESSOR}/store/results.sql",
        before="b.batch_id = n.batch_id AND b.answered_at IS NULL",
        after="b.batch_id = n.batch_id",
        tests=(f"{_PROCESSOR_TESTS}/test_task_order.py::test_a_result_that_comes_again_counts_once",),
    ),
    Mutation(
        "lost-results-not-asked-for",
        "Loads",
        "Results that were lost on their way are not asked for again.",
        f"{_PROCESSOR}/app/take_results.py",
        before="        if lost and task.status == _IN_PROGRESS and task.incomplete_runs + 1 < MAX_LOSSES:\n",
        after="        if False:\n",
        tests=(
            f"{_PROCESSOR_TESTS}/test_lost_replies.py::test_a_load_whose_replies_are_lost_ends_as_if_they_had_come[lost1]",
        ),
    ),
    Mutation(
        "result-of-an-older-run-counted",
        "Loads",
        "A result of a run that was replaced counts for the run that replaced it.",
        f"{_PROCESSOR}/app/take_results.py",
        before="reply.run == task.run and ",
        after="",
        tests=(
            f"{_PROCESSOR_TESTS}/test_lost_replies.py::test_refused_batches_end_the_run_and_at_last_the_task_in_words",
        ),
    ),
    Mutation(
        "canceled-task-sent",
        "Loads",
        "A run that notes its end beside a cancellation has the end said of a task that was canceled.",
        f"{_PROCESSOR}/store/tasks.sql",
        before="""AND task_id = %(task_id)s AND run = %(run)s
  AND ended_at IS NULL

-- name: end_task""",
        after="""AND task_id = %(task_id)s AND run = %(run)s

-- name: end_task""",
        tests=(f"{_PROCESSOR_TESTS}/test_cancel_task.py::test_a_run_that_notes_its_end_too_late_changes_nothing",),
    ),
    Mutation(
        "canceled-load-passed-over",
        "Loads",
        "After a load that was canceled half way the file before counts as loaded, and half of the other stays.",
        f"{_PROCESSOR}/store/tasks.sql",
        before="AND (status <> %(canceled)s::smallint OR run > 0)",
        after="AND status <> %(canceled)s::smallint",
        tests=(
            f"{_PROCESSOR_TESTS}/test_making.py"
            "::test_after_a_load_that_was_canceled_under_way_whatever_comes_is_loaded",
        ),
    ),
    Mutation(
        "rerun-without-reference",
        "Loads",
        "A load that is run again has no claim to its file, which goes with the earlier task.",
        f"{_PROCESSOR}/app/rerun_task.py",
        before="        await _REFS.add(tx, sha256, key.blob_ref)\n",
        after="",
        tests=(f"{_PROCESSOR_TESTS}/test_rerun_task.py::test_it_loads_the_file_as_the_earlier_task_did",),
    ),
    Mutation(
        "loader-told-of-no-link",
        "Loads",
        "The removal of a namespace of uploads alone is expected at the loader, and told to it again and again.",
        f"{_API}/store/feeds.sql",
        before="AND version = published_version AND has_link",
        after="AND version = published_version",
        tests=(f"{_API_TESTS}/test_uploads_alone.py::test_it_is_removed_and_filled_and_removed_again",),
    ),
)

_OFFER_STATE: Final = (
    Mutation(
        "head-not-locked",
        "Offers",
        "A newer task is applied while batches of an older one are, and the older ones are written last.",
        f"{_OFFERS}/store/applying.sql",
        before="\nFOR NO KEY UPDATE OF h",
        after="",
        tests=(f"{_OFFERS_TESTS}/test_overtaking.py::test_a_newer_task_waits_for_batches_that_are_being_applied",),
    ),
    Mutation(
        "head-not-held-by-the-sweep",
        "Offers",
        "A sweep removes what a newer task is just bringing.",
        f"{_OFFERS}/store/sweeping.sql",
        before="FOR SHARE OF h FOR UPDATE OF e",
        after="FOR UPDATE OF e",
        tests=(
            f"{_OFFERS_TESTS}/test_overtaking.py::test_a_newer_task_waits_for_a_step_of_a_sweep",
            f"{_OFFERS_TESTS}/test_overtaking.py::test_a_sweep_waits_for_a_newer_task_and_sees_it",
        ),
    ),
    Mutation(
        "overtaken-sweep-goes-on",
        "Offers",
        "A sweep goes on removing after a newer run has begun.",
        f"{_OFFERS}/app/sweep_run.py",
        before='if end.head != run.run:\n        await sweeping.finish(tx, run, "STALE")\n        return Step(',
        after='if end.head < run.run:\n        await sweeping.finish(tx, run, "STALE")\n        return Step(',
        tests=(f"{_OFFERS_TESTS}/test_overtaking.py::test_a_sweep_waits_for_a_newer_task_and_sees_it",),
    ),
    Mutation(
        "sweep-trusts-earlier-runs",
        "Offers",
        "What an earlier run of a task has seen is not removed, although the run that ended lacks it.",
        f"{_OFFERS}/store/sweeping.sql",
        before="AND task_id = %(task)s AND run = %(run)s\n    ) AS unseen",
        after="AND task_id = %(task)s\n    ) AS unseen",
        tests=(f"{_OFFERS_TESTS}/test_overtaking.py::test_the_run_that_ended_says_what_is_lacking",),
    ),
    Mutation(
        "batch-of-a-lower-run-applied",
        "Offers",
        "A batch of a run that was replaced is applied.",
        f"{_OFFERS}/domain/admission.py",
        before="if key.run < now_heads[key.namespace] or key in now_ended:",
        after="if key in now_ended:",
        tests=(f"{_OFFERS_TESTS}/test_apply_requests.py::test_a_run_below_the_head_is_stale",),
    ),
    Mutation(
        "stored-result-not-given-again",
        "Offers",
        "A batch that is sent again, as its result was lost, is refused instead of answered alike.",
        f"{_OFFERS}/app/apply_requests.py",
        before="kept = {key: batch.kept for key, batch in applied.items()}",
        after="kept = dict.fromkeys(applied)",
        tests=(
            f"{_OFFERS_TESTS}/test_apply_requests.py"
            "::test_what_is_sent_again_changes_nothing_and_gets_the_same_results",
        ),
    ),
    Mutation(
        "digest-not-compared",
        "Offers",
        "Other content under the number of an applied batch is answered as if it had been applied.",
        f"{_OFFERS}/domain/admission.py",
        before="if known is None or digest == known else",
        after="if known is None or digest else",
        tests=(f"{_OFFERS_TESTS}/test_apply_requests.py::test_other_content_under_the_same_numbers_is_refused",),
    ),
)

_INDEXING: Final = (
    Mutation(
        "older-document-wins",
        "Registry and index",
        "A document that comes late replaces a fresher one.",
        f"{_RECEIVER}/store/registry.sql",
        before="(d.epoch, d.version, d.modify_timestamp) < (excluded.epoch, excluded.version,",
        after="(d.epoch, d.modify_timestamp) <= (excluded.epoch,",
        tests=(f"{_RECEIVER_TESTS}/test_push.py::test_fresher_wins_in_every_order",),
    ),
    Mutation(
        "epochs-not-locked",
        "Registry and index",
        "Two schemas of a client are put at the same time, each compared with what was there before.",
        f"{_RECEIVER}/store/schemas.sql",
        before="SELECT pg_advisory_xact_lock(hashtextextended('schemas/' || %(client)s, 0))",
        after="SELECT hashtextextended('schemas/' || %(client)s, 0)",
        tests=(f"{_RECEIVER_TESTS}/test_epoch_lock.py::test_a_schema_waits_for_the_one_before_of_its_client",),
    ),
    Mutation(
        "cursor-runs-back",
        "Registry and index",
        "A report that comes late moves the cursor of its group back.",
        f"{_RECEIVER}/store/queues.sql",
        before="SET idx = greatest(p.idx, excluded.idx)",
        after="SET idx = excluded.idx",
        tests=(f"{_RECEIVER_TESTS}/test_read_elements.py::test_trims_what_every_living_group_has_passed",),
    ),
    Mutation(
        "trimmed-past-a-living-group",
        "Registry and index",
        "A queue is trimmed past a group that has not read it yet.",
        f"{_RECEIVER}/store/queues.sql",
        before="JOIN living l USING (client)",
        after='JOIN (SELECT DISTINCT ON (client) * FROM living ORDER BY client, "group" DESC) l USING (client)',
        tests=(f"{_RECEIVER_TESTS}/test_read_elements.py::test_trims_what_every_living_group_has_passed",),
    ),
    Mutation(
        "leases-not-held-by-offsets",
        "Registry and index",
        "A shard is taken over while its offsets are being moved.",
        f"{_INDEXER}/store/queries.sql",
        before="\n   FOR KEY SHARE OF l",
        after="",
        tests=(f"{_INDEXER_TESTS}/test_takeover.py::test_nobody_takes_a_shard_over_while_its_offsets_are_being_moved",),
    ),
    Mutation(
        "offset-not-compared",
        "Registry and index",
        "An offset that somebody else has moved is moved from where it does not stand.",
        f"{_INDEXER}/store/queries.sql",
        before="   AND o.idx = n.expected AND n.idx > n.expected\n",
        after="   AND n.idx > n.expected\n",
        tests=(f"{_INDEXER_TESTS}/test_deliver.py::test_offsets_of_a_lost_lease_stay",),
    ),
    Mutation(
        "state-before-the-index",
        "Registry and index",
        "The searcher's file says that documents were taken in before the index is committed: a crash loses them.",
        f"{_SEARCHER}/store/generation.py",
        before="""            if write.is_touched:
                self.index.commit()
            state = IndexState({**self.state.positions, **positions}, write.watermarks, write.refused)
            write_state(self.state_path, state)
""",
        after="""            state = IndexState({**self.state.positions, **positions}, write.watermarks, write.refused)
            write_state(self.state_path, state)
            if write.is_touched:
                self.index.commit()
""",
        tests=(f"{_SEARCHER_TESTS}/integration/test_sink.py::test_crash_before_the_index_is_committed_loses_nothing",),
    ),
    Mutation(
        "sender-without-the-lease-heard",
        "Registry and index",
        "An element of a sender that lost the shard is applied, and the newer one is dropped as a repetition.",
        f"{_SEARCHER}/domain/watermarks.py",
        before="if fence < mark.fence:",
        after="if fence < 0:",
        tests=(
            f"{_SEARCHER_TESTS}/unit/test_watermarks.py"
            "::test_sender_that_lost_the_lease_is_refused_even_for_what_nobody_sent_yet",
        ),
    ),
    Mutation(
        "index-of-other-words-searched",
        "Registry and index",
        "An index that a release before filled with other words is searched, and misses what it holds.",
        f"{_SEARCHER}/store/state_file.py",
        before='if stored.get("analysis", 1) != ANALYSIS:',
        after="if False:",
        tests=(f"{_SEARCHER_TESTS}/unit/test_generations.py::test_unusable_index_says_why",),
    ),
    Mutation(
        "documents-of-another-client",
        "Registry and index",
        "A service writes and deletes the documents of another one.",
        f"{_RECEIVER}/rpc/receiver_service.py",
        before="PushBatchRequest) -> pb.PushBatchResponse:\n        require_own(request.client)\n",
        after="PushBatchRequest) -> pb.PushBatchResponse:\n",
        tests=(
            f"{_RECEIVER_TESTS}/test_own_clients.py::test_a_writer_is_refused_the_clients_of_others_by_every_method",
        ),
    ),
)

_HTTP: Final = (
    Mutation(
        "page-of-another-host",
        "Requests of web pages",
        "A web page whose name was pointed at this machine reads and drives what listens there.",
        f"{_COMMON}/http/browser_guard.py",
        before="return address.is_loopback or not self.is_loopback",
        after="return True",
        tests=(f"{_GUARD_TESTS}::test_a_host_is_ours_or_refused",),
    ),
    Mutation(
        "page-of-another-origin",
        "Requests of web pages",
        "A web page sends what changes something, without a look at what becomes of it.",
        f"{_COMMON}/http/browser_guard.py",
        before="return rest == authority or (match",
        after="return rest != authority or (match",
        tests=(f"{_GUARD_TESTS}::test_pages_of_other_origins_are_refused",),
    ),
    Mutation(
        "body-of-any-type",
        "Requests of web pages",
        "A body that any web page may send without permission is taken for JSON.",
        f"{_COMMON}/http/browser_guard.py",
        before="if given is None and not has_body:",
        after="if True:",
        tests=(f"{_GUARD_TESTS}::test_what_changes_something_is_json",),
    ),
    Mutation(
        "queue-filled-by-one-caller",
        "Requests of web pages",
        "One caller triggers any number of jobs.",
        f"{_JOBS}/admin/admin.py",
        before="if sum(response.created for response in responses) > room:",
        after="if False:",
        tests=(f"{_JOBS_TESTS}/api/test_http.py::test_a_caller_has_so_many_open_jobs_and_no_more",),
    ),
    Mutation(
        "http-wrong-token-is-anonymous",
        "HTTP APIs",
        "A caller with a wrong token is let in where callers without one are.",
        f"{_COMMON}/http/api/callers.py",
        before="token is None and self._takes_anonymous",
        after="not token and self._takes_anonymous",
        tests=(f"{_HTTP_API_TESTS}/test_callers.py::test_a_wrong_token_is_refused_and_counted",),
    ),
    Mutation(
        "http-anonymous-without-limit",
        "HTTP APIs",
        "Callers without a token send as many requests as they like.",
        f"{_COMMON}/http/api/callers.py",
        before="            self.limits.take(None)\n",
        after="",
        tests=(
            f"{_HTTP_API_TESTS}/test_callers.py::test_without_keys_whoever_reaches_the_port_is_one_anonymous_caller",
        ),
    ),
    Mutation(
        "http-announced-body-is-read",
        "HTTP APIs",
        "A body that is announced as too large is waited for.",
        f"{_COMMON}/http/api/bodies.py",
        before="        if self._announced > self._max_bytes:\n            raise self._too_large()\n",
        after="",
        tests=(f"{_HTTP_API_TESTS}/test_bodies.py::test_a_body_of_announced_length_is_refused_before_it_comes",),
    ),
)

_BLOBS: Final = (
    Mutation(
        "file-deleted-under-its-user",
        "Blob references",
        "A file is deleted although somebody refers to it.",
        f"{_COMMON}/blobs/queries.sql",
        before="WHERE ref_count = 0 AND touched_at",
        after="WHERE touched_at",
        tests=(f"{_COMMON_TESTS}/blobs/test_blobs.py::test_sweep_takes_what_nobody_needs_and_not_before_its_time",),
    ),
    Mutation(
        "deletion-without-lock",
        "Blob references",
        "A reference is added while its file is being deleted, and nobody puts the file again.",
        f"{_COMMON}/blobs/queries.sql",
        before=" LIMIT 1\n   FOR UPDATE SKIP LOCKED",
        after=" LIMIT 1",
        tests=(f"{_COMMON_TESTS}/blobs/test_blobs.py::test_cancelled_sweep_keeps_its_lock_until_the_file_is_gone",),
    ),
    Mutation(
        "reference-counted-twice",
        "Blob references",
        "A reference that is added again is counted again: its file is never deleted.",
        f"{_COMMON}/blobs/refs.py",
        before="        if cursor.rowcount:\n",
        after="        if cursor.rowcount >= 0:\n",
        tests=(f"{_COMMON_TESTS}/blobs/test_blobs.py::test_references_are_counted_once_each",),
    ),
)

_GUARD: Final = (
    Mutation(
        "removals-never-held",
        "Guard against mass removal",
        "A load that lacks most offers of its namespace removes them at once.",
        f"{_OFFERS}/domain/completion.py",
        before="    reasons = () if allows_removals else of_removals\n",
        after="    reasons: tuple[HoldReason, ...] = ()\n",
        tests=(f"{_OFFERS_TESTS}/test_held_loads.py::test_a_load_without_any_offer_is_held_however_small",),
    ),
    Mutation(
        "loss-measured-by-a-load",
        "Guard against mass removal",
        "Two losses of 49 % within a week remove three quarters of the offers.",
        f"{_OFFERS}/domain/completion.py",
        before="        return max(self.before, self.most_before)",
        after="        return self.before",
        tests=(f"{_OFFERS_TESTS}/test_held_loads.py::test_half_and_half_again_is_held_within_a_week",),
    ),
    Mutation(
        "added-offers-make-up-for-lost-ones",
        "Guard against mass removal",
        "A load with other ids is held once, and the next one like it removes the old offers.",
        f"{_OFFERS}/store/sweeping.sql",
        before="AND created_at <= (SELECT at FROM since)\n",
        after="\n",
        tests=(f"{_OFFERS_TESTS}/test_held_loads.py::test_ids_that_changed_stay_held_load_after_load",),
    ),
    Mutation(
        "rejected-load-counts-as-accepted",
        "Guard against mass removal",
        "What a rejected load has brought makes up for what it lacked.",
        f"{_OFFERS}/store/sweeping.sql",
        before="      AND planned_at IS NOT NULL AND decision IS DISTINCT FROM 'REJECT'\n",
        after="      AND planned_at IS NOT NULL\n",
        tests=(f"{_OFFERS_TESTS}/test_held_loads.py::test_ids_that_changed_stay_held_load_after_load",),
    ),
    Mutation(
        "sizes-not-forgotten",
        "Guard against mass removal",
        "Once removals were confirmed, each load of the week is held again.",
        f"{_OFFERS}/app/decide_hold.py",
        before="    await sweeping.forget_sizes(tx, run.namespace)\n",
        after="",
        tests=(f"{_OFFERS_TESTS}/test_held_loads.py::test_half_and_half_again_is_held_within_a_week",),
    ),
    Mutation(
        "second-decision-counts",
        "Guard against mass removal",
        "A load that was confirmed is rejected afterwards, or the other way round.",
        f"{_OFFERS}/store/sweeping.sql",
        before="  AND coalesce(decision, '') NOT IN ('CONFIRM', 'REJECT') AND (outcome = 'HELD' OR",
        after="  AND (outcome IS NOT NULL OR decision IS NOT NULL OR",
        tests=(
            f"{_OFFERS_TESTS}/test_held_loads.py::test_the_first_decision_counts",
            f"{_OFFERS_TESTS}/test_held_loads.py::test_a_confirmed_sweep_that_is_under_way_is_not_rejected_any_more",
        ),
    ),
    Mutation(
        "decision-beside-a-newer-load",
        "Guard against mass removal",
        "A decision about a held load acts although a newer load has begun.",
        f"{_OFFERS}/app/decide_hold.py",
        before="    if is_held and end.head != run.run:\n",
        after="    if False:\n",
        tests=(f"{_OFFERS_TESTS}/test_held_loads.py::test_a_decision_after_a_newer_load_has_begun_is_stale",),
    ),
    Mutation(
        "rejected-slices-kept",
        "Guard against mass removal",
        "What was planned for a held load is kept for ever by a namespace that only gets new prices.",
        f"{_OFFERS}/app/apply_requests.py",
        before="        await sweeping.drop_plans(tx, key)",
        after="        pass",
        tests=(f"{_OFFERS_TESTS}/test_held_loads.py::test_the_end_of_a_newer_load_drops_what_was_held",),
    ),
    Mutation(
        "late-hold-takes-a-decision-back",
        "Guard against mass removal",
        "The reply to the first end, which comes twice, holds a task again that was decided about.",
        f"{_PROCESSOR}/app/take_results.py",
        before="                if task.status == _HELD or task.decision in _DECIDED:\n",
        after="                if task.status == _HELD:\n",
        tests=(f"{_PROCESSOR_TESTS}/test_held_tasks.py::test_late_replies_do_not_hold_a_decided_task_again",),
    ),
    Mutation(
        "second-decision-at-once-counts",
        "Guard against mass removal",
        "Of two who decide otherwise at the same moment, both have a job.",
        f"{_PROCESSOR}/app/decide_task.py",
        before="        if state.status != task_pb2.TASK_STATUS_HELD:\n",
        after="        if False:\n",
        tests=(
            f"{_PROCESSOR_TESTS}/test_held_tasks.py::test_a_decision_ends_the_task_and_only_the_first_counts",
            f"{_PROCESSOR_TESTS}/test_held_tasks.py::test_confirm_and_reject_at_once_are_one_decision",
        ),
    ),
    Mutation(
        "decided-task-overtaken",
        "Guard against mass removal",
        "A newer task begins beside a held one that was decided about at that moment.",
        f"{_PROCESSOR}/app/process_feed.py",
        before="            raise Snooze(_EARLIER_S)  # a held one",
        after="            pass  # a held one",
        tests=(
            f"{_PROCESSOR_TESTS}/test_held_tasks.py::test_a_decision_between_two_looks_of_a_newer_task_has_its_turn_first",
        ),
    ),
    Mutation(
        "held-task-without-its-run",
        "Guard against mass removal",
        "A held task whose owner lost the run waits for a job that nobody makes.",
        f"{_PROCESSOR}/app/take_results.py",
        before="                if task.status == _HELD:\n                    return  # no job",
        after="                if False:\n                    return  # no job",
        tests=(
            f"{_PROCESSOR_TESTS}/test_held_tasks.py::test_a_restored_processor_takes_what_its_owner_replied_to_the_lost_decision",
        ),
    ),
    Mutation(
        "removal-of-a-feed-held",
        "Guard against mass removal",
        "The removal of a feed is held, although somebody asked for it.",
        f"{_PROCESSOR}/app/process_feed.py",
        before="HOLD_DECISION_CONFIRM if state.kind == task_pb2.TASK_KIND_DELETE else state.decision",
        after="state.decision",
        tests=(
            f"{_PROCESSOR_TESTS}/test_held_tasks.py::test_removals_that_are_allowed_beforehand_and_of_a_removed_feed_are_never_held",
        ),
    ),
    Mutation(
        "allowed-removals-held",
        "Guard against mass removal",
        "A load whose removals were allowed beforehand is held.",
        f"{_PROCESSOR}/app/create_task.py",
        before="        return HOLD_DECISION_ALLOW_REMOVALS\n",
        after="        return HOLD_DECISION_UNSPECIFIED\n",
        tests=(
            f"{_PROCESSOR_TESTS}/test_held_tasks.py::test_removals_that_are_allowed_beforehand_and_of_a_removed_feed_are_never_held",
        ),
    ),
)

_PRICE_GUARD: Final = (
    Mutation(
        "prices-never-wait",
        "Guard against wrong prices",
        "Prices ten times too high are in the search before anybody has decided.",
        f"{_OFFERS}/domain/completion.py",
        before="        if shift.moves_price(self.price_factor):\n",
        after="        if False:\n",
        tests=(f"{_OFFERS_TESTS}/test_held_changes.py::test_an_ordinary_load_makes_its_few_far_changes_at_the_end",),
    ),
    Mutation(
        "half-of-the-prices-is-enough",
        "Guard against wrong prices",
        "A load is held although the median of its changed prices does not move far.",
        f"{_OFFERS}/domain/completion.py",
        before="changes.moved * 2 > changes.prices",
        after="changes.moved * 2 >= changes.prices",
        tests=(f"{_OFFERS_TESTS}/test_held_changes.py::test_the_median_of_the_changed_prices_decides",),
    ),
    Mutation(
        "allowed-removals-allow-prices",
        "Guard against wrong prices",
        "Whoever allows removals is not asked about wrong prices.",
        f"{_OFFERS}/domain/completion.py",
        before="    allows_changes = decision in {HOLD_DECISION_CONFIRM, ",
        after="    allows_changes = decision in {HOLD_DECISION_CONFIRM, HOLD_DECISION_ALLOW_REMOVALS, ",
        tests=(f"{_OFFERS_TESTS}/test_held_changes.py::test_what_was_allowed_beforehand_is_no_reason",),
    ),
    Mutation(
        "prices-of-an-earlier-run-forgotten",
        "Guard against wrong prices",
        "An ordinary load that is sent anew is held, as only its far changes are left to be made.",
        f"{_OFFERS}/store/waiting.sql",
        before="AND task_id = %(task)s AND run <= %(run)s",
        after="AND task_id = %(task)s AND run = %(run)s",
        tests=(
            f"{_OFFERS_TESTS}/test_held_changes.py"
            "::test_an_ordinary_load_that_runs_again_is_no_more_held_than_at_first",
        ),
    ),
    Mutation(
        "held-although-one-is-available",
        "Guard against wrong prices",
        "A load is held as if nothing were available, although something is.",
        f"{_OFFERS}/store/waiting.py",
        before="0 if has_available else turned",
        after="turned",
        tests=(f"{_OFFERS_TESTS}/test_held_changes.py::test_nothing_available_any_more",),
    ),
    Mutation(
        "change-made-over-another",
        "Guard against wrong prices",
        "A change that waited is made over what has become of its offer meanwhile.",
        f"{_OFFERS}/store/waiting.sql",
        before="AND o.content_hash = t.before_hash AND",
        after="AND",
        tests=(f"{_OFFERS_TESTS}/test_held_changes.py::test_an_offer_that_has_become_another_meanwhile_stays",),
    ),
    Mutation(
        "changes-of-an-overtaken-load-made",
        "Guard against wrong prices",
        "What waits for a held load is made at the end of the newer one that took its place.",
        f"{_OFFERS}/store/waiting.sql",
        before="AND task_id = %(task)s AND run = %(run)s\n          ORDER BY offer_id",
        after="\n          ORDER BY offer_id",
        tests=(f"{_OFFERS_TESTS}/test_held_changes.py::test_a_newer_load_takes_the_place_of_what_waits",),
    ),
    Mutation(
        "waiting-changes-cleaned-up",
        "Guard against wrong prices",
        "The clean-up takes away what waits for a decision.",
        f"{_OFFERS}/store/cleaning.sql",
        before="OR e.outcome IN ('COMPLETED', 'INCOMPLETE', 'STALE')",
        after="OR e.outcome IS NOT NULL",
        tests=(f"{_OFFERS_TESTS}/test_held_changes.py::test_what_nobody_waits_for_is_cleaned_up",),
    ),
    Mutation(
        "rejected-change-shown-as-waiting",
        "Guard against wrong prices",
        "An offer is said to wait for a decision that was made.",
        f"{_OFFERS}/store/reading.sql",
        before="AND coalesce(e.outcome, 'HELD') = 'HELD'",
        after="",
        tests=(f"{_OFFERS_TESTS}/test_offer_service.py::test_a_change_that_waits_is_shown_until_it_is_decided_about",),
    ),
    Mutation(
        "made-changes-stay-skipped",
        "Guard against wrong prices",
        "The statistics of a load call changes skipped that were made at its end.",
        f"{_PROCESSOR}/app/take_results.py",
        before="        add_changed(statistics, reply.changed)\n",
        after="",
        tests=(f"{_PROCESSOR_TESTS}/test_held_tasks.py::test_changes_that_wait_are_skipped_until_they_are_made",),
    ),
    Mutation(
        "allowed-load-never-held",
        "Guard against wrong prices",
        "A load for which removals were allowed waits for ever when it is held for its prices.",
        f"{_PROCESSOR}/app/take_results.py",
        before="task.decision in _DECIDED:\n",
        after="task.decision:\n",
        tests=(f"{_PROCESSOR_TESTS}/test_held_tasks.py::test_what_was_allowed_is_not_what_the_load_is_held_for",),
    ),
)

_SNAPSHOTS: Final = (
    Mutation(
        "snapshot-half-written",
        "Snapshots",
        "A file that is still being written is taken, as far as it goes.",
        f"{_COMMON}/snapshot/snapshot.py",
        before="if stamp != self._judged and is_settled:",
        after="if stamp != self._judged:",
        tests=(f"{_SNAPSHOT_TESTS}/test_swaps.py::test_a_half_written_file_is_not_taken_though_it_is_right",),
    ),
    Mutation(
        "snapshot-of-two-versions",
        "Snapshots",
        "A reader gets the rules of one version with the name of another.",
        f"{_COMMON}/snapshot/snapshot.py",
        before="        before, self._current, self._digest = self._current, loaded, digest\n",
        after="        before = self._current\n"
        "        self._current = Loaded(before.value if before else loaded.value, loaded.version)\n"
        "        await asyncio.sleep(0.001)\n"
        "        self._current, self._digest = loaded, digest\n",
        tests=(f"{_SNAPSHOT_TESTS}/test_swaps.py::test_readers_see_one_whole_version",),
    ),
)

_RULES: Final = (
    Mutation(
        "rules-span-in-the-view",
        "Automatic rules",
        "A finding's place is that in the text without what a reader does not see.",
        f"{_CLEANWEB}/automatics/terms.py",
        before="    if view.places is not None:\n        begin, end",
        after="    if view.places is not None and view.name == 'none':\n        begin, end",
        tests=(f"{_CLEANWEB_TESTS}/test_obfuscations.py::test_a_hidden_term_is_found_where_it_stands",),
    ),
    Mutation(
        "rules-marks-left-outside",
        "Automatic rules",
        "A finding ends before the accents of its last letter.",
        f"{_CLEANWEB}/automatics/terms.py",
        before="return Hit(term, begin, _with_marks(text, end))",
        after="return Hit(term, begin, end)",
        tests=(f"{_CLEANWEB_TESTS}/test_obfuscations.py::test_a_hidden_term_is_found_where_it_stands",),
    ),
    Mutation(
        "rules-by-classes-alone",
        "Automatic rules",
        "What is alike by classes of letters is a finding, whatever the letters are.",
        f"{_CLEANWEB}/automatics/terms.py",
        before=" and is_written(term.letters, characters):",
        after=":",
        tests=(f"{_CLEANWEB_TESTS}/test_judge.py::test_traps_pass",),
    ),
    Mutation(
        "rules-allow-nothing",
        "Automatic rules",
        "A word that is allowed is found by a piece of it.",
        f"{_CLEANWEB}/automatics/judge.py",
        before="if found and Role.ALLOW in hits:",
        after="if found and None in hits:",
        tests=(f"{_CLEANWEB_TESTS}/test_judge.py::test_an_allowed_word_beats_a_piece_of_it_and_nothing_else",),
    ),
    Mutation(
        "rules-unbounded-gap",
        "Automatic rules",
        "A text with a long gap between digits is read again from each of its places.",
        f"{_CLEANWEB}/automatics/addresses/phones.py",
        before="\\u2010-\\u2015]{0,3}",
        after="\\u2010-\\u2015]*",
        tests=(f"{_CLEANWEB_TESTS}/test_steps.py::test_every_repeat_of_a_regular_expression_is_bounded",),
    ),
    Mutation(
        "rules-names-of-any-length",
        "Automatic rules",
        "The name before each dot is read back to the beginning of a text without spaces.",
        f"{_CLEANWEB}/automatics/addresses/links.py",
        before="while start > 0 and end - start < _MAX_NAME and",
        after="while start > 0 and",
        tests=(f"{_CLEANWEB_TESTS}/test_steps.py::test_twice_the_text_takes_twice_the_steps",),
    ),
    Mutation(
        "rules-fault-without-path",
        "Automatic rules",
        "A notation that cannot be expanded is refused without its place.",
        f"{_CLEANWEB}/automatics/rules_file.py",
        before="raise DocumentFault(str(error), (*path, number)) from error",
        after="raise DocumentFault(str(error)) from error",
        tests=(f"{_CLEANWEB_TESTS}/test_rules_file.py::test_a_wrong_file_is_refused_with_line_and_path",),
    ),
)

_VERDICTS: Final = (
    Mutation(
        "verdict-applied-by-key-alone",
        "Verdicts",
        "A verdict about an earlier text of an offer decides about the present one.",
        f"{_MODERATION}/domain/decisions.py",
        before="if sent.text_hash is not None and sent.text_hash != subject.text_hash:",
        after="if sent.text_hash is not None and not subject.text_hash:",
        tests=(
            f"{_MODERATION_TESTS}/integration/test_verdicts.py"
            "::test_verdict_for_a_changed_text_is_kept_and_not_applied",
        ),
    ),
    Mutation(
        "verdict-without-a-new-version",
        "Verdicts",
        "A vote that was read before a verdict is written over what the verdict changed.",
        f"{_MODERATION}/store/decisions.sql",
        before="version = greatest(p.version + 1, (extract(epoch from clock_timestamp()) * 1000000)::bigint)",
        after="version = p.version",
        tests=(
            f"{_MODERATION_TESTS}/integration/test_versions.py::test_vote_that_read_before_a_verdict_is_not_written",
        ),
    ),
    Mutation(
        "end-verdict-stored",
        "Verdicts",
        "The end verdict is taken for a verdict: it is stored, and judged as one that no rule names.",
        f"{_MODERATION}/domain/verdicts.py",
        before="    elif name not in collected.verdicts:",
        after="    if name not in collected.verdicts and entity == _TEXT:",
        tests=(
            f"{_MODERATION_TESTS}/integration/test_requests.py::test_verdicts_at_once_are_applied",
            f"{_CALLBACK_TESTS}::test_the_end_alone_approves_and_a_verdict_without_a_rule_forbids",
        ),
    ),
    Mutation(
        "verdicts-judged-one-by-one",
        "Verdicts",
        "A forbidden text is shown, with changed tags, until the last of its verdicts is judged.",
        f"{_MODERATION}/http/callback.py",
        before="[Arrived(key, found, request_id) for key, found in by_key.items()]",
        after="[Arrived(key, type(found)((each,), found.has_end), request_id)"
        " for key, found in by_key.items() for each in found.verdicts]",
        tests=(f"{_CALLBACK_TESTS}::test_all_verdicts_of_a_text_are_judged_together",),
    ),
    Mutation(
        "callback-in-memory",
        "Verdicts",
        "A callback is confirmed before it is stored, and lost with the process.",
        f"{_MODERATION}/app/record_verdicts.py",
        before="faults = await asyncio.shield(batch.written)",
        after="faults = batch.written.result() if batch.written.done() else {}",
        tests=(
            f"{_CALLBACK_TESTS}::test_it_is_confirmed_when_it_is_committed",
            f"{_CALLBACK_TESTS}::test_what_cannot_be_stored_is_not_confirmed_and_holds_up_no_other",
        ),
    ),
    Mutation(
        "callback-confirmed-though-refused",
        "Verdicts",
        "The sender of a verdict that cannot be stored is told that it is.",
        f"{_MODERATION}/app/record_verdicts.py",
        before="faults[place] = fault",
        after="pass",
        tests=(f"{_CALLBACK_TESTS}::test_what_cannot_be_stored_is_not_confirmed_and_holds_up_no_other",),
    ),
    Mutation(
        "callback-of-anybody",
        "Verdicts",
        "Whoever sends no token is let in, in every environment and as often as they like.",
        f"{_MODERATION}/http/callback.py",
        before="anonymous=_ANONYMOUS\n        ),\n        takes_anonymous=takes_anonymous,",
        after="),\n        takes_anonymous=True,",
        tests=(f"{_CALLBACK_TESTS}::test_votes_work_while_a_thousand_callbacks_without_a_token_are_refused",),
    ),
    Mutation(
        "callback-for-any-service",
        "Verdicts",
        "A token that another service got from the verdict service opens the callback.",
        "libs/common/src/classifeed_common/auth/service_tokens.py",
        before="if audience not in verified.audiences:",
        after="if not verified.audiences:",
        tests=(f"{_CALLBACK_TESTS}::test_a_wrong_token_is_refused_and_counted_and_changes_nothing",),
    ),
    Mutation(
        "callback-without-keys-on-the-loopback",
        "Verdicts",
        "A moderation without keys starts on the loopback and takes verdicts from whoever reaches it.",
        f"{_MODERATION}/bootstrap.py",
        before='http_keys(settings, required_by="The callback of the verdict service")',
        after="http_keys(settings)",
        tests=(f"{_CALLBACK_TESTS}::test_without_keys_it_does_not_start_on_the_loopback_either",),
    ),
    Mutation(
        "callback-refused-uncounted",
        "Verdicts",
        "Callbacks that are JSON and hold no verdicts are refused without a trace in the metrics.",
        f"{_MODERATION}/http/callback.py",
        before='        HTTP_REFUSALS.labels(_NAME, "VERDICTS_INVALID").inc()\n',
        after="",
        tests=(f"{_CALLBACK_TESTS}::test_wrong_bodies_are_refused_and_counted",),
    ),
    Mutation(
        "callback-with-nul",
        "Verdicts",
        "A key that the database cannot take gets as far as the database, and its refusal is counted nowhere.",
        f"{_MODERATION}/domain/verdicts.py",
        before="not key or not _can_be_stored(key):",
        after="not key:",
        tests=(f"{_CALLBACK_TESTS}::test_wrong_bodies_are_refused_and_counted",),
    ),
    Mutation(
        "rules-never-looked-at-again",
        "Verdicts",
        "A change of the rules file is in force after a restart only.",
        f"{_MODERATION}/bootstrap.py",
        before="            group.create_task(rules.watch(stop))\n",
        after="",
        tests=(f"{_MODERATION_TESTS}/integration/test_live_rules.py::test_a_change_is_live_and_a_wrong_one_is_not",),
    ),
    Mutation(
        "terms-never-looked-at-again",
        "Verdicts",
        "A change of cleanweb's terms is in force after a restart only.",
        f"{_CLEANWEB}/bootstrap.py",
        before="            group.create_task(rules.watch(stop))\n",
        after="",
        tests=(
            "services/cleanweb/tests/integration/test_live_rules.py"
            "::test_a_new_term_is_found_and_a_wrong_file_changes_nothing",
        ),
    ),
    Mutation(
        "batch-answered-in-one",
        "Verdicts",
        "cleanweb responds to a batch with the first text's response alone.",
        f"{_CLEANWEB}/http/requests.py",
        before="return ProcessedBody(processed if isinstance(body, list) else processed[0])",
        after="return ProcessedBody(processed[0])",
        tests=("tests/contract/test_moderation_cleanweb.py::test_each_text_of_a_batch_has_its_own_response",),
    ),
    Mutation(
        "callback-for-another-audience",
        "Verdicts",
        "cleanweb's callbacks carry a token for itself, and moderation takes none of them.",
        f"{_CLEANWEB}/clients/receivers.py",
        before="self._issue_token(receiver.audience)",
        after='self._issue_token("cleanweb")',
        tests=("tests/contract/test_moderation_cleanweb.py::test_a_point_goes_to_people_and_comes_back_by_callback",),
    ),
    Mutation(
        "breaker-never-opens",
        "Verdicts",
        "A verdict service that fails gets every request.",
        f"{_MODERATION}/clients/breaker.py",
        before="                self._limit = 0\n",
        after="                pass\n",
        tests=(f"{_MODERATION_TESTS}/unit/test_breaker.py::test_a_service_that_is_away_gets_one_request_a_second",),
    ),
    Mutation(
        "claims-without-shares",
        "Verdicts",
        "A seller with many texts delays all others.",
        f"{_MODERATION}/app/claim_texts.py",
        before="if kind is Kind.OFFER else []",
        after="if kind is Kind.POINT else []",
        tests=(f"{_MODERATION_TESTS}/integration/test_correcting.py::test_a_seller_with_many_texts_delays_no_other",),
    ),
    Mutation(
        "requests-repeated-with-old-versions",
        "Verdicts",
        "A text that a restore brought back is requested for ever, and never judged.",
        "services/offers/src/classifeed_offers/store/judging.sql",
        before="(extract(epoch FROM o.text_requested_at) * 1000000)::bigint AS content_version",
        after="o.last_task_id AS content_version",
        tests=(
            "services/offers/tests/integration/test_texts.py"
            "::test_versions_of_texts_grow_with_every_request_also_after_a_restore",
        ),
    ),
    Mutation(
        "callbacks-without-order",
        "Verdicts",
        "A verdict comes after a newer one of its key.",
        f"{_CLEANWEB}/store/callbacks.sql",
        before="c.callback_id <= last.callback_id",
        after="c.callback_id = last.callback_id",
        tests=(f"{_DELIVERY_TESTS}::test_a_verdict_never_comes_after_a_newer_one_of_its_key",),
    ),
)

_REVIEW_PAGE: Final = "services/cleanweb/tests/integration/test_review_page.py"
_REVIEWS: Final = (
    Mutation(
        "reviews-under-any-name",
        "Reviews by people",
        "Whoever has a reviewer's token reviews under any name, and so agrees with themselves.",
        f"{_CLEANWEB}/rpc/cleanweb_service.py",
        before="and reviewer != call.caller:",
        after="and not reviewer:",
        tests=(f"{_REVIEW_PAGE}::test_two_that_agree_are_two_people",),
    ),
    Mutation(
        "reviews-taken-from-others",
        "Reviews by people",
        "A reviewer gives back a text that another one has.",
        f"{_CLEANWEB}/store/reviews.sql",
        before="WHERE review_id = %(review_id)s AND leased_by = %(reviewer)s",
        after="WHERE review_id = %(review_id)s AND %(reviewer)s::text IS NOT NULL",
        tests=(f"{_REVIEW_PAGE}::test_a_text_is_with_one_reviewer_until_it_is_given_back",),
    ),
    Mutation(
        "reviews-unescaped-text",
        "Reviews by people",
        "A text stands in the page as it came.",
        f"{_CLEANWEB}/http/reviews/rendering.py",
        before="escaped = {key: escape(str(value)) for",
        after="escaped = {key: str(value) for",
        tests=(f"{_REVIEW_PAGE}::test_a_hostile_text_is_shown_as_text",),
    ),
)

MUTATIONS: Final = (
    *_LEASES,
    *_KAFKA,
    *_PUBLISH_MARKS,
    *_JOB_ENGINE,
    *_LOADS,
    *_OFFER_STATE,
    *_GUARD,
    *_PRICE_GUARD,
    *_INDEXING,
    *_HTTP,
    *_BLOBS,
    *_SNAPSHOTS,
    *_RULES,
    *_VERDICTS,
    *_REVIEWS,
)
