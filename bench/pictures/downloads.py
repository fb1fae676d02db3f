"""Downloads a second from hosts on the loopback, compared with img2dataset, and CPU of a picture in each process."""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from collections.abc import Sequence
from typing import Final

from psycopg.types.json import Jsonb

from bench.kit.cpu import cpu_of, cpu_of_tree, medians, spent
from bench.kit.report import Report, Spread, by_name
from bench.kit.running import scratch
from bench.pictures import stages
from bench.pictures.hosts import hosts
from bench.pictures.img2dataset import Img2dataset
from bench.pictures.installation import DOWNLOAD, PROCESS_AND_RELAY, RESHARD, Installation, Running
from bench.pictures.peers import environment
from bench.pictures.sizes import Sizes
from bench.pictures.states import requests_of
from classifeed.pictures.v1.picture_pb2 import LoadFailure
from classifeed_common.kafka import KafkaProducer, Message

_GOAL: Final = 1.5
_SIDE: Final = 320
_ONE: Final = "bench"
_SHIPPED: Final = "offers"
_PEER: Final = "img2dataset"
_NAMESPACE: Final = "INSERT INTO namespaces (name, sizes, formats) VALUES (%s, %s, %s)"
_SO_FAR: Final = """
SELECT (SELECT count(*) FROM stored_pictures), (SELECT count(*) FROM requests_in_flight),
       (SELECT array_agg(failure) FROM requests_in_flight JOIN pictures USING (url_hash) WHERE failed_attempts > 0)
"""
_LIMIT_S: Final = 900.0


def measure(installation: Installation, sizes: Sizes, report: Report) -> None:
    """Measure each side in each round with new pictures, and show the figures."""
    peers = environment() if sizes.peers else None
    one_size = [{"name": "card", "width": _SIDE, "height": _SIDE, "crop": False}]
    with installation.connect() as connection:
        connection.execute(_NAMESPACE, [_ONE, Jsonb(one_size), Jsonb(["jpeg"])])
    with hosts(sizes.hosts) as running, scratch() as folder:
        bench = _Downloads(installation, running.addresses)
        peer = Img2dataset(peers, folder / "peer", _SIDE) if peers is not None else None
        with installation.running(RESHARD, PROCESS_AND_RELAY, DOWNLOAD) as processes:
            bench.run(processes, sizes.hosts, _ONE)  # registers each host
            for _ in range(sizes.rounds):
                bench.run(processes, sizes.pictures, _ONE)
                bench.run(processes, sizes.pictures, _SHIPPED)
                if peer is not None:
                    bench.run_peer(peer, sizes.pictures)
        bench.show(report)
        stages.measure(installation, bench.take(min(sizes.pictures, 500)), report)


class _Downloads:
    def __init__(self, installation: Installation, addresses: Sequence[str]) -> None:
        self._installation = installation
        self._addresses = addresses
        self._taken = 0
        self._requested = 0
        self._rates: dict[str, list[float]] = {}
        self._costs: dict[str, list[dict[str, float]]] = {}

    def take(self, count: int) -> list[str]:
        """Return new URLs, of all hosts in turn."""
        numbers = range(self._taken, self._taken + count)
        self._taken += count
        return [f"http://{self._addresses[number % len(self._addresses)]}/{number}.jpg" for number in numbers]

    def run(self, processes: Sequence[Running], count: int, namespace: str) -> None:
        """Measure downloads for a namespace, from sending the requests until each has its result."""
        resharder, processor, downloader = (each.process.pid for each in processes)

        def spent_s() -> dict[str, float]:
            return {
                "download": cpu_of([downloader]),
                "decode": cpu_of_tree(downloader) - cpu_of([downloader]),
                "state": cpu_of_tree(resharder) + cpu_of_tree(processor),
                **self._installation.cpu(),
            }

        messages = requests_of(self.take(count), namespace)
        self._requested += count
        before, began_s = spent_s(), time.perf_counter()
        asyncio.run(self._send(messages))
        self._wait(began_s + _LIMIT_S)
        seconds = time.perf_counter() - began_s
        if self._requested > len(self._addresses):
            self._note(namespace, count / seconds, spent(before, spent_s(), count))

    def _wait(self, until_s: float) -> None:
        """Return once each request has its result."""
        with self._installation.connect() as connection:
            while True:
                stored, waiting, failed = connection.execute(_SO_FAR).fetchone() or (0, 0, None)
                if failed:
                    failures = Counter(LoadFailure.FromString(each).message for each in failed)
                    raise RuntimeError(f"pictures failed: {failures.most_common(3)}")
                if stored == self._requested and not waiting:
                    return
                if time.perf_counter() > until_s:
                    raise RuntimeError(f"pictures are missing after {_LIMIT_S:.0f} s; {waiting} wait, {stored} stored")
                time.sleep(0.05)

    def run_peer(self, peer: Img2dataset, count: int) -> None:
        """Measure img2dataset with `count` pictures."""
        ran = peer.run(self.take(count))
        self._note(_PEER, ran.rate, {"all of it": ran.cpu_us})

    def show(self, report: Report) -> None:
        """Show all figures."""
        names = {_ONE: f"ours, {_SIDE} px as JPEG", _SHIPPED: "ours, 3 sizes as JPEG and WebP"}
        print(f"{len(self._addresses)} hosts with the default limits; load {os.getloadavg()[0]:.1f}")
        for side, rates in self._rates.items():
            name = names.get(side, side)
            report.show(f"downloads/s, {name}", Spread(rates))
            report.show(f"  CPU µs a picture, {name}", by_name(medians(self._costs[side])))
        if _PEER in self._rates:
            report.ratio(f"downloads, {names[_ONE]} / {_PEER}", self._rates[_ONE], self._rates[_PEER], _GOAL)

    def _note(self, side: str, rate: float, cost: dict[str, float]) -> None:
        self._rates.setdefault(side, []).append(rate)
        self._costs.setdefault(side, []).append(cost)

    async def _send(self, messages: Sequence[Message]) -> None:
        producer = KafkaProducer(self._installation.kafka.bootstrap, client_id="bench")
        await producer.start()
        try:
            await producer.send(messages, limit_s=_LIMIT_S)
        finally:
            await producer.close()
