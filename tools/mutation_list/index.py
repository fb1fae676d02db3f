"""Registry, offsets of the indexer, and the index of the searcher."""

from __future__ import annotations

from typing import Final

from tools.mutation_list.mutation import Mutation
from tools.mutation_list.paths import INDEXER, INDEXER_TESTS, RECEIVER, RECEIVER_TESTS, SEARCHER, SEARCHER_TESTS

MUTATIONS: Final = (
    Mutation(
        "older-document-wins",
        "A late document replaces a newer one.",
        f"{RECEIVER}/store/registry.sql",
        before="(d.epoch, d.version, d.modify_timestamp) < (excluded.epoch, excluded.version,",
        after="(d.epoch, d.modify_timestamp) <= (excluded.epoch,",
        tests=(f"{RECEIVER_TESTS}/integration/pushing/test_push.py::test_fresher_wins_in_every_order",),
    ),
    Mutation(
        "trimmed-past-a-living-group",
        "Trimming removes elements that a group has not read yet.",
        f"{RECEIVER}/store/queues.sql",
        before="JOIN living l USING (client)",
        after='JOIN (SELECT DISTINCT ON (client) * FROM living ORDER BY client, "group" DESC) l USING (client)',
        tests=(
            f"{RECEIVER_TESTS}/integration/reading/test_read_elements.py"
            "::test_trims_what_every_living_group_has_passed",
        ),
    ),
    Mutation(
        "leases-not-held-by-offsets",
        "Another process takes over a shard while its offsets are updated.",
        f"{INDEXER}/store/holding.sql",
        before="\n   FOR KEY SHARE OF l",
        after="",
        tests=(
            f"{INDEXER_TESTS}/integration/test_takeover.py"
            "::test_nobody_takes_a_shard_over_while_its_offsets_are_being_moved",
        ),
    ),
    Mutation(
        "offset-not-compared",
        "An offset that another process has moved is moved from a position that it no longer has.",
        f"{INDEXER}/store/offsets.sql",
        before="   AND o.idx = n.expected AND n.idx > n.expected\n",
        after="   AND n.idx > n.expected\n",
        tests=(f"{INDEXER_TESTS}/integration/test_deliver.py::test_offsets_of_a_lost_lease_stay",),
    ),
    Mutation(
        "sender-without-the-lease-heard",
        "An element of a sender that lost the shard is applied, and the newer one counts as a repetition.",
        f"{SEARCHER}/domain/watermarks.py",
        before="if fence < mark.fence:",
        after="if fence < 0:",
        tests=(
            f"{SEARCHER_TESTS}/unit/domain/test_watermarks.py"
            "::test_sender_that_lost_the_lease_is_refused_even_for_what_nobody_sent_yet",
        ),
    ),
    Mutation(
        "state-before-the-index",
        "The searcher records documents before the index commits, so a crash loses them.",
        f"{SEARCHER}/store/generation.py",
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
        tests=(f"{SEARCHER_TESTS}/integration/test_sink.py::test_crash_before_the_index_is_committed_loses_nothing",),
    ),
    Mutation(
        "index-of-other-words-searched",
        "An index that an earlier release built with other rules for words is searched and misses documents.",
        f"{SEARCHER}/store/state_file.py",
        before='if stored.get("analysis", 1) != ANALYSIS:',
        after="if False:",
        tests=(f"{SEARCHER_TESTS}/unit/store/test_generations.py::test_unusable_index_says_why",),
    ),
    Mutation(
        "digests-in-one-sum",
        "The digests of a shard are summed in a double: above 2 million documents equal indexes seem to differ.",
        f"{SEARCHER}/engine/index.py",
        before='"interval": slice_width',
        after='"interval": slice_width << 16',
        tests=(f"{SEARCHER_TESTS}/unit/engine/test_index.py::test_sums_are_exact_beyond_what_a_double_holds",),
    ),
    Mutation(
        "search-of-any-size",
        "A search with thousands of prefixes takes a thread of the searcher for minutes.",
        f"{SEARCHER}/app/search_index.py",
        before="    _check_size(request)\n",
        after="",
        tests=(
            f"{SEARCHER_TESTS}/unit/app/test_search_index.py"
            "::test_a_search_that_would_take_too_long_is_refused_before_it_begins",
        ),
    ),
    Mutation(
        "index-searched-before-it-has-caught-up",
        "A searcher that was stopped serves an index that lacks the changes since.",
        f"{SEARCHER}/store/catch_up.py",
        before="return self.generation.behind(self._ends)",
        after="return 0",
        tests=(
            f"{SEARCHER_TESTS}/integration/test_catch_up.py"
            "::test_stopped_searcher_is_searched_once_it_has_what_it_missed",
        ),
    ),
)
