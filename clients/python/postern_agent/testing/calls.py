"""Creates messages and signed calls for tests without a gateway."""

import hashlib
import hmac
import time
import uuid
from base64 import b64encode
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta, timezone
from typing import Any, cast

from ..message import Message
from ..signature import read_key
from ..types import Part


def make_message(
    text: str | None = None,
    *,
    sender: str = "@alice@people.test",
    verified: bool = True,
    parts: Iterable[Part] = (),
    **members: Any,
) -> Message:
    """Creates a message of a person who has proven their mail address. `members` adds members or overrides the defaults.

    With `verified=False` the sender has proven nothing.
    """
    now = datetime.now(timezone.utc)
    received_at = format_time(now)
    recipient = str(members.get("recipient", "@desk@agents.test"))
    text_parts: list[Part] = [] if text is None else [{"kind": "text", "mime": "text/plain", "content": text}]
    message = {
        "id": f"{uuid.uuid4()}@people.test",
        "thread_id": str(uuid.uuid4()),
        "sender": describe_sender(sender, verified, recipient, received_at),
        "recipient": recipient,
        "parts": [*text_parts, *parts],
        "history": [],
        "recipient_capabilities": {"mention_relay": {"kind": "none"}},
        "received_via": "email",
        "received_at": received_at,
        "deadline": format_time(now +  timedelta(seconds=54)),
        "raw": "",
        **members,
    }
    return cast(Message, message)


def format_time(time: datetime) -> str:
    """Formats an instant by RFC 3339, in milliseconds."""
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def describe_sender(address: str, verified: bool, audience: str, issued_at: str) -> Mapping[str, Any]:
    """Describes a sender, with the identity of a proven one."""
    if not verified:
        return {"address": address, "auth_method": "none", "verified": False}
    mailbox, domain = address.removeprefix("@"), address.rpartition("@")[2]
    identity = {
        "subject": f"mailto:{mailbox}",
        "issuer": domain,
        "method": "urn:mentionable:auth:email-dkim:v0.1",
        "assurance": "address",
        "audience": audience,
        "issued_at": issued_at,
        "proof": {"type": "transport", "verified_by": "email-dkim"},
    }
    return {"address": address, "auth_method": "email-dkim", "verified": True, "identities": [identity]}


def sign(secret: str, body: bytes, *, id: str | None = None, at: float | None = None) -> dict[str, str]:
    """Signs a call with this body and returns its headers (Standard Webhooks 1.0.0).

    `at` is its time in seconds since the epoch; default: now.
    """
    identifier, timestamp = id or f"msg_{uuid.uuid4().hex}", str(int(time.time() if at is None else at))
    signed_content = b".".join([identifier.encode(), timestamp.encode(), body])
    signature = b64encode(hmac.new(read_key(secret), signed_content, hashlib.sha256).digest()).decode()
    return {
        "content-type": "application/json",
        "webhook-id": identifier,
        "webhook-timestamp": timestamp,
        "webhook-signature": f"v1,{signature}",
    }
