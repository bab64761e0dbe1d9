"""What the applications for ASGI and WSGI have in common: from a request to a message, and from an answer to a response."""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from math import ceil
from typing import Any, cast

from .message import Message
from .signature import SignatureError, verify_with_keys
from .types import Reply

log = logging.getLogger("postern_agent")

#: Bytes of a request that are read at most; a gateway sends no more.
MAX_BODY = 8 * 1024 * 1024 + 1024

Answer = str | Reply | Mapping[str, Any] | None
"""What a handler returns: Markdown, a reply, or None to say nothing."""


class TryAgainLater(Exception):
    """Raise it when something you need does not answer: the gateway calls again."""

    def __init__(self, message: str = "", *, after: float | None = None) -> None:
        """`after` is how many seconds the gateway has to wait at least."""
        super().__init__(message)
        self.after = after


class TurnFailed(Exception):
    """Raise it when calling again makes no sense: the sender gets a neutral sentence."""


@dataclass(frozen=True)
class CallContext:
    """What a handler knows of a call beside the message."""

    id: str
    """The same for every try of one turn: know repeats by it."""
    sent_at: int
    """When the gateway sent it, seconds since the epoch."""


@dataclass(frozen=True)
class Response:
    """An HTTP response, for either kind of server."""

    status: int
    headers: Sequence[tuple[str, str]] = ()
    body: bytes = b""


class Refused(Exception):
    """A request that is not answered by the handler."""

    def __init__(self, response: Response) -> None:
        super().__init__(response.status)
        self.response = response


def refuse(status: HTTPStatus, detail: str, *headers: tuple[str, str]) -> Refused:
    body = json.dumps({"detail": detail}).encode()
    return Refused(Response(status, [("content-type", "application/json"), *headers], body))


def check_request(method: str, length: str | None) -> int | None:
    """How many bytes the body has, if the request says so. Raises Refused for what is no call by its head already."""
    if method != "POST":
        raise refuse(HTTPStatus.METHOD_NOT_ALLOWED, "A webhook is called by POST", ("allow", "POST"))
    if not length:
        return None
    if not (length.isascii() and length.isdecimal()):
        raise refuse(HTTPStatus.BAD_REQUEST, "content-length is no number")
    if len(length) > 12 or int(length) > MAX_BODY:
        raise refuse_size()
    return int(length)


def refuse_size() -> Refused:
    detail = f"The body has more than {MAX_BODY} bytes"
    return refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, detail, ("connection", "close"))


def open_call(keys: Sequence[bytes], headers: Mapping[str, str], body: bytes) -> tuple[Message, CallContext]:
    """The message of a genuine call. Raises Refused."""
    try:
        call = verify_with_keys(keys, headers, body)
    except SignatureError as error:
        log.warning("refused a call: %s", error)
        raise refuse(HTTPStatus.UNAUTHORIZED, str(error)) from error
    return read_message(body), CallContext(call.id, call.sent_at)


def read_message(body: bytes) -> Message:
    """Raises Refused for what no gateway sends."""
    try:
        message = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise refuse(HTTPStatus.BAD_REQUEST, "The body is no JSON") from error
    if not isinstance(message, dict) or not isinstance(message.get("parts"), list):
        raise refuse(HTTPStatus.BAD_REQUEST, 'The body is no message; is "format" of the agent "message"?')
    return cast(Message, message)


def format_answer(answer: Answer) -> Response:
    """Raises TypeError or ValueError for what is no answer."""
    if answer is None:
        return Response(HTTPStatus.NO_CONTENT)
    if not isinstance(answer, (str, Mapping)):
        raise TypeError(f"A handler returns a str, a mapping or None, not {type(answer).__name__}")
    reply = {"text": answer} if isinstance(answer, str) else dict(answer)
    body = json.dumps(reply, ensure_ascii=False, allow_nan=False).encode()
    return Response(HTTPStatus.OK, [("content-type", "application/json")], body)


def format_failure(error: Exception) -> Response:
    """The response for what a handler raised. An error that it did not mean is logged, and the gateway calls again."""
    if isinstance(error, Refused):
        return error.response
    if isinstance(error, TurnFailed):
        log.warning("a turn failed: %s", error)
        return refuse(HTTPStatus.UNPROCESSABLE_ENTITY, "The turn failed").response
    if isinstance(error, TryAgainLater):
        log.warning("a turn is to be tried again: %s", error)
        headers = [] if error.after is None else [("retry-after", str(max(0, ceil(error.after))))]
        return refuse(HTTPStatus.SERVICE_UNAVAILABLE, "Try again later", *headers).response
    log.error("a handler failed", exc_info=error)
    return refuse(HTTPStatus.INTERNAL_SERVER_ERROR, "The agent failed").response
