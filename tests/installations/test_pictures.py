"""Pictures through the whole suite: from links of a feed to addresses that respond, and failures that sellers read.

The demo runs on this suite, too, since its steps show pictures.
"""

from __future__ import annotations

import asyncio
import io
import os
import signal
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from PIL import Image
from tools.pictures import RECORDING
from tools.pictures.recording import COLUMNS, shape_of

from classifeed_cli.commands.demo import play
from classifeed_cli.commands.demo.story import Story
from classifeed_cli.platform.installation import Installation
from classifeed_cli.platform.planning.layout import Layout
from classifeed_cli.terminal.output import Output
from classifeed_devkit.testing.campaigns import in_campaigns
from classifeed_devkit.testing.servers import server_folder
from classifeed_devkit.testing.topics import forget_records
from classifeed_domain.topics import PICTURES_DOWNLOADS, PICTURES_EVENTS, PICTURES_LOADS, PICTURES_REQUESTS
from tests.e2e.children import DECODER, stopped_children, wait_for_child, wait_until_unnamed
from tests.e2e.metrics import check_metrics
from tests.e2e.site import Site, serve_site
from tests.e2e.suite import Suite
from tests.e2e.waiting import wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(1800)]
_OFFERS = 30
_KNOBS = {
    "CLASSIFEED_OFFERS_PICTURES": "true",
    "CLASSIFEED_FETCH_ALLOW_LOOPBACK": "1",
    "CLASSIFEED_LOADER_MIN_INTERVAL_S": "2",
    "CLASSIFEED_PICTURES_HOST_FIRST_RATE": "20",
    "CLASSIFEED_PICTURES_LOOK_AGAIN_S": "2",
    "CLASSIFEED_PICTURES_BACKUP_S": "5",
}


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with serve_site() as running:
        yield running


@pytest.fixture(scope="module")
def suite() -> Iterator[Suite]:
    with server_folder("e2e") as folder:
        running = Suite(folder, _KNOBS)
        try:
            running.up()
            yield running
        finally:
            running.down()


def _jpeg(number: int) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (640, 480), (number * 8 % 256, 90, 120)).save(buffer, "JPEG")
    return buffer.getvalue()


def _feed(path: Path, pictures: dict[int, list[str]]) -> Path:
    offers = "".join(
        f'<offer id="o{number}"><name>Lamp {number}</name><price>{10 + number}</price><currencyId>RUB</currencyId>'
        f"<categoryId>1</categoryId>{''.join(f'<picture>{url}</picture>' for url in urls)}</offer>\n"
        for number, urls in pictures.items()
    )
    path.write_text(
        '<?xml version="1.0" encoding="UTF-8"?>\n<yml_catalog date="2026-11-24 12:00"><shop><name>s</name><company>c'
        '</company><url>https://shop.example/</url><currencies><currency id="RUB" rate="1"/></currencies>'
        '<categories><category id="1">Lamps</category></categories>\n'
        f"<offers>\n{offers}</offers></shop></yml_catalog>\n"
    )
    return path


def _pictures_of(suite: Suite, seller: str, offer: str) -> list[dict[str, Any]]:
    document = suite.run("offer", "show", seller, "default", offer).document
    return list(document.get("pictures", []))


@in_campaigns
def test_offers_show_stored_pictures_and_sellers_read_what_failed(suite: Suite, site: Site, tmp_path: Path) -> None:
    seller = "painter"
    links = {number: [site.put(f"/{number}.jpg", _jpeg(number))] for number in range(_OFFERS)}
    missing, page = site.url + "/missing.jpg", site.put("/page.jpg", b"<html><title>Log in</title></html>")
    links[0].append(missing)
    links[1].append(page)
    feed = _feed(tmp_path / "feed.yml", links)
    uploaded = suite.upload(feed, seller)
    assert uploaded.exit_code == 0, uploaded.document
    task = uploaded.document.get("task", uploaded.document)

    def are_settled() -> bool:
        states = [picture["state"] for number in links for picture in _pictures_of(suite, seller, f"o{number}")]
        return len(states) == _OFFERS + 2 and not any("AWAITED" in state for state in states)

    wait_until(are_settled, 240, "every picture to be stored or failed")
    every = [picture for number in links for picture in _pictures_of(suite, seller, f"o{number}")]
    stored = [picture for picture in every if "STORED" in picture["state"]]
    assert len(stored) == _OFFERS
    suite.settle()
    codes = {error["code"]: error for error in suite.errors(task) if error["code"].startswith("PICTURE_")}
    assert set(codes) == {"PICTURE_NOT_FOUND", "PICTURE_NOT_A_PICTURE"}
    assert missing in str(codes["PICTURE_NOT_FOUND"])
    assert page in str(codes["PICTURE_NOT_A_PICTURE"])
    first = 4  # line of the first offer in the feed
    assert {code: int(error["line"]) for code, error in codes.items()} == {
        "PICTURE_NOT_FOUND": first,
        "PICTURE_NOT_A_PICTURE": first + 1,
    }

    def address() -> str | None:
        hits = suite.run("search", "Lamp", "--seller", seller, "--limit", "100").document.get("hits", [])
        return next((url for hit in hits for url in hit["pictures"] if "/get/offers/" in url), None)

    shown = wait_until(address, 120, "a hit with an address of a picture")
    with urllib.request.urlopen(shown, timeout=30) as response:
        assert Image.open(io.BytesIO(response.read())).format in {"JPEG", "WEBP"}
    # A picture that an operator deletes leaves its offer, which says why.
    assert suite.run("picture", "delete", *links[2]).exit_code == 0

    def is_without() -> bool:
        [picture] = _pictures_of(suite, seller, "o2")
        return "FAILED" in picture["state"]

    wait_until(is_without, 120, "an offer without the picture that was deleted")
    # Another load of the same links sends no requests to the site, and reports the failures again.
    before = dict(site.requests)
    again = suite.upload(feed, seller)
    assert again.exit_code == 0, again.document
    suite.settle()
    repeated = again.document.get("task", again.document)
    assert {error["code"] for error in suite.errors(repeated)} >= {*codes, "PICTURE_DELETED"}
    assert dict(site.requests) == before
    check_metrics(suite, "pictures")


def test_a_picture_that_changed_at_its_site_reaches_offers_and_hits(suite: Suite, site: Site, tmp_path: Path) -> None:
    seller, path = "changer", "/changing.jpg"
    link = site.put(path, _jpeg(1))
    assert suite.upload(_feed(tmp_path / "feed.yml", {0: [link]}), seller).exit_code == 0

    def address(former: str = "") -> str | None:
        hits = suite.run("search", "Lamp", "--seller", seller).document.get("hits", [])
        return next((url for hit in hits for url in hit["pictures"] if "/get/offers/" in url and url != former), None)

    def read(url: str) -> bytes:
        with urllib.request.urlopen(url, timeout=30) as response:
            return bytes(response.read())

    first = wait_until(address, 240, "a hit with an address of the picture")
    content = read(first)

    def has_come() -> bool:
        """Make the picture due, as it would be a month later."""
        suite.query(
            "pictures",
            "UPDATE pictures SET refresh_at = clock_timestamp(), next_attempt_at = clock_timestamp()"
            " WHERE url = %s AND refresh_at > clock_timestamp() + interval '1 day' RETURNING 1",
            link,
        )
        return site.requests[path] >= requests + 1

    requests = site.requests[path]
    wait_until(has_come, 120, "the picture to be requested again")
    suite.settle()
    assert address() == first, "the address is unchanged"
    site.put(path, _jpeg(20))
    requests = site.requests[path]
    wait_until(has_come, 120, "the picture to be requested again")
    second = wait_until(lambda: address(first), 240, "a hit with another address")
    assert read(second) != content
    [picture] = _pictures_of(suite, seller, "o0")
    assert "STORED" in picture["state"]


@in_campaigns
def test_the_commands_of_the_how_to_keep_a_picture_in_a_namespace_of_its_own(
    suite: Suite, site: Site, tmp_path: Path
) -> None:
    def done(*arguments: str | Path) -> dict[str, Any]:
        result = suite.run("picture", *arguments)
        assert result.exit_code == 0, result.document
        return result.document

    sizes, formats = ("--size", "wide:300x100:crop"), ("--format", "webp", "--format", "jpeg", "--format", "avif")
    done("namespace", "banners", *sizes, *formats, "--quota-mb", "1")
    (tmp_path / "autumn.jpg").write_bytes(_jpeg(3))
    [size] = done("put", tmp_path / "autumn.jpg", "--key", "banners/autumn", "--namespace", "banners")["sizes"]
    assert (size["name"], size["width"], size["height"]) == ("wide", 300, 100)
    got = tmp_path / "wide.avif"
    assert done("get", "banners/autumn", "--size", "wide", "--format", "avif", "-o", got)["media_type"] == "image/avif"
    with Image.open(got) as picture:
        assert (picture.format, picture.size) == ("AVIF", (300, 100))

    # A request above the quota is refused with a message, and changes nothing.
    noise = Image.effect_noise((1600, 1200), 90)
    noise.save(tmp_path / "large.jpg", quality=95)
    refused = suite.run("picture", "put", tmp_path / "large.jpg", "--key", "banners/large", "--namespace", "banners")
    assert (refused.exit_code, refused.document["error"]["reason"]) == (1, "PICTURE_QUOTA_EXCEEDED")
    assert "raise its quota" in refused.document["error"]["message"]
    [kept] = [each for each in done("namespaces")["namespaces"] if each["name"].endswith("banners")]
    assert int(kept["pictures"]) == 1

    link, gone = site.put("/spring.jpg", _jpeg(4)), site.url + "/never-there.jpg"
    done("request", link, "--namespace", "banners", "--wait")
    assert suite.run("picture", "request", gone, "--namespace", "banners", "--wait").exit_code == 1
    assert "404" in str(suite.run("picture", "state", gone).document)

    # The command restores a later backup: the picture is stored as before.
    def newest() -> str:
        complete = done("backups")["backups"]
        return str(complete[0]["name"]) if complete else ""

    def pictures() -> list[Any]:
        return [state["pictures"] for state in done("state", "banners/autumn", link)["states"]]

    def next_backup() -> str:
        former = newest()
        return wait_until(lambda: name if (name := newest()) > former else None, 120, "another backup")

    next_backup()  # the first one may have begun before
    chosen = next_backup()
    before = pictures()
    done("restore", chosen, "--yes")
    assert pictures() == before
    done("get", link, "--namespace", "banners", "--size", "wide", "-o", got)
    done("delete", "banners/autumn", link)
    wait_until(lambda: suite.run("picture", "state", link).exit_code == 1, 120, "the picture to be deleted")


@in_campaigns
def test_a_lost_database_is_named_and_its_pictures_come_back(suite: Suite, site: Site, tmp_path: Path) -> None:
    """Offers requests lost pictures again from its own records, until all are stored."""
    seller = "loser"
    links = {number: [site.put(f"/lost/{number}.jpg", _jpeg(number))] for number in range(10)}
    assert suite.upload(_feed(tmp_path / "feed.yml", links), seller).exit_code == 0

    def are_stored() -> bool:
        states = [picture["state"] for number in links for picture in _pictures_of(suite, seller, f"o{number}")]
        return len(states) == len(links) and all("STORED" in state for state in states)

    wait_until(are_stored, 240, "every picture to be stored")
    [(before,)] = suite.query("pictures", "SELECT count(*) FROM stored_pictures")
    with psycopg.connect(suite.status()["postgres"]["pictures"], autocommit=True) as connection:
        connection.execute("DROP SCHEMA pictures CASCADE")
    suite.kill("pictures")

    def is_named() -> bool:
        return any("NOT_MIGRATED" in problem for problem in suite.status()["services"]["pictures"]["problems"])

    wait_until(is_named, 120, "status to say that the tables are missing")
    for topic in (PICTURES_REQUESTS, PICTURES_EVENTS, PICTURES_DOWNLOADS, PICTURES_LOADS):
        asyncio.run(forget_records(suite.status()["kafka"], topic))
    suite.down()
    suite.up()

    def are_back() -> bool:
        [(count,)] = suite.query("pictures", "SELECT count(*) FROM stored_pictures")
        return bool(count == before)

    wait_until(are_back, 240, "every picture to be stored again")
    suite.settle()
    assert are_stored()
    assert {site.requests[f"/lost/{number}.jpg"] for number in links} == {2}


def test_a_stopped_decoder_is_named_and_its_pictures_come(
    suite: Suite, site: Site, record_property: Callable[[str, object], None]
) -> None:
    first, *links = [site.put(f"/decoder/{number}.jpg", _jpeg(number)) for number in range(4)]
    assert suite.run("picture", "request", first, "--namespace", "offers", "--wait").exit_code == 0
    pid = wait_for_child(suite, "pictures", DECODER)
    with stopped_children(suite, "pictures", [pid]) as named_s:
        assert suite.run("picture", "request", *links, "--namespace", "offers").exit_code == 0
        os.kill(pid, signal.SIGKILL)
    record_property("figure", f"a stopped decoder is in `status` after {named_s:.1f} s")
    assert suite.run("picture", "request", *links, "--namespace", "offers", "--wait").exit_code == 0
    wait_until_unnamed(suite, "pictures", [pid])


def test_demo_prints_what_the_recording_shows(
    suite: Suite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    installation = Installation.find(suite.data)
    with installation.client() as client:
        document = play(Story(client, Output(as_json=False), installation, Layout(suite.data), tmp_path))
    assert shape_of(capsys.readouterr().out) == shape_of(RECORDING.read_text("utf-8")), "make pictures"
    assert set(document["counts"].values()) == {20_000}
    assert 0 < document["kill"]["answered_before"] < 20_000
    assert document["kill"]["pid"] != document["kill"]["pid_after"]
