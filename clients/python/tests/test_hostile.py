"""Tests the store client against broken servers: every fault becomes a MessageStoreError. Needs no gateway."""

import socket
import threading
import unittest
from typing import List, Tuple

from postern_store import MessageStoreError, PosternMessageStore


def serve(answer: bytes, keeps_open: bool = False) -> Tuple[str, List[bytes]]:
    """Starts a server with one fixed answer. Returns its URL and the requests that it received."""
    listener = socket.create_server(("127.0.0.1", 0))
    requests: List[bytes] = []
    connections: List[socket.socket] = []

    def run() -> None:
        while True:
            connection, _ = listener.accept()
            requests.append(connection.recv(65536))
            connection.sendall(answer)
            connections.append(connection)
            if not keeps_open:
                connection.close()

    threading.Thread(target=run, daemon=True).start()
    return f"http://127.0.0.1:{listener.getsockname()[1]}", requests


class BrokenServerTests(unittest.TestCase):
    def expect_error(self, answer: bytes, code: str, keeps_open: bool = False) -> MessageStoreError:
        url, _ = serve(answer, keeps_open)
        with self.assertRaises(MessageStoreError) as caught:
            PosternMessageStore(url, "token", timeout=0.3).get_conversation_messages("here")
        self.assertEqual(caught.exception.code, code)
        self.assertNotIn("token", str(caught.exception))
        return caught.exception

    def test_a_silent_server_is_unreachable(self) -> None:
        self.expect_error(b"", "unreachable", keeps_open=True)

    def test_a_server_that_stops_in_the_middle_is_unreachable(self) -> None:
        partial_response = b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"
        self.expect_error(partial_response, "unreachable", keeps_open=True)
        self.expect_error(partial_response, "unreachable")

    def test_a_server_without_HTTP_is_unreachable(self) -> None:
        self.expect_error(b"SSH-2.0-x\r\n\r\n", "unreachable")

    def test_a_body_without_messages_is_malformed(self) -> None:
        for body in (b"<html>", b"[]", b"{}", b'{"messages": 1}', b"\xff\xfe"):
            self.expect_error(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body), "malformed")

    def test_a_refusal_without_a_problem_document_is_a_refusal(self) -> None:
        for body in (b"[]", b"1", b"<html>", b"\xff"):
            answer = b"HTTP/1.1 500 Oops\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body)
            self.assertEqual(self.expect_error(answer, "refused").status, 500)

    def test_the_token_does_not_follow_a_redirect(self) -> None:
        other, requests = serve(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
        self.expect_error(b"HTTP/1.1 302 Found\r\nlocation: %s/\r\ncontent-length: 0\r\n\r\n" % other.encode(), "refused")
        self.assertEqual(requests, [])

    def test_locations_and_keys_that_no_URL_can_contain_raise_value_error(self) -> None:
        store = PosternMessageStore("http://127.0.0.1:1", "token")
        for text in ("", ".", ".."):
            with self.assertRaises(ValueError):
                store.get_global_messages(text)
            with self.assertRaises(ValueError):
                store.get_agent_messages("here", text)

    def test_a_closed_port_is_unreachable(self) -> None:
        with self.assertRaises(MessageStoreError) as caught:
            PosternMessageStore("http://127.0.0.1:1", "token").get_conversation_messages("here")
        self.assertEqual((caught.exception.code, caught.exception.status), ("unreachable", 0))

    def test_an_invalid_url_or_token_raises_value_error(self) -> None:
        for url in ("", "127.0.0.1:8787", "file:///etc/passwd?", "ftp://127.0.0.1"):
            with self.assertRaises(ValueError):
                PosternMessageStore(url, "token")
        for token in ("", "a\nb", "tökén"):
            with self.assertRaises(ValueError):
                PosternMessageStore("http://127.0.0.1:1", token)


if __name__ == "__main__":
    unittest.main()
