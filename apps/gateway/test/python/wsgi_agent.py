"""Serves an agent with the WSGI server of the standard library. It answers as requested, and recognizes a second call of a turn by its id."""

import os
from wsgiref.simple_server import WSGIRequestHandler, make_server

from postern_agent import CallContext, Message, Reply, TryAgainLater, TurnFailed, create_wsgi_app, text_of

calls: list[str] = []


def answer(message: Message, context: CallContext) -> Reply | str | None:
    text = text_of(message)
    calls.append(context.id)
    if text == "later" and calls.count(context.id) == 1:
        raise TryAgainLater("the database is away", after=0)
    if text == "failed":
        raise TurnFailed("there is no such order")
    if text == "nothing":
        return None
    if text == "calls":
        return f"called {len(calls)} times for {len(set(calls))} turns"
    before = [turn["role"] for turn in message.get("history", [])]
    return {
        "text": f"{message['sender']['address']} by {message['received_via']} after {before}",
        "usage": [{"model": "small", "input_tokens": 3, "output_tokens": 4}],
    }


class Quiet(WSGIRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


app = create_wsgi_app(answer, ["not the secret of this one", os.environ["WEBHOOK_SECRET"]])
server = make_server("127.0.0.1", 0, app, handler_class=Quiet)
print(f"running on http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
