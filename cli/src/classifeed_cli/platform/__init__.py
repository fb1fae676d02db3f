"""The embedded platform: the whole suite as processes of one machine, under one supervisor (ADR 0013)."""
