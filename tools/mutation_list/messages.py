"""Messages of Kafka: positions, dead letters, order, the outbox and its relay."""

from __future__ import annotations

from typing import Final

from tools.mutation_list.mutation import Mutation
from tools.mutation_list.paths import COMMON, COMMON_TESTS

_TEST_OUTBOX: Final = f"{COMMON_TESTS}/integration/kafka/test_outbox.py"

MUTATIONS: Final = (
    Mutation(
        "position-moved-by-a-zombie",
        "A consumer that lost its partition commits its effect after another consumer moved the position.",
        f"{COMMON}/kafka/table_positions.py",
        before="if cursor.rowcount != len(expected):",
        after="if cursor.rowcount > len(expected):",
        tests=(
            f"{COMMON_TESTS}/integration/kafka/test_ordered_consumer.py::test_two_owners_of_one_partition[True-None]",
        ),
    ),
    Mutation(
        "poison-passed-over-without-a-letter",
        "A record with a permanent fault is skipped without a dead letter.",
        f"{COMMON}/kafka/consuming/effects.py",
        before="            await self._dead_letters.put(self._group, record, reason)\n",
        after="",
        tests=(
            f"{COMMON_TESTS}/integration/kafka/test_ordered_consumer_faults.py"
            "::test_poison_goes_to_the_dead_letters_and_is_answered_in_its_place",
        ),
    ),
    Mutation(
        "panic-over-a-record-ends-the-consumer",
        "A panic of a native library ends the process, which reads the same record again after each start.",
        f"{COMMON}/kafka/consuming/consumer.py",
        before="        except BaseException as error:  # noqa: BLE001 - after any error, skipping",
        after="        except Exception as error:  # noqa: BLE001 - after any error, skipping",
        tests=(
            f"{COMMON_TESTS}/integration/kafka/test_blocked_partitions.py"
            "::test_a_record_that_fails_blocks_its_own_partition[Panic]",
        ),
    ),
    Mutation(
        "misplaced-record-handled",
        "A record from a producer with the old number of partitions takes effect out of order.",
        f"{COMMON}/kafka/consuming/effects.py",
        before="        if self._refuses_misplaced:\n",
        after="        if not states:\n",
        tests=(
            f"{COMMON_TESTS}/integration/kafka/test_topic_growth.py"
            "::test_a_producer_that_still_counts_the_old_partitions_is_refused[True]",
        ),
    ),
    Mutation(
        "outbox-removes-what-it-did-not-send",
        "A message whose transaction commits while later messages are sent is removed with them.",
        f"{COMMON}/outbox/queries.sql",
        before="id = ANY(%(ids)s)",
        after="id <= (SELECT max(i) FROM unnest(%(ids)s) AS i)",
        tests=(f"{_TEST_OUTBOX}::test_a_commit_between_sending_and_removal_is_not_removed_unsent",),
    ),
    Mutation(
        "outbox-out-of-order",
        "Messages are not sent in the order of their ids.",
        f"{COMMON}/outbox/queries.sql",
        before="ORDER BY id\n",
        after="ORDER BY id DESC\n",
        tests=(f"{_TEST_OUTBOX}::test_order_within_and_between_puts",),
    ),
    Mutation(
        "relay-without-its-lease",
        "A relay reads and sends although another relay holds the lease of the shard.",
        f"{COMMON}/outbox/relay.py",
        before="            await self._leases.guard(tx, lease)\n",
        after="",
        tests=(f"{_TEST_OUTBOX}::test_relay_that_lost_its_lease_stops_sending",),
    ),
    Mutation(
        "relay-removes-before-acknowledgement",
        "Messages are removed before Kafka acknowledges them.",
        f"{COMMON}/outbox/relay.py",
        before="            await self._producer.send(messages, limit_s=None)\n",
        after="            asyncio.ensure_future(self._producer.send(messages, limit_s=None))\n",
        tests=(f"{_TEST_OUTBOX}::test_death_between_acknowledgement_and_removal_sends_again",),
    ),
)
