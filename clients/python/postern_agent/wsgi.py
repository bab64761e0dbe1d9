"""An agent behind gunicorn, uWSGI, mod_wsgi or another WSGI server, alone or mounted in Flask or Django."""

from collections.abc import Callable, Iterable, Sequence
from http import HTTPStatus
from typing import Any

from .message import Forgotten, Message
from .signature import read_keys
from .webhook import (
    MAX_BODY,
    Answer,
    CallContext,
    Response,
    check_request,
    choose_handler,
    format_answer,
    format_failure,
    open_call,
    create_refusal,
    create_size_refusal,
)

Environment = dict[str, Any]
StartResponse = Callable[..., Any]
WsgiApp = Callable[[Environment, StartResponse], Iterable[bytes]]
Handler = Callable[[Message, CallContext], Answer]
Forget = Callable[[Forgotten, CallContext], None]


def create_wsgi_app(handle: Handler, secret: str | Sequence[str], *, forget: Forget | None = None) -> WsgiApp:
    """Creates a WSGI application (PEP 3333) that calls `handle(message, context)` for every genuine call.

    `forget(forgotten, context)` is called for people whom the agent has to forget, again and again until it raises nothing.
    `secret` may be a list during a change of the secret. Raises ValueError for an invalid secret.
    """
    keys = read_keys(secret)

    def app(environment: Environment, start_response: StartResponse) -> Iterable[bytes]:
        try:
            body = read_body(environment)
            message, context = open_call(keys, read_headers(environment), body)
            response = format_answer(choose_handler(message, handle, forget)(message, context))
        except Exception as error:
            response = format_failure(error)
        return start(response, start_response)

    return app


def read_body(environment: Environment) -> bytes:
    """Reads the body of a request. Raises RequestRefused.

    A body of unknown length is read only from a server that ends it itself (`wsgi.input_terminated`).
    """
    length = check_request(environment["REQUEST_METHOD"], environment.get("CONTENT_LENGTH"))
    if length is None:
        if not environment.get("wsgi.input_terminated"):
            raise create_refusal(HTTPStatus.LENGTH_REQUIRED, "content-length is missing")
        body = environment["wsgi.input"].read(MAX_BODY + 1)
        if len(body) > MAX_BODY:
            raise create_size_refusal()
        return bytes(body)
    return bytes(environment["wsgi.input"].read(length))


def read_headers(environment: Environment) -> dict[str, str]:
    """Reads the header fields of a request, as CGI names them (RFC 3875 §4.1.18)."""
    fields = ((name, value) for name, value in environment.items() if name.startswith("HTTP_"))
    return {name[len("HTTP_") :].replace("_", "-").lower(): value for name, value in fields}


def start(response: Response, start_response: StartResponse) -> Iterable[bytes]:
    """Starts a response and returns its body."""
    # Fields of one connection are the server's alone (PEP 3333).
    headers = [(name, value) for name, value in response.headers if name != "connection"]
    if response.status != HTTPStatus.NO_CONTENT:
        headers.append(("content-length", str(len(response.body))))
    start_response(f"{int(response.status)} {HTTPStatus(response.status).phrase}", headers)
    return [response.body] if response.body else []
