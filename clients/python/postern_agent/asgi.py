"""An agent behind uvicorn, hypercorn or another ASGI server, alone or mounted in Starlette, FastAPI or Django."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
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
    create_size_refusal,
)

Scope = MutableMapping[str, Any]
Event = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Event]]
Send = Callable[[Event], Awaitable[None]]
AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]
Handler = Callable[[Message, CallContext], Answer | Awaitable[Answer]]
Forget = Callable[[Forgotten, CallContext], None | Awaitable[None]]


class Gone(Exception):
    """The gateway has hung up: its turn was canceled, or is over."""


def create_asgi_app(handle: Handler, secret: str | Sequence[str], *, forget: Forget | None = None) -> AsgiApp:
    """Creates an ASGI 3 application that calls `handle(message, context)` for every genuine call.

    `forget(forgotten, context)` is called for people whom the agent has to forget, again and again until it raises nothing.
    A coroutine function is canceled when the gateway hangs up. A plain function runs in a thread, and `context.cancelled`
    tells it. `secret` may be several while a secret is changed. Raises ValueError for a secret that is none.
    """
    keys = read_keys(secret)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await answer_request((handle, forget), keys, scope, receive, send)
        elif scope["type"] == "lifespan":
            await follow_lifespan(receive, send)
        else:
            # A handshake that is closed before it is accepted is answered 403.
            await receive()
            await send({"type": f"{scope['type']}.close"})

    return app


async def follow_lifespan(receive: Receive, send: Send) -> None:
    """Confirms the start and the end of the server (ASGI lifespan protocol 2.0)."""
    while True:
        event = await receive()
        await send({"type": f"{event['type']}.complete"})
        if event["type"] == "lifespan.shutdown":
            return


async def answer_request(
    handlers: tuple[Handler, Forget | None], keys: Sequence[bytes], scope: Scope, receive: Receive, send: Send
) -> None:
    """Answers one request (ASGI HTTP protocol 2.5)."""
    try:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        check_request(scope["method"], headers.get("content-length"))
        message, context = open_call(keys, headers, await read_body(receive))
        handle = choose_handler(message, *handlers)
        response = format_answer(await run_until_gone(handle, message, context, receive))
    except Gone:
        return
    except Exception as error:
        response = format_failure(error)
    await send_response(response, send)


async def read_body(receive: Receive) -> bytes:
    """Reads the body of a request. Raises RequestRefused for a large one, and Gone when the gateway has hung up."""
    body = bytearray()
    while True:
        event = await receive()
        if event["type"] == "http.disconnect":
            raise Gone
        body += event.get("body", b"")
        if len(body) > MAX_BODY:
            raise create_size_refusal()
        if not event.get("more_body", False):
            return bytes(body)


async def run_until_gone(handle: Handler, message: Message, context: CallContext, receive: Receive) -> Answer:
    """Runs the handler and returns its answer. Raises Gone when nobody waits for it any more."""
    work = asyncio.ensure_future(run_handler(handle, message, context))
    gone = asyncio.ensure_future(wait_until_gone(receive))
    try:
        await asyncio.wait([work, gone], return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            return work.result()
        context.gone.set()
        raise Gone
    finally:
        for task in (work, gone):
            task.cancel()
        await asyncio.gather(work, gone, return_exceptions=True)


async def run_handler(handle: Handler, message: Message, context: CallContext) -> Answer:
    """Runs the handler: a coroutine function in this loop, a plain function in a thread."""
    answer = handle(message, context) if is_async(handle) else await asyncio.to_thread(handle, message, context)
    return await answer if inspect.isawaitable(answer) else answer


def is_async(handle: Handler) -> bool:
    """Returns True for a coroutine function, and for an object whose call is one."""
    return inspect.iscoroutinefunction(handle) or inspect.iscoroutinefunction(getattr(handle, "__call__", None))


async def wait_until_gone(receive: Receive) -> None:
    """Waits until the gateway hangs up (`http.disconnect`)."""
    while (await receive())["type"] != "http.disconnect":
        continue


async def send_response(response: Response, send: Send) -> None:
    """Sends a response. One of 204 has no length (RFC 9110 §8.6)."""
    headers = list(response.headers)
    if response.status != 204:
        headers.append(("content-length", str(len(response.body))))
    encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
    await send({"type": "http.response.start", "status": int(response.status), "headers": encoded})
    await send({"type": "http.response.body", "body": response.body})
