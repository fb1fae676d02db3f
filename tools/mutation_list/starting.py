"""The start of a process."""

from __future__ import annotations

from typing import Final

from tools.mutation_list.mutation import Mutation
from tools.mutation_list.paths import API, API_TESTS, COMMON, COMMON_TESTS, PICTURES_TESTS

_TESTS: Final = f"{COMMON_TESTS}/runner/test_schema_check.py"

_PRIVATE_TESTS: Final = "libs/devkit/tests/integration/embedded/test_private_folders.py"

_KEYS: Final = "cli/tests/unit/platform/planning/test_key_files.py"

MUTATIONS: Final = (
    Mutation(
        "damaged-key-file-as-a-traceback",
        "Start of a process",
        "A damaged file in the keys folder ends `classifeed up` without its name and a fix.",
        "cli/src/classifeed_cli/platform/planning/credentials.py",
        before="    check_keys(folder, callers)\n",
        after="",
        tests=(f"{_KEYS}::test_a_damaged_file_is_named_with_what_to_do",),
    ),
    Mutation(
        "lost-password-of-a-database-made-again",
        "Start of a process",
        "A new password is generated for a database that needs the lost one.",
        "cli/src/classifeed_cli/platform/planning/credentials.py",
        before='if known is None and layout.part("postgres").exists():',
        after="if False:",
        tests=(f"{_KEYS}::test_a_lost_file_is_made_again_or_named",),
    ),
    Mutation(
        "lost-key-of-credentials-without-a-word",
        "Start of a process",
        "Feeds whose credentials cannot be decrypted are not reported.",
        f"{API}/app/feeds/check_credentials.py",
        before="if not found:",
        after="if True:",
        tests=(f"{API_TESTS}/feeds/test_lost_credentials.py::test_feeds_whose_credentials_no_key_decrypts_are_named",),
    ),
    Mutation(
        "initdb-without-the-right-to-pass",
        "Start of a process",
        "If root starts the suite in a folder of mode 0700, PostgreSQL's user cannot reach its programs.",
        "libs/devkit/src/classifeed_devkit/embedded/child.py",
        before="libc.prctl(_PR_SET_SECUREBITS, _SECBIT_NO_SETUID_FIXUP, 0, 0, 0)",
        after="libc.prctl(8, 1, 0, 0, 0)",
        tests=(f"{_PRIVATE_TESTS}::test_programs_and_data_below_a_private_folder_serve[all-of-root]",),
    ),
    Mutation(
        "one-capability-alone",
        "Start of a process",
        "Root in a container without CAP_DAC_READ_SEARCH cannot start the suite in its home.",
        "libs/devkit/src/classifeed_devkit/embedded/child.py",
        before="in (_CAP_DAC_READ_SEARCH, _CAP_DAC_OVERRIDE):",
        after="in (_CAP_DAC_READ_SEARCH,):",
        tests=(f"{_PRIVATE_TESTS}::test_programs_and_data_below_a_private_folder_serve[as-in-a-container]",),
    ),
    Mutation(
        "closed-folder-not-named",
        "Start of a process",
        "Root without capabilities gets the message of initdb instead of the folder to open.",
        "libs/devkit/src/classifeed_devkit/embedded/postgres.py",
        before="            self._check_user(user)\n",
        after="",
        tests=(
            f"{_PRIVATE_TESTS}::test_a_root_without_capabilities_learns_which_folder_to_open",
            f"{_PRIVATE_TESTS}::test_a_user_without_a_name_is_refused",
        ),
    ),
    Mutation(
        "cache-in-a-read-only-home",
        "Start of a process",
        "A user whose home is read-only cannot start the suite.",
        "libs/devkit/src/classifeed_devkit/embedded/kafka_jars.py",
        before="return folder if os.access(existing, os.W_OK) else _own_cache_dir()",
        after="return folder",
        tests=(
            "libs/devkit/tests/unit/embedded/test_cache_dir.py"
            "::test_it_is_in_the_python_environment_when_the_home_is_read_only",
        ),
    ),
    Mutation(
        "listeners-that-never-sleep",
        "Idle services",
        "Listeners for notifications wake up ten times a second without a reason.",
        f"{COMMON}/db/connection.py",
        before="_POLL_S: Final = 60.0",
        after="_POLL_S: Final = 0.1",
        tests=(f"{COMMON_TESTS}/db/test_db.py::test_a_listener_that_hears_nothing_wakes_for_its_own_limit_alone",),
    ),
    Mutation(
        "classes-of-kafka-made-by-each-process",
        "Start of a process",
        "Several processes that start Kafka on a machine for the first time each prepare its classes.",
        "libs/devkit/src/classifeed_devkit/embedded/kafka_classes.py",
        before="                if not self.path.exists():",
        after="                if True:",
        tests=(
            "libs/devkit/tests/unit/embedded/test_kafka_classes.py::test_of_several_that_start_at_once_one_makes_them",
        ),
    ),
    Mutation(
        "kafka-without-its-classes",
        "Start of a process",
        "Kafka on this machine takes 2 s to start, each time.",
        "libs/devkit/src/classifeed_devkit/embedded/kafka_classes.py",
        before=" if self.path.exists() else ()",
        after=" if False else ()",
        tests=("libs/devkit/tests/integration/embedded/test_embedded_servers.py::test_kafka_starts_from_its_classes",),
    ),
    Mutation(
        "start-before-the-migrate-step",
        "Start of a process",
        "A process that starts before its migrate step exits at the first missing table, repeatedly.",
        f"{COMMON}/runner/service.py",
        before="        if isinstance(error, FailedPrecondition):",
        after="        if False:",
        tests=(f"{_TESTS}::test_a_process_waits_for_its_migrate_step_and_goes_on_by_itself",),
    ),
    Mutation(
        "start-while-a-server-is-away",
        "Start of a process",
        "Processes that start during a restart of their database or object store exit.",
        f"{COMMON}/runner/service.py",
        before="        if not is_passing(error):",
        after="        if True:",
        tests=(
            f"{_TESTS}::test_a_process_waits_for_a_server_that_is_away_and_goes_on_by_itself",
            f"{_TESTS}::test_a_process_waits_for_a_database_that_is_away",
            f"{PICTURES_TESTS}/integration/processes/test_starts.py::test_processes_wait_for_servers_that_are_away",
        ),
    ),
    Mutation(
        "revisions-compared-as-texts",
        "Start of a process",
        "The tenth migration of a day counts as older than the ninth: a process waits for ever, or not at all.",
        f"{COMMON}/db/revision.py",
        before="    if _order(found) < _order(needed):",
        after="    if found < needed:",
        tests=(
            f"{_TESTS}::test_what_is_missing_is_named_with_the_command",
            f"{_TESTS}::test_a_process_waits_for_its_migrate_step_and_goes_on_by_itself",
        ),
    ),
    Mutation(
        "connections-given-up-at-once",
        "Start of a process",
        "A call that may not be repeated fails if the connection to a busy peer takes more than 0.1 s.",
        f"{COMMON}/rpc/client.py",
        before='("grpc.min_reconnect_backoff_ms", _LONGEST_PAUSE_MS)',
        after='("grpc.min_reconnect_backoff_ms", 100)',
        tests=(f"{COMMON_TESTS}/rpc/test_silent_peer.py::test_a_peer_that_takes_half_a_second_to_connect_is_reached",),
    ),
)
