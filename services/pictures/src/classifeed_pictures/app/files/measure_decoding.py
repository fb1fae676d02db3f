"""Measure how long pictures take to decode, and which processes end over them."""

from __future__ import annotations

from classifeed_pictures.metrics import DECODER_KILLS, DECODING


class DecodeMeter:
    """Counts what a `DecodePool` reports to it."""

    def note_picture(self, outcome: str, took_s: float) -> None:
        """Count a picture with its time."""
        DECODING.labels(outcome).observe(took_s)

    def note_end(self, cause: str) -> None:
        """Count a process that ended over a picture."""
        DECODER_KILLS.labels(cause).inc()
