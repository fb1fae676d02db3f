"""The pipeline load.cbr.rates: downloads the daily rates of the Central Bank of Russia and upserts them into a table.

    DL_PIPELINE_MODULES=classifeed_jobs.task.noop,cbr_rates PYTHONPATH=examples/jobs python -m classifeed_loader
    classifeed jobs trigger etl.default load.cbr.rates --lock-key cbr.rates

The target table, in a schema of the role's search path:

    CREATE TABLE cbr_rates (
        day date, char_code text, nominal integer NOT NULL, value numeric NOT NULL, PRIMARY KEY (day, char_code));
"""

from __future__ import annotations

import urllib.request
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from typing import Final, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from classifeed_jobs import Exponential, Fail, JobContext, Progress, register

_TIMEOUT_S: Final = 30.0
_MAX_BYTES: Final = 5 << 20
_UPSERT: Final = """
INSERT INTO cbr_rates (day, char_code, nominal, value) VALUES (%s, %s, %s, %s)
ON CONFLICT (day, char_code) DO UPDATE SET nominal = EXCLUDED.nominal, value = EXCLUDED.value
"""


class RatesArgs(BaseModel):
    """Which rates: those of the newest day, unless a day is given."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: str = Field(default="https://www.cbr.ru/scripts/XML_daily.asp", pattern="^https?://")
    day: date | None = None


class Rate(NamedTuple):
    """Rubles for `nominal` units of a currency."""

    day: date
    char_code: str
    nominal: int
    value: Decimal


@register("load.cbr.rates", backoff=Exponential(first_s=10.0, cap_s=600.0), max_run_s=300.0)
def load_rates(ctx: JobContext, args: RatesArgs) -> Iterator[Progress]:
    """Download, parse, upsert; running it again gives the same rows."""
    rates = parse_rates(_download(args))
    yield Progress(0, len(rates))
    ctx.call(_upsert(ctx, rates))
    yield Progress(len(rates), len(rates), {"day": rates[0].day.isoformat()})


def parse_rates(document: bytes) -> list[Rate]:
    """Return the rates of a document.

    Raises:
        Fail: it is no document of rates, so that another attempt would fail as well.
    """
    try:
        root = ET.fromstring(document)  # noqa: S314 - no entities are expanded without a DTD loader
        day = datetime.strptime(root.attrib["Date"], "%d.%m.%Y").date()
        rates = [
            Rate(
                day,
                _text(each, "CharCode"),
                int(_text(each, "Nominal")),
                Decimal(_text(each, "Value").replace(",", ".")),
            )
            for each in root.iter("Valute")
        ]
    except (ET.ParseError, KeyError, ValueError, ArithmeticError) as error:
        raise Fail(f"the document is not one of rates ({error}): look at it, its format may have changed") from error
    if not rates:
        raise Fail("the document has no rates: look at it, its format may have changed")
    return rates


def _download(args: RatesArgs) -> bytes:
    query = f"?date_req={args.day:%d/%m/%Y}" if args.day is not None else ""
    with urllib.request.urlopen(args.url + query, timeout=_TIMEOUT_S) as response:  # noqa: S310 - the pattern has the scheme
        body: bytes = response.read(_MAX_BYTES + 1)
    if len(body) > _MAX_BYTES:
        raise Fail(f"the document has more than {_MAX_BYTES:,} bytes: check the address {args.url}")
    return body


async def _upsert(ctx: JobContext, rates: list[Rate]) -> None:
    async with ctx.guarded_transaction() as tx, tx.cursor() as cursor:
        await cursor.executemany(_UPSERT, rates)


def _text(parent: ET.Element, name: str) -> str:
    text = parent.findtext(name)
    if text is None:
        raise ValueError(f"an entry has no {name}")
    return text
