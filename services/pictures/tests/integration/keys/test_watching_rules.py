"""Changed rules reach every process that makes keys, in any role."""

from __future__ import annotations

import asyncio
from pathlib import Path
from uuid import uuid4

import pytest
import yaml

from classifeed_devkit.embedded.kafka import EmbeddedKafka
from classifeed_devkit.embedded.s3 import EmbeddedS3
from classifeed_devkit.testing.databases import MigratedDatabase
from classifeed_devkit.testing.recovery import until
from classifeed_pictures import bootstrap
from classifeed_pictures.parts import build_parts
from classifeed_pictures.settings import PicturesSettings

pytestmark = pytest.mark.kafka
_RULES = {"strip_fragment": True, "strip_www": False, "tracking_parameters": []}


@pytest.mark.parametrize("role", ["serve", "consume-copies"])
async def test_a_process_with_one_role_takes_changed_rules(
    migrated_database: MigratedDatabase,
    kafka: EmbeddedKafka,
    s3: EmbeddedS3,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    role: str,
) -> None:
    database = await migrated_database("classifeed_pictures")
    path = tmp_path / "canonical.yaml"
    path.write_text(yaml.safe_dump(_RULES))
    settings = PicturesSettings(
        dsn=database.dsn,
        kafka_bootstrap=kafka.bootstrap,
        s3_endpoint=s3.endpoint,
        s3_access_key=s3.access_key,
        s3_secret_key=s3.secret_key,
        bucket=f"pictures-{uuid4().hex[:12]}",
        canonical_rules=str(path),
        decoders=1,
        drain_notice_s=0,
    )
    parts = build_parts(settings)
    monkeypatch.setattr(bootstrap, "build_parts", lambda *_: parts)
    runner = bootstrap.build(settings)
    stop = asyncio.Event()
    running = asyncio.create_task(runner.run(stop, {role}))
    await until(lambda: running.done() or runner.is_ready)
    path.write_text(yaml.safe_dump(_RULES | {"strip_www": True}))
    await until(lambda: running.done() or parts.canonical_rules().strips_www)
    stop.set()
    assert await running == 0
