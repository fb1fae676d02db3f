"""Responses to clients: a cached picture of 50 KB, compared with nginx, and states of URLs."""

from __future__ import annotations

import json
import random
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from psycopg.types.json import Jsonb

from bench.kit.cpu import cpu_of_tree
from bench.kit.report import Report, Spread
from bench.kit.running import scratch
from bench.pictures.client import Outcome, Plan, request
from bench.pictures.hosts import drawing, encoded
from bench.pictures.installation import SERVE, Installation
from bench.pictures.peers import environment, nginx
from bench.pictures.sizes import Sizes
from classifeed_devkit.embedded.ports import pick_free_port
from classifeed_devkit.embedded.process import stop_process
from classifeed_pictures.domain.urls.canonical import url_hash

_WORKERS: Final = 2
_CONNECTIONS: Final = 16
_GETS_GOAL: Final = 3_000.0
_P99_GOAL_MS: Final = 5.0
_LOOKUPS_RATE: Final = 200.0
_NAMESPACE: Final = "UPDATE namespaces SET sizes = %s, formats = %s WHERE name = 'offers'"  # of the put picture
_SIZE: Final = [{"name": "page", "width": 620, "height": 620, "crop": False}]
_KNOWN: Final = "COPY pictures (url_hash, url, holdings, attempt) FROM STDIN"
_HOLDINGS: Final = "SELECT holdings FROM pictures WHERE url = %s"
_PUT_URL: Final = "https://shop.example/0.jpg"
_NGINX: Final = """
worker_processes {workers};
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    sendfile on;
    tcp_nopush on;
    keepalive_requests 1000000;
    open_file_cache max=100;
    types {{ image/jpeg jpg; }}
    client_body_temp_path {folder}; proxy_temp_path {folder}; fastcgi_temp_path {folder};
    uwsgi_temp_path {folder}; scgi_temp_path {folder};
    server {{
        listen 127.0.0.1:{port} reuseport;
        root {folder};
        add_header Cache-Control "public, max-age=31536000, immutable";
    }}
}}
"""


def measure(installation: Installation, sizes: Sizes, report: Report) -> None:
    """Measure both sides in turn, then the lookups, and show the figures."""
    peers = environment() if sizes.peers else None
    with installation.connect() as connection:
        connection.execute(_NAMESPACE, [Jsonb(_SIZE), Jsonb(["jpeg"])])
    with installation.running(*[SERVE] * _WORKERS) as workers, scratch() as folder:
        addresses = [worker.http for worker in workers]
        pids = [worker.process.pid for worker in workers]
        path = _put(addresses[0])
        content = _read(f"http://{addresses[0]}{path}")
        plans = {"ours": (Plan(addresses, [path], sizes.gets, _CONNECTIONS), pids)}
        (folder / "picture.jpg").write_bytes(content)
        with _nginx(folder, peers) as server:
            if server is not None:
                address, process = server
                plans["nginx"] = (Plan([address], ["/picture.jpg"], sizes.gets, _CONNECTIONS), [process])
            rates = _compare(plans, sizes, report)
        if "nginx" in rates:
            report.ratio("GET/s of a cached picture / nginx", rates["ours"], rates["nginx"])
        _look_up(installation, addresses, pids, sizes, report)


def _compare(plans: Mapping[str, tuple[Plan, Sequence[int]]], sizes: Sizes, report: Report) -> dict[str, list[float]]:
    rates: dict[str, list[float]] = {side: [] for side in plans}
    costs: dict[str, list[float]] = {side: [] for side in plans}
    client: list[float] = []
    size_bytes = 0
    for _ in range(sizes.rounds):
        for side, (plan, pids) in plans.items():
            outcome, cost = _run(plan, pids)
            rates[side].append(plan.count / outcome.seconds)
            costs[side].append(cost)
            client.append(outcome.cpu_s / plan.count * 1e6)
            size_bytes = outcome.size_bytes
    for side, found in rates.items():
        goal = _GETS_GOAL if side == "ours" else None
        report.at_least(f"GET/s of a cached picture, {side}", Spread(found), goal)
        report.show("  CPU µs each", Spread(costs[side]))
    report.show("  bytes of it, CPU µs of the clients each", size_bytes, Spread(client))
    return rates


def _look_up(
    installation: Installation, addresses: Sequence[str], pids: Sequence[int], sizes: Sizes, report: Report
) -> None:
    urls = [f"https://shop.example/pictures/{number}.jpg" for number in range(sizes.states)]
    _make_known(installation, urls)
    paths = [f"/state?url={urllib.parse.quote(url, safe='')}" for url in random.Random(1).sample(urls, len(urls))]
    paced, full, control = [], [], []
    for _ in range(sizes.rounds):
        paced.append(_run(Plan(addresses, paths, sizes.lookups, _CONNECTIONS, _LOOKUPS_RATE), pids))
        full.append(_run(Plan(addresses, paths, sizes.lookups, _WORKERS), pids))
        control.append(_run(Plan(addresses, ["/health/live"], sizes.lookups, _CONNECTIONS, _LOOKUPS_RATE), pids))
    for name, rounds, goal in (
        (f"GET /state, {_LOOKUPS_RATE:.0f} a second, p99 ms", paced, _P99_GOAL_MS),
        ("  meanwhile GET /health/live, no database, p99 ms", control, None),
        ("GET /state, one after another at each worker, p99 ms", full, None),
    ):
        report.at_most(name, Spread([outcome.quantile_ms(0.99) for outcome, _ in rounds]), goal)
        middle = Spread([outcome.quantile_ms(0.5) for outcome, _ in rounds])
        rate = Spread([len(outcome.waits_ms) / outcome.seconds for outcome, _ in rounds])
        report.show("  p50 ms, requests/s, CPU µs each", middle, rate, Spread([cost for _, cost in rounds]))


def _make_known(installation: Installation, urls: Sequence[str]) -> None:
    """Store a row for each URL with the holdings of the URL that was put."""
    holdings = installation.query(_HOLDINGS, _PUT_URL)
    with installation.connect() as connection:
        with connection.cursor().copy(_KNOWN) as copy:
            for url in urls:
                copy.write_row([url_hash(url), url, holdings, 1])
        connection.execute("VACUUM ANALYZE pictures")


def _run(plan: Plan, pids: Sequence[int]) -> tuple[Outcome, float]:
    """Return the outcome, and the microseconds of CPU that the servers used for each request."""
    before = sum(map(cpu_of_tree, pids))
    outcome = request(plan)
    return outcome, (sum(map(cpu_of_tree, pids)) - before) / plan.count * 1e6


def _put(address: str) -> str:
    """Put a picture, and return the path of its version."""
    query = urllib.parse.urlencode({"url": _PUT_URL})
    headers = {"Content-Type": "image/jpeg"}
    put = urllib.request.Request(
        f"http://{address}/market/put_picture?{query}", encoded(drawing(), 1_000_000), headers, method="POST"
    )
    info = json.loads(_read(put))
    return f"/get/offers/{info['group_id']}/{info['name']}/page"


def _read(request_: urllib.request.Request | str) -> bytes:
    with urllib.request.urlopen(request_, timeout=60) as response:
        return bytes(response.read())


@contextmanager
def _nginx(folder: Path, peers: Path | None) -> Iterator[tuple[str, int] | None]:
    """Yield the address and the process id of a running nginx; None without `peers`."""
    found = shutil.which("nginx") or (nginx(peers) if peers is not None else None)
    if found is None:
        yield None
        return
    port = pick_free_port()
    configuration = folder / "nginx.conf"
    configuration.write_text(_NGINX.format(workers=_WORKERS, folder=folder, port=port))
    process = subprocess.Popen([found, "-e", str(folder / "error.log"), "-p", str(folder), "-c", str(configuration)])
    try:
        ends_at = time.monotonic() + 30
        while True:
            try:
                _read(f"http://127.0.0.1:{port}/picture.jpg")
                break
            except urllib.error.URLError:
                if time.monotonic() > ends_at or process.poll() is not None:
                    raise
                time.sleep(0.05)
        yield f"127.0.0.1:{port}", process.pid
    finally:
        stop_process(process, signal.SIGTERM, 10)
