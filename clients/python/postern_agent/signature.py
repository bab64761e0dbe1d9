"""The check of a call's sender and time (Standard Webhooks 1.0.0, signature scheme v1)."""

import base64
import binascii
import hashlib
import hmac
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

PREFIX = "whsec_"
#: Decimal digits of a time in seconds; a longer number is no time.
MAX_DIGITS = 12


class SignatureError(Exception):
    """The call is not from a gateway that knows the secret, or it is too old. Answer 401."""


@dataclass(frozen=True)
class VerifiedCall:
    """The facts that the signature covers beside the body."""

    id: str
    """The same for every try of one turn."""
    sent_at: int
    """Seconds since the epoch."""


def read_key(secret: str) -> bytes:
    """Reads the key of a secret: `whsec_` and base64 (RFC 4648 §4), or any other text as it is.

    Raises ValueError for a secret that is neither.
    """
    if not secret.startswith(PREFIX):
        key = secret.encode() if secret.strip() else b""
    else:
        try:
            encoded = secret[len(PREFIX) :].rstrip("=")
            key = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
        except binascii.Error:
            key = b""
    if not key:
        raise ValueError('A webhook secret is some text, or "whsec_" followed by base64; this one is neither')
    return key


def read_keys(secret: str | Sequence[str]) -> list[bytes]:
    """Reads the keys of one secret or of several. Raises ValueError for none."""
    keys = [read_key(each) for each in ([secret] if isinstance(secret, str) else secret)]
    if not keys:
        raise ValueError("A webhook needs a secret")
    return keys


def verify_webhook(
    secret: str | Sequence[str],
    headers: Mapping[str, str],
    body: bytes,
    *,
    tolerance: int = 300,
    now: float | None = None,
) -> VerifiedCall:
    """Checks a call of a gateway (Standard Webhooks 1.0.0). Raises SignatureError.

    `secret` may be several while a secret is changed. `body` is the request's body as it came, before anything parses it.
    `tolerance` is how many seconds the call may be older or newer than `now` (seconds since the epoch; default: the clock's).
    """
    return verify_with_keys(read_keys(secret), headers, body, tolerance=tolerance, now=now)


def verify_with_keys(
    keys: Sequence[bytes],
    headers: Mapping[str, str],
    body: bytes,
    *,
    tolerance: int = 300,
    now: float | None = None,
) -> VerifiedCall:
    """Checks a call as `verify_webhook` does, with secrets that are read already. Raises SignatureError."""
    given = {name.lower(): value for name, value in headers.items()}
    identifier, timestamp = given.get("webhook-id", ""), given.get("webhook-timestamp", "")
    if not identifier:
        raise SignatureError("The call has no webhook-id")
    if not (timestamp.isascii() and timestamp.isdecimal() and len(timestamp) <= MAX_DIGITS):
        raise SignatureError("The call has no webhook-timestamp in seconds")
    sent_at = int(timestamp)
    if abs((time.time() if now is None else now) - sent_at) > tolerance:
        raise SignatureError(f"The call was sent more than {tolerance} seconds ago, or a clock is wrong")
    signed = b".".join([identifier.encode(), timestamp.encode(), body])
    signatures = list(read_signatures(given.get("webhook-signature", "")))
    for key in keys:
        expected = hmac.new(key, signed, hashlib.sha256).digest()
        if any(hmac.compare_digest(expected, signature) for signature in signatures):
            return VerifiedCall(identifier, sent_at)
    raise SignatureError("No webhook-signature of the call was made with the secret")


def read_signatures(header: str) -> Iterator[bytes]:
    """Yields the signatures of version 1; a sender that changes its secret sends several."""
    for signature in header.split():
        version, _, value = signature.partition(",")
        if version == "v1":
            try:
                yield base64.b64decode(value, validate=True)
            except (binascii.Error, ValueError):
                continue
