"""The shared part of the applications for ASGI and WSGI: from a request to a message, and from an answer to a response."""

import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from http import HTTPStatus
from math import ceil, inf
from threading import Event
from typing import Any, cast

from .message import Message
from .signature import SignatureError, verify_with_keys
from .types import Reply

log = logging.getLogger("postern_agent")

#: Bytes of a request that are read at most; a gateway sends no more.
MAX_BODY = 8 * 1024 * 1024 + 1024

#: The longest wait that a response may ask for, seconds. Every gateway gives up earlier.
MAX_RETRY_AFTER = 2**31 - 1

Answer = str | Reply | Mapping[str, Any] | None
"""What a handler returns: Markdown, a reply, or None to say nothing."""


class TryAgainLater(Exception):
    """Raise this error when a service that you need does not answer. The gateway then calls again."""

    def __init__(self, message: str = "", *, after: float | None = None) -> None:
        """`after` is how many seconds the gateway has to wait at least. Raises ValueError unless `after` is finite."""
        super().__init__(message)
        if after is not None and not -inf < after < inf:
            raise ValueError(f"after must be a finite number of seconds, not {after}")
        self.after = after


class TurnFailed(Exception):
    """Raise this error when another call would fail, too. The sender gets a neutral sentence."""


@dataclass(frozen=True)
class CallContext:
    """The metadata of a call."""

    id: str
    """The id of the call. It is the same for every attempt of a turn, so you can recognize repeats."""
    sent_at: int
    """The instant at which the gateway sent the call, seconds since the epoch."""
    deadline: float | None = None
    """The instant until which the gateway waits for the answer, seconds since the epoch by the clock of this machine."""
    gone: Event = field(default_factory=Event, repr=False, compare=False)
    """The event of the gateway hanging up. A thread may wait for it; only ASGI servers set it."""

    @property
    def cancelled(self) -> bool:
        """True if nobody waits for the answer any more: the turn was cancelled, or its time is over.

        Check it in long work of a function that is not a coroutine.
        """
        return self.gone.is_set() or (self.deadline is not None and time.time() > self.deadline)


@dataclass(frozen=True)
class Response:
    """An HTTP response, for either kind of server."""

    status: int
    headers: Sequence[tuple[str, str]] = ()
    body: bytes = b""


class RequestRefused(Exception):
    """A refusal of a request that does not reach the handler."""

    def __init__(self, response: Response) -> None:
        super().__init__(response.status)
        self.response = response


def create_refusal(status: HTTPStatus, detail: str, *headers: tuple[str, str]) -> RequestRefused:
    """Returns a refusal with a sentence for the operator of the gateway."""
    body = json.dumps({"detail": detail}).encode()
    return RequestRefused(Response(status, [("content-type", "application/json"), *headers], body))


def check_request(method: str, length: str | None) -> int | None:
    """Returns the length of the body, if the request states it (RFC 9110 §8.6). Raises RequestRefused for other requests."""
    if method != "POST":
        raise create_refusal(HTTPStatus.METHOD_NOT_ALLOWED, "A webhook is called by POST", ("allow", "POST"))
    if not length:
        return None
    if not (length.isascii() and length.isdecimal()):
        raise create_refusal(HTTPStatus.BAD_REQUEST, "content-length is no number")
    if len(length) > 12 or int(length) > MAX_BODY:
        raise create_size_refusal()
    return int(length)


def create_size_refusal() -> RequestRefused:
    """Returns the refusal of a body that is too large. Its response closes the connection (RFC 9110 §15.5.14)."""
    detail = f"The body has more than {MAX_BODY} bytes"
    return create_refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, detail, ("connection", "close"))


def open_call(keys: Sequence[bytes], headers: Mapping[str, str], body: bytes) -> tuple[Message, CallContext]:
    """Returns the message of a genuine call. Raises RequestRefused."""
    try:
        call = verify_with_keys(keys, headers, body)
    except SignatureError as error:
        log.warning("refused a call: %s", error)
        raise create_refusal(HTTPStatus.UNAUTHORIZED, str(error)) from error
    message = read_message(body)
    return message, CallContext(call.id, call.sent_at, read_deadline(message, call.sent_at))


def read_deadline(message: Message, sent_at: int) -> float | None:
    """Returns the end of the gateway's wait by the clock of this machine, which may differ from the gateway's."""
    try:
        return time.time() + datetime.fromisoformat(message["deadline"]).timestamp() - sent_at
    except (KeyError, TypeError, ValueError):
        return None


def read_message(body: bytes) -> Message:
    """Parses a body. Raises RequestRefused for one that no gateway sends."""
    try:
        message = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise create_refusal(HTTPStatus.BAD_REQUEST, "The body is no JSON") from error
    if not isinstance(message, dict) or not (isinstance(message.get("parts"), list) or is_forgetting(message)):
        raise create_refusal(HTTPStatus.BAD_REQUEST, 'The body is no message; is "format" of the agent "message"?')
    return cast(Message, message)


def is_forgetting(message: Mapping[str, Any]) -> bool:
    """Returns True for a call that is no message, but names somebody whom the agent has to forget."""
    return message.get("kind") == "forget" and isinstance(message.get("threads"), list)


def choose_handler(message: Message, handle: Callable[..., Any], forget: Callable[..., Any] | None) -> Callable[..., Any]:
    """Chooses the function for a call. Raises RequestRefused where there is no `forget`: the gateway calls again."""
    if not is_forgetting(message):
        return handle
    if forget is None:
        raise create_refusal(HTTPStatus.NOT_IMPLEMENTED, "This agent forgets nobody; give the application a function `forget`")
    return forget


def format_answer(answer: Answer) -> Response:
    """Formats the answer of a handler. Raises RequestRefused for a value that is none, which a second call would give again."""
    if answer is None:
        return Response(HTTPStatus.NO_CONTENT)
    try:
        body = serialize(answer)
    except (TypeError, ValueError, RecursionError, OverflowError) as error:
        log.error("a handler returned what cannot be sent", exc_info=error)
        raise create_refusal(HTTPStatus.UNPROCESSABLE_ENTITY, "The answer cannot be sent as JSON") from error
    return Response(HTTPStatus.OK, [("content-type", "application/json")], body)


def serialize(answer: str | Reply | Mapping[str, Any]) -> bytes:
    """Serializes an answer as JSON.

    Raises TypeError, ValueError (a half of a character is no UTF-8), RecursionError or OverflowError.
    """
    if not isinstance(answer, (str, Mapping)):
        raise TypeError(f"A handler returns a str, a mapping or None, not {type(answer).__name__}")
    reply = {"text": answer} if isinstance(answer, str) else dict(answer)
    return json.dumps(reply, ensure_ascii=False, allow_nan=False).encode()


def format_failure(error: Exception) -> Response:
    """Formats the response to an error of a handler. An unexpected error is logged, and the gateway calls again.

    `TryAgainLater.after` becomes `Retry-After` (RFC 9110 §10.2.3).
    """
    if isinstance(error, RequestRefused):
        return error.response
    if isinstance(error, TurnFailed):
        log.warning("a turn failed: %s", error)
        return create_refusal(HTTPStatus.UNPROCESSABLE_ENTITY, "The turn failed").response
    if isinstance(error, TryAgainLater):
        log.warning("a turn is to be tried again: %s", error)
        headers = [] if error.after is None else [("retry-after", str(min(max(0, ceil(error.after)), MAX_RETRY_AFTER)))]
        return create_refusal(HTTPStatus.SERVICE_UNAVAILABLE, "Try again later", *headers).response
    log.error("a handler failed", exc_info=error)
    return create_refusal(HTTPStatus.INTERNAL_SERVER_ERROR, "The agent failed").response
