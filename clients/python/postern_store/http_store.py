"""A message store that a gateway keeps, read and written over HTTP (routes `/v1/store/{location}`)."""

import json
from collections.abc import Iterable, Sequence
from http.client import HTTPException
from typing import Any, cast
from urllib.error import HTTPError
from urllib.parse import quote, urlencode
from urllib.request import HTTPRedirectHandler, Request, build_opener

from .message_store import BaseMessageStore, Message


class MessageStoreError(Exception):
    """The gateway refused a request, or did not answer."""

    def __init__(self, message: str, code: str, status: int = 0) -> None:
        super().__init__(message)
        self.code = code
        """The reason, as the gateway's problem document has it (RFC 9457), or `unreachable`."""
        self.status = status
        """The HTTP status; 0 if there was no answer."""


class NoRedirects(HTTPRedirectHandler):
    """Follows no redirect: the token is for the gateway alone."""

    def redirect_request(self, *_: Any) -> None:
        return None


class PosternMessageStore(BaseMessageStore):
    """Messages that a gateway keeps, for the owner of the token (a bearer token, RFC 6750 §2.1)."""

    def __init__(self, url: str, token: str, timeout: float = 30.0) -> None:
        """Opens no connection. Raises ValueError for an address or a token that no request can have."""
        if not url or not token:
            raise ValueError("a message store needs the address of its gateway and a token")
        if not url.lower().startswith(("http://", "https://")):
            raise ValueError("the address of a gateway begins with http:// or https://")
        if not token.isascii() or not token.isprintable():
            raise ValueError("a token has printable ASCII characters alone")
        self._base = url.rstrip("/")
        self._token = token
        self._timeout = timeout
        self._opener = build_opener(NoRedirects)

    def get_conversation_messages(
        self, location: str, limit: int | None = None, tail: int | None = None
    ) -> list[Message]:
        """Reads the messages of the user and the assistant. Raises MessageStoreError.

        `limit` selects the oldest messages, `tail` the newest ones. The result is in ascending order; 0 or None selects all.
        """
        return self._read(location, "conversation", list_limits(limit, tail))

    def get_agent_messages(
        self,
        location: str,
        agent_key: str,
        limit: int | None = None,
        tail: int | None = None,
        types: Sequence[str] | None = None,
    ) -> list[Message]:
        """Reads the messages of one agent, with its plans and contexts unless `types` selects others. Raises MessageStoreError."""
        query = list_limits(limit, tail) + ([("types", ",".join(types))] if types else [])
        return self._read(location, f"agents/{encode_segment('an agent key', agent_key)}", query)

    def get_global_messages(self, location: str, limit: int | None = None, tail: int | None = None) -> list[Message]:
        """Reads the messages that every agent sees, of all authors. Raises MessageStoreError."""
        return self._read(location, "global", list_limits(limit, tail))

    def get_team_messages(
        self,
        location: str,
        agent_keys: list[str],
        limit: int | None = None,
        tail: int | None = None,
        limit_scope: str = "total",
    ) -> list[Message]:
        """Reads the messages of several agents, merged. Raises MessageStoreError.

        `limit` applies to the merged list, or with `limit_scope="per_agent"` to each agent.
        """
        if not agent_keys:
            return []
        keys = [("agent_key", key) for key in agent_keys]
        return self._read(location, "team", keys + list_limits(limit, tail) + [("limit_scope", limit_scope)])

    def add_messages(self, location: str, messages: Iterable[Message], agent_key: str | None = None) -> list[Message]:
        """Stores messages, all or none of them, 500 at once. Returns them as they are stored. Raises MessageStoreError.

        The gateway gives a time to a message without a `timestamp`; views are in the order of storing.
        """
        body: dict[str, Any] = {"messages": list(messages)}
        if agent_key:
            body["agent_key"] = agent_key
        return self._call("POST", f"{path_of(location)}/messages", body)

    def _read(self, location: str, view: str, query: list[tuple[str, str]]) -> list[Message]:
        query_text = f"?{urlencode(query)}" if query else ""
        return self._call("GET", f"{path_of(location)}/{view}{query_text}")

    def _call(self, method: str, path: str, body: dict[str, Any] | None = None) -> list[Message]:
        data = None if body is None else json.dumps(body, allow_nan=False).encode()
        headers = {"authorization": f"Bearer {self._token}", "accept": "application/json"}
        if data is not None:
            headers["content-type"] = "application/json"
        request = Request(self._base + path, data=data, headers=headers, method=method)
        try:
            with self._opener.open(request, timeout=self._timeout) as answer:
                text = answer.read()
        except HTTPError as error:
            raise read_refusal(error) from None
        except (OSError, HTTPException) as error:
            reason = getattr(error, "reason", None) or type(error).__name__
            raise MessageStoreError(f"the gateway cannot be reached: {reason}", "unreachable") from error
        return read_messages(text)


def read_messages(text: bytes) -> list[Message]:
    """Reads the messages of an answer. Raises MessageStoreError for anything else."""
    try:
        answer = json.loads(text)
    except ValueError:
        answer = None
    if not isinstance(answer, dict) or not isinstance(answer.get("messages"), list):
        raise MessageStoreError("the gateway answered with something else than messages", "malformed")
    return cast(list[Message], answer["messages"])


def path_of(location: str) -> str:
    """Returns the path of a location's messages."""
    return f"/v1/store/{encode_segment('a location', location)}"


def encode_segment(label: str, text: str) -> str:
    """Encodes a text as one segment of a path (RFC 3986 §3.3).

    Raises ValueError for a dot segment, which cannot be in a path (RFC 3986 §5.2.4).
    """
    if not text:
        raise ValueError(f"{label} must not be empty")
    if text in (".", ".."):
        raise ValueError(f'{label} must not be "." or "..": a URL cannot contain it')
    return quote(text, safe="")


def list_limits(limit: int | None, tail: int | None) -> list[tuple[str, str]]:
    """Returns the query parameters for the limits that are not 0 or None."""
    limits = (("limit", limit), ("tail", tail))
    return [(name, str(count)) for name, count in limits if count]


def read_refusal(error: HTTPError) -> MessageStoreError:
    """Reads the problem document of a refusal (RFC 9457 §3), or the status line where there is none."""
    try:
        problem = json.loads(error.read(65536))
        if not isinstance(problem, dict):
            raise ValueError("no problem document")
        return MessageStoreError(problem.get("detail", error.reason), problem.get("code", "refused"), error.code)
    except (ValueError, OSError, HTTPException):
        return MessageStoreError(str(error.reason), "refused", error.code)
