"""YML, the Yandex Market Language: root yml_catalog, shop, offers, offer."""

from __future__ import annotations

from typing import Final

from classifeed_feeds.formats.format import Format
from classifeed_feeds.formats.yml.mapping import YmlMapping
from classifeed_feeds.formats.yml.names import NAMES
from classifeed_feeds.formats.yml.scan import YmlScan
from classifeed_feeds.formats.yml.schema import PLAIN

YML: Final = Format(
    name=YmlScan.name,
    title="YML (Yandex Market Language)",
    description="Price lists of shops, as Yandex Market accepts them and nearly every Russian shop system writes them.",
    recognised_by="root <yml_catalog>, or <torg_price> of Mail.ru",
    roots=YmlScan.shape.containers[0],
    shape=YmlScan.shape,
    names=NAMES,
    scan=YmlScan,
    mapping=YmlMapping,
    package=__package__,
    sample="yml-sample.xml",
    schema="yml-offer.xsd",
    plain=PLAIN,
)
