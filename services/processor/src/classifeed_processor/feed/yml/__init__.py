"""YML, the Yandex Market Language: root yml_catalog, shop, offers, offer."""
