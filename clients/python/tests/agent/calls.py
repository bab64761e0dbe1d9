"""Signed calls for the tests of agents, made without the code that checks them, and a way to post them over a socket."""

import base64
import hashlib
import hmac
import http.client
import json
import time

SECRET = "whsec_c2hhcmVkIHNlY3JldCBvZiBib3RoIHNpZGVz"
KEY = b"shared secret of both sides"

MESSAGE = {
    "id": "m1",
    "thread_id": "t1",
    "sender": {
        "address": "@alice@people.test",
        "auth_method": "email-dkim",
        "verified": True,
        "identities": [
            {
                "subject": "mailto:alice@people.test",
                "issuer": "people.test",
                "method": "urn:mentionable:auth:email-dkim:v0.1",
                "assurance": "address",
                "audience": "@desk@agents.test",
                "issued_at": "2026-01-02T03:04:05.000Z",
                "proof": {"type": "transport", "verified_by": "email-dkim"},
            }
        ],
    },
    "recipient": "@desk@agents.test",
    "parts": [
        {"kind": "text", "mime": "text/plain", "content": "häll\u2028o"},
        {"kind": "link", "url": "https://people.test/"},
        {"kind": "text", "mime": "text/plain", "content": "two"},
    ],
    "recipient_capabilities": {"mention_relay": {"kind": "none"}},
    "received_via": "email",
    "received_at": "2026-01-02T03:04:05.000Z",
    "raw": "",
}


def sign(body: bytes, *, key: bytes = KEY, identifier: str = "msg_1", at: float | None = None) -> dict[str, str]:
    timestamp = str(int(time.time() if at is None else at))
    mac = hmac.new(key, f"{identifier}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    return {
        "webhook-id": identifier,
        "webhook-timestamp": timestamp,
        "webhook-signature": "v1," + base64.b64encode(mac).decode(),
    }


def post(port: int, body: bytes, headers: dict[str, str], method: str = "POST"):
    """Posts a body. Returns the status, the header fields and the JSON of the response, or None without a body."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request(method, "/", body, headers)
        response = connection.getresponse()
        text = response.read()
        return response.status, response.headers, json.loads(text) if text else None
    finally:
        connection.close()


def call(port: int, message: object = MESSAGE, **signing):
    body = json.dumps(message).encode()
    return post(port, body, {"content-type": "application/json", **sign(body, **signing)})
