"""Every code that a seller may see, with its words: the one place from which messages and the docs page are made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from classifeed.feeds.v1 import load_pb2

ERROR: Final = load_pb2.ISSUE_LEVEL_ERROR
WARNING: Final = load_pb2.ISSUE_LEVEL_WARNING
VALIDATION: Final = load_pb2.ISSUE_KIND_VALIDATION
CATEGORY: Final = load_pb2.ISSUE_KIND_CATEGORY
GEOCODING: Final = load_pb2.ISSUE_KIND_GEOCODING
DUPLICATE: Final = load_pb2.ISSUE_KIND_DUPLICATE


@dataclass(frozen=True, slots=True)
class IssueCode:
    """What may be wrong with one offer.

    Attributes:
        code: Stable name.
        level: ERROR keeps the offer from being applied, WARNING does not.
        kind: What the issue is about.
        title: The code in words, up to 80 characters.
        message: What happened.
        expected: What would have been accepted.
        suggestion: What to change.

    Message, expected and suggestion are format strings over the names that the file's format has for its fields
    (`*_tag`, `*_words`, `*_remedy`); message and expected also over `value`, `field` and what the check adds.
    """

    code: str
    level: load_pb2.IssueLevel
    kind: load_pb2.IssueKind
    title: str
    message: str
    expected: str
    suggestion: str


@dataclass(frozen=True, slots=True)
class FaultCode:
    """Why a whole file cannot be loaded.

    Attributes:
        code: Stable name.
        title: The code in words.
        cause: How files come to be so.
        suggestion: What to do.
        upload_suggestion: What to do with a file that was not fetched by a link, where that is something else.
    """

    code: str
    title: str
    cause: str
    suggestion: str
    upload_suggestion: str = ""


def _issues(*rows: IssueCode) -> dict[str, IssueCode]:
    return {row.code: row for row in rows}


ISSUES: Final = _issues(
    IssueCode(
        "ID_MISSING",
        ERROR,
        VALIDATION,
        "The offer has no id",
        "The offer has no id, so it cannot be told from the others or found again in the next load.",
        "{id_words} with 1 to 256 characters, different for each offer",
        "Write {id_words} into each {offer_tag}: an id of its own that stays the same from load to load.",
    ),
    IssueCode(
        "ID_TOO_LONG",
        ERROR,
        VALIDATION,
        "The offer's id is too long",
        "The id has {length} characters.",
        "at most 256 characters",
        "Use the article number or the key of your database as id.",
    ),
    IssueCode(
        "ID_RESERVED",
        ERROR,
        VALIDATION,
        "The offer's id is reserved",
        "The id {value} begins with “record:”, under which offers without an id are listed.",
        "an id that does not begin with “record:”",
        "Put anything else before the number.",
    ),
    IssueCode(
        "DUPLICATE_ID",
        ERROR,
        DUPLICATE,
        "The id stands in the file before",
        "The id {value} stands on line {first_line} already; only the first offer with an id is read.",
        "an id that no other offer of the file has",
        "Remove one of the two offers, or give it an id of its own.",
    ),
    IssueCode(
        "TITLE_MISSING",
        ERROR,
        VALIDATION,
        "The offer has no title",
        "The offer says no title: {title_words} is missing or empty.",
        "{title_words}",
        "Add {title_tag} with what you sell, in words a buyer would search for.",
    ),
    IssueCode(
        "TITLE_TOO_LONG",
        WARNING,
        VALIDATION,
        "The title was cut",
        "The title has {length} characters; it was cut after 1,000.",
        "at most 1,000 characters",
        "Keep the title short and move the rest to {description_tag}.",
    ),
    IssueCode(
        "PRICE_MISSING",
        WARNING,
        VALIDATION,
        "The offer has no price",
        "The offer has no {price_tag}, or it is empty; it is shown without one.",
        "{price_words}",
        "Add {price_tag} with the amount in the offer's currency: buyers who search by price do not find the offer.",
    ),
    IssueCode(
        "PRICE_INVALID",
        ERROR,
        VALIDATION,
        "The price is not an amount",
        "“{value}” is not an amount.",
        "{price_words}",
        "Write one amount, without ranges or other signs: {price_words}.",
    ),
    IssueCode(
        "PRICE_ZERO",
        WARNING,
        VALIDATION,
        "The price is zero",
        "The price is zero; the offer is shown without one.",
        "an amount above zero",
        "Give the real price: buyers who search by price do not find the offer.",
    ),
    IssueCode(
        "OLD_PRICE_INVALID",
        WARNING,
        VALIDATION,
        "The old price is not an amount",
        "“{value}” is not an amount; the old price was left out.",
        "{price_words}",
        "Write one amount, without ranges or other signs: {price_words}.",
    ),
    IssueCode(
        "OLD_PRICE_NOT_HIGHER",
        WARNING,
        VALIDATION,
        "The old price is not above the price",
        "The old price {value} is not above the price {price}; the old price was left out.",
        "an amount above the price",
        "Give what the offer cost before the discount, or leave the old price out where there is none.",
    ),
    IssueCode(
        "CURRENCY_MISSING",
        ERROR,
        VALIDATION,
        "The offer has no currency",
        "The offer names no currency for its price, and the file has no main currency to take instead.",
        "a currency code such as RUB",
        "{currency_remedy}",
    ),
    IssueCode(
        "CURRENCY_ASSUMED",
        WARNING,
        VALIDATION,
        "The shop's currency was taken",
        "The offer has no {currency_tag}; the shop's main currency {currency} was taken.",
        "a currency code such as RUB",
        "Add {currency_tag} to the offer.",
    ),
    IssueCode(
        "CURRENCY_UNKNOWN",
        ERROR,
        VALIDATION,
        "There is no such currency",
        "“{value}” is not the code of a currency.",
        "a code of ISO 4217 such as RUB, KZT, BYN, USD, EUR (RUR is read as RUB)",
        "Correct the code in {currency_tag}.",
    ),
    IssueCode(
        "CATEGORY_MISSING",
        ERROR,
        CATEGORY,
        "The offer has no category",
        "The file lists categories, but the offer names none of them.",
        "{category_words}",
        "Add {category_tag} to the offer: {category_words}.",
    ),
    IssueCode(
        "CATEGORY_UNKNOWN",
        ERROR,
        CATEGORY,
        "The shop has no such category",
        "The offer is in the category {value}, but {categories_tag} of this file has no category with that id.",
        "an id out of {categories_tag}",
        "Add the category to {categories_tag}, or correct {category_tag}.",
    ),
    IssueCode(
        "URL_INVALID",
        WARNING,
        VALIDATION,
        "The link cannot be used",
        "“{value}” is not a link{because}; it was left out.",
        "an address that begins with http:// or https://",
        "Write the whole address of the page, with https://, and write %20 for each space in it.",
    ),
    IssueCode(
        "PICTURE_URL_INVALID",
        WARNING,
        VALIDATION,
        "The link of a picture cannot be used",
        "“{value}” is not a link to a picture{because}; it was left out.",
        "an address that begins with http:// or https://",
        "Write the whole address of the picture, with https://, one {picture_tag} for each, and write %20 for each "
        "space in it.",
    ),
    IssueCode(
        "COORDINATES_INVALID",
        WARNING,
        GEOCODING,
        "The coordinates cannot be used",
        "“{value}” is not a point on Earth; the coordinates were left out.",
        "latitude from -90 to 90 and longitude from -180 to 180, in degrees",
        "Correct the coordinates, or leave them out and give the address.",
    ),
    IssueCode(
        "FIELD_INVALID",
        WARNING,
        VALIDATION,
        "A value does not fit its field",
        "“{value}” does not fit <{field}>; it was left out.",
        "{expected}",
        "Correct the value, or leave the element out.",
    ),
    IssueCode(
        "OFFER_TOO_LARGE",
        ERROR,
        VALIDATION,
        "The offer is too large",
        "The offer has {size:,} {unit}; at most {limit:,} can be taken.",
        "at most 262,144 bytes and 2,000 elements in one {offer_tag}",
        "Shorten the description; put pictures in as links, not as data.",
    ),
    IssueCode(
        "TOO_MANY_ISSUES",
        WARNING,
        VALIDATION,
        "There is more wrong with this offer",
        "{count} further issues of this offer are not listed.",
        "an offer without errors",
        "Correct what is listed and load the file again.",
    ),
)


def _faults(*rows: FaultCode) -> dict[str, FaultCode]:
    return {row.code: row for row in rows}


FAULTS: Final = _faults(
    FaultCode(
        "FILE_EMPTY",
        "The file is empty",
        "The file has no bytes, or nothing but blanks.",
        "Check how the file is made, and load it again.",
    ),
    FaultCode(
        "NOT_A_FEED",
        "The file is a web page or an error message, not a feed",
        "Instead of the feed the site gave a page for people: a login, an error page, or the error text of a script.",
        "Open the link in a browser, correct what the page says, and load again.",
        "Open the file that you sent in a text editor: it holds a page, not the feed. Export the feed again, and send "
        "that.",
    ),
    FaultCode(
        "UNKNOWN_FORMAT",
        "The format of the file is not known",
        "The file can be read, but it is none of the formats that can be loaded.",
        "Export the offers in a known format. `classifeed feed formats` lists them. "
        "`classifeed feed formats NAME --sample FILE` saves a sample.",
    ),
    FaultCode(
        "FORMAT_DIFFERS",
        "The file is of another format than the one that is wanted",
        "The feed is set to load one format only, and what came is of another one: the site has changed its export, "
        "or the link leads to another file.",
        "Correct the link, or set the feed to the format of the file, or to any format.",
    ),
    FaultCode(
        "MALFORMED_XML",
        "The file is not well-formed XML",
        "A tag is not closed, an & or < stands alone, or the file is cut off.",
        "Correct the place that is named; let a program write the XML rather than joining strings.",
    ),
    FaultCode(
        "STRUCTURE_WRONG",
        "The file lacks a part that its format needs",
        "The root is right, but what must be inside is missing, stands elsewhere, or has a misspelt tag: the "
        "case of its letters counts.",
        "Compare the file with the sample of its format, which `classifeed feed formats` gives.",
    ),
    FaultCode(
        "STOCK_ONLY",
        "The file holds prices and stock only",
        "No offer of the file has a name: it is an update of prices and stock. Loaded as the whole feed, "
        "it would replace every offer by one without a name.",
        "Load the file in mode PATCH, or send the whole feed.",
    ),
    FaultCode(
        "ENCODING_WRONG",
        "The bytes do not fit the declared encoding",
        "The file says one encoding and is written in another, or two encodings are mixed in it.",
        'Save the file as UTF-8 and declare encoding="UTF-8".',
    ),
    FaultCode(
        "ENCODING_UNKNOWN",
        "The declared encoding is not known",
        "The declaration names an encoding that is not read.",
        'Save the file as UTF-8 and declare encoding="UTF-8".',
    ),
    FaultCode(
        "ARCHIVE_BROKEN",
        "The archive cannot be unpacked",
        "The archive is cut off, damaged, protected by a password, or packed in a way that is not read.",
        "Pack the file again as gzip, or as zip with Deflate and without a password, and check that it unpacks.",
    ),
    FaultCode(
        "ARCHIVE_AMBIGUOUS",
        "The archive holds not exactly one file",
        "An archive with several files does not say which one is the feed.",
        "Pack the feed alone.",
    ),
    FaultCode(
        "FILE_TOO_LARGE",
        "The file is too large",
        "Unpacked, the file is larger than what is read, or its archive unpacks to far more than any real feed does.",
        "Split the feed over several namespaces.",
    ),
    FaultCode(
        "UNSAFE_XML",
        "The file uses XML that is refused for safety",
        "The file declares entities or defaults that point outside of it or that grow, nests elements beyond reason, "
        "has an offer or a head of very many elements, very many or very long names, or one piece of text of many "
        "megabytes. No real feed needs any of these.",
        "Write the feed without declarations of its own, with few names and with plain, shallow elements.",
    ),
    FaultCode(
        "SOURCE_MISSING",
        "The stored file is gone or damaged",
        "The object store no longer has the file, or its bytes differ from what was uploaded.",
        "Upload the file again.",
    ),
    FaultCode(
        "RUNS_EXHAUSTED",
        "The load did not arrive as a whole three times",
        "Parts of the load were lost on their way to the owner of the offers, three times. Nothing was removed.",
        "Load the file again; if it happens again, tell the operator.",
    ),
    FaultCode(
        "INTERNAL_FAULT",
        "The load failed because of a fault of ours",
        "A program of ours raised an exception each of the five times that it loaded the file. The incident finds it "
        "in the logs of the processor. Nothing was removed.",
        "Load the file again; if it happens again, tell the operator the incident.",
    ),
    FaultCode(
        "QUARANTINED",
        "The program that reads the file was killed three times",
        "Each time that the file was read, the process that read it died: it was killed for want of memory, or "
        "crashed. The third time it ran nothing else. The same file is not loaded again by itself. "
        "Nothing was removed.",
        "Tell the operator the incident; a file that differs from this one is loaded as usual.",
    ),
    FaultCode(
        "LOAD_CANCELED",
        "The operator canceled the load",
        "Somebody who runs this installation ended the load before it was done. Nothing was removed.",
        "Ask the operator why, and load the file again when it is time.",
    ),
)
