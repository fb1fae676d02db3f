"""Registry and index."""

from __future__ import annotations

from typing import Final

from tools.mutation_list.mutation import Mutation

_RECEIVER: Final = "services/receiver/src/classifeed_receiver"
_RECEIVER_TESTS: Final = "services/receiver/tests/integration"
_INDEXER: Final = "services/indexer/src/classifeed_indexer"
_INDEXER_TESTS: Final = "services/indexer/tests/integration"
_SEARCHER: Final = "services/searcher/src/classifeed_searcher"
_SEARCHER_TESTS: Final = "services/searcher/tests"
_FAILED_REBUILD: Final = (
    f"{_SEARCHER_TESTS}/integration/test_rebuild.py::test_rebuild_that_fails_begins_anew_and_leaves_nothing"
)
_CONDITIONS: Final = f"{_SEARCHER_TESTS}/unit/app/test_search_index.py"
_DAMAGED: Final = f"{_RECEIVER_TESTS}/reading/test_damaged_rows.py"
_SEARCHES: Final = f"{_SEARCHER_TESTS}/integration/test_search_service.py"

MUTATIONS: Final = (
    Mutation(
        "older-document-wins",
        "Registry and index",
        "A late document replaces a newer one.",
        f"{_RECEIVER}/store/registry.sql",
        before="(d.epoch, d.version, d.modify_timestamp) < (excluded.epoch, excluded.version,",
        after="(d.epoch, d.modify_timestamp) <= (excluded.epoch,",
        tests=(f"{_RECEIVER_TESTS}/pushing/test_push.py::test_fresher_wins_in_every_order",),
    ),
    Mutation(
        "damaged-rows-unchecked",
        "Registry and index",
        "A row that was damaged on the disk reaches the indexes.",
        f"{_RECEIVER}/store/kept_documents.py",
        before="    if has_own and checksum !=",
        after="    if False and checksum !=",
        tests=(f"{_DAMAGED}::test_a_damaged_row_is_left_out_of_scans_and_marked[a byte at the end-checksum-plain]",),
    ),
    Mutation(
        "damaged-rows-of-earlier-releases",
        "Registry and index",
        "A damaged row that an earlier release wrote without a checksum stops each rebuild.",
        f"{_RECEIVER}/store/kept_documents.py",
        before="    if not has_own:\n",
        after="    if False:\n",
        tests=(f"{_DAMAGED}::test_a_damaged_row_is_left_out_of_scans_and_marked[cut off-earlier release-plain]",),
    ),
    Mutation(
        "rows-of-the-previous-release-damaged",
        "Registry and index",
        "During a rolling upgrade rows that the previous release overwrites count as damaged.",
        f"{_RECEIVER}/store/kept_documents.py",
        before="checksum is not None and checksum >> 32 == _owner_of(pk, document.freshness)",
        after="checksum is not None",
        tests=(f"{_DAMAGED}::test_a_row_that_an_earlier_release_has_overwritten_is_not_damaged",),
    ),
    Mutation(
        "damaged-rows-not-replaced",
        "Registry and index",
        "A push with the version of a damaged row is always refused.",
        f"{_RECEIVER}/store/registry.sql",
        before="        OR (d.status = 3 AND",
        after="        OR (d.status = 4 AND",
        tests=(f"{_DAMAGED}::test_a_push_replaces_a_damaged_row_and_reaches_the_indexes[5]",),
    ),
    Mutation(
        "marks-without-comparison",
        "Registry and index",
        "A row that was replaced during the handling of its damage is marked as damaged.",
        f"{_RECEIVER}/store/kept_documents.sql",
        before="   AND checksum IS NOT DISTINCT FROM %(checksum)s::bigint AND document = %(document)b",
        after="   AND (true OR %(checksum)s::bigint IS NULL OR document = %(document)b)",
        tests=(f"{_DAMAGED}::test_a_row_that_was_pushed_meanwhile_is_not_marked",),
    ),
    Mutation(
        "tombstones-need-their-content",
        "Registry and index",
        "A deletion whose row is damaged is never delivered, and the document stays in the search.",
        f"{_RECEIVER}/app/reading/read_elements.py",
        before="    if kept.status == Status.TOMBSTONE:\n        removed",
        after="    read_content(pk, kept)\n    if kept.status == Status.TOMBSTONE:\n        removed",
        tests=(f"{_DAMAGED}::test_a_damaged_tombstone_is_delivered_from_its_columns",),
    ),
    Mutation(
        "refills-with-damaged-rows",
        "Registry and index",
        "A backfill puts damaged rows into the queue.",
        f"{_RECEIVER}/store/queues.sql",
        before=" AND status <> 3\n",
        after="\n",
        tests=(f"{_DAMAGED}::test_a_refill_leaves_damaged_rows_out",),
    ),
    Mutation(
        "damaged-rows-not-named",
        "Registry and index",
        "Damaged rows are left out, and the receiver reports that nothing is blocked.",
        f"{_RECEIVER}/store/registry.sql",
        before="FROM documents WHERE status = 3 ORDER BY client",
        after="FROM documents WHERE status = 4 ORDER BY client",
        tests=(f"{_DAMAGED}::test_damaged_rows_are_counted_and_named_with_the_fix",),
    ),
    Mutation(
        "one-document-ends-a-rebuild",
        "Searcher",
        "A document that cannot be decoded stops each rebuild.",
        f"{_SEARCHER}/clients/receiver.py",
        before="            with suppress(DecodeError):\n",
        after="            with suppress(ZeroDivisionError):\n",
        tests=(
            f"{_SEARCHER_TESTS}/integration/test_rebuild.py"
            "::test_documents_that_cannot_be_decoded_are_left_out_counted_and_named",
        ),
    ),
    Mutation(
        "unknown-fault-ends-the-searcher",
        "Searcher",
        "An unexpected fault of a rebuild ends the process, which serves the indexes of all clients.",
        f"{_SEARCHER}/consumers/index_keeper.py",
        before="        except BaseException as error:",
        after="        except ZeroDivisionError as error:",
        tests=(
            f"{_FAILED_REBUILD}[a fault of the code]",
            f"{_FAILED_REBUILD}[its writer ends]",
            f"{_FAILED_REBUILD}[the engine refuses its files]",
        ),
    ),
    Mutation(
        "epochs-not-locked",
        "Registry and index",
        "Two concurrent updates of a client's schema are both compared with the schema before.",
        f"{_RECEIVER}/store/schemas.sql",
        before="SELECT pg_advisory_xact_lock(hashtextextended('schemas/' || %(client)s, 0))",
        after="SELECT hashtextextended('schemas/' || %(client)s, 0)",
        tests=(f"{_RECEIVER_TESTS}/pushing/test_epoch_lock.py::test_a_schema_waits_for_the_one_before_of_its_client",),
    ),
    Mutation(
        "cursor-runs-back",
        "Registry and index",
        "A late report moves the cursor of its group back.",
        f"{_RECEIVER}/store/queues.sql",
        before="SET idx = greatest(p.idx, excluded.idx)",
        after="SET idx = excluded.idx",
        tests=(f"{_RECEIVER_TESTS}/reading/test_read_elements.py::test_trims_what_every_living_group_has_passed",),
    ),
    Mutation(
        "trimmed-past-a-living-group",
        "Registry and index",
        "Trimming removes elements that a group has not read yet.",
        f"{_RECEIVER}/store/queues.sql",
        before="JOIN living l USING (client)",
        after='JOIN (SELECT DISTINCT ON (client) * FROM living ORDER BY client, "group" DESC) l USING (client)',
        tests=(f"{_RECEIVER_TESTS}/reading/test_read_elements.py::test_trims_what_every_living_group_has_passed",),
    ),
    Mutation(
        "leases-not-held-by-offsets",
        "Registry and index",
        "Another process takes over a shard while its offsets are updated.",
        f"{_INDEXER}/store/holding.sql",
        before="\n   FOR KEY SHARE OF l",
        after="",
        tests=(f"{_INDEXER_TESTS}/test_takeover.py::test_nobody_takes_a_shard_over_while_its_offsets_are_being_moved",),
    ),
    Mutation(
        "offset-not-compared",
        "Registry and index",
        "An offset that another process has moved is moved from a position that it no longer has.",
        f"{_INDEXER}/store/offsets.sql",
        before="   AND o.idx = n.expected AND n.idx > n.expected\n",
        after="   AND n.idx > n.expected\n",
        tests=(f"{_INDEXER_TESTS}/test_deliver.py::test_offsets_of_a_lost_lease_stay",),
    ),
    Mutation(
        "digests-in-one-sum",
        "Registry and index",
        "The digests of a shard are summed in a double: above 2 million documents equal indexes seem to differ.",
        f"{_SEARCHER}/engine/index.py",
        before='"interval": slice_width',
        after='"interval": slice_width << 16',
        tests=(f"{_SEARCHER_TESTS}/unit/engine/test_index.py::test_sums_are_exact_beyond_what_a_double_holds",),
    ),
    Mutation(
        "whole-registry-in-a-call",
        "Registry and index",
        "The registry sums all its documents in one call, which times out for a large registry.",
        f"{_SEARCHER}/app/verify_index.py",
        before="at_once = max(1, SHARDS * self._documents_at_once // max(1, generation.index.documents))",
        after="at_once = SHARDS",
        tests=(
            f"{_SEARCHER_TESTS}/integration/test_verify.py::test_registry_adds_up_only_so_many_documents_in_a_call",
        ),
    ),
    Mutation(
        "state-before-the-index",
        "Registry and index",
        "The searcher records documents before the index commits, so a crash loses them.",
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
        "half-an-effect-committed",
        "Registry and index",
        "The successor of a killed index writer commits half of an effect.",
        f"{_SEARCHER}/engine/writing/process.py",
        before="if self._failure or self._is_closed:",
        after="if self._is_closed:",
        tests=(f"{_SEARCHER_TESTS}/unit/engine/test_writer_process.py::test_half_of_an_effect_is_never_committed",),
    ),
    Mutation(
        "writer-outlives-its-searcher",
        "Registry and index",
        "The index writer survives its killed searcher, and blocks the next index writer.",
        f"{_SEARCHER}/engine/writing/worker.py",
        before="            os._exit(0)",
        after="            return",
        tests=(
            f"{_SEARCHER_TESTS}/unit/engine/test_writer_process.py"
            "::test_process_ends_with_its_searcher_and_the_next_one_writes",
        ),
    ),
    Mutation(
        "abandoned-builds-kept",
        "Registry and index",
        "Incomplete indexes stay on the disk until it is full.",
        f"{_SEARCHER}/consumers/index_keeper.py",
        before="            await asyncio.to_thread(self._generations.remove_abandoned)\n",
        after="",
        tests=(f"{_FAILED_REBUILD}[another epoch is active]",),
    ),
    Mutation(
        "new-index-blocked-in-silence",
        "Registry and index",
        "A partition that blocks the completion of a new index is not reported.",
        f"{_SEARCHER}/consumers/index_keeper.py",
        before="for following in (self._following, self._coming):",
        after="for following in (self._following,):",
        tests=(
            f"{_SEARCHER_TESTS}/integration/test_rebuild.py"
            "::test_partition_that_fails_before_the_new_index_is_searched_is_named",
        ),
    ),
    Mutation(
        "document-stops-its-partition",
        "Registry and index",
        "A document with an unexpected value ends the index writer repeatedly.",
        f"{_SEARCHER}/engine/writing/writer.py",
        before="except Exception as error:",
        after="except WrongValue as error:",
        tests=(
            f"{_SEARCHER_TESTS}/unit/engine/test_writer_process.py"
            "::test_documents_that_do_not_fit_are_named_by_their_place",
        ),
    ),
    Mutation(
        "closed-index-kept",
        "Registry and index",
        "The disk space of a replaced index is released only at a restart.",
        f"{_SEARCHER}/engine/index.py",
        before="build_analyzers(), _frequency_in(self._index))",
        after="build_analyzers(), lambda field, word: self._index.searcher().doc_freq(field, word))",
        tests=(
            f"{_SEARCHER_TESTS}/unit/store/test_generations.py"
            "::test_closed_index_lets_its_files_go_without_the_collector",
        ),
    ),
    Mutation(
        "searches-for-nobody",
        "Registry and index",
        "Searches of callers that have gone run before the searches of waiting callers.",
        f"{_SEARCHER}/app/search_documents.py",
        before="return await search\n",
        after="return await asyncio.shield(search)\n",
        tests=(f"{_SEARCHES}::test_long_searches_hold_up_no_other_work_and_those_without_a_caller_never_begin",),
    ),
    Mutation(
        "search-of-any-size",
        "Registry and index",
        "A search with thousands of prefixes takes a thread of the searcher for minutes.",
        f"{_SEARCHER}/app/search_index.py",
        before="    _check_size(request)\n",
        after="",
        tests=(
            f"{_SEARCHER_TESTS}/unit/app/test_search_index.py"
            "::test_a_search_that_would_take_too_long_is_refused_before_it_begins",
        ),
    ),
    Mutation(
        "page-of-any-size",
        "Registry and index",
        "A page of large documents takes all memory of the searcher.",
        f"{_SEARCHER}/app/search_index.py",
        before="if left_bytes < 0 and len(hits) > 1:",
        after="if False:",
        tests=(
            f"{_SEARCHER_TESTS}/unit/app/test_search_index.py"
            "::test_a_page_ends_before_it_is_too_large_and_the_next_one_continues",
        ),
    ),
    Mutation(
        "fields-sent-for-a-body",
        "Registry and index",
        "A hit that an earlier release stored with fields reaches the caller without a body.",
        f"{_SEARCHER}/engine/stored_hits.py",
        before="if not is_body or _Outline.FromString(stored).fields:",
        after="if not is_body:",
        tests=(f"{_SEARCHER_TESTS}/unit/engine/test_stored_hits.py::test_encoded_hit_is_the_one_that_is_shown",),
    ),
    Mutation(
        "sender-without-the-lease-heard",
        "Registry and index",
        "An element of a sender that lost the shard is applied, and the newer one counts as a repetition.",
        f"{_SEARCHER}/domain/watermarks.py",
        before="if fence < mark.fence:",
        after="if fence < 0:",
        tests=(
            f"{_SEARCHER_TESTS}/unit/domain/test_watermarks.py"
            "::test_sender_that_lost_the_lease_is_refused_even_for_what_nobody_sent_yet",
        ),
    ),
    Mutation(
        "index-of-other-words-searched",
        "Registry and index",
        "An index that an earlier release built with other rules for words is searched and misses documents.",
        f"{_SEARCHER}/store/state_file.py",
        before='if stored.get("analysis", 1) != ANALYSIS:',
        after="if False:",
        tests=(f"{_SEARCHER_TESTS}/unit/store/test_generations.py::test_unusable_index_says_why",),
    ),
    Mutation(
        "documents-of-another-client",
        "Registry and index",
        "A service can write and delete the documents of another client.",
        f"{_RECEIVER}/rpc/receiver_service.py",
        before="PushBatchRequest) -> pb.PushBatchResponse:\n        require_own(request.client)\n",
        after="PushBatchRequest) -> pb.PushBatchResponse:\n",
        tests=(
            f"{_RECEIVER_TESTS}/rpc/test_own_clients.py::test_a_writer_is_refused_the_clients_of_others_by_every_method",
        ),
    ),
    Mutation(
        "documents-of-another-client-listed",
        "Registry and index",
        "A service lists the documents of another client and withdraws them as lost.",
        f"{_RECEIVER}/rpc/receiver_service.py",
        before="        require_own(request.client)\n        limit = request.page_size",
        after="        limit = request.page_size",
        tests=(
            f"{_RECEIVER_TESTS}/rpc/test_own_clients.py::test_a_writer_is_refused_the_clients_of_others_by_every_method",
        ),
    ),
    Mutation(
        "removed-documents-not-listed",
        "Registry and index",
        "A client with a restored table does not learn that the registry has removed its document.",
        f"{_RECEIVER}/store/scanning.sql",
        before=" WHERE client = %(client)s AND (hash, pk) > (%(after_hash)s, %(after_pk)s)\n",
        after=" WHERE client = %(client)s AND status = 1 AND (hash, pk) > (%(after_hash)s, %(after_pk)s)\n",
        tests=(
            f"{_RECEIVER_TESTS}/reading/test_list_documents.py::test_every_document_is_listed_once_with_its_triple",
        ),
    ),
    Mutation(
        "values-that-a-field-cannot-hold",
        "Searcher",
        "A query for a number beyond 64 bits or an unsupported date ends as INTERNAL.",
        f"{_SEARCHER}/engine/translation.py",
        before='OverflowError) as error:\n            raise WrongValue(f"{name} cannot',
        after='OverflowError) as error:\n            raise RuntimeError(f"{name} cannot',
        tests=(f"{_CONDITIONS}::test_a_query_that_does_not_fit_its_field_is_refused_with_its_position[int]",),
    ),
    Mutation(
        "values-of-points-reach-the-engine",
        "Searcher",
        "The refusal of a query for a value of a point has no explanation.",
        f"{_SEARCHER}/engine/translation.py",
        before="if name in self.fields and self.fields[name].type == schema_pb2.FIELD_TYPE_GEO_POINT:",
        after="if False:",
        tests=(f"{_CONDITIONS}::test_a_point_is_not_searched_by_values[geo_point:*]",),
    ),
    Mutation(
        "sorts-by-texts-and-points",
        "Searcher",
        "A sort by a point or a text that the schema declares sortable ends as INTERNAL.",
        f"{_SEARCHER}/app/search_index.py",
        before=" and each.type not in _UNSORTABLE",
        after="",
        tests=(f"{_CONDITIONS}::test_a_sort_that_does_not_fit_its_field_is_refused[False-geo_point]",),
    ),
)
