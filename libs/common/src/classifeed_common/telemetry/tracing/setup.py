"""Set-up of tracing, once per process, by our settings and the OTEL_* variables (ADR 0046)."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from opentelemetry import trace
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter

from classifeed_common.telemetry.tracing.exporters import FileSpanExporter, make_exporters

_FLUSH_S: Final = 3.0


class Tracing:
    """The tracing of a process."""

    def __init__(self, provider: TracerProvider, exporters: Sequence[SpanExporter]) -> None:
        self._provider = provider
        self._exporters = exporters

    def shutdown(self, limit_s: float = _FLUSH_S) -> None:
        """Send the last spans and end; after `limit_s` drop the rest, so that no collector delays the exit."""
        flushing = threading.Thread(target=self._provider.shutdown, name="telemetry-flush", daemon=True)
        flushing.start()
        flushing.join(limit_s)
        if flushing.is_alive():
            for exporter in self._exporters:
                exporter.shutdown()  # ends the call under way


def configure_tracing(service: str, *, environment: str = "dev", file: Path | None = None) -> Tracing:
    """Set the process's tracer provider. Call it once per process, and `shutdown` at its end.

    Without an exporter, spans are created, so that logs have trace ids, and dropped. Sampler, limits and batches follow
    OTEL_TRACES_SAMPLER, OTEL_SPAN_* and OTEL_BSP_*; OTEL_SDK_DISABLED=true creates no spans.

    Args:
        service: `service.name`, unless OTEL_SERVICE_NAME or OTEL_RESOURCE_ATTRIBUTES sets it.
        environment: `deployment.environment.name`, unless OTEL_RESOURCE_ATTRIBUTES sets it.
        file: additional file for the spans, one JSON object per line.

    Raises:
        TracingSettingsError: an OTEL_* variable names something that does not exist.
    """
    own = {"service.name": service, "service.namespace": "classifeed", "deployment.environment.name": environment}
    resource = Resource.create(own).merge(OTELResourceDetector().detect())
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    exporters = make_exporters()
    if file is not None:
        exporters.append(FileSpanExporter(file))
    for exporter in exporters:
        provider.add_span_processor(BatchSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    return Tracing(provider, exporters)
