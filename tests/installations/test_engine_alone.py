"""The job engine without the suite, installed by pip from two folders and used as its documents say."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from bench.alone.environment import list_packages, size_mb

from classifeed_devkit.testing.campaigns import in_campaigns

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(1200)]

ROOT = Path(__file__).resolve().parents[2]
_MEMBERS = ("libs/common", "libs/jobs")
_MOST_PACKAGES = 15
_MOST_MB = 40  # without the drivers
_TIMEOUT_S = 300


def blocks(path: str) -> list[str]:
    """Return the Python blocks of a page."""
    return re.findall(r"^```python\n(.*?)^```$", (ROOT / path).read_text("utf-8"), re.DOTALL | re.MULTILINE)


class Alone:
    """An empty folder with an environment that has the engine."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        venv.create(folder / "venv", with_pip=True)
        self.bin = folder / "venv" / "bin"
        self.pip("install", "--quiet", *(str(ROOT / member) for member in _MEMBERS))

    def pip(self, *arguments: str) -> str:
        return self.run(self.bin / "python", "-m", "pip", "--disable-pip-version-check", *arguments)

    def run(self, *command: object, cwd: Path | None = None, **environment: str) -> str:
        done = subprocess.run(
            list(map(str, command)), cwd=cwd or self.folder, env=self._environment(environment), text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=_TIMEOUT_S, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout
        return done.stdout

    def work(self, *command: object, until: Callable[[str], bool], cwd: Path | None = None, **environment: str) -> str:
        """Run a worker until a line of its log, stop it gracefully, and return the log."""
        with subprocess.Popen(
            list(map(str, command)), cwd=cwd or self.folder, env=self._environment(environment), text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        ) as process:  # fmt: skip
            assert process.stdout is not None
            lines: list[str] = []
            for line in process.stdout:
                lines.append(line)
                if until(line):
                    process.send_signal(signal.SIGTERM)
            assert process.wait(_TIMEOUT_S) == 0, lines
        return "".join(lines)

    def _environment(self, more: dict[str, str]) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "CLASSIFEED"))}
        return {**kept, "PYTHONUNBUFFERED": "1", **more}


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Alone:
    return Alone(tmp_path_factory.mktemp("alone"))


def ended(line: str) -> bool:
    return "job.run.ended" in line


def test_it_brings_little(alone: Alone) -> None:
    names = list_packages(alone.bin / "python")
    assert "classifeed-jobs" in names
    assert len(names) <= _MOST_PACKAGES, sorted(names)
    assert size_mb(alone.folder / "venv") <= _MOST_MB


def test_quick_start_works_twice(alone: Alone, database_dsn: str) -> None:
    code = blocks("libs/jobs/README.md")[0]
    assert len([line for line in code.splitlines() if line.strip()]) <= 15
    (alone.folder / "app.py").write_text(code, "utf-8")
    command = (alone.bin / "classifeed-jobs", "--app", "app:jobs")
    for _ in range(2):
        alone.run(alone.bin / "python", "app.py", JOBS_DSN=database_dsn)
        log = alone.work(*command, "worker", until=ended, JOBS_DSN=database_dsn)
        assert "outcome=succeeded" in log
    assert alone.run(*command, "list", JOBS_DSN=database_dsn).count("succeeded") == 2


def test_with_fastapi(alone: Alone, database_dsn: str) -> None:
    alone.pip("install", "--quiet", "fastapi", "httpx")
    folder = alone.folder / "with_fastapi"
    folder.mkdir()
    (folder / "shop.py").write_text(blocks("docs/how-to/use-jobs-with-fastapi.md")[0], "utf-8")
    asking = (
        "from fastapi.testclient import TestClient\nfrom shop import app\n"
        "with TestClient(app) as client:\n    print(client.{})\n"
    )
    python = (alone.bin / "python", "-c")
    made = alone.run(*python, asking.format("post('/orders').json()"), cwd=folder, JOBS_DSN=database_dsn)
    assert "'order': '1'" in made
    worker = (alone.bin / "classifeed-jobs", "--app", "shop:jobs", "worker")
    alone.work(*worker, until=ended, cwd=folder, JOBS_DSN=database_dsn)
    found = alone.run(*python, asking.format("get('/orders/1').json()"), cwd=folder, JOBS_DSN=database_dsn)
    assert "{'receipt': 'sent'}" in found


@in_campaigns
def test_with_django(alone: Alone, database_dsn: str) -> None:
    alone.pip("install", "--quiet", "django")
    given: dict[str, Any] = psycopg.conninfo.conninfo_to_dict(database_dsn)
    database = {"ENGINE": "django.db.backends.postgresql", "NAME": given["dbname"], "USER": given.get("user", "")}
    database |= {
        "HOST": given.get("host", ""),
        "PORT": str(given.get("port", "")),
        "PASSWORD": given.get("password", ""),
    }
    folder = alone.folder / "with_django"
    jobs, views, command = blocks("docs/how-to/use-jobs-with-django.md")
    files = {
        "site_settings.py": f"DATABASES = {{'default': {database!r}}}\nINSTALLED_APPS = ['shop']\nSECRET_KEY = 'x'\n"
        "DEFAULT_AUTO_FIELD = 'django.db.models.BigAutoField'\nALLOWED_HOSTS = ['*']\nROOT_URLCONF = 'urls'\n",
        "urls.py": "from django.urls import path\nfrom shop.views import make_order\n"
        "urlpatterns = [path('', make_order)]\n",
        "shop/__init__.py": "",
        "shop/models.py": "from django.db import models\n\n\nclass Order(models.Model):\n"
        "    receipt = models.TextField(null=True)\n",
        "shop/migrations/__init__.py": "",
        "shop/jobs.py": jobs,
        "shop/views.py": views,
        "shop/management/__init__.py": "",
        "shop/management/commands/__init__.py": "",
        "shop/management/commands/work.py": command,
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")

    def django(*arguments: str) -> tuple[object, ...]:
        return (alone.bin / "python", "-m", "django", *arguments)

    environment = {"DJANGO_SETTINGS_MODULE": "site_settings", "PYTHONPATH": str(folder)}
    alone.run(*django("makemigrations", "shop"), cwd=folder, **environment)
    alone.run(*django("migrate"), cwd=folder, **environment)
    alone.run(alone.bin / "classifeed-jobs", "--dsn", database_dsn, "install")
    request = "from django.test import Client; print(Client().get('/').json())"
    assert "'order': 1" in alone.run(*django("shell", "-c", request), cwd=folder, **environment)
    log = alone.work(*django("work"), until=ended, cwd=folder, **environment)
    assert "outcome=succeeded" in log
    shown = "from shop.models import Order; print(Order.objects.get().receipt)"
    assert "sent" in alone.run(*django("shell", "-c", shown), cwd=folder, **environment)
