"""Examples for the help of each command. Tests run them."""

from __future__ import annotations

from typing import Final

import typer

EXAMPLES: Final = {
    "cleanweb callbacks": ("classifeed cleanweb callbacks --given-up",),
    "cleanweb claim": ("classifeed cleanweb claim common_toloka --reviewer ann",),
    "cleanweb queues": ("classifeed cleanweb queues",),
    "cleanweb resend": ("classifeed cleanweb resend", "classifeed cleanweb resend 17"),
    "cleanweb submit": ("classifeed cleanweb submit 12 text_toloka_insult --reviewer ann",),
    "demo": ("classifeed demo",),
    "doctor": ("classifeed doctor",),
    "down": ("classifeed down",),
    "feed add": (
        "classifeed feed add https://shop.example/p.yml --seller my-shop --every 2h",
        "classifeed feed add https://shop.example/p.yml --seller my-shop --no-wait",
    ),
    "feed fetches": ("classifeed feed fetches --seller my-shop --limit 5",),
    "feed formats": ("classifeed feed formats", "classifeed feed formats yml --sample sample.xml"),
    "feed list": ("classifeed feed list --seller my-shop",),
    "feed pause": ("classifeed feed pause --seller my-shop",),
    "feed remove": ("classifeed feed remove --seller my-shop --disposition MAKE_MANUAL",),
    "feed resume": ("classifeed feed resume --seller my-shop",),
    "feed run": ("classifeed feed run --seller my-shop --force",),
    "feed set": ("classifeed feed set --seller my-shop --every 30m",),
    "feed show": ("classifeed feed show --seller my-shop --namespace summer",),
    "feed upload": (
        "classifeed feed upload price.yml --seller my-shop",
        "classifeed feed upload price.yml --seller my-shop --fail-on-rejected=10%",
    ),
    "index refill": ("classifeed index refill --shard 3",),
    "index republish": ("classifeed index republish --seller my-shop",),
    "index status": ("classifeed index status",),
    "jobs cancel": ("classifeed jobs cancel 0193a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b",),
    "jobs limit": ("classifeed jobs limit feed.fetch --running 20 --per-partition 2",),
    "jobs list": ("classifeed jobs list --queue feed.process --status failed",),
    "jobs locks": ("classifeed jobs locks",),
    "jobs pause": ("classifeed jobs pause feed.fetch",),
    "jobs queues": ("classifeed jobs queues",),
    "jobs resume": ("classifeed jobs resume feed.fetch",),
    "jobs retry": ("classifeed jobs retry --queue feed.fetch --since 1h",),
    "jobs schedules list": ("classifeed jobs schedules list",),
    "jobs schedules pause": ("classifeed jobs schedules pause nightly",),
    "jobs schedules resume": ("classifeed jobs schedules resume nightly",),
    "jobs status": ("classifeed jobs status 0193a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b",),
    "jobs trigger": ("classifeed jobs trigger etl.default load.customers --lock-key c",),
    "jobs workers": ("classifeed jobs workers",),
    "keys init": (
        "classifeed keys init --format k8s-secret --to ./keys",
        "classifeed keys init --format files --to ./keys",
    ),
    "logs": ("classifeed logs processor -f", "classifeed logs --task my-shop/default/1763956803123456"),
    "moderation appeal": ('classifeed moderation appeal offer/s/default/7 "A model name." --author s',),
    "moderation appeals": ("classifeed moderation appeals",),
    "moderation response": ("classifeed moderation response 4",),
    "moderation apply": (
        "classifeed moderation apply offer/my-shop/default/S-016 text_toloka_insult",
        "classifeed moderation apply 0193a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b",
    ),
    "moderation check": ('classifeed moderation check "Oak bench, call 8 900 123 45 67"',),
    "moderation decide": ("classifeed moderation decide 4 --approve --reviewer ann",),
    "moderation figures": ("classifeed moderation figures --by day --last 7 --of verdict",),
    "moderation pending": ("classifeed moderation pending --kind offer",),
    "moderation rejudge": ("classifeed moderation rejudge --dry-run",),
    "moderation show": ("classifeed moderation show offer/my-shop/default/S-016",),
    "offer delete": ("classifeed offer delete my-shop default S-203",),
    "offer explain": ("classifeed offer explain my-shop default S-016",),
    "offer list": ("classifeed offer list my-shop default --limit 10",),
    "offer set": ("classifeed offer set my-shop default S-203 --price 1490 --available",),
    "offer show": ("classifeed offer show my-shop default S-016",),
    "picture backups": ("classifeed picture backups",),
    "picture comparisons": ("classifeed picture comparisons",),
    "picture confirm": ("classifeed picture confirm 17",),
    "picture delete": ("classifeed picture delete https://shop.example/1.jpg",),
    "picture get": (
        "classifeed picture get https://shop.example/1.jpg --size card",
        "classifeed picture get /get/offers/17/0f3c9a1be2d84c77/card -o card.jpg",
    ),
    "picture look-again": ("classifeed picture look-again https://shop.example/1.jpg",),
    "picture namespace": (
        "classifeed picture namespace cards --size card:320x320:crop --format webp",
        "classifeed picture namespace shops --quota-mb 10000",
    ),
    "picture namespaces": ("classifeed picture namespaces",),
    "picture put": ("classifeed picture put 1.jpg --key https://shop.example/1.jpg",),
    "picture request": ("classifeed picture request https://shop.example/1.jpg --wait",),
    "picture request-again": (
        "classifeed picture request-again",
        "classifeed picture request-again --seller my-shop",
    ),
    "picture restore": (
        "classifeed picture restore",
        "classifeed picture restore 20261125T120000000000Z --yes",
    ),
    "picture similar": (
        "classifeed picture similar https://shop.example/1.jpg",
        "classifeed picture similar https://shop.example/1.jpg --seller my-shop",
    ),
    "picture state": ("classifeed picture state https://shop.example/1.jpg",),
    "point add": ('classifeed point add --at 55.75,37.62 --tag accident --text "Two cars"',),
    "point comment": ('classifeed point comment 0193a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b "Gone by now"',),
    "point list": ("classifeed point list 55.5,37.3:56.0,37.9 --tag accident",),
    "point remove": ("classifeed point remove 0193a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b",),
    "point show": ("classifeed point show 0193a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b --any-status",),
    "point vote": ("classifeed point vote 0193a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b --gone",),
    "search": ('classifeed search "garden bench" --seller my-shop',),
    "settle": ("classifeed settle --timeout 30",),
    "status": ("classifeed status", "classifeed status --json"),
    "task cancel": ("classifeed task cancel my-shop default latest",),
    "task confirm": ("classifeed task confirm my-shop default 1763956803123456",),
    "task errors": (
        "classifeed task errors my-shop default",
        "classifeed task errors my-shop default latest --xlsx errors.xlsx",
    ),
    "task list": ("classifeed task list my-shop default",),
    "task reject": ("classifeed task reject my-shop default 1763956803123456",),
    "task rerun": ("classifeed task rerun my-shop default 1763956803123456",),
    "task show": ("classifeed task show my-shop default latest",),
    "token create": (
        "classifeed token create --for shop --may seller --seller my-shop --ttl 30d",
        "classifeed token create --for ops --may read --all-sellers --ttl 12h",
    ),
    "token bind": ("classifeed token bind 0f3c9a1be2d84c7795d6a2f41b0c8e37 --seller my-shop",),
    "token list": ("classifeed token list",),
    "token reset": ("classifeed token reset",),
    "token revoke": ("classifeed token revoke 0f3c9a1be2d84c7795d6a2f41b0c8e37",),
    "up": ("classifeed up --detach",),
}


def add_examples(app: typer.Typer, above: str = "") -> None:
    """Add the examples to the help of all commands of an application and its groups."""
    for command in app.registered_commands:
        assert command.callback is not None
        name = command.name or command.callback.__name__.replace("_", "-")
        shown = EXAMPLES.get(f"{above} {name}".strip(), ())
        # Separated by empty lines: rich joins consecutive lines.
        command.epilog = "\n\n".join(["For example:", *shown]) if shown else None
    for group in app.registered_groups:
        assert group.typer_instance is not None
        add_examples(group.typer_instance, f"{above} {group.name}".strip())
