"""Jobs that are due again and again: cron expressions, schedules and the role that enqueues their jobs."""
