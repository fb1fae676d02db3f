"""The how-to on growing topics has every topic that can grow, and the command of its service."""

from __future__ import annotations

import re
from importlib import import_module

from tests.docs.pages import ROOT

PAGE = ROOT / "docs" / "how-to" / "grow-a-topic.md"
SERVICES = (
    "api",
    "cleanweb",
    "indexer",
    "loader",
    "moderation",
    "offers",
    "pictures",
    "processor",
    "receiver",
    "searcher",
)


def test_the_page_has_a_command_for_each_topic_of_each_service() -> None:
    typed = set(re.findall(r"python -m classifeed_(\w+) migrate --grow (\S+)", PAGE.read_text("utf-8")))
    bootstraps = {service: import_module(f"classifeed_{service}.bootstrap") for service in SERVICES}
    growable = {
        (service, topic.name)
        for service, bootstrap in bootstraps.items()
        for topic in getattr(bootstrap, "GROWABLE", ())
    }
    assert typed == growable
    listed = re.findall(r"^\| `(\S+)` \| \w+ \| (\w+)", PAGE.read_text("utf-8"), re.MULTILINE)
    assert {(service, topic) for topic, service in listed} == growable
