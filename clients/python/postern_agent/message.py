"""The message that a gateway posts to a webhook."""

from typing import Any, Literal, NotRequired, TypedDict

from .types import IdentityEvidence, NormalizedMessage


class PersonAddress(TypedDict):
    """An address of a person."""

    via: str
    """The channel."""
    address: str
    """The address there, `@name@domain`."""


class Person(TypedDict):
    """The person who speaks."""

    id: str
    """The agent's key of the person, the same from all linked addresses."""
    addresses: list[PersonAddress]
    """The sender's address; in private conversations that the agent shares, all addresses that are linked with it."""
    state: NotRequired[Any]
    """The state that the agent has stored for this person by `person_state` of a reply. Absent if the agent may not store one; `None` before the first."""


class Forgotten(TypedDict):
    """The person whom an agent with a memory of its own has to forget."""

    kind: Literal["forget"]
    person: NotRequired[str]
    """The key of the person, as in `person.id` of messages; absent for senders who have proven nothing."""
    addresses: list[PersonAddress]
    """The addresses that the person wrote from, and those linked with them."""
    threads: list[str]
    """`thread_id` of the conversations in which nobody else spoke."""


class Message(NormalizedMessage):
    """A message as a webhook gets it."""

    flags: NotRequired[list[str]]
    """Findings of the gateway, such as `hidden_text`: text that people do not see was taken out."""
    cache_breakpoint_after: NotRequired[int]
    """The index of the last history turn that will not change. A prompt cache may end after this turn."""
    person: NotRequired[Person]
    """The person who speaks; absent when nothing is proven."""
    is_public: NotRequired[bool]
    """`True` where everybody may read the conversation."""
    deadline: NotRequired[str]
    """The time until which the gateway waits for the answer, ISO 8601 by the gateway's clock. `CallContext.deadline` is by the clock of this machine."""


def text_of(message: Message) -> str:
    """Returns the text of a message in one string, its parts with an empty line between them."""
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
    """Returns True if one proven identity of the sender has all these members. Base permissions on this function, never on a name or a profile."""

    def matches(identity: IdentityEvidence) -> bool:
        return (
            method in (None, identity["method"])
            and issuer in (None, identity["issuer"])
            and assurance in (None, identity["assurance"])
            and subject in (None, identity["subject"])
            and (subject_prefix is None or identity["subject"].startswith(subject_prefix))
        )

    return any(matches(identity) for identity in message["sender"].get("identities", []))
