"""Measures the CPU time of each decoding stage, for `bench/pictures`."""

from __future__ import annotations

from collections.abc import Sequence

from classifeed_imaging.limits import Limits
from classifeed_imaging.model import SizeSpec
from classifeed_imaging.pipeline import Stopwatch, decode_picture


def measure_stages(
    data: bytes, sizes: Sequence[SizeSpec], formats: Sequence[str], rounds: int = 20
) -> dict[str, float]:
    """Return milliseconds of CPU per picture by stage (parse, decode, resize, encode of each format, hash) and `sum`.

    Decodes in this process, so use it only with trusted pictures.
    """
    decode_picture(data, sizes, formats, Limits())
    watch = Stopwatch()
    for _ in range(rounds):
        decode_picture(data, sizes, formats, Limits(), watch)
    stages = {name: seconds / rounds * 1000 for name, seconds in watch.seconds.items()}
    return {**stages, "sum": sum(stages.values())}
