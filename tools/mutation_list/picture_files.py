"""Event files of pictures: limits that are checked before the work."""

from __future__ import annotations

from typing import Final

from tools.mutation_list.mutation import Mutation
from tools.mutation_list.paths import PICTURES, PICTURES_TESTS

_ROWS: Final = f"{PICTURES_TESTS}/unit/clients/test_event_file_rows.py"
_MEMORY: Final = f"{_ROWS}::test_a_small_file_takes_little_memory"

_DAMAGED: Final = f"{PICTURES_TESTS}/integration/states/test_damaged_rows.py"
_PARTS: Final = f"{PICTURES_TESTS}/integration/backups/test_backup_parts.py"

MUTATIONS: Final = (
    Mutation(
        "damaged-state-stops-its-partition",
        "Pictures",
        "One unreadable state blocks all events of its partition.",
        f"{PICTURES}/store/states/damaged_rows.py",
        before="        except DecodeError:\n            found[url_hash] = {}",
        after="        except ZeroDivisionError:\n            found[url_hash] = {}",
        tests=(f"{_DAMAGED}::test_a_damaged_state_is_rebuilt_and_keeps_no_other_event_waiting",),
    ),
    Mutation(
        "pictures-of-damaged-states-are-orphans",
        "Pictures",
        "The pictures of an unreadable state are removed as orphans.",
        f"{PICTURES}/store/states/damaged_rows.py",
        before="                found[bytes(row.url_hash)][row.namespace] = holding\n",
        after="                pass\n",
        tests=(f"{_DAMAGED}::test_pictures_of_a_damaged_state_are_no_orphans",),
    ),
    Mutation(
        "damaged-state-refuses-the-backup",
        "Pictures",
        "One damaged state blocks the restore of a whole backup.",
        f"{PICTURES}/app/backups/restore_backup.py",
        before="    except DecodeError:\n",
        after="    except ZeroDivisionError:\n",
        tests=(f"{_PARTS}::test_what_no_event_brings_again_is_in_the_backup",),
    ),
    Mutation(
        "repeated-values-read-at-once",
        "Pictures",
        "A Parquet file of 1 KB, whose dictionary has one long value, fills the memory.",
        f"{PICTURES}/clients/parquet_event_rows.py",
        before="    return max(1, min(BATCH_ROWS, _READ_BYTES // max(longest, 1)))",
        after="    return BATCH_ROWS if longest else BATCH_ROWS",
        tests=(_MEMORY,),
    ),
    Mutation(
        "pages-decoded-before-they-are-measured",
        "Pictures",
        "A compressed page of a Parquet file expands to hundreds of megabytes.",
        f"{PICTURES}/clients/parquet_event_rows.py",
        before="    if needed > _GROUP_LIMIT_BYTES:",
        after="    if needed > _GROUP_LIMIT_BYTES << 20:",
        tests=(_MEMORY,),
    ),
    Mutation(
        "csv-row-without-a-limit",
        "Pictures",
        "Quotes join all lines of a CSV file into one row, which fills the memory.",
        f"{PICTURES}/clients/event_file_rows.py",
        before="if self._left < 0 or (",
        after="if (",
        tests=(_MEMORY,),
    ),
    Mutation(
        "footer-read-whatever-its-size",
        "Pictures",
        "A footer of a gigabyte is read into memory.",
        f"{PICTURES}/clients/parquet_event_rows.py",
        before="            check_footer(raw)\n",
        after="",
        tests=(f"{_ROWS}::test_a_footer_that_is_too_large_is_not_read",),
    ),
    Mutation(
        "event-file-with-any-number-of-rows",
        "Pictures",
        "A small Parquet file declares billions of equal rows, and its job runs for days.",
        f"{PICTURES}/clients/parquet_event_rows.py",
        before="    if rows > ROWS_LIMIT:",
        after="    if rows < 0:",
        tests=(f"{_ROWS}::test_a_file_with_too_many_rows_is_refused_before_its_first_row",),
    ),
)
