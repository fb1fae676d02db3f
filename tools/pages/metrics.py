"""The page of all metrics, made from their declarations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Final

from classifeed_cli.platform.planning.service_table import ServiceTable
from classifeed_client.jobs import JOB_SERVICES
from classifeed_common.telemetry.metric_set import PREFIX, Declaration, MetricSet

SERVICES: Final = tuple(ServiceTable.load().services)
# Metrics of prometheus_client itself.
LIBRARY_PREFIXES: Final = ("python_", "process_")

_HEAD: Final = f"""# Metrics

`make pages` makes this page from the code; change the declarations, not this page.

Every process exports its metrics for Prometheus at `/metrics` of its HTTP port. Without Prometheus, `METRIC_PATH`
(loader) and `CLASSIFEED_<SERVICE>_METRIC_PATH` write them into a file ([settings](jobs-settings.md)).

Names of our metrics begin with `{PREFIX}`. The Prometheus client for Python adds `python_*` and `process_*`. Other
names are standards: {{standard}}.

Labels have a bounded set of values. Sellers, tasks and addresses are not labels: the log has them. Of the hosts of
downloads, the busiest 50 are label values.

- A counter starts from 0 in each process: use `rate` or `increase`, and sum over processes.
- A gauge of tables (`classifeed_loads_*`, `classifeed_jobs_live`, `classifeed_backlog_items`) has the same value in
  every process of the service: use `max`.
- A histogram has `_bucket`, `_count` and `_sum`.

`classifeed_load_duration_seconds` is the time of a whole load, and `classifeed_time_to_searchable_seconds` the time
from the change of an offer until a search finds it. The log line `feeds.load.ended` has the time that the load was
queued, and all counts of the load.
"""
_COLUMNS: Final = "| metric | type | unit | labels | meaning |\n| --- | --- | --- | --- | --- |\n"


@dataclass(frozen=True, slots=True)
class Source:
    """A module that declares metrics.

    Attributes:
        title: title of its section.
        module: name of the module, which has the metrics as METRICS.
        services: names of the services that export them.
    """

    title: str
    module: str
    services: tuple[str, ...]

    @property
    def declarations(self) -> list[Declaration]:
        """Declarations of the module."""
        metrics = import_module(self.module).METRICS
        assert isinstance(metrics, MetricSet)
        return metrics.declarations


_WITH_JOBS: Final = tuple(name for name in SERVICES if name in JOB_SERVICES)
_WITH_OWN: Final = tuple(name for name in SERVICES if find_spec(f"classifeed_{name}.metrics") is not None)
SOURCES: Final = (
    *(Source(name, f"classifeed_{name}.metrics", (name,)) for name in _WITH_OWN),
    Source(f"Jobs ({', '.join(_WITH_JOBS)})", "classifeed_jobs.metrics", _WITH_JOBS),
    Source("HTTP API of jobs (loader)", "classifeed_jobs.api.http.metrics", ("loader",)),
    Source("Downloads (loader, pictures)", "classifeed_common.fetch.metrics", ("loader", "pictures")),
    Source("Every service", "classifeed_common.telemetry.metrics", SERVICES),
)


def declared_by(service: str) -> dict[str, Declaration]:
    """Return the metrics of a service by name."""
    sources = [source for source in SOURCES if service in source.services]
    return {each.name: each for source in sources for each in source.declarations}


def render() -> str:
    """Return the page."""
    everything = [each for source in SOURCES for each in source.declarations]
    standard = ", ".join(f"`{each.name}` ({each.standard})" for each in everything if each.standard)
    return _HEAD.format(standard=standard) + "".join(_sections())


def _sections() -> Iterator[str]:
    for source in SOURCES:
        rows = "".join(_row(each) for each in source.declarations)
        yield f"\n## {source.title}\n{_COLUMNS}{rows}"


def _row(one: Declaration) -> str:
    return f"| `{one.name}` | {one.kind} | {one.unit} | {_labels(one)} | {one.meaning} |\n"


def _labels(one: Declaration) -> str:
    shown = [
        f"`{name}`: {values if isinstance(values, str) else ', '.join(f'`{value}`' for value in values)}"
        for name, values in one.labels.items()
    ]
    return "; ".join(shown) or "–"
