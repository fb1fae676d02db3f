"""How text is cut into words: lower case, ё as е, Russian and then English word forms folded."""

from __future__ import annotations

import tantivy

RU_EN = "ru_en"
PLAIN = "plain"
# Longer "words" are encoded data, not something a person searches for.
_LONGEST_TOKEN = 80


def build_analyzers() -> dict[str, tantivy.TextAnalyzer]:
    """Returns the analyzers by name. The stemmers are those of Snowball; a word passes both, as each leaves words of
    the other's alphabet alone.
    """
    return {RU_EN: _analyzer("russian", "english"), PLAIN: _analyzer()}


def _analyzer(*languages: str) -> tantivy.TextAnalyzer:
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
    builder = builder.filter(tantivy.Filter.lowercase()).filter(tantivy.Filter.remove_long(_LONGEST_TOKEN))
    for language in languages:
        builder = builder.filter(tantivy.Filter.stemmer(language))
    return builder.build()


def fold(text: str) -> str:
    """Returns the text with ё written as е, as most people write it."""
    return text.replace("ё", "е").replace("Ё", "Е")
