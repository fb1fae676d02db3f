"""Recurring jobs: cron expressions, schedules, and the role that enqueues their jobs."""
