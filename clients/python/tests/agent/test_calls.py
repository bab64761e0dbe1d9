"""Tests that the messages and calls of `postern_agent.testing` equal those of a gateway."""

import json
import threading
import time
import unittest
from http.client import HTTPConnection
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from calls import SECRET
from postern_agent import create_asgi_app, create_wsgi_app, has_identity, text_of, verify_webhook
from postern_agent.testing import make_message, serve, sign

try:
    import uvicorn
except ImportError:
    uvicorn = None


def call(url, message):
    body = json.dumps(message).encode()
    with urlopen(Request(url, body, sign(SECRET, body)), timeout=30) as answer:
        return json.loads(answer.read())


class TestingTests(unittest.TestCase):
    def test_verify_webhook_accepts_a_signed_body_and_returns_its_id(self):
        verified = verify_webhook(SECRET, sign(SECRET, b"{}", id="msg_1", at=1_000), b"{}", now=1_000)
        self.assertEqual((verified.id, verified.sent_at), ("msg_1", 1_000))

    def test_a_message_has_its_text_and_a_proven_sender(self):
        message = make_message("hello", sender="@bob@people.test", received_via="a2a")
        self.assertEqual((text_of(message), message["received_via"]), ("hello", "a2a"))
        self.assertTrue(has_identity(message, assurance="address", subject="mailto:bob@people.test"))
        self.assertFalse(has_identity(make_message("hello", verified=False)))

    def test_serve_runs_a_wsgi_application(self):
        with serve(create_wsgi_app(lambda message, _: text_of(message), SECRET)) as url:
            self.assertEqual(call(url, make_message("hello")), {"text": "hello"})

    @unittest.skipUnless(uvicorn, "uvicorn is not installed")
    def test_serve_runs_an_asgi_application(self):
        with serve(create_asgi_app(lambda message, _: text_of(message), SECRET)) as url:
            self.assertEqual(call(url, make_message("hello")), {"text": "hello"})


class DeadlineTests(unittest.TestCase):
    def test_the_context_has_the_deadline_of_the_message(self):
        contexts = []
        with serve(create_wsgi_app(lambda _, context: contexts.append(context), SECRET)) as url:
            for deadline in ("2026-01-02T03:04:05.000Z", "soon", None):
                body = json.dumps(make_message("hello", deadline=deadline)).encode()
                urlopen(Request(url, body, sign(SECRET, body)), timeout=30).close()
        past_deadline, invalid_deadline, no_deadline = contexts
        self.assertTrue(past_deadline.cancelled)
        self.assertEqual((invalid_deadline.deadline, no_deadline.deadline, no_deadline.cancelled), (None, None, False))

    def test_the_deadline_of_a_new_message_is_in_the_future(self):
        contexts = []
        with serve(create_wsgi_app(lambda _, context: contexts.append(context), SECRET)) as url:
            body = json.dumps(make_message("hello")).encode()
            urlopen(Request(url, body, sign(SECRET, body)), timeout=30).close()
        self.assertGreater(contexts[0].deadline, time.time())
        self.assertFalse(contexts[0].cancelled)

    @unittest.skipUnless(uvicorn, "uvicorn is not installed")
    def test_a_plain_function_learns_that_the_gateway_has_hung_up(self):
        started, disconnected =  threading.Event(), threading.Event()

        def work(_, context):
            started.set()
            if context.gone.wait(30) and context.cancelled:
                disconnected.set()

        with serve(create_asgi_app(work, SECRET)) as url:
            body = json.dumps(make_message("hello")).encode()
            connection = HTTPConnection(urlsplit(url).netloc, timeout=30)
            connection.request("POST", "/", body, sign(SECRET, body))
            self.assertTrue(started.wait(30))
            connection.close()
            self.assertTrue(disconnected.wait(30))


if __name__ == "__main__":
    unittest.main()
