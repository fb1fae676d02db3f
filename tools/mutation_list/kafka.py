"""Ordered consumer, Outbox and relay."""

from __future__ import annotations

from typing import Final

from tools.mutation_list.mutation import Mutation
from tools.mutation_list.paths import COMMON, COMMON_TESTS, OFFERS_TESTS

_OUTBOX_TESTS: Final = f"{COMMON_TESTS}/kafka/test_outbox.py"
_GROWTH_TESTS: Final = f"{COMMON_TESTS}/kafka/test_topic_growth.py"

MUTATIONS: Final = (
    Mutation(
        "position-moved-by-a-zombie",
        "Ordered consumer",
        "A consumer that lost its partition commits its effect although another one has moved the position.",
        f"{COMMON}/kafka/table_positions.py",
        before="if cursor.rowcount != len(expected):",
        after="if cursor.rowcount > len(expected):",
        tests=(f"{COMMON_TESTS}/kafka/test_ordered_consumer.py::test_two_owners_of_one_partition[True-None]",),
    ),
    Mutation(
        "connection-left-behind",
        "Ordered consumer",
        "A consumer that has ended stays connected to the brokers until it is collected.",
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
        "A record with a lasting fault is passed over, and no dead letter says so.",
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
        "The sender of a record that went to the dead letters never hears of it.",
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
        "A message whose transaction commits while later ones are being sent is removed with them.",
        f"{COMMON}/outbox/queries.sql",
        before="id = ANY(%(ids)s)",
        after="id <= (SELECT max(i) FROM unnest(%(ids)s) AS i)",
        tests=(f"{_OUTBOX_TESTS}::test_a_commit_between_sending_and_removal_is_not_removed_unsent",),
    ),
    Mutation(
        "outbox-out-of-order",
        "Outbox and relay",
        "Messages are sent in another order than their ids have.",
        f"{COMMON}/outbox/queries.sql",
        before="ORDER BY id\n",
        after="ORDER BY id DESC\n",
        tests=(f"{_OUTBOX_TESTS}::test_order_within_and_between_puts",),
    ),
    Mutation(
        "relay-without-its-lease",
        "Outbox and relay",
        "A relay reads and sends although another one holds the lease of the shard.",
        f"{COMMON}/outbox/relay.py",
        before="            await self._leases.guard(tx, lease)\n",
        after="",
        tests=(f"{_OUTBOX_TESTS}::test_relay_that_lost_its_lease_stops_sending",),
    ),
    Mutation(
        "relay-removes-before-acknowledgement",
        "Outbox and relay",
        "Messages are removed before Kafka has acknowledged them.",
        f"{COMMON}/outbox/relay.py",
        before="            await self._producer.send(messages, limit_s=None)\n",
        after="            asyncio.ensure_future(self._producer.send(messages, limit_s=None))\n",
        tests=(f"{_OUTBOX_TESTS}::test_death_between_acknowledgement_and_removal_sends_again",),
    ),
    Mutation(
        "relay-sends-one-by-one",
        "Outbox and relay",
        "A relay sends what comes meanwhile message by message, each in a transaction of its own.",
        f"{COMMON}/outbox/relay.py",
        before="                    if sent < self._max_messages:\n",
        after="                    if not sent:\n",
        tests=(f"{_OUTBOX_TESTS}::test_messages_gather_after_a_few_were_sent",),
    ),
    Mutation(
        "panic-over-a-record-ends-the-consumer",
        "Ordered consumer",
        "A panic of a native library over one record ends the process, which reads the record again, and so on.",
        f"{COMMON}/kafka/consuming/consumer.py",
        before="        except BaseException as error:  # noqa: BLE001 - whatever it is, skipping",
        after="        except Exception as error:  # noqa: BLE001 - whatever it is, skipping",
        tests=(
            f"{COMMON_TESTS}/kafka/test_blocked_partitions.py"
            "::test_a_record_that_fails_blocks_its_own_partition[Panic]",
        ),
    ),
    Mutation(
        "repeated-work-not-named",
        "Repeated work",
        "Work at intervals fails for hours, and the service reports that nothing is blocked.",
        f"{COMMON}/pacing/repeating.py",
        before="                self._fault.note(error)\n",
        after="",
        tests=("libs/common/tests/unit/pacing/test_repeating.py::test_one_that_lasts_is_named_until_it_is_over",),
    ),
    Mutation(
        "repeated-work-named-for-ever",
        "Repeated work",
        "Work that has failed once is named as blocked although it has succeeded since.",
        f"{COMMON}/pacing/repeating.py",
        before="                self._fault.clear()\n",
        after="                pass\n",
        tests=("libs/common/tests/unit/pacing/test_repeating.py::test_one_that_lasts_is_named_until_it_is_over",),
    ),
    Mutation(
        "repeated-work-late-after-a-short-fault",
        "Repeated work",
        "Work every ten minutes that met a database of which one call failed is done ten minutes later.",
        f"{COMMON}/pacing/repeating.py",
        before="pause_s = min(self._period_s, _FIRST_PAUSE_S * 2 ** min(self._fault.attempts, _DOUBLINGS))",
        after="pause_s = self._period_s",
        tests=(
            "libs/common/tests/unit/pacing/test_repeating.py::test_faults_of_any_kind_are_retried_ever_later_up_to_the_period",
        ),
    ),
    Mutation(
        "repeated-work-that-overflows",
        "Repeated work",
        "A fault of a day makes the pause after it a number that no float holds, and the role ends.",
        f"{COMMON}/pacing/repeating.py",
        before="2 ** min(self._fault.attempts, _DOUBLINGS)",
        after="2**self._fault.attempts",
        tests=("libs/common/tests/unit/pacing/test_repeating.py::test_a_fault_of_months_is_retried_too",),
    ),
    Mutation(
        "watch-silent-about-itself",
        "Repeated work",
        "A look at tables fails, and what it found hours ago is shown as of now.",
        f"{COMMON}/runner/watch.py",
        before="return {**self._found, **self._work.blocked()}",
        after="return self._found",
        tests=(
            "libs/common/tests/unit/runner/test_watch.py"
            "::test_a_look_that_fails_for_long_is_named_beside_what_was_found_before",
        ),
    ),
    Mutation(
        "role-together-names-nothing",
        "Repeated work",
        "What blocks one of several loops of a role is not named.",
        f"{COMMON}/runner/role.py",
        before="return {item: why for part in parts for item, why in part.blocked().items()}",
        after="return {}",
        tests=("tests/contract/test_blocked_roles.py::test_every_role_names_what_blocks_it",),
    ),
    Mutation(
        "relay-fault-in-the-log-only",
        "Outbox and relay",
        "Kafka refuses what a relay sends, and the service reports that nothing is blocked.",
        f"{COMMON}/outbox/relay.py",
        before="                self._fault.note(error)\n",
        after="",
        tests=(
            f"{COMMON_TESTS}/outbox/test_blocked_relay.py::test_a_relay_names_topics_and_fault_until_it_sends_again",
        ),
    ),
    Mutation(
        "relay-silence-not-named",
        "Outbox and relay",
        "Kafka acknowledges nothing that a relay sends, and the service reports that nothing is blocked.",
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
        "A topic gets partitions although a group has not read all of it: keys that move are read out of order.",
        f"{COMMON}/kafka/topics/growth.py",
        before="        await self._check_read(topic.name, state, groups, before)\n",
        after="",
        tests=(f"{_GROWTH_TESTS}::test_who_is_behind_is_named_with_how_much",),
    ),
    Mutation(
        "topic-grown-under-a-producer",
        "Growing topics",
        "A topic gets partitions although somebody sends to it.",
        f"{COMMON}/kafka/topics/growth.py",
        before="        await self._check_unmoved(before, ",
        after="        await self._check_unmoved({}, ",
        tests=(f"{_GROWTH_TESTS}::test_a_producer_that_was_not_stopped_is_noticed[before]",),
    ),
    Mutation(
        "misplaced-record-handled",
        "Growing topics",
        "A record of a producer that still counts the old partitions takes effect, whatever came before it elsewhere.",
        f"{COMMON}/kafka/consuming/effects.py",
        before="        if self._refuses_misplaced:\n",
        after="        if not states:\n",
        tests=(f"{_GROWTH_TESTS}::test_a_producer_that_still_counts_the_old_partitions_is_refused[True]",),
    ),
    Mutation(
        "group-behind-goes-on-in-new-partitions",
        "Growing topics",
        "A group that was behind when its topic was grown by hand reads old and new partitions side by side.",
        f"{COMMON}/kafka/consuming/takeover.py",
        before="        await self._check_grown(fresh, known, states)\n",
        after="",
        tests=(f"{_GROWTH_TESTS}::test_a_group_that_was_behind_when_its_topic_was_grown_by_hand_does_not_go_on",),
    ),
    Mutation(
        "messages-cut-by-count-alone",
        "Outbox",
        "A hundred long texts are one message, which Kafka refuses: the partition of their seller stands still.",
        f"{COMMON}/splitting.py",
        before="if part and (len(part) == most_items or size_bytes + item_bytes > most_bytes):",
        after="if part and len(part) == most_items:",
        tests=(f"{OFFERS_TESTS}/texts/test_texts.py::test_many_long_texts_fit_into_messages",),
    ),
)
