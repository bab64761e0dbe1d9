#!/usr/bin/env python3
"""A webhook agent in Python, with nothing but the standard library.

    WEBHOOK_SECRET=whsec_... python3 agent.py 5000
"""
import base64
import binascii
import hashlib
import hmac
import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MAX_BODY = 8 * 1024 * 1024
MAX_AGE = 300  # seconds


def read_key(secret: str) -> bytes:
    """The key of a secret: "whsec_" and base64, or any other text as it is. The program ends where it is neither."""
    if not secret.startswith("whsec_"):
        key = secret.encode() if secret.strip() else b""
    else:
        encoded = secret[6:].rstrip("=")
        try:
            key = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
        except binascii.Error:
            key = b""
    return key or sys.exit('WEBHOOK_SECRET has no key: it is some text, or "whsec_" followed by base64')


KEY = read_key(os.environ["WEBHOOK_SECRET"])


def is_genuine(headers, body: bytes) -> bool:
    """Standard Webhooks 1.0.0: who sent it, and when. There may be several signatures, while a secret is changed."""
    identifier, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not timestamp.isdecimal() or abs(time.time() - int(timestamp)) > MAX_AGE:
        return False
    signed = b".".join([identifier.encode(), timestamp.encode(), body])
    expected = hmac.new(KEY, signed, hashlib.sha256).digest()
    return any(hmac.compare_digest(expected, given) for given in read_signatures(headers.get("webhook-signature", "")))


def read_signatures(header: str):
    for signature in header.split():
        version, _, value = signature.partition(",")
        if version == "v1":
            try:
                yield base64.b64decode(value, validate=True)
            except binascii.Error:
                pass


def answer(message: dict):
    """What to say to a message; None says nothing."""
    text = " ".join(part["content"] for part in message["parts"] if part["kind"] == "text").strip()
    if not text:
        return None
    sender = message["sender"]
    # Decide by "verified" and "identities", never by a name or a profile.
    proof = f"proven by {sender['auth_method']}" if sender["verified"] else "not proven"
    turns = len(message.get("history", []))
    words = len(text.split())
    return {
        "text": f"Python heard {words} words from {sender['address']} ({proof}), after {turns} turns.",
        # What was done for it, for the transcript.
        "notes": [
            {"type": "action", "tool": "count_words", "args": {"characters": len(text)}},
            {"type": "observation", "content": words},
        ],
    }


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 30

    def do_POST(self):
        length = self.headers.get("content-length", "")
        if not length.isdecimal() or int(length) > MAX_BODY:
            self.close_connection = True
            return self.reply(413)
        body = self.rfile.read(int(length))
        if not is_genuine(self.headers, body):
            return self.reply(401)
        said = answer(json.loads(body))
        return self.reply(204) if said is None else self.reply(200, said)

    def reply(self, status: int, document=None):
        body = b"" if document is None else json.dumps(document).encode()
        self.send_response(status)
        if status != 204:
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """The gateway has a log."""


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 5000), Handler)
    print(f"listening on http://127.0.0.1:{server.server_port}/", flush=True)
    server.serve_forever()
