"""Order and loss: each service is killed once in a load of 50,000 offers, or in small loads in the short campaign."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest
from bench.kit.generated_feed import offer_ids, write_feed

from classifeed_devkit.testing.campaigns import in_campaigns
from tests.e2e.suite import Suite
from tests.e2e.test_loads import counts_of
from tests.e2e.topic import check_runs, requests_of

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(3000)]
_OFFERS = 50_000


@in_campaigns
def test_every_service_is_killed_during_a_load(suite: Suite, seller: str, tmp_path: Path) -> None:
    file = write_feed(tmp_path / "many.yml", _OFFERS)
    pids = {name: service["pids"] for name, service in suite.status()["services"].items()}
    suite.query("offers", "SELECT 1")
    command = suite.start_command("feed", "upload", file, "--seller", seller, "--timeout", "2000")

    def applied() -> int:
        [(count,)] = suite.query("offers", "SELECT count(*) FROM applied_batches WHERE seller_id = %s", seller)
        return int(count)

    def is_applied(goal: int) -> bool:
        return applied() >= goal

    # Services are killed one after another as the load progresses; each must be back before the next kill. The
    # processor is killed at the first batch, since it may finish its file long before other services finish the offers.
    for depth, service in enumerate(("processor", "offers", "receiver", "indexer", "searcher", "api")):
        goal = max(1, depth * 40)
        suite.wait(partial(is_applied, goal), 900, f"{goal} batches are applied")
        suite.kill(service, pids[service])

        def is_back(service: str = service) -> bool:
            found = suite.status()["services"][service]
            return bool(found["pids"] != pids[service] and found["state"] == "SERVING")

        suite.wait(is_back, 300, f"{service} is back")
    # The command watched through the api, which was killed meanwhile; the command waited and continued.
    printed, errors = command.communicate(timeout=2000)
    assert command.returncode == 0, (printed, errors)
    task = json.loads(printed)
    assert task["status"] == "SUCCEEDED", json.dumps(task, ensure_ascii=False)
    assert counts_of(task) == {"added": _OFFERS}
    suite.settle(timeout_s=900)

    expected = set(offer_ids(_OFFERS))
    stored = suite.query(
        "offers", "SELECT external_id, version, published_version FROM offers WHERE seller_id = %s", seller
    )
    assert {row[0] for row in stored} == expected
    assert all(row[2] == row[1] for row in stored), "everything is published"

    status = suite.status()
    sent = requests_of(status["kafka"], seller)
    runs = sorted(run for _, run in check_runs(sent))
    assert len(runs) >= 2, "the kill of the processor began a new run"
    assert sent[-1].batch_id is None, "the end is strictly last"
    [(batches,)] = suite.query(
        "offers", "SELECT count(*) FROM applied_batches WHERE seller_id = %s AND run = %s", seller, runs[-1]
    )
    assert batches == _OFFERS // 100

    found: set[str] = set()
    for start in range(0, 90, 10):
        hits = suite.search(f"price:[{start * 100} TO {start * 100 + 999}]", seller)
        found |= {hit["external_id"] for hit in hits}
    index = suite.run("search", "", "--seller", seller, "--limit", "1").document
    assert int(index["total"]) == _OFFERS
    assert found <= expected
