"""Measures the decoding times of pictures, and counts the processes that end during decoding."""

from __future__ import annotations

from classifeed_pictures.metrics import DECODER_KILLS, DECODING


class DecodeMeter:
    """Counts the reports of a `DecodePool`."""

    def note_picture(self, outcome: str, took_s: float) -> None:
        """Count a picture with its decoding time in seconds."""
        DECODING.labels(outcome).observe(took_s)

    def note_end(self, cause: str) -> None:
        """Count a process that ended while it decoded a picture."""
        DECODER_KILLS.labels(cause).inc()
