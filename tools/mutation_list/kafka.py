"""Ordered consumer, Outbox and relay."""

from __future__ import annotations

from typing import Final

from tools.mutation_list.mutation import Mutation
from tools.mutation_list.paths import COMMON, COMMON_TESTS, JOBS_TESTS, MODERATION_TESTS, OFFERS_TESTS

_OUTBOX_TESTS: Final = f"{COMMON_TESTS}/kafka/test_outbox.py"
_ROLE_FAULTS: Final = f"{JOBS_TESTS}/worker/test_role_faults.py"
_GROWTH_TESTS: Final = f"{COMMON_TESTS}/kafka/test_topic_growth.py"

MUTATIONS: Final = (
    Mutation(
        "position-moved-by-a-zombie",
        "Ordered consumer",
        "A consumer that lost its partition commits its effect after another consumer moved the position.",
        f"{COMMON}/kafka/table_positions.py",
        before="if cursor.rowcount != len(expected):",
        after="if cursor.rowcount > len(expected):",
        tests=(f"{COMMON_TESTS}/kafka/test_ordered_consumer.py::test_two_owners_of_one_partition[True-None]",),
    ),
    Mutation(
        "connection-left-behind",
        "Ordered consumer",
        "A consumer that has ended keeps its connections to the brokers until garbage collection.",
        f"{COMMON}/kafka/consuming/consumer.py",
        before="            self._cluster.close()\n",
        after="",
        tests=(
            f"{COMMON_TESTS}/kafka/test_ordered_consumer.py::test_a_consumer_that_has_ended_leaves_no_connection_behind",
        ),
    ),
    Mutation(
        "poison-passed-over-without-a-letter",
        "Ordered consumer",
        "A record with a permanent fault is skipped without a dead letter.",
        f"{COMMON}/kafka/consuming/effects.py",
        before="            await self._dead_letters.put(self._group, record, reason)\n",
        after="",
        tests=(
            f"{COMMON_TESTS}/kafka/test_ordered_consumer_faults.py::test_poison_goes_to_the_dead_letters_and_is_answered_in_its_place",
        ),
    ),
    Mutation(
        "poison-not-answered",
        "Ordered consumer",
        "The sender of a dead letter gets no response.",
        f"{COMMON}/kafka/consuming/effects.py",
        before="if self._refuse is not None:",
        after="if False:",
        tests=(
            f"{COMMON_TESTS}/kafka/test_ordered_consumer_faults.py::test_poison_goes_to_the_dead_letters_and_is_answered_in_its_place",
        ),
    ),
    Mutation(
        "outbox-removes-what-it-did-not-send",
        "Outbox and relay",
        "A message whose transaction commits while later messages are sent is removed with them.",
        f"{COMMON}/outbox/queries.sql",
        before="id = ANY(%(ids)s)",
        after="id <= (SELECT max(i) FROM unnest(%(ids)s) AS i)",
        tests=(f"{_OUTBOX_TESTS}::test_a_commit_between_sending_and_removal_is_not_removed_unsent",),
    ),
    Mutation(
        "outbox-out-of-order",
        "Outbox and relay",
        "Messages are not sent in the order of their ids.",
        f"{COMMON}/outbox/queries.sql",
        before="ORDER BY id\n",
        after="ORDER BY id DESC\n",
        tests=(f"{_OUTBOX_TESTS}::test_order_within_and_between_puts",),
    ),
    Mutation(
        "relay-without-its-lease",
        "Outbox and relay",
        "A relay reads and sends although another relay holds the lease of the shard.",
        f"{COMMON}/outbox/relay.py",
        before="            await self._leases.guard(tx, lease)\n",
        after="",
        tests=(f"{_OUTBOX_TESTS}::test_relay_that_lost_its_lease_stops_sending",),
    ),
    Mutation(
        "relay-removes-before-acknowledgement",
        "Outbox and relay",
        "Messages are removed before Kafka acknowledges them.",
        f"{COMMON}/outbox/relay.py",
        before="            await self._producer.send(messages, limit_s=None)\n",
        after="            asyncio.ensure_future(self._producer.send(messages, limit_s=None))\n",
        tests=(f"{_OUTBOX_TESTS}::test_death_between_acknowledgement_and_removal_sends_again",),
    ),
    Mutation(
        "relay-sends-one-by-one",
        "Outbox and relay",
        "A relay sends messages one by one, each in a transaction.",
        f"{COMMON}/outbox/relay.py",
        before="        if sent < self._max_messages:\n",
        after="        if not sent:\n",
        tests=(f"{_OUTBOX_TESTS}::test_messages_gather_after_a_few_were_sent",),
    ),
    Mutation(
        "offsets-committed-every-second",
        "Ordered consumer",
        "Each idle group commits its offsets every second, which is a third of the work of an idle broker.",
        f"{COMMON}/kafka/consuming/reader.py",
        before=" or (offsets == self._shown and now_s - self._shown_s < _SHOW_AGAIN_S)",
        after="",
        tests=(
            f"{COMMON_TESTS}/kafka/test_ordered_consumer.py::test_offsets_that_stay_as_they_are_are_committed_once",
        ),
    ),
    Mutation(
        "panic-over-a-record-ends-the-consumer",
        "Ordered consumer",
        "A panic of a native library ends the process, which reads the same record again after each start.",
        f"{COMMON}/kafka/consuming/consumer.py",
        before="        except BaseException as error:  # noqa: BLE001 - after any error, skipping",
        after="        except Exception as error:  # noqa: BLE001 - after any error, skipping",
        tests=(
            f"{COMMON_TESTS}/kafka/test_blocked_partitions.py"
            "::test_a_record_that_fails_blocks_its_own_partition[Panic]",
        ),
    ),
    Mutation(
        "repeated-work-not-named",
        "Repeated work",
        "Periodic work fails for hours, and the service reports that nothing is blocked.",
        f"{COMMON}/loops/loop.py",
        before=", noted_in=self.fault",
        after="",
        tests=(
            "libs/common/tests/unit/loops/test_loop.py::test_one_that_lasts_is_named_until_it_is_over",
            f"{COMMON_TESTS}/outbox/test_blocked_relay.py::test_a_relay_names_topics_and_fault_until_it_sends_again",
            f"{COMMON_TESTS}/publish_mark/test_publish_mark.py::test_a_push_that_fails_is_named_until_one_succeeds",
            f"{_ROLE_FAULTS}::test_reaper_goes_on_after_faults",
            f"{_ROLE_FAULTS}::test_scheduler_goes_on_after_faults_and_makes_the_slot_once",
            f"{_ROLE_FAULTS}::test_chore_that_fails_is_tried_again_and_keeps_no_other_from_being_done",
            f"{_ROLE_FAULTS}::test_worker_goes_on_claiming_after_faults",
            f"{_ROLE_FAULTS}::test_heartbeat_that_fails_is_tried_again_long_before_the_next_one",
            "services/indexer/tests/integration/test_deliver.py"
            "::test_what_holds_up_delivery_is_named_until_it_goes_on[refuses]",
            "services/searcher/tests/integration/test_verify.py"
            "::test_a_comparison_that_fails_is_named_until_one_succeeds",
            f"{MODERATION_TESTS}/integration/judging/test_correcting.py"
            "::test_texts_that_cannot_be_claimed_are_named_until_they_can",
        ),
    ),
    Mutation(
        "repeated-work-named-for-ever",
        "Repeated work",
        "Periodic work that failed once is reported as blocked after later successes.",
        f"{COMMON}/loops/loop.py",
        before="            self.note_success()\n",
        after="            pass\n",
        tests=("libs/common/tests/unit/loops/test_loop.py::test_one_that_lasts_is_named_until_it_is_over",),
    ),
    Mutation(
        "repeated-work-late-after-a-short-fault",
        "Repeated work",
        "Work with an interval of ten minutes is ten minutes late after one failed database call.",
        f"{COMMON}/loops/loop.py",
        before="max(self._backoff.next_s(), ",
        after="max(self._period_s, ",
        tests=(
            "libs/common/tests/unit/loops/test_loop.py::test_faults_of_any_kind_are_retried_ever_later_up_to_the_period",
        ),
    ),
    Mutation(
        "pauses-without-a-limit",
        "Repeated work",
        "Pauses between attempts double without a limit: after a night of faults, work waits for a day.",
        f"{COMMON}/pacing/backoff.py",
        before="self._next_s = min(pause_s * 2, self._longest_s)",
        after="self._next_s = pause_s * 2",
        tests=("libs/common/tests/unit/pacing/test_backoff.py::test_pauses_double_up_to_the_longest_and_begin_again",),
    ),
    Mutation(
        "watch-silent-about-itself",
        "Repeated work",
        "A poll of tables fails, and results from hours ago are reported as current.",
        f"{COMMON}/runner/watch.py",
        before="return {**self._found, **self.loop.blocked()}",
        after="return self._found",
        tests=(
            "libs/common/tests/unit/runner/test_watch.py"
            "::test_a_look_that_fails_for_long_is_named_beside_what_was_found_before",
        ),
    ),
    Mutation(
        "role-together-names-nothing",
        "Repeated work",
        "A role with several loops does not report what blocks one of them.",
        f"{COMMON}/runner/role.py",
        before="return {item: why for part in parts for item, why in part.blocked().items()}",
        after="return {}",
        tests=("tests/contract/test_blocked_roles.py::test_every_role_names_what_blocks_it",),
    ),
    Mutation(
        "relay-silence-not-named",
        "Outbox and relay",
        "Kafka does not acknowledge the messages of a relay, and the service reports that nothing is blocked.",
        f"{COMMON}/faults/lasting.py",
        before="self._awaited = (what, self._clock.monotonic_s())",
        after="self._awaited = None",
        tests=(
            f"{COMMON_TESTS}/outbox/test_blocked_relay.py::test_a_relay_whose_messages_nobody_acknowledges_is_named",
        ),
    ),
    Mutation(
        "topic-grown-under-a-group-that-is-behind",
        "Growing topics",
        "A topic grows although a group has not read all of it, so moved keys are read out of order.",
        f"{COMMON}/kafka/topics/growth.py",
        before="        await self._check_read(topic.name, state, groups, before)\n",
        after="",
        tests=(f"{_GROWTH_TESTS}::test_who_is_behind_is_named_with_how_much",),
    ),
    Mutation(
        "topic-grown-under-a-producer",
        "Growing topics",
        "A topic grows although a producer sends to it.",
        f"{COMMON}/kafka/topics/growth.py",
        before="        await self._check_unmoved(before, ",
        after="        await self._check_unmoved({}, ",
        tests=(f"{_GROWTH_TESTS}::test_a_producer_that_was_not_stopped_is_noticed[before]",),
    ),
    Mutation(
        "misplaced-record-handled",
        "Growing topics",
        "A record from a producer with the old number of partitions takes effect out of order.",
        f"{COMMON}/kafka/consuming/effects.py",
        before="        if self._refuses_misplaced:\n",
        after="        if not states:\n",
        tests=(f"{_GROWTH_TESTS}::test_a_producer_that_still_counts_the_old_partitions_is_refused[True]",),
    ),
    Mutation(
        "group-behind-goes-on-in-new-partitions",
        "Growing topics",
        "A group that lags behind a manual growth of its topic reads old and new partitions at the same time.",
        f"{COMMON}/kafka/consuming/takeover.py",
        before="        await self._check_grown(fresh, known, states)\n",
        after="",
        tests=(f"{_GROWTH_TESTS}::test_a_group_that_was_behind_when_its_topic_was_grown_by_hand_does_not_go_on",),
    ),
    Mutation(
        "messages-cut-by-count-alone",
        "Outbox",
        "A hundred long texts become one message, which Kafka refuses: the partition of their seller is blocked.",
        f"{COMMON}/splitting.py",
        before="if part and (len(part) == most_items or size_bytes + item_bytes > most_bytes):",
        after="if part and len(part) == most_items:",
        tests=(f"{OFFERS_TESTS}/texts/test_texts.py::test_many_long_texts_fit_into_messages",),
    ),
)
