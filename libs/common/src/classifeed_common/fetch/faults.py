"""All failures of a download with their texts; messages and the docs page are made from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class FetchFault:
    """A kind of failed download.

    Attributes:
        code: stable name.
        title: the code in plain words.
        cause: usual cause.
        suggestion: fix for the owner of a feed.
    """

    code: str
    title: str
    cause: str
    suggestion: str


def _table(*rows: FetchFault) -> dict[str, FetchFault]:
    return {row.code: row for row in rows}


FETCH_FAULTS: Final = _table(
    # the link
    FetchFault(
        "URL_INVALID",
        "The link is not a web address",
        "A part is missing, or it contains spaces, backslashes, or invisible characters.",
        "Copy the link from the address bar of a browser that shows the file.",
    ),
    FetchFault(
        "URL_SCHEME",
        "The link is not http or https",
        "Links to local files, FTP, and scripts are not fetched.",
        "Put the file on a web server and give its https:// address.",
    ),
    FetchFault(
        "URL_HAS_CREDENTIALS",
        "The link contains a user name or a password",
        "Links are shown in histories and messages, so they must not contain secrets.",
        "Remove them from the link and enter them as user name and password of the feed.",
    ),
    FetchFault(
        "URL_PORT",
        "The port of the link is not allowed",
        "Ports below 1024 other than 80 and 443 are refused, and so are those of databases and other services.",
        "Serve the file at port 80 or 443.",
    ),
    FetchFault(
        "ADDRESS_REFUSED",
        "The link does not lead to the public internet",
        "The host is, or one of its DNS records names, an address inside of a private network, or a reserved one.",
        "Give a link that anybody on the internet can open; all DNS records of its host must be public addresses.",
    ),
    FetchFault(
        "REQUEST_INVALID",
        "The headers or credentials of the feed cannot be sent",
        "A name or a value contains a line break or another character that HTTP forbids, or the header is reserved.",
        "Correct the headers, the user name and the password in the settings of the feed.",
    ),
    # the connection to the server
    FetchFault(
        "DNS_NOT_FOUND",
        "The host name is not known",
        "The name is misspelt, its domain has expired, or it has no address record.",
        "Check the host name in the link, and the DNS records of its domain.",
    ),
    FetchFault(
        "DNS_FAILED",
        "The host name could not be resolved",
        "The name servers of the domain did not respond, or not in time.",
        "It is retried; if it persists, check the name servers of the domain.",
    ),
    FetchFault(
        "CONNECT_REFUSED",
        "The server refuses connections",
        "No web server runs at that address and port, or a firewall refuses us.",
        "Start the web server, or let us through its firewall.",
    ),
    FetchFault(
        "CONNECT_TIMEOUT",
        "The server cannot be reached in time",
        "The server is down or overloaded, or a firewall drops our connections silently.",
        "Check that the link opens from outside of your network, and that the firewall lets us through.",
    ),
    FetchFault(
        "CONNECT_FAILED",
        "The server cannot be reached",
        "There is no route to its address, or the connection was cut while it was opened.",
        "Check that the link opens from outside of your network.",
    ),
    FetchFault(
        "PROXY_FAILED",
        "The outgoing proxy is not available",
        "The proxy through which files are fetched refuses the request.",
        "Nothing is wrong with your link; the fetch is retried.",
    ),
    FetchFault(
        "TLS_EXPIRED",
        "The certificate of the server has expired",
        "Its period of validity is over, or has not begun.",
        "Renew the certificate of the web server.",
    ),
    FetchFault(
        "TLS_WRONG_NAME",
        "The certificate of the server is for another name",
        "The host in the link is not among the names of the certificate.",
        "Use the host that the certificate names, or get a certificate for this one.",
    ),
    FetchFault(
        "TLS_UNTRUSTED",
        "The certificate of the server is not trusted",
        "It is self-signed, or signed by an authority that browsers do not know, or the server does not send its "
        "chain.",
        "Install a certificate of a public authority together with its intermediate certificates.",
    ),
    FetchFault(
        "TLS_FAILED",
        "No secure connection could be made",
        "The server speaks an outdated version of TLS, or something else than TLS at this port.",
        "Let the web server speak TLS 1.2 or newer at this port, or correct the port.",
    ),
    # redirects
    FetchFault(
        "REDIRECT_INVALID",
        "The redirect has no usable address",
        "The response is a redirect without an address, or with an invalid one.",
        "Correct the redirect, or give the link to the file itself.",
    ),
    FetchFault(
        "REDIRECT_LOOP",
        "The server redirects in a circle",
        "The redirects return to an address that was already requested; often the server expects a cookie.",
        "Correct the redirects, or give the link to the file itself.",
    ),
    FetchFault(
        "REDIRECT_LIMIT",
        "The server redirects too often",
        "There are more redirects in a row than the limit.",
        "Give the link to the file itself.",
    ),
    FetchFault(
        "REDIRECT_DOWNGRADE",
        "The server redirects from https to http",
        "The feed has a password or headers, which http would send without encryption.",
        "Let the redirect lead to an https:// address, or give the link to the file itself.",
    ),
    # what the server responds
    FetchFault(
        "HTTP_UNAUTHORIZED",
        "The server requires a password",
        "The user name or the password of the feed is missing or wrong, or did not go to the host of a redirect.",
        "Enter the user name and the password in the settings of the feed, with the link that finally serves the file.",
    ),
    FetchFault(
        "HTTP_FORBIDDEN",
        "The server forbids the download",
        "The file is not public, or protection against robots or a country filter refuses our requests.",
        "Make the file public, or let our requests through the protection of the site.",
    ),
    FetchFault(
        "HTTP_NOT_FOUND",
        "The file does not exist",
        "The file was moved, renamed or not created yet.",
        "Check the link in a browser, and whether the file is created.",
    ),
    FetchFault(
        "HTTP_GONE",
        "The file was removed for good",
        "The server reports that it will not return.",
        "Give the new link of the file, or remove the feed.",
    ),
    FetchFault(
        "HTTP_TOO_MANY_REQUESTS",
        "The server gets too many requests",
        "The site limits the rate of requests.",
        "The fetch is retried after the time that the server names; fetch the feed less often, or raise the limit of "
        "the site.",
    ),
    FetchFault(
        "HTTP_UNAVAILABLE",
        "The server is not available for now",
        "It is overloaded or being maintained.",
        "It is retried; if it persists, contact the operator of the site.",
    ),
    FetchFault(
        "HTTP_SERVER_ERROR",
        "The server failed",
        "The program that creates the file failed, or the server behind it does not respond.",
        "It is retried; if it persists, check the error log of the site.",
    ),
    FetchFault(
        "HTTP_CLIENT_ERROR",
        "The server refuses the request",
        "The server treats the request as wrong.",
        "Check the link and the headers of the feed in its settings.",
    ),
    FetchFault(
        "HTTP_UNEXPECTED",
        "The server does not respond with a file",
        "The status of the response is not one of a complete file.",
        "Let the server respond with status 200 and the file.",
    ),
    FetchFault(
        "PROTOCOL_ERROR",
        "The response of the server is not valid HTTP",
        "Another service listens at this port, or the server is broken.",
        "Check the port in the link, and the web server.",
    ),
    FetchFault(
        "HEADERS_TOO_LARGE",
        "The headers of the response are too large",
        "The server sends more than 100 KiB of headers before the file.",
        "Let the server send fewer or shorter headers (often cookies) with the file.",
    ),
    # the transfer
    FetchFault(
        "READ_TIMEOUT",
        "The server stopped responding",
        "No data came for longer than the limit; often the file is created for each request.",
        "Let the site create the file beforehand, and serve the stored file.",
    ),
    FetchFault(
        "TOO_SLOW",
        "The server sends too slowly",
        "Data came at less than the lowest accepted rate.",
        "Serve the file from a faster server, or compressed with gzip.",
    ),
    FetchFault(
        "TOTAL_TIMEOUT",
        "The download took too long",
        "The whole download did not complete within its time limit.",
        "Make the file smaller, serve it compressed with gzip, or from a faster server.",
    ),
    FetchFault(
        "CONNECTION_LOST",
        "The connection was lost",
        "The server or the network closed the connection before the response was complete.",
        "It is retried; if it persists, check the web server and its time limits.",
    ),
    FetchFault(
        "TRUNCATED",
        "The file came incompletely",
        "The connection ended before all announced bytes came.",
        "It is retried; if it persists, check the time limits and the free space of the web server.",
    ),
    FetchFault(
        "EMPTY_RESPONSE",
        "The file is empty",
        "The server responds with status 200 and no content: the file is being written, or its program has failed.",
        "Open the link in a browser. Let the site write the file to its end before it serves the file.",
    ),
    FetchFault(
        "TOO_LARGE",
        "The file is too large",
        "The file, or its content after transfer decompression, exceeds the limit.",
        "Make the file smaller, or divide it into several feeds.",
    ),
    FetchFault(
        "ENCODING_UNKNOWN",
        "The transfer compression of the response is not known",
        "The server uses a Content-Encoding that was not requested; gzip, deflate and br are supported.",
        "Let the server send the file with gzip or without compression.",
    ),
    FetchFault(
        "ENCODING_BROKEN",
        "The transfer compression of the response is broken",
        "The bytes do not match the Content-Encoding that the server names.",
        "Correct the compression of the web server, or switch it off for the file.",
    ),
    FetchFault(
        "RATIO_TOO_HIGH",
        "The compression ratio of the response is too high",
        "Decompressed, it has more than 200 times its size; no feed has.",
        "Check how the file is created, and serve it without compression.",
    ),
    # our side
    FetchFault(
        "DISK_FULL",
        "There is no disk space for the file",
        "The disk of the loader has too little free space for it at the moment.",
        "Nothing is wrong with your link; the fetch is retried.",
    ),
    FetchFault(
        "STORE_FAILED",
        "The file could not be stored",
        "The disk of the loader could not be written.",
        "Nothing is wrong with your link; the fetch is retried.",
    ),
)

FEED_FIXES: Final[Mapping[str, str]] = {code: fault.suggestion for code, fault in FETCH_FAULTS.items()}
"""Fixes for the owner of a feed, by code."""

_RETRIED: Final = "Nothing is wrong with your link; the download is retried."
PICTURE_FIXES: Final[Mapping[str, str]] = {
    **FEED_FIXES,
    "URL_HAS_CREDENTIALS": "Remove them from the link, and make the picture public.",
    "REQUEST_INVALID": "Give another link to the picture.",
    "PROXY_FAILED": _RETRIED,
    "HTTP_UNAUTHORIZED": "Make the picture public: pictures are downloaded without a password.",
    "HTTP_FORBIDDEN": "Make the picture public, or let our requests through the protection of the site.",
    "HTTP_NOT_FOUND": "Open the link in a browser.",
    "HTTP_GONE": "Give the new link of the picture, or remove the picture from the offer.",
    "HTTP_TOO_MANY_REQUESTS": "It is retried after the time that the server names; raise the limit of the site.",
    "HTTP_CLIENT_ERROR": "Open the link in a browser, and correct it.",
    "HTTP_UNEXPECTED": "Let the server respond with status 200 and the picture.",
    "READ_TIMEOUT": "Let the site create the picture beforehand, and serve the stored picture.",
    "TOO_SLOW": "Serve the picture from a faster server, or publish a smaller picture.",
    "TOTAL_TIMEOUT": "Publish a smaller picture, or serve it from a faster server.",
    "EMPTY_RESPONSE": "Open the link in a browser. If no picture appears, publish the picture again.",
    "TOO_LARGE": "Publish the picture in a smaller file.",
    "ENCODING_UNKNOWN": "Let the server send the picture without compression.",
    "ENCODING_BROKEN": "Switch the compression of the web server off for the picture.",
    "RATIO_TOO_HIGH": "Serve the picture without compression.",
    "DISK_FULL": _RETRIED,
    "STORE_FAILED": _RETRIED,
}
"""Fixes for the owner of a picture, by code."""
