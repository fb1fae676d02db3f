"""The public API: other packages break if one of these names is removed."""

from __future__ import annotations

import classifeed_jobs


def test_public_names() -> None:
    assert sorted(classifeed_jobs.__all__) == sorted(
        [
            "TERMINAL", "AuditEntry", "Backoff", "Begin", "ClaimLost",
            "CleanStep", "CleanUp", "EnqueuedJob", "Exponential", "Fail", "FailedJob",
            "Fixed", "HeldLock", "HookFailed", "Job", "JobAdmin", "JobContext", "JobEvent", "JobFilter", "JobPage",
            "JobRequest", "JobStore", "Jobs", "JobSettings", "Linear", "NotStorable", "PipelineError", "PlacingError",
            "Progress", "QueueLimits", "QueueStats",
            "Queues", "Cursor", "MAX_OPEN_PER_CALLER", "add_jobs", "bounded_key", "place_jobs",
            "Reaper", "Registry", "Retention", "Retry", "Schedule", "SchedulePage", "ScheduleState", "Scheduler",
            "Schedules", "ServiceJobSettings", "Slice", "SliceJob", "Snooze", "StopRequested", "Task",
            "Notifier", "Upkeep", "Worker", "WorkerProcess",
            "ddl", "load_pipelines", "register", "registry", "until_nothing_is_left",
        ]
    )  # fmt: skip
    assert all(hasattr(classifeed_jobs, name) for name in classifeed_jobs.__all__)
