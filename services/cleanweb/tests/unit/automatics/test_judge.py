"""Findings of the packaged rules, and texts without findings."""

from __future__ import annotations

from functools import cache

import pytest

from classifeed_cleanweb.automatics import LOW_SCORE, MAX_FINDINGS, Automatics
from classifeed_cleanweb.rules.loading import packaged_rules

RUSSIA, TURKEY = (1, 225), (11508, 983)


@cache
def automatics() -> Automatics:
    return Automatics.load(packaged_rules())


def verdicts(text: str, regions: tuple[int, ...] = RUSSIA, kind: str = "offer") -> set[str]:
    found = automatics().judge(text, regions, kind)
    assert all(text[one.start : one.end] == one.excerpt for one in found.findings)
    return {one.verdict_name.removeprefix("text_auto_") for one in found.findings}


@pytest.mark.parametrize(
    "text",
    [
        "Страхуй имущество", "подстрахуйте меня", "мандарины абхазские", "Scunthorpe United", "хлебобулочные изделия",
        "команда дорожников", "оскорблять водителей нельзя", "Cockerel figure", "Assassin's Creed Valhalla", "Cocktail",
        "цена 8 990 руб вместо 12 990", "артикул 89161234567", "штрихкод 4607034372125", "ISBN 978-3-16-148410-0",
        "фото 10x15 и 10 х 15", "размеры 1200х600х450", "серийный 0012-3456-7890", "рост 164-170, размер 92-98-104",
        "Node.js и ASP.NET", "до конца.Поворот направо", "в 10.30, т.е. к обеду", "2 @ 10.50", "bok choy", "got it",
        "assess damage", "Husqvarna", "Audi A6", "Cif", "Analog Devices", "Shitake", "Sussex, Essex", "Titanium bolts",
    ],
)  # fmt: skip
def test_traps_pass(text: str) -> None:
    assert verdicts(text) == set()


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("Звоните 8 916 123-45-67", "contacts"), ("+7(999)888-77-66", "contacts"), ("8.916.123.45.67", "contacts"),
        ("8 9l6 123 45 67", "contacts"), ("８ ９１６ １２３ ４５ ６７", "contacts"), ("(555) 123-4567", "contacts"),
        ("восемь девятьсот три сто одиннадцать двадцать два тридцать три", "contacts"), ("a.b@mail.ru", "contacts"),
        ("vasya собака mail точка ru", "contacts"), ("olga[at]gmail[dot]com", "contacts"),
        ("пиши @best_price", "contacts"), ("мой тг ivanov_shop", "contacts"),
        ("0532 123 45 67", "contacts"), ("+442079460958", "contacts"),
        ("https://shop.ru/sale", "links"), ("hxxp://spam.site", "links"), ("www.shop.com", "links"),
        ("сайт точка ру", "links"), ("лавка . ru", "links"), ("t.me/kanal", "links"),
        ("магазин-дверей.рф", "links"), ("mysite dot com", "links"),
        ("Заработок в интернете без вложений", "spam"), ("онлайн казино", "spam"), ("you have won", "spam"),
        ("я тебя убью", "light_threat"), ("i'll kill you", "light_threat"), ("seni öldüreceğim", "light_threat"),
        ("ты идиот", "insult"), ("what a moron", "insult"), ("gerizekalı", "insult"),
        ("промокод SALE", "ad"), ("subscribe to our channel", "ad"), ("bedava kargo", "ad"),
    ],
)  # fmt: skip
def test_each_verdict(text: str, verdict: str) -> None:
    assert verdicts(text) == {verdict}


def test_an_accent_distinguishes_words() -> None:
    """An `exact` rule finds the word in a Turkish spelling only."""
    entries = {"rule": "t.exact", "exact": True, "forms": ["çöp"]}
    judge = Automatics.load({"lists": {"t": {"kind": "words", "verdict": "text_auto_spam", "entries": [entries]}}})
    assert [one.excerpt for one in judge.judge("ÇÖP cop çööööp c\u0327o\u0308p", RUSSIA, "offer").findings] == [
        "ÇÖP", "çööööp", "c\u0327o\u0308p"
    ]  # fmt: skip


def test_rules_are_for_regions_and_kinds() -> None:
    words = {
        "kind": "words", "verdict": "text_auto_spam",
        "entries": [
            {"rule": "a.b", "forms": ["мусор"], "regions": [983]},
            {"rule": "a.c", "forms": ["хлам"], "kinds": ["point"]},
        ],
    }  # fmt: skip
    judge = Automatics.load({"lists": {"a": words}})

    def rules(regions: tuple[int, ...], kind: str) -> list[str]:
        return [one.rule for one in judge.judge("мусор, хлам", regions, kind).findings]

    assert rules(RUSSIA, "offer") == []
    assert rules(TURKEY, "offer") == ["a.b"]
    assert rules(RUSSIA, "point") == ["a.c"]
    assert rules(TURKEY, "point") == ["a.b", "a.c"]


def test_an_allowed_word_beats_a_piece_of_it_and_nothing_else() -> None:
    words = {
        "kind": "words", "verdict": "text_auto_spam", "allow": ["помусорка", "мусор вывезен"],
        "entries": [{"rule": "a.b", "match": "inside", "forms": ["мусор"]}],
    }  # fmt: skip
    judge = Automatics.load({"lists": {"a": words}})
    text = "помусорка мусор помусорками ПОМУСОРКА мусор вывезен мусор"
    assert [(one.start, one.excerpt) for one in judge.judge(text, RUSSIA, "offer").findings] == [
        (10, "мусор"), (16, "помусорками"), (52, "мусор")
    ]  # fmt: skip


def test_a_finding_names_rule_and_place() -> None:
    text = "Куртка. Пишите \u200bна почту shop@mail.ru!"
    (one,) = automatics().judge(text, RUSSIA, "offer").findings
    assert (one.verdict_name, one.rule, one.excerpt) == ("text_auto_contacts", "contacts.mail", "shop@mail.ru")
    assert text[one.start : one.end] == one.excerpt


def test_findings_are_bounded() -> None:
    assert len(automatics().judge("идиот, a@b.ru, " * 5000, RUSSIA, "offer").findings) == MAX_FINDINGS


def test_scores_of_clean_and_bad_texts() -> None:
    clean = ("Куртка зимняя, размер 48", "пробка на мосту, стоят две полосы", "Winter jacket, size M", "")
    assert all(automatics().judge(text, RUSSIA, "offer").score < LOW_SCORE for text in clean)
    bad = ("убью тебя, найду и закопаю", "кредит без отказа и справок, займ на карту")
    assert all(automatics().judge(text, RUSSIA, "offer").score > 0.9 for text in bad)
    assert 0 <= automatics().judge("x" * 10_000, RUSSIA, "offer").score <= 1
