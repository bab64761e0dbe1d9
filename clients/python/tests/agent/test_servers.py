"""Tests agents behind real servers: wsgiref, and uvicorn if it is installed."""

import asyncio
import contextlib
import http.client
import json
import logging
import socket
import threading
import unittest
from wsgiref.simple_server import WSGIRequestHandler, make_server
from wsgiref.validate import validator

from calls import MESSAGE, SECRET, call, post, sign
from postern_agent import TryAgainLater, TurnFailed, create_asgi_app, create_wsgi_app, text_of

try:
    import uvicorn
except ImportError:
    uvicorn = None

ANSWERS = {
    "text": "*Grüße*",
    "reply": {"parts": [{"kind": "link", "url": "https://peer.test/"}], "as": "message"},
    "nothing": None,
    "odd": 7,
    "no JSON": {"text": float("nan")},
    "half": "ok \ud83d",
    "half in a reply": {"parts": [{"kind": "text", "mime": "text/plain", "content": "\ude00"}]},
    "no text": {"parts": [{"kind": "data", "data": b"bytes"}]},
    "no name": {"parts": [{"kind": "data", "data": {(1, 2): 3}}]},
}
DEEP = {}
DEEP["text"] = DEEP
ANSWERS["without end"] = DEEP


def answer(message, context):
    text = text_of(message)
    if text == "later":
        raise TryAgainLater("the database is away", after=1.5)
    if text == "for ever":
        raise TryAgainLater("never", after=float("inf"))
    if text == "much later":
        raise TryAgainLater("in a while", after=10**5000)
    if text == "failed":
        raise TurnFailed("there is no such order")
    if text == "broken":
        raise RuntimeError("hunter2")
    return context.id if text == "id" else ANSWERS[text]


FORGOTTEN = {"kind": "forget", "person": "p1", "addresses": [{"via": "email", "address": "@a@b.test"}], "threads": ["t1"]}
forgotten = []


def forget(person, context):
    if person["person"] == "locked":
        raise TryAgainLater("the database is locked")
    forgotten.append((person, context.id))


def message_of(text):
    return {**MESSAGE, "parts": [{"kind": "text", "mime": "text/plain", "content": text}]}


class SilentRequestHandler(WSGIRequestHandler):
    def log_message(self, *_):
        pass


class ServerTests:
    """Tests that hold for WSGI and ASGI servers. The agent listens on `self.port`."""

    def test_handlers_may_return_text_a_reply_or_none(self):
        status, headers, reply = call(self.port, message_of("text"))
        self.assertEqual((status, headers["content-type"], reply), (200, "application/json", {"text": "*Grüße*"}))
        self.assertEqual(call(self.port, message_of("reply"))[::2], (200, ANSWERS["reply"]))
        self.assertEqual(call(self.port, message_of("nothing"))[::2], (204, None))

    def test_repeated_calls_have_the_same_id(self):
        self.assertEqual(call(self.port, message_of("id"), identifier="msg_9")[2], {"text": "msg_9"})

    def test_unsigned_calls_get_401(self):
        for signing in ({"key": b"another"}, {"at": 1}):
            status, _, detail = call(self.port, message_of("text"), **signing)
            self.assertEqual((status, list(detail)), (401, ["detail"]))
        self.assertEqual(post(self.port, b"{}", {})[0], 401)

    def test_bodies_that_are_not_messages_get_400(self):
        for body in (b"hunter2", b"[]", b"{}", b'{"parts": 1}', b"[" * 100_000, b"\xff"):
            self.assertEqual(post(self.port, body, sign(body))[0], 400)

    def test_other_methods_get_405(self):
        status, headers, _ = post(self.port, b"", {}, method="GET")
        self.assertEqual((status, headers["allow"]), (405, "POST"))

    def test_the_server_refuses_a_large_body_before_it_reads_it(self):
        for length in (str(9 * 1024 * 1024), "9" * 20):
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
            connection.putrequest("POST", "/")
            connection.putheader("content-length", length)
            connection.endheaders()
            status = connection.getresponse().status
            connection.close()
            # A length that no integer holds is refused by some servers themselves.
            self.assertIn(status, (413,) if len(length) < 12 else (400, 413))

    def test_try_again_later_sets_the_retry_after_header(self):
        status, headers, _ = call(self.port, message_of("later"))
        self.assertEqual((status, headers["retry-after"]), (503, "2"))
        self.assertEqual(call(self.port, message_of("much later"))[1]["retry-after"], str(2**31 - 1))

    def test_turn_failed_gets_422_so_that_the_gateway_does_not_retry(self):
        self.assertEqual(call(self.port, message_of("failed"))[0], 422)

    def test_exceptions_appear_only_in_the_log(self):
        for text in ("broken", "for ever"):
            with self.assertLogs("postern_agent", logging.ERROR):
                status, _, detail = call(self.port, message_of(text))
            self.assertEqual((status, detail), (500, {"detail": "The agent failed"}))

    def test_unserializable_answers_get_422(self):
        for text in ("odd", "no JSON", "half", "half in a reply", "no text", "no name", "without end"):
            with self.assertLogs("postern_agent", logging.ERROR):
                status, _, detail = call(self.port, message_of(text))
            self.assertEqual((text, status, detail), (text, 422, {"detail": "The answer cannot be sent as JSON"}))

    def test_forget_calls_go_to_the_forget_handler(self):
        self.assertEqual(call(self.port, FORGOTTEN, identifier="msg_7")[::2], (204, None))
        self.assertEqual(forgotten.pop(), (FORGOTTEN, "msg_7"))
        self.assertEqual(call(self.port, {**FORGOTTEN, "person": "locked"})[0], 503)
        self.assertEqual(forgotten, [])

    def test_a_lone_surrogate_in_a_message_does_not_stop_the_handler(self):
        self.assertEqual(call(self.port, {**message_of("text"), "id": "m\ud83d"})[0], 200)


class WsgiServer(ServerTests, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # The validator of the standard library fails the call when the application breaks a rule of PEP 3333.
        cls.server = make_server(
            "127.0.0.1", 0, validator(create_wsgi_app(answer, SECRET, forget=forget)), handler_class=SilentRequestHandler
        )
        cls.port = cls.server.server_port
        cls.thread = threading.Thread(target=cls.server.serve_forever)
        cls.thread.start()

    @classmethod
    def tearDownClass(cls):
        cls.server.shutdown()
        cls.server.server_close()
        cls.thread.join()

    def test_a_body_of_unknown_length_is_refused(self):
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as connection:
            connection.sendall(b"POST / HTTP/1.1\r\nhost: a.test\r\n\r\n")
            self.assertIn(b" 411 ", connection.recv(4096))


class WithoutForget(unittest.TestCase):
    def test_an_agent_that_forgets_nobody_says_so(self):
        server = make_server("127.0.0.1", 0, validator(create_wsgi_app(answer, SECRET)), handler_class=SilentRequestHandler)
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        status, _, detail = call(server.server_port, FORGOTTEN)
        thread.join()
        server.server_close()
        self.assertEqual(status, 501)
        self.assertIn("forget", detail["detail"])


class AsgiTests(ServerTests):
    @classmethod
    def setUpClass(cls):
        cls.canceled = threading.Event()
        cls.begun = threading.Event()
        config = uvicorn.Config(create_asgi_app(cls.handler(), SECRET, forget=forget), port=0, log_level="error")
        cls.server = uvicorn.Server(config)
        listening = socket.create_server(("127.0.0.1", 0))
        cls.port = listening.getsockname()[1]
        cls.thread = threading.Thread(target=cls.server.run, args=([listening],))
        cls.thread.start()

    @classmethod
    def tearDownClass(cls):
        cls.server.should_exit = True
        cls.thread.join()

    def test_a_body_in_chunks_is_read(self):
        body = json.dumps(message_of("text")).encode()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request("POST", "/", iter([body[:9], body[9:]]), sign(body), encode_chunked=True)
        self.assertEqual(connection.getresponse().status, 200)
        connection.close()

    def test_chunks_without_end_are_refused(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        chunks = (b"x" * 1024 * 1024 for _ in range(9))
        # The server refuses before the last chunk is sent; its answer can be read all the same.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            connection.request("POST", "/", chunks, sign(b""), encode_chunked=True)
        self.assertEqual(connection.getresponse().status, 413)
        connection.close()


@unittest.skipUnless(uvicorn, "uvicorn is not installed")
class AsgiServerWithFunction(AsgiTests, unittest.TestCase):
    @classmethod
    def handler(cls):
        return answer


@unittest.skipUnless(uvicorn, "uvicorn is not installed")
class AsgiServerWithCoroutine(AsgiTests, unittest.TestCase):
    @classmethod
    def handler(cls):
        async def handle(message, context):
            if text_of(message) != "wait":
                return answer(message, context)
            try:
                cls.begun.set()
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cls.canceled.set()
                raise

        return handle

    def test_a_coroutine_is_canceled_when_the_gateway_hangs_up(self):
        body = json.dumps(message_of("wait")).encode()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request("POST", "/", body, sign(body))
        self.assertTrue(self.begun.wait(30))
        self.assertFalse(self.canceled.is_set())
        connection.close()
        self.assertTrue(self.canceled.wait(30))


if __name__ == "__main__":
    unittest.main()
