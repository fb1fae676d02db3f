"""A service that was down for longer than Kafka keeps records continues without manual changes of its positions."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Its replicas rebuild their indexes from the registry: consumers/following.py.
_OTHERWISE = {"searcher"}
_CONSUMERS = [
    (path.relative_to(ROOT).parts[1], call)
    for pattern in ("parts.py", "parts/*.py")
    for path in sorted(ROOT.glob(f"services/*/src/*/{pattern}"))
    for call in ast.walk(ast.parse(path.read_text("utf-8")))
    if isinstance(call, ast.Call) and ast.unparse(call.func) == "OrderedConsumer"
]


def test_consumers_are_found() -> None:
    assert {service for service, _ in _CONSUMERS} >= {"offers", "processor", "moderation", "pictures", "searcher"}


@pytest.mark.parametrize(("service", "call"), _CONSUMERS, ids=[f"{name}-{call.lineno}" for name, call in _CONSUMERS])
def test_each_consumer_goes_on_after_a_log_that_lost_records(service: str, call: ast.Call) -> None:
    mends = {keyword.arg for keyword in call.keywords} & {"on_log_lost"}
    assert bool(mends) is (service not in _OTHERWISE)
