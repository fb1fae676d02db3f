"""The last step: kills a service in the middle of a big load, and counts the offers afterwards."""

from __future__ import annotations

import asyncio
import signal
import time
import uuid
from typing import Any, Final

from classifeed.feeds.v1 import task_pb2
from classifeed_cli.commands.demo.price_lists import ids_of_big_list, write_big_list
from classifeed_cli.commands.demo.story import SELLER, SETTLE_TIMEOUT_S, Story, failed, show_loaded
from classifeed_cli.commands.feed.loading import follow_load
from classifeed_cli.commands.search import find_offers
from classifeed_cli.messages import document_of
from classifeed_cli.platform.probing.examination import identity_of
from classifeed_cli.platform.settle import wait_settled
from classifeed_cli.platform.supervision.description import read_running
from classifeed_cli.views.progress import LoadProgress
from classifeed_client import feed_name
from classifeed_common.processes import ProcessIdentity

BIG_COUNT: Final = 20_000
_VICTIM: Final = "offers"
_NAMESPACE: Final = "warehouse"
_SHARE: Final = 0.4
_TIMEOUT_S: Final = 300
_POLL_S: Final = 0.05


def kill_amid_load(story: Story) -> dict[str, Any]:
    """Load a big price list, kill the service that stores it in the middle, and count the offers at the end.

    Raises:
        CommandError: The load did not succeed, or the counts differ.
    """
    out = story.out
    file = write_big_list(story.folder / "warehouse.yml", BIG_COUNT)
    upload = story.client.upload_feed(
        file, seller_id=SELLER, namespace=_NAMESPACE, request_id=str(uuid.uuid4()), timeout_s=_TIMEOUT_S
    )
    name = story.client.wait_for_task_name(upload, timeout_s=_TIMEOUT_S)
    task = _wait_for_share(story, name)
    stored = task.statistics.total
    killed = _process(story)
    if killed is None or not killed.send(signal.SIGKILL):
        raise failed(f"The process of {_VICTIM} was not running, so it could not be killed.")
    out.say(f"\n{stored:,} of {task.expected_total:,} offers are stored: now their service is killed.")
    out.say(f"> kill -9 {killed.pid}")
    successor = _wait_for_successor(story, killed)
    out.say(f"The supervisor has started {_VICTIM} again, as process {successor.pid}.")
    found = find_offers(story.client, "*", seller=SELLER, conditions=[f"namespace:{_NAMESPACE}"], limit=1).total
    out.say(f"The search continues meanwhile: it finds {found:,} of the offers so far.")
    out.say(f"Kafka keeps what {_VICTIM} has not read; the new process continues from there.")
    task = follow_load(story.client, out, name, _TIMEOUT_S)
    show_loaded(out, task)
    asyncio.run(wait_settled(story.installation.http, SETTLE_TIMEOUT_S))
    return {
        "big": document_of(task),
        "kill": {"service": _VICTIM, "pid": killed.pid, "pid_after": successor.pid, "answered_before": stored},
        "counts": _compare(story, ids_of_big_list(file), task),
    }


def _wait_for_share(story: Story, name: str) -> task_pb2.Task:
    """Return the load, as soon as a large share of its offers has results."""
    ends_at = time.monotonic() + _TIMEOUT_S
    with LoadProgress(story.out) as progress:
        while time.monotonic() < ends_at:
            task = story.client.get_task(name)
            if task.status != task_pb2.TASK_STATUS_IN_PROGRESS:
                raise failed("The load was complete before anything was killed.")
            progress.task(task)
            if task.expected_total and task.statistics.total >= task.expected_total * _SHARE:
                return task
            time.sleep(_POLL_S)
    raise failed(f"The load did not reach its middle within {_TIMEOUT_S} s.")


def _process(story: Story) -> ProcessIdentity | None:
    document = read_running(story.layout)
    return identity_of(document["services"][_VICTIM]) if document else None


def _wait_for_successor(story: Story, killed: ProcessIdentity) -> ProcessIdentity:
    ends_at = time.monotonic() + _TIMEOUT_S
    while time.monotonic() < ends_at:
        process = _process(story)
        if process is not None and process != killed:
            return process
        time.sleep(_POLL_S)
    raise failed(f"The supervisor has not started {_VICTIM} again within {_TIMEOUT_S} s.")


def _compare(story: Story, ids: set[str], task: task_pb2.Task) -> dict[str, int]:
    """Print and return the number of offers by four counts, which must be equal."""
    stored = {offer.external_id for offer in story.client.iter_offers(feed_name(SELLER, _NAMESPACE))}
    hits = find_offers(story.client, "*", seller=SELLER, conditions=[f"namespace:{_NAMESPACE}"], limit=1)
    counts = {"file": len(ids), "load": task.statistics.added, "offers": len(stored), "search": hits.total}
    rows = (("in the file", "file"), ("added by processor", "load"), ("stored by offers", "offers"))
    story.out.say("")
    story.out.table(
        ("counted where", "offers"),
        [(words, f"{counts[key]:>6,}") for words, key in (*rows, ("found by searcher", "search"))],
    )
    if stored != ids or len(set(counts.values())) != 1:
        raise failed(f"The counts differ after the kill: {counts}.")
    story.out.say("✓ No offer is lost, and none is counted twice.")
    return counts
