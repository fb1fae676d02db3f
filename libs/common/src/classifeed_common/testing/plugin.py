"""The pytest plugin that puts every shared fixture in reach (`-p classifeed_common.testing.plugin`)."""

pytest_plugins = [
    "classifeed_common.testing.servers",
    "classifeed_common.testing.databases",
    "classifeed_common.testing.tcp_proxy",
    "classifeed_common.testing.topics",
    "classifeed_common.testing.rpc",
    "classifeed_common.testing.properties",
]
