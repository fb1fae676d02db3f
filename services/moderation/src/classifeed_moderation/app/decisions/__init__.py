"""Decisions from verdicts: apply, record, report and rejudge them."""
