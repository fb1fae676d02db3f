"""Sources of snapshots: YAML and JSON, the wheel, S3."""

from __future__ import annotations

import io
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
from pydantic import SecretStr

from classifeed_common.blobs.client import S3Client
from classifeed_common.errors import Unavailable
from classifeed_common.runner.snapshot_source import source_of
from classifeed_common.snapshot import FileSource, PackagedSource, Snapshot, SnapshotError, sources
from classifeed_devkit.embedded.s3 import EmbeddedS3
from classifeed_devkit.testing.rpc import settings_for
from classifeed_devkit.testing.tcp_proxy import MakeProxy

from .conftest import SCHEMA, File, Rules, make_snapshot, parse, text_of

JSON = '{\n\t"name": "of json",\n\t"rules": [{"verdict": "spam", "allowed": true}]\n}'


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('{"rules": [],}', "line 1: is not JSON: "),
        ('{"rules": [],\n"rules": []}', "the key 'rules' is used twice"),
        ('{"rules": NaN}', "NaN is not a number of JSON"),
        ('{"rules": [\n{"verdict": "spam",\n"allowed": 1}]}', "line 3, rules[0].allowed: 1 is not of type 'boolean'"),
        ('{\n\t"rules": 1\n}', "line 2, rules: 1 is not of type 'array'"),
        ('{"name": "\\ud83d\\ude00",\n"rules": 1}', "rules: 1 is not"),  # no valid YAML: a path, but no line
        ("[" * 100_000, "is JSON that cannot be read"),
        ("rules: []", "line 1: is not JSON"),
    ],
)
async def test_json(tmp_path: Path, text: str, fault: str) -> None:
    path = tmp_path / "rules.json"
    path.write_text(JSON)
    snapshot = make_snapshot(path)
    await snapshot.open()
    assert snapshot.current.value == {"spam": True}
    path.with_name("other").write_text(text)
    path.with_name("other").replace(path)
    await snapshot.look()
    await snapshot.look()
    assert snapshot.current.version.startswith("of json@")
    assert snapshot.blocked()["rules"].startswith(f"{path}: {fault}")


async def test_texts_that_yaml_1_1_takes_for_other_things(tmp_path: Path) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text("name: 2026-11-23\nrules:\n  - {verdict: no, allowed: true}\n  - {verdict: on, allowed: false}\n")
    snapshot = make_snapshot(path)
    await snapshot.open()
    assert snapshot.current.value == {"no": True, "on": False}
    assert snapshot.current.version.startswith("2026-11-23@")


async def test_a_file_that_is_too_large_is_refused(file: File, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = make_snapshot(file.path)
    await snapshot.open()
    monkeypatch.setattr(sources, "MAX_BYTES", 100)
    file.write(text_of("large", **{f"v{n}": True for n in range(10)}))
    for _ in range(3):
        await snapshot.look()
    assert "is larger than 100 bytes" in snapshot.blocked()["rules"]
    assert snapshot.current.version.startswith("first@")


async def test_the_default_lies_in_the_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parent.parent)
    monkeypatch.delitem(sys.modules, "snapshot", raising=False)
    source = PackagedSource("snapshot", "rules.yaml")
    snapshot = Snapshot("rules", source, schema=SCHEMA, parse=parse)
    await snapshot.open()
    await snapshot.look()
    assert snapshot.current.value == {"spam": False}
    assert snapshot.current.version.startswith("packaged@")
    assert source_of(settings_for("receiver"), "", source) is source
    with pytest.raises(SnapshotError, match=r"there is no file snapshot/none\.yaml"):
        await Snapshot("rules", PackagedSource("snapshot", "none.yaml"), schema=SCHEMA, parse=parse).open()


def test_a_location_is_a_path_or_an_address(file: File) -> None:
    found = source_of(settings_for("receiver"), str(file.path), PackagedSource("x", "y"))
    assert isinstance(found, FileSource)
    assert found.name == str(file.path)


@dataclass
class Object:
    """An object in S3 as the source of a snapshot."""

    client: S3Client
    bucket: str
    key: str = "of/moderation.yaml"

    async def put(self, text: str) -> None:
        content = text.encode()
        await self.client.run(lambda minio: minio.put_object(self.bucket, self.key, io.BytesIO(content), len(content)))

    async def remove(self) -> None:
        await self.client.run(lambda minio: minio.remove_object(self.bucket, self.key))


@pytest.fixture
async def stored(s3: EmbeddedS3) -> AsyncIterator[Object]:
    client = S3Client(s3.endpoint, s3.access_key, s3.secret_key, threads=1, retries=0)
    made = Object(client, f"rules-{uuid4().hex[:8]}")
    await client.run(lambda minio: minio.make_bucket(made.bucket))
    yield made
    client.close()


def snapshot_of(stored: Object, endpoint: str, s3: EmbeddedS3) -> Snapshot[Rules]:
    settings = settings_for("receiver").model_copy(
        update={"s3_endpoint": endpoint, "s3_access_key": s3.access_key, "s3_secret_key": SecretStr(s3.secret_key)}
    )
    source = source_of(settings, f"s3://{stored.bucket}/{stored.key}", PackagedSource("x", "y"))
    return Snapshot("rules", source, schema=SCHEMA, parse=parse)


async def look_twice(snapshot: Snapshot[Rules]) -> None:
    await snapshot.look()
    await snapshot.look()


async def test_an_object_of_s3(s3: EmbeddedS3, stored: Object) -> None:
    snapshot = snapshot_of(stored, s3.endpoint, s3)
    address = f"s3://{stored.bucket}/{stored.key}"
    with pytest.raises(SnapshotError, match=f"there is no object {address}"):
        await snapshot.open()
    await stored.put(text_of("first", spam=False))
    await snapshot.open()
    await look_twice(snapshot)
    assert (snapshot.current.value, snapshot.blocked()) == ({"spam": False}, {})
    await stored.put(text_of("second", spam=True))
    await look_twice(snapshot)
    assert snapshot.current.version.startswith("second@")
    await stored.put("rules: 1\n")
    await look_twice(snapshot)
    assert snapshot.current.version.startswith("second@")
    assert snapshot.blocked()["rules"].startswith(f"{address}: line 1, rules: 1 is not of type 'array'")
    await stored.remove()
    await snapshot.look()
    assert snapshot.blocked()["rules"].startswith(f"there is no object {address}")
    await stored.put(text_of("third", spam=True))
    await look_twice(snapshot)
    assert snapshot.current.version.startswith("third@")
    snapshot.close()


async def test_an_object_store_that_is_away_leaves_the_version_in_force(
    s3: EmbeddedS3, stored: Object, tcp_proxy: MakeProxy
) -> None:
    parts = urlsplit(s3.endpoint)
    proxy = tcp_proxy(str(parts.hostname), int(parts.port or 80))
    snapshot = snapshot_of(stored, f"http://{proxy.address}", s3)
    proxy.refuse()
    with pytest.raises(Unavailable):
        await snapshot.open()
    proxy.restore()
    await stored.put(text_of("first", spam=False))
    await snapshot.open()
    proxy.refuse()
    proxy.cut_existing()
    await look_twice(snapshot)
    assert "OBJECT_STORE_UNAVAILABLE" in snapshot.blocked()["rules"]
    assert snapshot.current.version.startswith("first@")
    proxy.restore()
    await stored.put(text_of("second", spam=True))
    await look_twice(snapshot)
    assert (snapshot.current.value, snapshot.blocked()) == ({"spam": True}, {})
    snapshot.close()
