"""An agent behind a real socket while a test runs."""

import contextlib
import inspect
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, cast
from wsgiref.simple_server import WSGIRequestHandler, make_server

from ..wsgi import WsgiApp


class Quiet(WSGIRequestHandler):
    """Logs no request."""

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextlib.contextmanager
def serve(app: Callable[..., Any]) -> Iterator[str]:
    """Serves an application of `create_asgi_app` or `create_wsgi_app` on a free port, and gives its URL.

    For ASGI you install uvicorn.
    """
    with serve_asgi(app) if takes_scope(app) else serve_wsgi(cast(WsgiApp, app)) as url:
        yield url


def takes_scope(app: Callable[..., Any]) -> bool:
    """Tells an ASGI application, which is called with three values, from one of WSGI, which is called with two."""
    call = app if inspect.isfunction(app) or inspect.ismethod(app) else type(app).__call__
    return inspect.iscoroutinefunction(call)


@contextlib.contextmanager
def serve_wsgi(app: WsgiApp) -> Iterator[str]:
    """Serves a WSGI application in a thread."""
    with make_server("127.0.0.1", 0, cast(Any, app), handler_class=Quiet) as server:
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

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(cast(Any, app), log_level="warning"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [taken]}, daemon=True)
        thread.start()
        try:
            while not server.started:
                if not thread.is_alive():
                    raise RuntimeError("The server of the agent has ended before it began")
                time.sleep(0.01)
            yield f"http://127.0.0.1:{taken.getsockname()[1]}/"
        finally:
            server.should_exit = True
            thread.join()
