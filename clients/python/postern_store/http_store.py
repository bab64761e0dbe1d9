import json
from http.client import HTTPException
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple
from urllib.error import HTTPError
from urllib.parse import quote, urlencode
from urllib.request import HTTPRedirectHandler, Request, build_opener

from .message_store import BaseMessageStore, Message


class MessageStoreError(Exception):
    """The gateway refused, or could not be reached. ``code`` is its word for why; ``status`` the HTTP status, or 0."""

    def __init__(self, message: str, code: str, status: int = 0) -> None:
        super().__init__(message)
        self.code = code
        self.status = status


class _NoRedirects(HTTPRedirectHandler):
    """A redirect would carry the token to somebody else."""

    def redirect_request(self, *_: Any) -> None:
        return None


class PosternMessageStore(BaseMessageStore):
    """Messages kept by a gateway, under the owner its token stands for."""

    def __init__(self, url: str, token: str, timeout: float = 30.0) -> None:
        if not url or not token:
            raise ValueError("a message store needs the address of its gateway and a token")
        if not url.lower().startswith(("http://", "https://")):
            raise ValueError("the address of a gateway begins with http:// or https://")
        if not token.isascii() or not token.isprintable():
            raise ValueError("a token has printable ASCII characters alone")
        self._base = url.rstrip("/")
        self._token = token
        self._timeout = timeout
        self._opener = build_opener(_NoRedirects)

    def get_conversation_messages(
        self, location: str, limit: Optional[int] = None, tail: Optional[int] = None
    ) -> List[Message]:
        """What user and assistant said. ``limit`` is the oldest so many, ``tail`` the newest, both ascending; 0 or none is all."""
        return self._read(location, "conversation", _cut(limit, tail))

    def get_agent_messages(
        self,
        location: str,
        agent_key: str,
        limit: Optional[int] = None,
        tail: Optional[int] = None,
        types: Optional[Sequence[str]] = None,
    ) -> List[Message]:
        """What one agent did, plans and contexts too, unless ``types`` names others."""
        query = _cut(limit, tail) + ([("types", ",".join(types))] if types else [])
        return self._read(location, f"agents/{_segment('an agent key', agent_key)}", query)

    def get_global_messages(
        self, location: str, limit: Optional[int] = None, tail: Optional[int] = None
    ) -> List[Message]:
        """What is meant for every agent, whoever said it."""
        return self._read(location, "global", _cut(limit, tail))

    def get_team_messages(
        self,
        location: str,
        agent_keys: List[str],
        limit: Optional[int] = None,
        tail: Optional[int] = None,
        limit_scope: str = "total",
    ) -> List[Message]:
        """What several agents did, merged. ``limit`` counts in all, or with ``limit_scope="per_agent"`` for each."""
        if not agent_keys:
            return []
        keys = [("agent_key", key) for key in agent_keys]
        return self._read(location, "team", keys + _cut(limit, tail) + [("limit_scope", limit_scope)])

    def add_messages(
        self, location: str, messages: Iterable[Message], agent_key: Optional[str] = None
    ) -> List[Message]:
        """Stores messages; gives them as they are stored. All or none of them, 500 at once.

        A message without a ``timestamp`` is given one; views are in the order of storing.
        """
        body: Dict[str, Any] = {"messages": list(messages)}
        if agent_key:
            body["agent_key"] = agent_key
        return self._call("POST", f"{_path(location)}/messages", body)["messages"]

    def _read(self, location: str, view: str, query: List[Tuple[str, str]]) -> List[Message]:
        asked = f"?{urlencode(query)}" if query else ""
        return self._call("GET", f"{_path(location)}/{view}{asked}")["messages"]

    def _call(self, method: str, path: str, body: Optional[Dict[str, Any]] = None) -> Dict[str, Any]:
        data = None if body is None else json.dumps(body, allow_nan=False).encode()
        headers = {"authorization": f"Bearer {self._token}", "accept": "application/json"}
        if data is not None:
            headers["content-type"] = "application/json"
        request = Request(self._base + path, data=data, headers=headers, method=method)
        try:
            with self._opener.open(request, timeout=self._timeout) as answer:
                text = answer.read()
        except HTTPError as error:
            raise _refusal(error) from None
        except (OSError, HTTPException) as error:
            reason = getattr(error, "reason", None) or type(error).__name__
            raise MessageStoreError(f"the gateway cannot be reached: {reason}", "unreachable") from error
        return _messages(text)


def _messages(text: bytes) -> Dict[str, Any]:
    try:
        answer = json.loads(text)
    except ValueError:
        answer = None
    if not isinstance(answer, dict) or not isinstance(answer.get("messages"), list):
        raise MessageStoreError("the gateway answered with something else than messages", "malformed")
    return answer


def _path(location: str) -> str:
    return f"/v1/store/{_segment('a location', location)}"


def _segment(what: str, text: str) -> str:
    if not text:
        raise ValueError(f"{what} must not be empty")
    if text in (".", ".."):
        raise ValueError(f"{what} must not be . or ..: no address can hold it")
    return quote(text, safe="")


def _cut(limit: Optional[int], tail: Optional[int]) -> List[Tuple[str, str]]:
    named = (("limit", limit), ("tail", tail))
    return [(name, str(count)) for name, count in named if count]


def _refusal(error: HTTPError) -> MessageStoreError:
    try:
        problem = json.loads(error.read(65536))
        if not isinstance(problem, dict):
            raise ValueError("no problem document")
        return MessageStoreError(problem.get("detail", error.reason), problem.get("code", "refused"), error.code)
    except (ValueError, OSError, HTTPException):
        return MessageStoreError(str(error.reason), "refused", error.code)
