"""Description of a dashboard, and its JSON for Grafana."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

_SCHEMA: Final = 39
_WIDTH: Final = 24
_HEIGHT: Final = 8
_COLUMNS: Final = 3
_SOURCE: Final = {"type": "prometheus", "uid": "${source}"}


@dataclass(frozen=True, slots=True)
class Query:
    """A query, which draws one or more lines.

    Attributes:
        expr: PromQL expression.
        legend: Legend of each line, with labels as `{{label}}`.
    """

    expr: str
    legend: str


@dataclass(frozen=True, slots=True)
class Panel:
    """A chart over time.

    Attributes:
        title: Title of the panel.
        unit: Grafana's name of the unit: short, s, bytes, percentunit, ops.
        queries: Queries of its lines.
    """

    title: str
    unit: str
    queries: tuple[Query, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """Panels under one heading.

    Attributes:
        title: Heading of the row.
        panels: Panels from left to right, three in a line.
    """

    title: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True, slots=True)
class Variable:
    """A filter at the top of the dashboard, for several values or all.

    Attributes:
        name: Name in queries, as `$name`.
        label: Name on the page.
        metric: Metric whose label has the values.
        of: Label of the metric.
    """

    name: str
    label: str
    metric: str
    of: str


@dataclass(frozen=True, slots=True)
class Dashboard:
    """A dashboard.

    Attributes:
        chart: Name of its chart.
        title: Title of the dashboard.
        variables: Filters at the top.
        rows: Rows of panels.
    """

    chart: str
    title: str
    variables: tuple[Variable, ...]
    rows: tuple[Row, ...]

    @property
    def queries(self) -> list[Query]:
        """Return the queries of all panels."""
        return [query for row in self.rows for panel in row.panels for query in panel.queries]

    def render(self) -> dict[str, Any]:
        """Return the JSON document that Grafana imports."""
        return {
            "uid": f"classifeed-{self.chart}",
            "title": self.title,
            "tags": ["classifeed"],
            "schemaVersion": _SCHEMA,
            "editable": False,
            "refresh": "30s",
            "time": {"from": "now-6h", "to": "now"},
            "templating": {"list": [_data_source(), *map(_variable, self.variables)]},
            "panels": list(_panels(self.rows)),
        }


def _data_source() -> dict[str, Any]:
    return {"name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus"}


def _variable(variable: Variable) -> dict[str, Any]:
    query = f"label_values({variable.metric}, {variable.of})"
    return {
        "name": variable.name,
        "label": variable.label,
        "type": "query",
        "datasource": _SOURCE,
        "query": {"query": query, "refId": variable.name},
        "definition": query,
        "refresh": 2,
        "multi": True,
        "includeAll": True,
        "current": {"text": ["All"], "value": ["$__all"]},
    }


def _panels(rows: Sequence[Row]) -> Iterator[dict[str, Any]]:
    number, top = 1, 0
    for row in rows:
        place = {"x": 0, "y": top, "w": _WIDTH, "h": 1}
        yield {"id": number, "type": "row", "title": row.title, "collapsed": False, "panels": [], "gridPos": place}
        number, top = number + 1, top + 1
        width = _WIDTH // _COLUMNS
        for at, panel in enumerate(row.panels):
            line, column = divmod(at, _COLUMNS)
            yield _panel(number, panel, {"x": column * width, "y": top + line * _HEIGHT, "w": width, "h": _HEIGHT})
            number += 1
        top += -(-len(row.panels) // _COLUMNS) * _HEIGHT


def _panel(number: int, panel: Panel, place: dict[str, int]) -> dict[str, Any]:
    return {
        "id": number,
        "type": "timeseries",
        "title": panel.title,
        "datasource": _SOURCE,
        "gridPos": place,
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "targets": [
            {"refId": chr(ord("A") + at), "datasource": _SOURCE, "expr": query.expr, "legendFormat": query.legend}
            for at, query in enumerate(panel.queries)
        ],
    }
