import base64
import hashlib
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from postern_agent import FileError, read_file

BYTES = b"what the file says"


class FileRequestHandler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/file" else 404)
        self.send_header("content-length", str(len(BYTES)))
        self.end_headers()
        self.wfile.write(BYTES)

    def log_message(self, *_):
        pass


class ReadFileTests(unittest.TestCase):
    def setUp(self):
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), FileRequestHandler)
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

    def test_read_file_reads_a_url_or_inline_bytes(self):
        inline = {"kind": "inline", "data_base64": base64.b64encode(BYTES).decode()}
        for part in (self.stored(), self.at(kind="url"), {"kind": "file", "bytes_ref": inline}):
            self.assertEqual(read_file(part), BYTES)

    def test_bytes_with_another_digest_raise_file_error(self):
        self.fails(self.stored(b"others"), "not those that the message names")

    def test_foreign_addresses_need_allow_foreign(self):
        self.fails(self.at(kind="url", foreign=True), "A peer chose the address")
        self.assertEqual(read_file(self.at(kind="url", foreign=True), allow_foreign=True), BYTES)

    def test_the_error_of_an_unreadable_file_names_its_address(self):
        self.fails(self.stored(path="/none"), "/none answered 404")
        self.fails({"kind": "file", "bytes_ref": {"kind": "url", "url": "file:///etc/passwd"}}, "neither https nor http")
        no_address = {"kind": "content_addressed", "algo": "sha256", "digest": "0" * 64}
        self.fails({"kind": "file", "bytes_ref": no_address}, "names no address")
        self.server.shutdown()
        self.server.server_close()
        self.fails(self.stored(), "cannot be reached")

    def test_a_file_above_max_bytes_raises_file_error(self):
        self.fails(self.stored(), "more than 3 bytes", max_bytes=3)


if __name__ == "__main__":
    unittest.main()
