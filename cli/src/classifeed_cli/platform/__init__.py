"""The embedded platform: the whole suite as processes on one machine, under one supervisor (ADR 0013)."""
