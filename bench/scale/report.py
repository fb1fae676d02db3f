"""The tables of `make bench-scale`."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from bench.scale.measuring import Span

_WAITS: Final = ("Lock", "LWLock", "IO", "Client", "IPC")


def show_role(name: str, spans: dict[int, list[Span]]) -> dict[str, Any]:
    """Print a line for each number of processes, and return the figures."""
    figures: dict[str, Any] = {}
    alone = _mean_cpu(spans[min(spans)])
    print(f"\n{name}")
    print(f"  {'processes':>9} {'offers/s':>9} {'CPU µs/offer':>20} {'a core':>7} {'ratio':>6}  others, µs")
    for count, found in spans.items():
        cpu = _mean_cpu(found)
        each = [span.cpu_us["role"] for span in found]
        ratio = cpu["role"] / max(alone["role"], 1e-9)
        rate = statistics.mean(span.rate for span in found)
        beside = "  ".join(f"{part} {value:.0f}" for part, value in cpu.items() if part != "role")
        spread = f"{cpu['role']:.0f} ({min(each):.0f}–{max(each):.0f})"
        per_core = 1e6 / max(cpu["role"], 1e-9)
        print(f"  {count:>9} {rate:>9,.0f} {spread:>20} {per_core:>7,.0f} {ratio:>6.2f}  {beside}")
        waits = {kind: round(statistics.mean(span.share(kind) for span in found), 3) for kind in _WAITS}
        events = sum((span.events for span in found), start=Counter[str]()).most_common(4)
        shares = "  ".join(f"{kind} {value:.0%}" for kind, value in waits.items())
        print(f"  {'':>9} waits of backends: {shares} ({', '.join(f'{event} {times}' for event, times in events)})")
        wal = statistics.mean(span.wal_bytes for span in found)
        print(f"  {'':>9} write-ahead log: {wal:,.0f} bytes an offer")
        figures[str(count)] = {
            "offers_s": round(rate), "cpu_us": {part: round(value, 1) for part, value in cpu.items()},
            "offers_s_a_core": round(per_core), "ratio": round(ratio, 2), "waits": waits,
            "wal_bytes": round(wal),
        }  # fmt: skip
    return figures


def show_sizes(rows: dict[str, float]) -> dict[str, float]:
    """Print and return the bytes of an offer."""
    print("\nbytes an offer")
    for name, value in rows.items():
        print(f"  {name:<48} {value:>8,.0f}")
    return {name: round(value) for name, value in rows.items()}


def _mean_cpu(spans: Sequence[Span]) -> dict[str, float]:
    return {part: statistics.mean(span.cpu_us[part] for span in spans) for part in spans[0].cpu_us}
