"""How text is cut into words: one spelling (`engine.spelling`), lower case, Russian and English word forms folded."""

from __future__ import annotations

from typing import Final

import tantivy

RU_EN = "ru_en"
PLAIN = "plain"
# What an index was made with. Another value makes every searcher fill its index anew from the registry: raise it with
# any change to what texts become in an index, here, in `engine.spelling` or in `engine.fields`.
ANALYSIS: Final = 2
# Longer "words" are encoded data, not something a person searches for.
_LONGEST_TOKEN = 80


def build_analyzers() -> dict[str, tantivy.TextAnalyzer]:
    """Return the analyzers by name, for texts in one spelling.

    The stemmers are those of Snowball; a word passes both, as each leaves words of the other's alphabet alone.
    """
    return {RU_EN: _analyzer("russian", "english"), PLAIN: _analyzer()}


def _analyzer(*languages: str) -> tantivy.TextAnalyzer:
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
    builder = builder.filter(tantivy.Filter.lowercase()).filter(tantivy.Filter.remove_long(_LONGEST_TOKEN))
    for language in languages:
        builder = builder.filter(tantivy.Filter.stemmer(language))
    return builder.build()
