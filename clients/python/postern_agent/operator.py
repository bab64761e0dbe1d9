"""The operator's API of a gateway: messages, conversations, transcripts and events."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from typing import Any, Literal, NotRequired, TypedDict, Unpack, cast
from urllib.error import HTTPError
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

Record = dict[str, Any]
Format = Literal["envelope", "agui", "store", "swarm", "normalized"]


class OperatorError(Exception):
    """The gateway refused a request, or did not answer."""

    def __init__(self, message: str, code: str, status: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        """The code of the problem, such as `no_recipient` (not found) or `unreachable`."""
        self.status = status
        """The HTTP status; None if there was no answer."""


class NoRedirects(HTTPRedirectHandler):
    """Follows no redirect: the token is for the gateway alone."""

    def redirect_request(self, *_: Any) -> None:
        return None


class MessageFilters(TypedDict):
    """Filters of messages; all of them hold together."""

    agent: NotRequired[str]
    channel: NotRequired[str]
    state: NotRequired[Literal["received", "working", "answered", "failed", "ignored"]]
    sender: NotRequired[str]
    flag: NotRequired[str]
    since: NotRequired[str]
    """Not before this instant, ISO 8601."""
    until: NotRequired[str]
    """Before this instant, ISO 8601."""
    text: NotRequired[str]


class ConversationFilters(TypedDict):
    """Filters of conversations; all of them hold together."""

    agent: NotRequired[str]
    channel: NotRequired[str]
    sender: NotRequired[str]
    """A part of the address of the first sender."""
    since: NotRequired[str]
    """The newest message did not come before this instant, ISO 8601."""
    until: NotRequired[str]
    """The newest message came before this instant, ISO 8601."""


@dataclass(frozen=True)
class Event:
    """Something that changed."""

    id: str
    """Pass it as `events(after=…)` to continue after this event."""
    kind: str
    """`message`, `turn`, `delivery`, `refusal` or `requirement`; `ready` is the first event, `reload` means that events were lost."""
    data: Any


class Operator:
    """A client of the operator's API. `url` is the URL of the gateway, `token` the operator's token.

    The token leaves this machine only over https. Raises ValueError for a remote address with `http:`.
    """

    def __init__(self, url: str, token: str, *, timeout: float = 30) -> None:
        check_gateway_url(url)
        self._base = f"{url.rstrip('/')}/operator/api"
        self._token = token
        self._timeout = timeout
        self._opener = build_opener(NoRedirects)
        self.page_size = 200
        """Number of records that one request of a list reads, 500 at most."""

    def messages(self, **filters: Unpack[MessageFilters]) -> Iterator[Record]:
        """Yields the received messages, newest first. It reads page after page as you continue."""
        return self._pages("/messages", filters)

    def conversations(self, **filters: Unpack[ConversationFilters]) -> Iterator[Record]:
        """Yields the conversations, newest first by their first message. It reads page after page as you continue."""
        return self._pages("/conversations", filters)

    def message(self, id: int | str) -> Record:
        """Reads one message with its proofs, its answer and its deliveries, by its number or its id.

        Raises OperatorError for an unknown one.
        """
        return cast(Record, self.call("GET", f"/messages/{quote(str(id), safe='')}"))

    def transcript(self, thread: int | str | Record, *, format: Format = "store") -> list[Record]:
        """Reads a conversation, oldest first, in one of the formats of a transcript.

        `thread` is a record of `conversations()` or `messages()`, or the number or the id of a message of it.
        """
        message = thread.get("first_message", thread.get("message")) if isinstance(thread, dict) else thread
        answer = self.call("GET", f"/transcript?{urlencode({'thread': str(message), 'format': format})}")
        return cast(list[Record], answer["messages"])

    def events(self, after: str | None = None, *, timeout: float | None = None) -> Iterator[Event]:
        """Yields every change as it happens, without an end (server-sent events, WHATWG HTML §9.2).

        `timeout` is the number of seconds for which the gateway may be silent: 60 are enough.
        """
        query = "" if after is None else f"?{urlencode({'after': after})}"
        with self._open("GET", f"/events{query}", None, timeout or 60) as answer:
            try:
                yield from read_events(answer)
            except (OSError, HTTPException) as error:
                raise OperatorError(f"The gateway broke off: {error}", "unreachable") from error

    def call(self, method: str, path: str, body: Mapping[str, Any] | None = None, *, timeout: float | None = None) -> Any:
        """Calls any operation of the API, by its path below `/operator/api`. Raises OperatorError."""
        with self._open(method, path, body, timeout or self._timeout) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def _pages(self, path: str, filters: Mapping[str, Any]) -> Iterator[Record]:
        after: int | None = None
        while True:
            query = {**filters, "limit": self.page_size, **({} if after is None else {"after": after})}
            page = self.call("GET", f"{path}?{urlencode(query)}")
            yield from page["items"]
            after = page["next"]
            if after is None:
                return

    def _open(self, method: str, path: str, body: Mapping[str, Any] | None, timeout: float) -> HTTPResponse:
        data = None if body is None else json.dumps(body, allow_nan=False).encode()
        headers = {"authorization": f"Bearer {self._token}", "accept": "application/json, text/event-stream"}
        if data is not None:
            headers["content-type"] = "application/json"
        try:
            request = Request(self._base + path, data, headers, method=method)
            return cast(HTTPResponse, self._opener.open(request, timeout=timeout))
        except HTTPError as error:
            raise read_refusal(error) from None
        except (OSError, HTTPException) as error:
            reason = getattr(error, "reason", None) or error
            raise OperatorError(f"The gateway at {self._base} cannot be reached: {reason}", "unreachable") from error


def check_gateway_url(url: str) -> None:
    """Checks that the token goes over https, or to this machine. Raises ValueError."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme == "https" or (parts.scheme == "http" and re.fullmatch(r"localhost|127\.[\d.]+|::1", host)):
        return
    raise ValueError(f"cannot send the operator token to {host or url} in clear text: use https, or a tunnel to this machine")


def read_refusal(error: HTTPError) -> OperatorError:
    """Reads the problem document of a refusal (RFC 9457 §3), or the status line where there is none."""
    try:
        problem = json.loads(error.read(65536))
        return OperatorError(problem["detail"], problem.get("code", "refused"), error.code)
    except (ValueError, KeyError, TypeError, OSError, HTTPException):
        return OperatorError(str(error.reason), "refused", error.code)


def read_events(lines: HTTPResponse) -> Iterator[Event]:
    """Yields server-sent events (WHATWG HTML §9.2.6). An id holds until the next one."""
    identifier, kind, data = "", "message", list[str]()
    for line in lines:
        name, _, value = line.decode().rstrip("\r\n").partition(":")
        value = value.removeprefix(" ")
        if name == "id":
            identifier = value
        elif name == "event":
            kind = value
        elif name == "data":
            data.append(value)
        elif name == "" and value == "" and not line.startswith(b":"):
            if data:
                yield Event(identifier, kind, read_data("\n".join(data)))
            kind, data = "message", []


def read_data(text: str) -> Any:
    """Parses the data of an event; a text that is no JSON stays a text."""
    try:
        return json.loads(text)
    except ValueError:
        return text
