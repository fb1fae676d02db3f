"""The example task load.cbr.rates, against a fake server of the bank."""

from __future__ import annotations

import importlib.util
import sys
import threading
from collections.abc import Iterator
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from classifeed_jobs import Fail, registry

from ..conftest import Bench

_FILE = Path(__file__).parents[4] / "examples" / "jobs" / "cbr_rates.py"
_DAILY = """<?xml version="1.0" encoding="windows-1251"?>
<ValCurs Date="28.11.2026" name="Foreign Currency Market">
<Valute ID="R01235"><NumCode>840</NumCode><CharCode>USD</CharCode><Nominal>1</Nominal><Name>Доллар США</Name>\
<Value>78,2284</Value><VunitRate>78,2284</VunitRate></Valute>
<Valute ID="R01820"><NumCode>392</NumCode><CharCode>JPY</CharCode><Nominal>100</Nominal><Name>Иен</Name>\
<Value>50,0012</Value><VunitRate>0,500012</VunitRate></Valute>
</ValCurs>""".encode("windows-1251")


@pytest.fixture(scope="module")
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("cbr_rates", _FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["cbr_rates"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def bank() -> Iterator[dict[str, Any]]:
    """Yield what the server responds (`body`), its address (`url`) and the paths that were requested."""
    state: dict[str, Any] = {"body": _DAILY, "paths": []}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            state["paths"].append(self.path)
            self.send_response(200)
            self.send_header("Content-Length", str(len(state["body"])))
            self.end_headers()
            self.wfile.write(state["body"])

        def log_message(self, *_: object) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Handler)
    state["url"] = f"http://127.0.0.1:{server.server_port}/scripts/XML_daily.asp"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield state
    server.shutdown()
    thread.join()
    server.server_close()


async def test_rates_are_upserted(bench: Bench, bank: dict[str, Any], example: ModuleType) -> None:
    bench.registry._tasks["load.cbr.rates"] = registry["load.cbr.rates"]
    await bench.execute(
        "CREATE TABLE cbr_rates (day date, char_code text, nominal integer NOT NULL, value numeric NOT NULL, "
        "PRIMARY KEY (day, char_code))"
    )
    args = {"url": bank["url"], "day": "2026-11-28"}
    async with bench.working():
        for body in (_DAILY, _DAILY.replace(b"78,2284", b"79,5")):
            bank["body"] = body
            job_id = await bench.enqueue("load.cbr.rates", args, lock_key="cbr.rates")
            assert await bench.ended(job_id) == ["succeeded"]
            assert (await bench.job(job_id)).progress == {"processed": 2, "total": 2, "day": "2026-11-28"}
        rows = await bench.execute("SELECT char_code, nominal, value FROM cbr_rates ORDER BY 1")
        assert rows == [("JPY", 100, Decimal("50.0012")), ("USD", 1, Decimal("79.5"))]
        bank["body"] = b"<html>maintenance</html>"
        job_id = await bench.enqueue("load.cbr.rates", args, lock_key="cbr.rates")
        assert await bench.ended(job_id) == ["failed"]
    assert "the document is not one of rates" in str((await bench.job(job_id)).error)
    assert bank["paths"][0] == "/scripts/XML_daily.asp?date_req=28/11/2026"


@pytest.mark.parametrize("document", [b"", b"<ValCurs/>", b'<ValCurs Date="28.11.2026"/>', b"\xff\xfe"])
def test_other_documents_are_refused(example: ModuleType, document: bytes) -> None:
    with pytest.raises(Fail, match="look at it, its format may have changed"):
        example.parse_rates(document)
