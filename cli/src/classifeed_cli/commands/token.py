"""`classifeed token …`: tokens with which other teams call the services."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from classifeed_cli.durations import parse_duration
from classifeed_cli.exit_codes import CommandError, refused
from classifeed_cli.options import DataOption, data_folder
from classifeed_cli.platform.planning.credentials import write_private
from classifeed_cli.platform.planning.layout import Layout
from classifeed_cli.terminal.output import JsonOption, Output
from classifeed_cli.terminal.table import Table
from classifeed_common.auth import (
    ALL_OWNERS,
    TeamToken,
    TokenRecordsError,
    bind_team_token,
    create_team_token,
    list_team_tokens,
    reset_token_records,
    revoke_team_token,
)
from classifeed_domain.namespace_names import is_seller_id
from classifeed_domain.policy import POLICY, SELLER_METHODS

_app = typer.Typer(help="Tokens with which other teams call the services.", no_args_is_help=True)
_KeysOption = Annotated[
    Path | None,
    typer.Option(
        "--keys", help="Folder of the installation's keys, with operator.pem.", show_default="that of the data folder"
    ),
]

_SELLER_PRESET: Final = "seller"
_SellerOption = Annotated[
    list[str] | None, typer.Option("--seller", help="Seller whose data the token may reach; may be repeated.")
]
_AllSellersOption = Annotated[bool, typer.Option("--all-sellers", help="The token may reach the data of every seller.")]


def register(app: typer.Typer) -> None:
    """Add the group."""
    app.add_typer(_app, name="token")


@_app.command()
def create(
    team: Annotated[str, typer.Option("--for", help="Team that gets the token; it is named in the audit log.")],
    may: Annotated[
        list[str],
        typer.Option(
            "--may",
            help="SERVICE/METHOD, SERVICE/*, `read` for all methods that change nothing, or `seller` for what the "
            "program of a shop calls; may be repeated.",
        ),
    ],
    seller: _SellerOption = None,
    all_sellers: _AllSellersOption = False,
    ttl: Annotated[str, typer.Option("--ttl", help="How long it is valid: 12h, 30d; at most 366d.")] = "30d",
    out_file: Annotated[
        Path | None, typer.Option("--out", help="File for the token, mode 0600, instead of printing it.")
    ] = None,
    keys: _KeysOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Create a token for another team and print it once; only its description is stored.

    Name the sellers whose data the token may reach with --seller. A token for --all-sellers reaches the data of every
    seller.
    """
    out = Output(as_json)
    patterns = _patterns([pattern for each in may for pattern in each.split(",") if pattern])
    owners = _owners(seller, all_sellers=all_sellers)
    folder = _folder(keys, data)
    try:
        token, record = create_team_token(folder, team, patterns, parse_duration(ttl), owners=owners, policy=POLICY)
    except FileNotFoundError as error:
        raise _no_keys(folder) from error
    except ValueError as error:
        raise refused("TOKEN_REFUSED", f"{error}.") from error
    except TokenRecordsError as error:
        raise _no_records(error) from error
    if out_file is not None:
        write_private(out_file, token)
    elif not as_json:
        typer.echo(token)
    where = f" It is in {out_file}." if out_file is not None else ""
    out.progress(
        f"Token {record.token_id} of {team} for {_sellers(record)}: {len(record.may)} methods, until "
        f"{_moment(record.expires_at)}.{where} "
        f"Revoke it with `classifeed token revoke {record.token_id}`."
    )
    out.document(_document(record) | ({"file": str(out_file)} if out_file is not None else {"token": token}))


@_app.command("list")
def list_tokens(keys: _KeysOption = None, data: DataOption = None, as_json: JsonOption = False) -> None:
    """List the tokens, the oldest first."""
    out = Output(as_json)
    try:
        records = list_team_tokens(_folder(keys, data))
    except TokenRecordsError as error:
        raise _no_records(error) from error
    if records:
        out.rows(_TOKENS, records)
    else:
        out.say("There are no tokens of other teams.")
    out.document({"tokens": [_document(record) for record in records]})


@_app.command()
def revoke(
    token_id: Annotated[str, typer.Argument(help="Id of the token, from `classifeed token list`.")],
    keys: _KeysOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Revoke a token: the services refuse it from its next use on. Idempotent."""
    out = Output(as_json)
    try:
        record = revoke_team_token(_folder(keys, data), token_id)
    except LookupError as error:
        raise _not_found(token_id) from error
    except TokenRecordsError as error:
        raise _no_records(error) from error
    out.say(f"Token {token_id} of {record.team} is revoked.")
    out.document(_document(record))


@_app.command()
def bind(
    token_id: Annotated[str, typer.Argument(help="Id of the token, from `classifeed token list`.")],
    seller: _SellerOption = None,
    all_sellers: _AllSellersOption = False,
    keys: _KeysOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Name the sellers of a token that was created before tokens had sellers; the services refuse it until then."""
    out = Output(as_json)
    owners = _owners(seller, all_sellers=all_sellers)
    try:
        record = bind_team_token(_folder(keys, data), token_id, owners)
    except LookupError as error:
        raise _not_found(token_id) from error
    except ValueError as error:
        raise refused("TOKEN_REFUSED", f"{error}.") from error
    except TokenRecordsError as error:
        raise _no_records(error) from error
    out.say(f"Token {token_id} of {record.team} is for {_sellers(record)}.")
    out.document(_document(record))


@_app.command()
def reset(keys: _KeysOption = None, data: DataOption = None, as_json: JsonOption = False) -> None:
    """Begin an empty list of tokens, if tokens.json is lost: the services refuse every token created before."""
    out = Output(as_json)
    kept = reset_token_records(_folder(keys, data))
    where = f" The former list is in {kept}." if kept is not None else ""
    out.say(f"The list of tokens is empty.{where} Create a new token for each team with `classifeed token create`.")
    out.document({"former": str(kept) if kept is not None else None})


def _folder(keys: Path | None, data: Path | None) -> Path:
    return keys if keys is not None else Layout(data_folder(data)).keys


def _no_keys(folder: Path) -> CommandError:
    return refused(
        "CALLER_HAS_NO_KEY",
        f"{folder} has no operator.pem, which signs tokens. Start the installation once with `classifeed up`, or name "
        "the folder of its keys with --keys.",
    )


def _not_found(token_id: str) -> CommandError:
    return refused("TOKEN_NOT_FOUND", f"There is no token {token_id}. See `classifeed token list`.")


def _no_records(error: TokenRecordsError) -> CommandError:
    return refused("TOKENS_UNREADABLE", str(error))


def _patterns(given: list[str]) -> list[str]:
    return [method for each in given for method in (SELLER_METHODS if each == _SELLER_PRESET else (each,))]


def _owners(sellers: list[str] | None, *, all_sellers: bool) -> list[str]:
    named = [seller for each in sellers or () for seller in each.split(",") if seller]
    if bool(named) == all_sellers:
        raise refused(
            "TOKEN_REFUSED",
            "A token needs the sellers whose data it may reach: name each with --seller, or give --all-sellers.",
        )
    if wrong := [each for each in named if not is_seller_id(each)]:
        raise refused(
            "TOKEN_REFUSED",
            f"{wrong[0]!r} cannot be the id of a seller: it has Latin letters, digits, `.`, `_` and `-`, at most 64.",
        )
    return [ALL_OWNERS] if all_sellers else named


def _sellers(record: TeamToken) -> str:
    if not record.owners:
        return "no seller: see `classifeed token bind`"
    return "all sellers" if ALL_OWNERS in record.owners else ", ".join(record.owners)


def _state(record: TeamToken) -> str:
    if record.revoked_at is not None:
        return "withdrawn"
    if record.expires_at <= datetime.now(UTC).timestamp():
        return "expired"
    return "good" if record.owners else "refused"


def _methods(record: TeamToken) -> str:
    short = [method.rpartition(".")[2] for method in record.may]
    return ", ".join(short[:3]) + (f" and {len(short) - 3} more" if len(short) > 3 else "")


def _moment(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _document(record: TeamToken) -> dict[str, Any]:
    def moment(seconds: int | None) -> str | None:
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    return {
        "token_id": record.token_id,
        "team": record.team,
        "may": list(record.may),
        "sellers": [each for each in record.owners if each != ALL_OWNERS],
        "all_sellers": ALL_OWNERS in record.owners,
        "create_time": moment(record.created_at),
        "expire_time": moment(record.expires_at),
        "revoke_time": moment(record.revoked_at),
    }


_TOKENS: Final = Table[TeamToken](
    {
        "token": lambda each: each.token_id,
        "team": lambda each: each.team,
        "state": _state,
        "until": lambda each: _moment(each.expires_at),
        "sellers": _sellers,
        "methods": _methods,
    }
)
