"""Replies that ask or refuse, and parts that carry files and values."""

import mimetypes
from base64 import b64encode
from os import PathLike
from pathlib import Path
from typing import Any, Literal, NotRequired, TypedDict, Unpack, cast

from .types import DataPart, FilePart, Policy, Reply

Translations = dict[str, Any]
RefusalKind = Literal["forbidden", "too_many_requests", "unavailable_for_legal_reasons", "service_unavailable"]


class PolicyMembers(TypedDict):
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


class Question(PolicyMembers):
    """Members of a question beside its message."""

    action_label: NotRequired[str]
    """Label of the link to the page for the decision."""
    expires_in: NotRequired[float]
    """Seconds until the decision is due, 60 at least."""


class ConsentQuestion(Question):
    """Members of a question for consent beside its message."""

    approver: NotRequired[Literal["sender", "operator"]]
    """The party that may approve; default: the sender."""
    sender_message: NotRequired[str]
    """Text for the sender while an operator decides."""
    notify: NotRequired[str]
    """A mailbox that gets the question when an operator decides."""


def require_consent(message: str, **members: Unpack[ConsentQuestion]) -> Reply:
    """Asks for consent. The decision comes as a message with `policy_resolution`."""
    return ask_by_policy("consent_required", message, dict(members))


def require_payment(message: str, *, amount: str, currency: str, **members: Unpack[Question]) -> Reply:
    """Asks for money: `amount` is a decimal number as text (`"4.50"`), `currency` three capital letters (ISO 4217)."""
    return ask_by_policy("payment_required", message, {**members, "amount": amount, "currency": currency})


def require_auth(message: str, *, challenges: list[dict[str, Any]] | None = None, **members: Unpack[Question]) -> Reply:
    """Asks for better evidence of the sender's identity; `challenges` are those of HTTP authentication (RFC 9110 §11.3)."""
    optional_members = {} if challenges is None else {"auth_challenges": challenges}
    return ask_by_policy("unauthorized", message, {**members, **optional_members})


def refuse(
    message: str,
    *,
    kind: RefusalKind = "forbidden",
    retry_after_seconds: float | None = None,
    **members: Unpack[PolicyMembers],
) -> Reply:
    """Refuses a request, with the reason."""
    optional_members = {} if retry_after_seconds is None else {"retry_after_seconds": retry_after_seconds}
    return ask_by_policy(kind, message, {**members, **optional_members})


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
    """Creates a part of a reply from bytes, or from the file at a path, with its name and type.

    The type of bytes follows `name`, or is `application/octet-stream`. `description` is for people who cannot see the file.
    """
    data = source if isinstance(source, bytes) else Path(source).read_bytes()
    file_name = name if name is not None or isinstance(source, bytes) else Path(source).name
    media_type = mime or (mimetypes.guess_type(file_name)[0] if file_name else None) or "application/octet-stream"
    part: FilePart = {
        "kind": "file",
        "mime": media_type,
        "size": len(data),
        "bytes_ref": {"kind": "inline", "data_base64": b64encode(data).decode()},
    }
    if file_name is not None:
        part["name"] = file_name
    if description is not None:
        part["description"] = description
    return part


def data_part(value: Any, *, name: str | None = None) -> DataPart:
    """Creates a part of a reply from a JSON value. A2A clients get it as data, others as a file with that name."""
    part: DataPart = {"kind": "artifact", "data": value}
    if name is not None:
        part["name"] = name
    return part
