"""What `postern_agent.testing` makes is what a gateway sends."""

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


class MakesCalls(unittest.TestCase):
    def test_the_check_takes_a_signed_body_and_its_id(self):
        verified = verify_webhook(SECRET, sign(SECRET, b"{}", id="msg_1", at=1_000), b"{}", now=1_000)
        self.assertEqual((verified.id, verified.sent_at), ("msg_1", 1_000))

    def test_a_message_has_its_text_and_a_proven_sender(self):
        message = make_message("hello", sender="@bob@people.test", received_via="a2a")
        self.assertEqual((text_of(message), message["received_via"]), ("hello", "a2a"))
        self.assertTrue(has_identity(message, assurance="address", subject="mailto:bob@people.test"))
        self.assertFalse(has_identity(make_message("hello", verified=False)))

    def test_an_application_of_wsgi_is_served(self):
        with serve(create_wsgi_app(lambda message, _: text_of(message), SECRET)) as url:
            self.assertEqual(call(url, make_message("hello")), {"text": "hello"})

    @unittest.skipUnless(uvicorn, "uvicorn is not installed")
    def test_an_application_of_asgi_is_served(self):
        with serve(create_asgi_app(lambda message, _: text_of(message), SECRET)) as url:
            self.assertEqual(call(url, make_message("hello")), {"text": "hello"})


class KnowsTheEnd(unittest.TestCase):
    def test_the_deadline_is_that_of_the_message_by_the_clock_of_this_machine(self):
        seen = []
        with serve(create_wsgi_app(lambda _, context: seen.append(context), SECRET)) as url:
            for deadline in ("2026-01-02T03:04:05.000Z", "soon", None):
                body = json.dumps(make_message("hello", deadline=deadline)).encode()
                urlopen(Request(url, body, sign(SECRET, body)), timeout=30).close()
        past, odd, none = seen
        self.assertTrue(past.cancelled)
        self.assertEqual((odd.deadline, none.deadline, none.cancelled), (None, None, False))

    def test_the_deadline_of_a_genuine_message_is_in_the_future(self):
        seen = []
        with serve(create_wsgi_app(lambda _, context: seen.append(context), SECRET)) as url:
            body = json.dumps(make_message("hello")).encode()
            urlopen(Request(url, body, sign(SECRET, body)), timeout=30).close()
        self.assertGreater(seen[0].deadline, time.time())
        self.assertFalse(seen[0].cancelled)

    @unittest.skipUnless(uvicorn, "uvicorn is not installed")
    def test_a_plain_function_learns_that_the_gateway_has_hung_up(self):
        begun, learnt = threading.Event(), threading.Event()

        def work(_, context):
            begun.set()
            if context.gone.wait(30) and context.cancelled:
                learnt.set()

        with serve(create_asgi_app(work, SECRET)) as url:
            body = json.dumps(make_message("hello")).encode()
            connection = HTTPConnection(urlsplit(url).netloc, timeout=30)
            connection.request("POST", "/", body, sign(SECRET, body))
            self.assertTrue(begun.wait(30))
            connection.close()
            self.assertTrue(learnt.wait(30))


if __name__ == "__main__":
    unittest.main()
