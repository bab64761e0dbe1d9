"""The message that a gateway posts to a webhook."""

from typing import NotRequired

from .types import IdentityEvidence, NormalizedMessage


class Message(NormalizedMessage):
    """A message as a webhook gets it."""

    flags: NotRequired[list[str]]
    """What the gateway noticed about it, such as `hidden_text`: text that people do not see was taken out."""
    cache_breakpoint_after: NotRequired[int]
    """Index of the last turn of the history's stable head, behind which a prompt cache may break."""


def text_of(message: Message) -> str:
    """The text of a message in one string, its parts with an empty line between them."""
    return "\n\n".join(part["content"] for part in message["parts"] if part["kind"] == "text")


def has_identity(
    message: Message,
    *,
    method: str | None = None,
    issuer: str | None = None,
    assurance: str | None = None,
    subject: str | None = None,
    subject_prefix: str | None = None,
) -> bool:
    """Whether one proven identity of the sender meets all that is asked. Decide by this, never by a name or a profile."""

    def fits(identity: IdentityEvidence) -> bool:
        return (
            method in (None, identity["method"])
            and issuer in (None, identity["issuer"])
            and assurance in (None, identity["assurance"])
            and subject in (None, identity["subject"])
            and (subject_prefix is None or identity["subject"].startswith(subject_prefix))
        )

    return any(fits(identity) for identity in message["sender"].get("identities", []))
