"""Replies that ask or refuse, and parts that carry files and values."""

import mimetypes
from base64 import b64encode
from os import PathLike
from pathlib import Path
from typing import Any, Literal, NotRequired, TypedDict, Unpack, cast

from .types import DataPart, FilePart, Policy, Reply

Translations = dict[str, Any]
RefusalKind = Literal["forbidden", "too_many_requests", "unavailable_for_legal_reasons", "service_unavailable"]


class Words(TypedDict):
    """Members of a question or a refusal beside its message."""

    code: NotRequired[str]
    """The meaning, as one word for programs."""
    title: NotRequired[str]
    """Title of the page for the decision."""
    data: NotRequired[dict[str, Any]]
    """Details for programs; keys have a reverse-DNS prefix."""
    url: NotRequired[str]
    """A page of your own on the gateway's origin."""
    message_translations: NotRequired[Translations]
    """Title and message in further languages: `{"de": {"message": "Darf ich?"}}`."""


class Question(Words):
    """Members of a question beside its message."""

    action_label: NotRequired[str]
    """Label of the link to the page for the decision."""
    expires_in: NotRequired[float]
    """Seconds until the decision is due, 60 at least."""


class ConsentQuestion(Question):
    """Members of a question for a yes beside its message."""

    approver: NotRequired[Literal["sender", "operator"]]
    """The party that may approve; default: the sender."""
    sender_message: NotRequired[str]
    """Text for the sender while an operator decides."""
    notify: NotRequired[str]
    """A mailbox that gets the question when an operator decides."""


def require_consent(message: str, **more: Unpack[ConsentQuestion]) -> Reply:
    """Asks for a yes. The decision comes as a message with `policy_resolution`."""
    return ask_by_policy("consent_required", message, dict(more))


def require_payment(message: str, *, amount: str, currency: str, **more: Unpack[Question]) -> Reply:
    """Asks for money: `amount` is a decimal number as text (`"4.50"`), `currency` three capital letters (ISO 4217)."""
    return ask_by_policy("payment_required", message, {**more, "amount": amount, "currency": currency})


def require_auth(message: str, *, challenges: list[dict[str, Any]] | None = None, **more: Unpack[Question]) -> Reply:
    """Asks for better evidence of who the sender is; `challenges` are those of HTTP authentication (RFC 9110 §11.3)."""
    given = {} if challenges is None else {"auth_challenges": challenges}
    return ask_by_policy("unauthorized", message, {**more, **given})


def refuse(
    message: str,
    *,
    kind: RefusalKind = "forbidden",
    retry_after_seconds: float | None = None,
    **more: Unpack[Words],
) -> Reply:
    """Refuses a request, with the reason."""
    given = {} if retry_after_seconds is None else {"retry_after_seconds": retry_after_seconds}
    return ask_by_policy(kind, message, {**more, **given})


def ask_by_policy(kind: str, message: str, members: dict[str, Any]) -> Reply:
    """Returns a reply with one policy part."""
    policy = cast(Policy, {**members, "kind": kind, "message": message})
    return {"parts": [{"kind": "policy", "policy": policy}]}


def file_part(
    source: bytes | str | PathLike[str],
    *,
    name: str | None = None,
    mime: str | None = None,
    description: str | None = None,
) -> FilePart:
    """Makes a file a part of a reply: bytes, or the path of a file, with its name and type.

    The type of bytes is that of `name`, else `application/octet-stream`. `description` is for people who cannot see it.
    """
    data = source if isinstance(source, bytes) else Path(source).read_bytes()
    called = name if name is not None or isinstance(source, bytes) else Path(source).name
    kind = mime or (mimetypes.guess_type(called)[0] if called else None) or "application/octet-stream"
    part: FilePart = {
        "kind": "file",
        "mime": kind,
        "size": len(data),
        "bytes_ref": {"kind": "inline", "data_base64": b64encode(data).decode()},
    }
    if called is not None:
        part["name"] = called
    if description is not None:
        part["description"] = description
    return part


def data_part(value: Any, *, name: str | None = None) -> DataPart:
    """Makes a JSON value a part of a reply: data for callers of A2A, a file with that name elsewhere."""
    part: DataPart = {"kind": "artifact", "data": value}
    if name is not None:
        part["name"] = name
    return part
