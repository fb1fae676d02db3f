"""Analyzers of text: tokens in one spelling (`engine.spelling`), in lower case, with Russian and English stemming."""

from __future__ import annotations

from typing import Final

import tantivy

RU_EN = "ru_en"
PLAIN = "plain"
# Version of the text analysis. Every searcher rebuilds an index of another version from the registry. Increment it with
# each change of the tokens that a text yields: here, in `engine.spelling` or in `engine.fields`.
ANALYSIS: Final = 2
# Longer "words" are encoded data, not something a person searches for.
_LONGEST_TOKEN = 80


def build_analyzers() -> dict[str, tantivy.TextAnalyzer]:
    """Return the analyzers by name, for texts in one spelling.

    A word passes both Snowball stemmers, because each of them does not change words of the other alphabet.
    """
    return {RU_EN: _analyzer("russian", "english"), PLAIN: _analyzer()}


def _analyzer(*languages: str) -> tantivy.TextAnalyzer:
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
    builder = builder.filter(tantivy.Filter.lowercase()).filter(tantivy.Filter.remove_long(_LONGEST_TOKEN))
    for language in languages:
        builder = builder.filter(tantivy.Filter.stemmer(language))
    return builder.build()
