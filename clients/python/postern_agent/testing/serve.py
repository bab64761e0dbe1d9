"""Serves an agent on a real socket while a test runs."""

import contextlib
import inspect
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, cast
from wsgiref.simple_server import WSGIRequestHandler, make_server

from ..wsgi import WsgiApp


class SilentRequestHandler(WSGIRequestHandler):
    """Logs no request."""

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextlib.contextmanager
def serve(app: Callable[..., Any]) -> Iterator[str]:
    """Serves an application of `create_asgi_app` or `create_wsgi_app` on a free port, and yields its URL.

    An ASGI application needs uvicorn.
    """
    with serve_asgi(app) if is_asgi(app) else serve_wsgi(cast(WsgiApp, app)) as url:
        yield url


def is_asgi(app: Callable[..., Any]) -> bool:
    """Returns True for an ASGI application, which is a coroutine function, and False for a WSGI application."""
    call = app if inspect.isfunction(app) or inspect.ismethod(app) else type(app).__call__
    return inspect.iscoroutinefunction(call)


@contextlib.contextmanager
def serve_wsgi(app: WsgiApp) -> Iterator[str]:
    """Serves a WSGI application in a thread."""
    with make_server("127.0.0.1", 0, cast(Any, app), handler_class=SilentRequestHandler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


@contextlib.contextmanager
def serve_asgi(app: Callable[..., Any]) -> Iterator[str]:
    """Serves an ASGI application with uvicorn in a thread."""
    import uvicorn

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(cast(Any, app), log_level="warning"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        try:
            while not server.started:
                if not thread.is_alive():
                    raise RuntimeError("The server of the agent has ended before it began")
                time.sleep(0.01)
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
        finally:
            server.should_exit = True
            thread.join()
