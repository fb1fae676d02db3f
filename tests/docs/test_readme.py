"""The examples of README and tutorial, and what they say about ports, are true."""

from __future__ import annotations

import re
from pathlib import Path

from classifeed_cli.platform.planning.layout import Layout
from classifeed_cli.platform.planning.ports import plan_ports
from classifeed_cli.platform.planning.service_table import ServiceTable
from tests.docs.pages import ROOT

README = (ROOT / "README.md").read_text("utf-8")
TUTORIAL = (ROOT / "docs/tutorial.md").read_text("utf-8")


def test_the_first_file_is_in_english_and_the_files_are_there() -> None:
    samples = re.findall(r"^cp (\S+)", TUTORIAL, re.MULTILINE)
    assert len(samples) == 2
    assert re.findall(r"^cp (\S+)", README, re.MULTILINE) == samples[:1]
    first, second = ((ROOT / sample).read_text("utf-8") for sample in samples)
    assert not re.search("[а-яё]", first, re.IGNORECASE)
    assert re.search("[а-яё]", second, re.IGNORECASE)


def test_yml_is_explained_where_it_is_first_used() -> None:
    assert README.index("YML, which is Yandex Market Language, an XML format") == README.index("YML")


def test_ports_are_as_many_as_it_says(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    layout.prepare()
    services = ServiceTable.load().services
    assert len(plan_ports(layout, services)) == 2 * len(services) + 4
    assert "| ports | two a service and four for its servers, on 127.0.0.1 alone" in TUTORIAL
