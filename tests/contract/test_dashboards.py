"""Dashboards use existing metrics and labels, and the files in the charts are up to date."""

from __future__ import annotations

import re

import pytest
from tools.generate.charts.dashboards import DASHBOARDS, list_files
from tools.generate.charts.dashboards.model import Dashboard
from tools.generate.files import list_stale
from tools.pages import metrics

_METRIC = re.compile(r"classifeed_\w+")
_SERIES = re.compile(r"(classifeed_\w+)(?:\{(.*?)\})?")
_LABEL = re.compile(r"(\w+)(?:=~|!=|!~|=)")
_BY = re.compile(r"by \(([\w, ]+)\)")
_SUFFIXES = ("_bucket", "_count", "_sum")
# Labels that Prometheus adds.
_SCRAPED = {"job", "instance"}


def _labels() -> dict[str, set[str]]:
    """Return the labels of each scraped series."""
    found: dict[str, set[str]] = {}
    for source in metrics.SOURCES:
        for each in source.declarations:
            if each.kind == "histogram":
                found |= {each.name + suffix: {*each.labels, "le"} for suffix in _SUFFIXES}
            else:
                found[each.name] = set(each.labels)
    return found


@pytest.mark.parametrize("dashboard", DASHBOARDS, ids=lambda dashboard: dashboard.chart)
def test_each_query_names_metrics_and_labels_that_exist(dashboard: Dashboard) -> None:
    known = _labels()
    for query in dashboard.queries:
        series = _SERIES.findall(query.expr)
        assert series, query.expr
        for metric, chosen in series:
            assert metric in known, query.expr
            assert set(_LABEL.findall(chosen)) <= known[metric] | _SCRAPED, query.expr
        named = {label.strip() for listed in _BY.findall(query.expr) for label in listed.split(",")}
        assert named | set(re.findall(r"\{\{(\w+)\}\}", query.legend)) <= set.union(*(known[m] for m, _ in series))
    for variable in dashboard.variables:
        assert variable.of in known[variable.metric]
        assert any(f"${variable.name}" in query.expr for query in dashboard.queries)


def test_queues_have_their_lag_and_their_rate() -> None:
    [pictures] = DASHBOARDS
    named = {metric for query in pictures.queries for metric in _METRIC.findall(query.expr)}
    assert named >= {
        "classifeed_consumer_partition_lag_records", "classifeed_consumer_handled_records_total",
        "classifeed_jobs_live", "classifeed_job_run_seconds_count",
        "classifeed_outbox_oldest_age_seconds", "classifeed_outbox_sent_messages_total",
    }  # fmt: skip


def test_files_are_up_to_date() -> None:
    assert list_stale(list_files()) == [], "run `make stubs`"


@pytest.mark.parametrize("dashboard", DASHBOARDS, ids=lambda dashboard: dashboard.chart)
def test_panels_do_not_overlap(dashboard: Dashboard) -> None:
    taken: set[tuple[int, int]] = set()
    for panel in dashboard.render()["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken
        assert place["x"] + place["w"] <= 24
        taken |= cells
