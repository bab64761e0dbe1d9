import base64
import hashlib
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from postern_agent import FileError, read_file

BYTES = b"what the file says"


class Files(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/file" else 404)
        self.send_header("content-length", str(len(BYTES)))
        self.end_headers()
        self.wfile.write(BYTES)

    def log_message(self, *_):
        pass


class ReadsFiles(unittest.TestCase):
    def setUp(self):
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Files)
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)

    def at(self, path="/file", **reference):
        return {"kind": "file", "bytes_ref": {**reference, "url": f"http://127.0.0.1:{self.server.server_port}{path}"}}

    def stored(self, data=BYTES, path="/file"):
        return self.at(path, kind="content_addressed", algo="sha256", digest=hashlib.sha256(data).hexdigest())

    def fails(self, part, words, **options):
        with self.assertRaisesRegex(FileError, words):
            read_file(part, **options)

    def test_bytes_come_from_the_address_or_from_the_message_itself(self):
        inline = {"kind": "inline", "data_base64": base64.b64encode(BYTES).decode()}
        for part in (self.stored(), self.at(kind="url"), {"kind": "file", "bytes_ref": inline}):
            self.assertEqual(read_file(part), BYTES)

    def test_other_bytes_than_the_digest_says_are_refused(self):
        self.fails(self.stored(b"others"), "not those that the message names")

    def test_an_address_that_a_peer_chose_is_read_only_if_the_agent_says_so(self):
        self.fails(self.at(kind="url", foreign=True), "A peer chose the address")
        self.assertEqual(read_file(self.at(kind="url", foreign=True), allow_foreign=True), BYTES)

    def test_a_file_that_cannot_be_had_is_an_error_that_names_the_address(self):
        self.fails(self.stored(path="/none"), "/none answered 404")
        self.fails({"kind": "file", "bytes_ref": {"kind": "url", "url": "file:///etc/passwd"}}, "neither https nor http")
        no_address = {"kind": "content_addressed", "algo": "sha256", "digest": "0" * 64}
        self.fails({"kind": "file", "bytes_ref": no_address}, "names no address")
        self.server.shutdown()
        self.server.server_close()
        self.fails(self.stored(), "cannot be reached")

    def test_a_file_beyond_the_bound_is_refused(self):
        self.fails(self.stored(), "more than 3 bytes", max_bytes=3)


if __name__ == "__main__":
    unittest.main()
