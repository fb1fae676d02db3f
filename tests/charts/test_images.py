"""What the images are made of, read from the Dockerfiles (no container engine is asked)."""

from __future__ import annotations

import re
import tomllib

import pytest

from tests.charts.conftest import ROOT, SERVICES


def dockerfile(service: str) -> str:
    return (ROOT / "services" / service / "Dockerfile").read_text()


@pytest.mark.parametrize("service", SERVICES)
def test_last_stage_runs_unprivileged_without_build_tools(service: str) -> None:
    last = dockerfile(service).split("\nFROM ")[-1]
    assert re.search(r"^USER 10001:10001$", last, re.MULTILINE)
    assert not re.search(r"\b(uv|pip|apt-get|gcc)\b", last)
    assert f'ENTRYPOINT ["python", "-m", "classifeed_{service}"]' in last


@pytest.mark.parametrize("service", SERVICES)
def test_image_takes_every_member_that_the_service_names(service: str) -> None:
    installed = set(re.findall(r"\./((?:libs|services)/\w+)", dockerfile(service)))
    wanted, todo = set(), [f"services/{service}"]
    while todo:
        member = todo.pop()
        wanted.add(member)
        project = tomllib.loads((ROOT / member / "pyproject.toml").read_text())["project"]
        todo += [
            f"libs/{name.removeprefix('classifeed-')}"
            for name in project["dependencies"]
            if name.startswith("classifeed-")
        ]
    assert installed == wanted


@pytest.mark.parametrize("service", SERVICES)
def test_dockerfiles_differ_by_the_service_alone(service: str) -> None:
    def common(name: str) -> str:
        return re.sub(r"--constraint.*", "", dockerfile(name).replace(name, "NAME"))

    assert common(service) == common(SERVICES[0])
