"""The supervisor of an installation, and the child processes of services."""

from __future__ import annotations

from typing import Final

from tools.mutation_list.mutation import Mutation

_SUPERVISION: Final = "cli/src/classifeed_cli/platform/supervision"
_TESTS: Final = "cli/tests/unit/platform/supervision/test_exhaustion.py"
_SEARCHER: Final = "services/searcher/src/classifeed_searcher"
_WRITERS: Final = "services/searcher/tests/integration/test_child_processes.py"
_CHILDREN: Final = "libs/common/src/classifeed_common/child_processes.py"
_CHILDREN_TESTS: Final = "libs/common/tests/unit/test_child_processes.py"

MUTATIONS: Final = (
    Mutation(
        "spool-shared-between-users",
        "Supervision",
        "Temporary files are in the system's folder: uploads of a second user of the machine fail.",
        "cli/src/classifeed_cli/platform/planning/plan.py",
        before='{"SPOOL_DIR": str(layout.service_data(spec.name) / "spool")}',
        after="{}",
        tests=(
            "cli/tests/unit/platform/test_platform.py"
            "::test_files_of_runs_are_in_the_data_folder_unless_another_is_chosen",
        ),
    ),
    Mutation(
        "consequences-that-hide-the-cause",
        "Supervision",
        "A database is unavailable, and `status` prints pages of blocked work.",
        "cli/src/classifeed_cli/platform/probing/probe.py",
        before="    if problems and blocked:",
        after="    if False:",
        tests=(
            "cli/tests/unit/platform/probing/test_examination.py::test_what_waits_for_something_missing_is_one_problem",
        ),
    ),
    Mutation(
        "supervisor-ends-by-a-full-disk",
        "Supervision",
        "A process that ends while the disk is full is never restarted, and `down` stops nothing gracefully.",
        f"{_SUPERVISION}/supervisor.py",
        before="        except OSError as error:\n            if is_first:",
        after="        except ZeroDivisionError as error:\n            if is_first:",
        tests=(
            f"{_TESTS}::test_a_process_is_started_again_while_the_state_cannot_be_written",
            f"{_TESTS}::test_stop_ends_the_processes_though_the_state_cannot_be_written",
        ),
    ),
    Mutation(
        "a-late-start-blames-the-migrate-step",
        "Supervision",
        "The error of a slow start does not name the step that took the time.",
        f"{_SUPERVISION}/supervisor.py",
        before="        self._step = step\n",
        after="",
        tests=(
            "cli/tests/unit/platform/supervision/test_start_timeout.py"
            "::test_a_start_that_takes_too_long_names_its_step_though_its_log_is_full",
        ),
    ),
    Mutation(
        "a-full-log-ends-the-start",
        "Supervision",
        "If the output of `up` cannot be written, nothing is started.",
        f"{_SUPERVISION}/supervisor.py",
        before="        self._report(step)",
        after="        self._progress(step)",
        tests=(
            "cli/tests/unit/platform/supervision/test_start_timeout.py"
            "::test_a_start_that_takes_too_long_names_its_step_though_its_log_is_full",
        ),
    ),
    Mutation(
        "state-left-unwritten",
        "Supervision",
        "Once the disk has space again, `status` still shows the earlier state.",
        f"{_SUPERVISION}/supervisor.py",
        before="            self._rewriting = asyncio.get_running_loop().call_later(_REWRITE_S, self.write_state)\n",
        after="",
        tests=(f"{_TESTS}::test_a_process_is_started_again_while_the_state_cannot_be_written",),
    ),
    Mutation(
        "restart-loops-told-as-starts",
        "Supervision",
        "A process exits repeatedly, and `status` reports that it is starting.",
        "cli/src/classifeed_cli/platform/probing/examination.py",
        before="    if len(recent) < RESTARTS:",
        after="    if True:",
        tests=(
            "cli/tests/unit/platform/probing/test_examination.py"
            "::test_a_process_that_exits_again_and_again_is_a_problem_and_never_just_starting",
        ),
    ),
    Mutation(
        "last-words-of-the-successor",
        "Supervision",
        "The lines that explain an exit are read after the next process has written to the same log.",
        f"{_SUPERVISION}/supervised.py",
        before="                self.last_words = tail(self.log, _LAST_LINES)\n",
        after="",
        tests=(f"{_TESTS}::test_restarts_are_remembered_with_the_end_of_the_log",),
    ),
    Mutation(
        "stopped-children-unseen",
        "Child processes",
        "An idle child process is stopped, and the service reports that nothing is blocked.",
        _CHILDREN,
        before="            self._look()\n",
        after="",
        tests=(f"{_CHILDREN_TESTS}::test_a_stopped_child_without_any_call_is_named_until_it_continues[True]",),
    ),
    Mutation(
        "index-writer-without-a-watch",
        "Child processes",
        "The index writer does not respond, and the searcher reports that nothing is blocked.",
        f"{_SEARCHER}/engine/writing/process.py",
        before="            with self._child.call():\n",
        after="            with suppress():\n",
        tests=(
            "services/searcher/tests/unit/engine/test_writer_process.py"
            "::test_process_that_does_not_respond_is_named_until_it_does",
        ),
    ),
    Mutation(
        "ended-index-writer-still-watched",
        "Child processes",
        "An index writer has ended, and the searcher watches its pid, which another process may get.",
        _CHILDREN,
        before="        finally:\n            self._children.remove(self._watched)\n",
        after="        finally:\n            pass\n",
        tests=(
            "services/searcher/tests/unit/engine/test_writer_process.py"
            "::test_processes_that_have_ended_are_not_watched",
        ),
    ),
    Mutation(
        "index-writers-of-the-service-unwatched",
        "Child processes",
        "An idle index writer of a running searcher is stopped, and `status` reports nothing.",
        f"{_SEARCHER}/store/generation.py",
        before="WriterProcess(index_of(folder), schema, children=children)",
        after="WriterProcess(index_of(folder), schema)",
        tests=(f"{_WRITERS}::test_status_names_a_stopped_writer_that_has_nothing_to_do_whatever_the_roles",),
    ),
    Mutation(
        "unanswered-calls-unseen",
        "Child processes",
        "A child process does not respond, and the service reports that nothing is blocked.",
        _CHILDREN,
        before="(waits_s := child.waits_s) > self._response_s",
        after="(waits_s := child.waits_s) > 3600",
        tests=(f"{_CHILDREN_TESTS}::test_a_call_is_named_from_its_limit_until_it_ends",),
    ),
    Mutation(
        "failed-calls-stay-open",
        "Child processes",
        "A call to a child process fails, and its successor is reported as not responding for ever.",
        _CHILDREN,
        before="            del self._calls[number]",
        after="            pass",
        tests=(f"{_CHILDREN_TESTS}::test_a_call_that_fails_has_ended",),
    ),
)
