"""Unifies spelling variants of texts: ё and е, codes with and without blanks, letters that look alike.

A code consists of letters and digits next to each other, optionally separated by a sign or a blank: `TK540M`,
`TK-540 M`, `195/65 R15`. In addition to its tokens, a text is indexed with the pairs of neighbours in its codes
(`tk540`, `540m`). So every spelling of a code matches the same few rare tokens, without a check of positions.

Texts and queries must be treated alike: a change here needs another `engine.analysis.ANALYSIS`.
"""

from __future__ import annotations

import itertools
import re
import string
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

_LATIN: Final = "ABCEHKMOPTXYabcehkmoptxy"
_CYRILLIC: Final = "АВСЕНКМОРТХУавсенкмортху"
_TO_LATIN: Final = str.maketrans(_CYRILLIC, _LATIN)
_TO_CYRILLIC: Final = str.maketrans(_LATIN, _CYRILLIC)

_LATIN_LETTER: Final = re.compile(r"[A-Za-z]")
_CYRILLIC_LETTER: Final = re.compile(r"[Ѐ-ӿ]")
_ONLY_LATIN_ALIKE: Final = re.compile(rf"[{_LATIN}]+")
_ONLY_CYRILLIC_ALIKE: Final = re.compile(rf"[{_CYRILLIC}]+")
# Latin and Cyrillic letters of one word, or of the parts of one code: `R15С`, and, read backwards, `ТК-540M`. Few texts
# have any. A search in each direction is fast; one pattern for both would stop at each Cyrillic letter.
_MIXED: Final = re.compile(r"[A-Za-z][0-9./-]*[Ѐ-ӿ]")
_UNIT: Final = re.compile(r"[^\W_]+(?:[./-][^\W_]+)*")
_PART: Final = re.compile(r"[^\W_]+")
# A longer word next to a number is not a code: `iPhone 12` and `Bizhub 220` are codes, `размерами 100` is not.
_LETTERS: Final = 8
_ATOM: Final = re.compile(r"[0-9]+|[^\W\d_]+")
_BETWEEN: Final = re.compile(r"[\s./,+-]{0,2}")
_WORD_BEFORE: Final = re.compile(rf"(?<![^\W\d_])([^\W\d_]{{1,{_LETTERS}}}){_BETWEEN.pattern}$")
_REACH: Final = _LETTERS + 2
# Numbers next to each other, optionally with a short word between them, and the short word after the last one.
_SHORT_WORD: Final = rf"[^\W\d_]{{1,{_LETTERS}}}(?![^\W\d_])"
_RUN: Final = re.compile(
    rf"[0-9]+(?:{_BETWEEN.pattern}(?:{_SHORT_WORD}{_BETWEEN.pattern})?[0-9]+)*(?:{_BETWEEN.pattern}{_SHORT_WORD})?"
)
_LATIN_BYTES: Final = string.ascii_letters.encode()
_DIGIT_BYTES: Final = string.digits.encode()
_REMEMBERED: Final = 64  # characters of a run; longer runs do not repeat


class Code(NamedTuple):
    """Codes in a text of a query.

    Attributes:
        pairs: joined pairs of neighbours; a text with these codes has all of them.
        rest: the other words.
    """

    pairs: tuple[str, ...]
    rest: str


def spell_text(text: str) -> str:
    """Return a text in one spelling, followed by the pairs of its codes, ready for the analyzers of the index.

    Takes linear time. The pairs come last, so phrases of the text still match.
    """
    # Most texts have neither Cyrillic nor digits. A check of the bytes takes 5 % of the time of the patterns.
    raw = text.encode(errors="replace")
    if len(raw) > len(text):
        text = text.replace("ё", "е").replace("Ё", "Е")
        if _has_any(raw, _LATIN_BYTES):
            text = unify_alphabets(text)
    if not _has_any(raw, _DIGIT_BYTES):
        return text
    found = dict.fromkeys(_list_codes(text))
    return f"{text} {' '.join(found)}" if found else text


def read_code(text: str) -> Code:
    """Return the codes in a text of a query."""
    atoms = list(_ATOM.finditer(text))
    pairs: list[str] = []
    covered = [False] * len(atoms)
    for at, (left, right) in enumerate(itertools.pairwise(atoms)):
        if _BETWEEN.fullmatch(text[left.end() : right.start()]) and is_pair(left[0], right[0]):
            pairs.append(join(left[0], right[0]))
            covered[at] = covered[at + 1] = True
    return Code(tuple(pairs), " ".join(atom[0] for atom, is_in in zip(atoms, covered, strict=True) if not is_in))


def atoms_of(text: str) -> list[str]:
    """Return the runs of letters and of digits."""
    return _ATOM.findall(text)


def is_pair(left: str, right: str) -> bool:
    """Return whether two neighbours belong to a code: one is a number, and the other a number or a short word."""
    kinds = left[0].isdigit(), right[0].isdigit()
    return any(kinds) and all(
        is_number or len(each) <= _LETTERS for is_number, each in zip(kinds, (left, right), strict=True)
    )


def join(left: str, right: str) -> str:
    """Return the token of two neighbours, in Latin letters if all its letters look Latin.

    Two numbers stay separated, because 19 and 565 are not 195 and 65.
    """
    joined = f"{left}d{right}" if left[-1].isdigit() and right[0].isdigit() else left + right
    return joined if joined.isascii() else _to_latin(joined)


def unify_alphabets(text: str) -> str:
    """Return a text whose words do not mix alphabets by mistake: letters are replaced by ones that look alike.

    A code (letters and digits, also joined by `-`, `/`, `.`) whose Cyrillic letters all look Latin becomes Latin as a
    whole. Otherwise each word is converted separately. Words that cannot be written in one alphabet are not changed.
    """
    is_mixed = _MIXED.search(text) or _MIXED.search(text[::-1])
    return _UNIT.sub(lambda found: _unify_unit(found[0]), text) if is_mixed else text


def alphabets(text: str) -> list[str]:
    """Return the spellings of a query's text: with unified alphabets, and with words in the other alphabet.

    The second spelling converts each word whose letters all look alike there, `HP` to `НР`. It is left out if there is
    no such word.
    """
    unified = unify_alphabets(text.replace("ё", "е").replace("Ё", "Е"))
    pieces = unified.split()
    twins = [_twin(piece) for piece in pieces]
    return [unified, " ".join(twins)] if twins != pieces else [unified]


def spellings(character: str) -> str:
    """Return all characters that equal one if case, look-alike letters and ё are ignored; the character comes first."""
    same = dict.fromkeys([character, character.lower(), character.upper()])
    for each in list(same):
        same |= dict.fromkeys([each.translate(_TO_LATIN), each.translate(_TO_CYRILLIC)])
        same |= dict.fromkeys({"е": "ё", "ё": "е", "Е": "Ё", "Ё": "Е"}.get(other, other) for other in list(same))
    return "".join(each for each in same if len(each) == 1)


def _has_any(raw: bytes, characters: bytes) -> bool:
    return len(raw.translate(None, characters)) < len(raw)


def _list_codes(text: str) -> Iterator[str]:
    """Yield the pairs of neighbours in all codes, and the numbers in codes, because people search for `540` alone."""
    for run in _RUN.finditer(text):
        start, end = run.span()
        word = _WORD_BEFORE.search(text, max(0, start - _REACH), start)
        before, after = text[start - 1 : start], text[end : end + 1]
        read = _codes_of if end - start <= _REMEMBERED else _codes_of.__wrapped__
        yield from read(word[1] if word else "", run[0], before.isalpha(), after.isalpha())


@lru_cache(maxsize=16_384)
def _codes_of(word: str, run: str, is_after_letter: bool, is_before_letter: bool) -> tuple[str, ...]:
    """Return the codes of a run of numbers and short words. Cached, because catalogues repeat the same runs.

    Args:
        word: word before the first number, separated by at most a sign or blank; may be empty.
        run: text that matches `_RUN`.
        is_after_letter: whether the character before the run is a letter.
        is_before_letter: whether the character after the run is a letter.
    """
    codes: list[str] = []
    atoms = list(_ATOM.finditer(run))
    former = word
    for at, atom in enumerate(atoms):
        number = atom[0]
        if number[0].isdigit():
            following = atoms[at + 1][0] if at + 1 < len(atoms) else ""
            if former:
                codes.append(join(former, number))
            if following and not following[0].isdigit():
                codes.append(join(number, following))
            start, end = atom.span()
            is_joined = (run[start - 1].isalpha() if start else is_after_letter) or (
                run[end].isalpha() if end < len(run) else is_before_letter
            )
            if len(number) > 1 and is_joined:
                codes.append(number)
        former = number
    return tuple(codes)


def _twin(word: str) -> str:
    letters = "".join(character for character in word if character.isalpha())
    if _ONLY_LATIN_ALIKE.fullmatch(letters):
        return word.translate(_TO_CYRILLIC)
    return word.translate(_TO_LATIN) if _ONLY_CYRILLIC_ALIKE.fullmatch(letters) else word


def _to_latin(code: str) -> str:
    cyrillic = "".join(_CYRILLIC_LETTER.findall(code))
    return code.translate(_TO_LATIN) if _ONLY_CYRILLIC_ALIKE.fullmatch(cyrillic) else code


def _unify_unit(unit: str) -> str:
    if not (_LATIN_LETTER.search(unit) and _CYRILLIC_LETTER.search(unit)):
        return unit
    has_digit = any(character.isdigit() for character in unit)
    cyrillic = "".join(_CYRILLIC_LETTER.findall(unit))
    if has_digit and _ONLY_CYRILLIC_ALIKE.fullmatch(cyrillic):
        return unit.translate(_TO_LATIN)
    return _PART.sub(lambda found: _unify_word(found[0]), unit)


def _unify_word(word: str) -> str:
    latin, cyrillic = "".join(_LATIN_LETTER.findall(word)), "".join(_CYRILLIC_LETTER.findall(word))
    if not latin or not cyrillic:
        return word
    if _ONLY_CYRILLIC_ALIKE.fullmatch(cyrillic):
        return word.translate(_TO_LATIN)
    return word.translate(_TO_CYRILLIC) if _ONLY_LATIN_ALIKE.fullmatch(latin) else word
