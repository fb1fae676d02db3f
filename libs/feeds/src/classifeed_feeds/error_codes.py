"""Every code that a seller may see, with its texts; messages and the docs page are generated from it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from classifeed.feeds.v1 import load_pb2
from classifeed_domain.pictures.issues import PICTURE_ISSUES

ERROR: Final = load_pb2.ISSUE_LEVEL_ERROR
WARNING: Final = load_pb2.ISSUE_LEVEL_WARNING
VALIDATION: Final = load_pb2.ISSUE_KIND_VALIDATION
CATEGORY: Final = load_pb2.ISSUE_KIND_CATEGORY
GEOCODING: Final = load_pb2.ISSUE_KIND_GEOCODING
DUPLICATE: Final = load_pb2.ISSUE_KIND_DUPLICATE
BANNED: Final = load_pb2.ISSUE_KIND_BANNED
PICTURE: Final = load_pb2.ISSUE_KIND_PICTURE
_PICTURE_MESSAGE: Final = (
    "The picture could not be loaded; the message names its link and the reason. The offer is shown without it."
)


@dataclass(frozen=True, slots=True)
class IssueCode:
    """An issue that one offer may have.

    Attributes:
        code: Stable name.
        level: ERROR rejects the offer, WARNING does not.
        kind: Subject of the issue.
        title: Name of the issue for people, up to 80 characters.
        message: Description of what happened.
        expected: Description of accepted values.
        suggestion: Fix.
        cause: Usual cause of the issue.

    Message, expected and suggestion are format strings. Their fields are the format's names of an offer's fields
    (`*_tag`, `*_words`, `currency_fix`); in message and expected also `value`, `field` and values that the check adds.
    """

    code: str
    level: load_pb2.IssueLevel
    kind: load_pb2.IssueKind
    title: str
    message: str
    expected: str
    suggestion: str
    cause: str


@dataclass(frozen=True, slots=True)
class FaultCode:
    """A reason why a whole file cannot be loaded.

    Attributes:
        code: Stable name.
        title: Name of the fault for people.
        cause: Usual cause of the fault.
        suggestion: Fix.
        upload_suggestion: Fix for an uploaded file, if it differs from that for a fetched file.
    """

    code: str
    title: str
    cause: str
    suggestion: str
    upload_suggestion: str = ""


def _issues(*rows: IssueCode) -> dict[str, IssueCode]:
    return {row.code: row for row in rows}


def _picture_issues() -> Iterator[IssueCode]:
    """Yield the codes of failed pictures; the service offers reports them, each with its link and reason."""
    for code, issue in PICTURE_ISSUES.items():
        yield IssueCode(
            code, WARNING, PICTURE, issue.title, _PICTURE_MESSAGE, issue.expected, issue.suggestion, issue.cause
        )


ISSUES: Final = _issues(
    IssueCode(
        "ID_MISSING",
        ERROR,
        VALIDATION,
        "The offer has no id",
        "The offer has no id, so it cannot be distinguished from the others or found again in the next load.",
        "{id_words} with 1 to 256 characters, different for each offer",
        "Write {id_words} into each {offer_tag}: a unique id that stays the same from load to load.",
        "The export leaves the id out, writes it under another name, or has none for this offer.",
    ),
    IssueCode(
        "ID_DESTROYED",
        ERROR,
        VALIDATION,
        "A spreadsheet destroyed the id",
        "The id {value} is what a spreadsheet makes of a long number or of a formula that fails: the real id is lost, "
        "and many offers may share this one.",
        "the id as your database has it, with all its digits",
        "Format the column of ids as text before you fill it in, or export straight from the shop system, and load "
        "the file again.",
        "The list of offers went through Excel or another spreadsheet, which takes ids for numbers and rounds them "
        "(746221000012 becomes 7,46221E+11).",
    ),
    IssueCode(
        "ID_TOO_LONG",
        ERROR,
        VALIDATION,
        "The offer's id is too long",
        "The id has {length} characters.",
        "at most 256 characters",
        "Use the article number or the key of your database as id.",
        "The export writes a title or a link as the id.",
    ),
    IssueCode(
        "ID_RESERVED",
        ERROR,
        VALIDATION,
        "The offer's id is reserved",
        "The id {value} begins with “record:”, under which offers without an id are listed.",
        "an id that does not begin with “record:”",
        "Begin the id with another prefix.",
        "The id happens to begin as the names of offers without an id do.",
    ),
    IssueCode(
        "DUPLICATE_ID",
        ERROR,
        DUPLICATE,
        "The id is used earlier in the file",
        "The id {value} is used on line {first_line} already; only the first offer with an id is read.",
        "an id that no other offer of the file has",
        "Remove one of the two offers, or give it a unique id.",
        "One product is exported twice, once for each category or variant, or two products share an id.",
    ),
    IssueCode(
        "TITLE_MISSING",
        ERROR,
        VALIDATION,
        "The offer has no title",
        "The offer has no title: {title_words} is missing, or has no letter and no digit.",
        "{title_words}",
        "Add {title_tag} with what you sell, in words a buyer would search for.",
        "The element is missing or empty, or has only a dot or a dash as a filler.",
    ),
    IssueCode(
        "PRICE_INVALID",
        ERROR,
        VALIDATION,
        "The price is not an amount",
        "“{value}” is not one amount.",
        "{price_words}",
        "Write one amount, without ranges or other signs: {price_words}.",
        "The price is a range or a text, has two decimal separators, or names another currency than the offer. “1,200” "
        "may mean two amounts and is not guessed at; “1 200,50” is read.",
    ),
    IssueCode(
        "CURRENCY_MISSING",
        ERROR,
        VALIDATION,
        "The offer has no currency",
        "The offer names no currency for its price, and the file has no default.",
        "a currency code such as RUB",
        "{currency_fix} Or name the currency of all such amounts at once: `--currency RUB` with `classifeed feed "
        "add`, `feed set` or `feed upload`.",
        "The export writes bare amounts, as the shop sells in one currency only.",
    ),
    IssueCode(
        "CURRENCY_UNKNOWN",
        ERROR,
        VALIDATION,
        "The currency is not known",
        "“{value}” is not the code of a currency.",
        "a code of ISO 4217 such as RUB, KZT, BYN, USD, EUR (RUR is read as RUB)",
        "Correct the code in {currency_tag}.",
        "The code is misspelt, or written as a sign such as $, which may mean twenty currencies.",
    ),
    IssueCode(
        "OFFER_TOO_LARGE",
        ERROR,
        VALIDATION,
        "The offer is too large",
        "The offer has {size:,} {unit}; at most {limit:,} are allowed.",
        "at most 262,144 bytes and 2,000 elements in one {offer_tag}",
        "Shorten the description; give pictures as links, not as data.",
        "The description contains a picture or a whole web page.",
    ),
    IssueCode(
        "CATEGORY_MISSING",
        WARNING,
        CATEGORY,
        "The offer has no category",
        "The file lists categories, but the offer names none of them; it was loaded without a category.",
        "{category_words}",
        "Add {category_tag} to the offer: {category_words}.",
        "The product is in no category of the shop, or the export leaves it out.",
    ),
    IssueCode(
        "CATEGORY_UNKNOWN",
        WARNING,
        CATEGORY,
        "The category is not in the file",
        "The offer is in the category {value}, but {categories_tag} of this file has no category with that id; it was "
        "loaded without a category.",
        "an id from {categories_tag}",
        "Add the category to {categories_tag}, or correct {category_tag}.",
        "The category was removed or hidden in the shop, and its products were not.",
    ),
    IssueCode(
        "PRICE_MISSING",
        WARNING,
        VALIDATION,
        "The offer has no price",
        "The offer has no {price_tag}, or it is empty; it is shown without one.",
        "{price_words}",
        "Add {price_tag} with the amount in the offer's currency: buyers who search by price do not find the offer.",
        "The product has no price in the shop, or the export writes it under another name.",
    ),
    IssueCode(
        "PRICE_ZERO",
        WARNING,
        VALIDATION,
        "The price is zero",
        "The price is zero; {instead}.",
        "an amount above zero",
        "Give the real price: buyers who search by price do not find offers without one.",
        "Many shops write 0 for a price on request, or for a product that is not sold any more.",
    ),
    IssueCode(
        "OLD_PRICE_INVALID",
        WARNING,
        VALIDATION,
        "The old price is not an amount",
        "“{value}” is not one amount; the old price was left out.",
        "{price_words}",
        "Write one amount, without ranges or other signs: {price_words}.",
        "The old price is a range or a text, or has two decimal separators.",
    ),
    IssueCode(
        "OLD_PRICE_NOT_HIGHER",
        WARNING,
        VALIDATION,
        "The old price is not above the price",
        "The old price {value} is not above the price {price}; the old price was left out.",
        "an amount above the price",
        "Give the price before the discount. Leave the old price out if there is no discount.",
        "The export fills the old price in for every offer, also where there is no discount.",
    ),
    IssueCode(
        "CURRENCY_ASSUMED",
        WARNING,
        VALIDATION,
        "The currency was assumed",
        "The offer names no currency for its price; {currency} was used, {source}.",
        "a currency code such as RUB",
        "{currency_fix}",
        "The export writes bare amounts, as the shop sells in one currency only.",
    ),
    IssueCode(
        "TITLE_TOO_LONG",
        WARNING,
        VALIDATION,
        "The title was cut",
        "The title has {length} characters; it was cut after 1,000.",
        "at most 1,000 characters",
        "Keep the title short and move the rest to {description_tag}.",
        "The title contains the description.",
    ),
    IssueCode(
        "ESCAPED_TWICE",
        WARNING,
        VALIDATION,
        "The text was escaped twice",
        "“{value}” was escaped twice; its escapes were resolved a second time.",
        "a text that is escaped once, such as &amp; for &",
        "Have the export escape each text once: a text that comes out of HTML must be unescaped before it is written "
        "as XML.",
        "The text is kept as HTML in the shop, with &quot; or &amp; in it, and is escaped again for the file.",
    ),
    IssueCode(
        "LINK_ESCAPED",
        WARNING,
        VALIDATION,
        "A link contains a space",
        "“{value}” contains a space, which links may not; each was replaced by %20.",
        "a link without spaces",
        "Write %20 for each space in a link, or name the files without spaces.",
        "The link is built from a file name that contains a space.",
    ),
    IssueCode(
        "URL_INVALID",
        WARNING,
        VALIDATION,
        "The link cannot be used",
        "“{value}” is not a link{because}; it was left out.",
        "an address of at most 4,096 characters that begins with http:// or https://",
        "Write the whole address of the page, with https://.",
        "The link lacks its beginning, or the field contains something else.",
    ),
    IssueCode(
        "PICTURE_URL_INVALID",
        WARNING,
        VALIDATION,
        "The link of a picture cannot be used",
        "“{value}” is not a link to a picture{because}; it was left out.",
        "an address that begins with http:// or https://",
        "Write the whole address of the picture, with https://, one {picture_tag} for each.",
        "The link lacks the name of the site, or is only a file name.",
    ),
    IssueCode(
        "COORDINATES_INVALID",
        WARNING,
        GEOCODING,
        "The coordinates cannot be used",
        "“{value}” is not a point on Earth; the coordinates were left out.",
        "latitude from -90 to 90 and longitude from -180 to 180, in degrees",
        "Correct the coordinates, or leave them out and give the address.",
        "Latitude and longitude are swapped, one of them is missing, or they are not in degrees.",
    ),
    IssueCode(
        "FIELD_INVALID",
        WARNING,
        VALIDATION,
        "A value does not fit its field",
        "“{value}” does not fit {field}, which expects {expected}; it was left out.",
        "{expected}",
        "Correct the value, or leave the element out.",
        "The field expects a number and has a word, a text is too long, or an attribute is missing.",
    ),
    IssueCode(
        "TOO_MANY_ISSUES",
        WARNING,
        VALIDATION,
        "The offer has further issues",
        "{count:,} further issues of this offer are not listed.",
        "an offer without errors",
        "Correct the listed issues and load the file again.",
        "Of one offer at most 20 issues are listed, one for each code and field.",
    ),
    IssueCode(
        "TEXT_FORBIDDEN",
        ERROR,
        BANNED,
        "Text refused by moderation",
        "The title or the description breaks a rule, which is named with it; the offer is not in the search.",
        "a text that breaks no rule of moderation",
        "Write the text without the shown part, and load the file again.",
        "The text breaks a rule of moderation: obscene words, insults, threats, spam, contacts, links.",
    ),
    *_picture_issues(),
)


def _faults(*rows: FaultCode) -> dict[str, FaultCode]:
    return {row.code: row for row in rows}


FAULTS: Final = _faults(
    FaultCode(
        "MALFORMED_XML",
        "The file is not well-formed XML",
        "An & or < is not escaped in a text or a link, a tag is not closed, an entity of HTML such as &nbsp; is used, "
        "or "
        "the file is cut off. The message names the fault and its position.",
        "Correct the position that the message names. Let a program write the XML rather than joining strings: then "
        "none of these faults can happen.",
    ),
    FaultCode(
        "UNKNOWN_FORMAT",
        "The format of the file is not known",
        "The file can be read, but its format is not supported: a table (CSV, TSV, XLSX), a file of "
        "another marketplace (Avito, Yandex Realty, CIAN, auto.ru, Kyero), or something else.",
        "Export the offers in a known format. `classifeed feed formats` lists them. "
        "`classifeed feed formats NAME --sample FILE` saves a sample.",
    ),
    FaultCode(
        "NOT_A_FEED",
        "The file is a web page or an error message, not a feed",
        "Instead of the feed the site returned a web page: a login, an error page, or the error text of a script.",
        "Open the link in a browser, correct the fault that the page names, and load the file again.",
        "Open the file that you sent in a text editor: it is a page, not the feed. Export the feed again, and send "
        "that.",
    ),
    FaultCode(
        "FILE_EMPTY",
        "The file is empty",
        "The file has no bytes, or only blanks: the export failed, or was read before it began to write.",
        "Check how the file is created, and load it again.",
    ),
    FaultCode(
        "ENCODING_WRONG",
        "The bytes do not fit the declared encoding",
        "The first line of the file names one encoding and the file is written in another, or two encodings are mixed "
        "in it.",
        'Save the file as UTF-8, and name that in its first line: encoding="UTF-8".',
    ),
    FaultCode(
        "ENCODING_UNKNOWN",
        "The declared encoding is not known",
        "The first line of the file names an encoding that is not supported.",
        'Save the file as UTF-8, and name that in its first line: encoding="UTF-8".',
    ),
    FaultCode(
        "FORMAT_DIFFERS",
        "The file is of another format than its feed accepts",
        "The feed is set to load one format only, and the file has another one: the site has changed its export, "
        "or the link leads to another file.",
        "Correct the link, or set the feed to the format of the file, or to any format.",
    ),
    FaultCode(
        "STRUCTURE_WRONG",
        "The file lacks a part that its format needs",
        "The first tag of the file is right, but a required part inside of it is missing, is elsewhere, or has a "
        "misspelt tag: capital and small letters are not the same.",
        "Compare the file with the sample of its format, which `classifeed feed formats` gives.",
    ),
    FaultCode(
        "STOCK_ONLY",
        "The file holds prices and stock only",
        "No offer of the file has a name: it is an update of prices and stock. Loaded as the whole feed, "
        "it would replace every offer with one without a name.",
        "Load the file in mode PATCH, or send the whole feed.",
    ),
    FaultCode(
        "ARCHIVE_BROKEN",
        "The archive cannot be unpacked",
        "The archive is cut off, damaged, protected by a password, or uses a compression that is not supported.",
        "Pack the file again as gzip, or as zip with Deflate and without a password, and check that it unpacks.",
    ),
    FaultCode(
        "ARCHIVE_AMBIGUOUS",
        "The archive does not contain exactly one file",
        "In an archive with several files it is not known which one is the feed.",
        "Pack the feed alone.",
    ),
    FaultCode(
        "FILE_TOO_LARGE",
        "The file is too large",
        "Unpacked, the file is larger than the limit, or its archive unpacks to far more than any real feed does.",
        "Split the feed over several namespaces.",
    ),
    FaultCode(
        "UNSAFE_XML",
        "The file uses XML that is refused for safety",
        "The file declares entities or defaults that point outside of it or that grow, or nests elements too deeply. "
        "Or it has an offer or a head of very many elements, very many or very long names, or one piece of text of "
        "many megabytes. No real feed needs any of these.",
        "Write the feed without its own declarations, with few names and with plain, shallow elements.",
    ),
    FaultCode(
        "SOURCE_MISSING",
        "The stored file is missing or damaged",
        "The object store no longer has the file, or its bytes differ from what was uploaded.",
        "Upload the file again.",
    ),
    FaultCode(
        "RUNS_EXHAUSTED",
        "The load arrived incompletely three times",
        "Parts of the load were lost between processor and offers, three times. Nothing was removed.",
        "Load the file again; if it happens again, inform the operator.",
    ),
    FaultCode(
        "INTERNAL_FAULT",
        "The load failed because of an internal fault",
        "The service raised an exception in each of five attempts to load the file. The incident identifies the "
        "exception in the logs of the processor. Nothing was removed.",
        "Load the file again; if it happens again, give the operator the incident.",
    ),
    FaultCode(
        "QUARANTINED",
        "The process that reads the file was killed three times",
        "In each of three attempts the process that read the file was killed for lack of memory, or crashed. The "
        "third time it ran nothing else. The same file is not loaded again automatically. "
        "Nothing was removed.",
        "Give the operator the incident; a file that differs from this one is loaded as usual.",
    ),
    FaultCode(
        "LOAD_CANCELED",
        "The load was canceled",
        "Its owner, or an operator of this installation, canceled the load before it was complete. Its additions and "
        "changes stay. Nothing is removed, unless an operator canceled it after it had been sent completely.",
        "To load the file after all, load it again.",
    ),
    FaultCode(
        "REMOVAL_CANCELED",
        "The removal was canceled",
        "The task that removes the offers of a removed feed, or keeps them by hand, was canceled before it was "
        "complete.",
        "To have the offers removed after all, remove the feed again.",
    ),
)
