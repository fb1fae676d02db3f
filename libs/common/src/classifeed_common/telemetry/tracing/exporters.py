"""Exporters of spans: to a file, and to the collectors that the OTEL_* variables name."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Final

import structlog
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

_log = structlog.get_logger("telemetry")

_GROUP: Final = "opentelemetry_traces_exporter"
_PROTOCOLS: Final = {"grpc": "otlp_proto_grpc", "http/protobuf": "otlp_proto_http"}
# They log every attempt of each batch. `ReportedExporter` logs only the start and the end of a failure.
_TALKATIVE: Final = ("opentelemetry.exporter.otlp.proto.grpc.exporter", "opentelemetry.sdk._shared_internal")
_FIX: Final = "check the collector at OTEL_EXPORTER_OTLP_ENDPOINT; until it accepts them, spans are dropped"


class TracingSettingsError(ValueError):
    """An OTEL_* variable names something that does not exist; the message lists the choices."""


class FileSpanExporter(SpanExporter):
    """Appends finished spans to a file, one JSON object per line."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Append a batch by one write, so that processes can share the file."""
        lines = "".join(span.to_json(indent=None) + "\n" for span in spans)
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(lines)
        except OSError:
            return SpanExportResult.FAILURE
        return SpanExportResult.SUCCESS


class ReportedExporter(SpanExporter):
    """Passes spans to another exporter, and logs when its exports begin to fail and when they work again."""

    def __init__(self, name: str, inner: SpanExporter) -> None:
        self._name = name
        self._inner = inner
        self._dropped = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Export a batch; spans of a failed batch are dropped."""
        try:
            result = self._inner.export(spans)
        except Exception:  # noqa: BLE001 after any error, spans are dropped and one line is logged
            result = SpanExportResult.FAILURE
        if result is SpanExportResult.SUCCESS:
            if self._dropped:
                _log.info("telemetry.export.restored", exporter=self._name, dropped_spans=self._dropped)
            self._dropped = 0
        else:
            if not self._dropped:
                _log.warning("telemetry.export.failed", exporter=self._name, fix=_FIX)
            self._dropped += len(spans)
        return result

    def shutdown(self) -> None:
        """Cancel the export under way."""
        self._inner.shutdown()

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        """Flush the other exporter."""
        return self._inner.force_flush(timeout_millis)


def make_exporters(environment: Mapping[str, str] = os.environ) -> list[SpanExporter]:
    """Return the exporters that OTEL_TRACES_EXPORTER names; they read their OTEL_EXPORTER_* variables.

    The default is `otlp` if OTEL_EXPORTER_OTLP_ENDPOINT (or …_TRACES_ENDPOINT) is set, otherwise none: a process
    without a configured collector does not search for one.

    Raises:
        TracingSettingsError: an exporter or a protocol is not installed.
    """
    exporters: list[SpanExporter] = []
    for name in _names(environment):
        found = entry_points(group=_GROUP, name=_protocol(environment) if name == "otlp" else name)
        if not found:
            known = sorted({entry.name for entry in entry_points(group=_GROUP)})
            raise TracingSettingsError(
                f"OTEL_TRACES_EXPORTER={name}: no such exporter is installed. Use otlp with "
                f"OTEL_EXPORTER_OTLP_PROTOCOL=grpc, none, or one of {', '.join(known)}."
            )
        for logger in _TALKATIVE:
            logging.getLogger(logger).setLevel(logging.CRITICAL)
        exporters.append(ReportedExporter(name, next(iter(found)).load()()))
    return exporters


def _names(environment: Mapping[str, str]) -> list[str]:
    has_endpoint = any(
        environment.get(name) for name in ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
    )
    value = environment.get("OTEL_TRACES_EXPORTER") or ("otlp" if has_endpoint else "none")
    return [name for part in value.split(",") if (name := part.strip()) and name != "none"]


def _protocol(environment: Mapping[str, str]) -> str:
    wanted = environment.get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL") or environment.get("OTEL_EXPORTER_OTLP_PROTOCOL")
    return _PROTOCOLS.get(wanted or "grpc", wanted or "")
