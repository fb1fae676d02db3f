"""Contents of the images, read from the Dockerfiles without a container engine."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from zipfile import ZipFile

import pytest
from tools.generate import dockerfiles
from tools.generate.files import list_stale

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
    installed = set(re.findall(r"\./((?:libs|services)/\w+)", dockerfile(service).partition("--build-constraints")[2]))
    wanted, todo = set(), [f"services/{service}"]
    while todo:
        member = todo.pop()
        wanted.add(member)
        project = tomllib.loads((ROOT / member / "pyproject.toml").read_text())["project"]
        todo += [
            f"libs/{name.removeprefix('classifeed-').partition('[')[0]}"
            for name in project["dependencies"]
            if name.startswith("classifeed-")
        ]
    assert installed == wanted
    assert set(re.findall(r"^COPY ((?:libs|services)/\w+) ", dockerfile(service), re.MULTILINE)) == wanted


@pytest.mark.parametrize("service", SERVICES)
def test_what_builds_the_members_is_pinned(service: str) -> None:
    assert "--build-constraints requirements.lock" in dockerfile(service)
    lock = (ROOT / "requirements.lock").read_text()
    members = re.findall(r"^COPY ((?:libs|services)/\w+) ", dockerfile(service), re.MULTILINE)
    builders = {
        name
        for member in members
        for name in tomllib.loads((ROOT / member / "pyproject.toml").read_text())["build-system"]["requires"]
    }
    assert {name for name in builders if not re.search(rf"^{name}==\S+ \\\n +--hash=", lock, re.MULTILINE)} == set()


def test_dockerfiles_are_made_from_one() -> None:
    assert list_stale(dockerfiles.list_files()) == [], "run `make stubs`"


@pytest.mark.parametrize("service", SERVICES)
def test_both_stages_take_the_base_that_the_builder_names_and_one_uv(service: str) -> None:
    text = dockerfile(service)
    assert re.findall(r"^FROM (\S+)", text, re.MULTILINE) == ["${PYTHON_IMAGE}"] * 2
    assert text.index("ARG PYTHON_IMAGE=python:") < text.index("FROM"), "an ARG of both stages is before them"
    [select] = re.findall(
        r"^RUN (sed -n \S+ requirements\.lock) > uv\.txt && pip install .*--require-hashes", text, re.MULTILINE
    )
    selected = subprocess.run(["sh", "-c", select], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    assert re.fullmatch(r"uv==\d+\.\d+\.\d+", selected[0])
    assert {word.partition(":")[0] for word in selected[1:]} == {"\\", "--hash=sha256"}, "uv, and no lines around it"


def test_no_image_has_embedded_servers_or_fixtures(tmp_path: Path) -> None:
    members = {member for service in SERVICES for member in dockerfiles.list_members(service)}
    for member in sorted(members):
        command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
        subprocess.run(command, cwd=ROOT / member, check=True, capture_output=True)
    wheels = list(tmp_path.glob("*.whl"))
    assert len(wheels) == len(members)
    packed = {name for wheel in wheels for name in ZipFile(wheel).namelist()}
    assert "classifeed_common/processes.py" in packed, "the wheels have the code"
    assert {name for name in packed if "devkit" in name or "/embedded/" in name} == set()
    assert {name for name in packed if re.search(r"(^|/)(tests|conftest)\b", name)} == set()
    # Fixtures of the job engine are for its users outside of this suite.
    assert {name for name in packed if "/testing" in name} == {"classifeed_jobs/testing.py"}
