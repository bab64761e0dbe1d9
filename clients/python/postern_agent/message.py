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
    """The state of the person, where the agent may set one by `person_state` of its reply; `None` until it has."""


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
    """Index of the last turn of the history's stable head, behind which a prompt cache may break."""
    person: NotRequired[Person]
    """The person who speaks; absent when nothing is proven."""
    is_public: NotRequired[bool]
    """`True` where everybody may read the conversation."""
    deadline: NotRequired[str]
    """The gateway waits for the answer until then, ISO 8601. `CallContext.deadline` has it by the clock of this machine."""


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
    """Returns True if one proven identity of the sender has all these members. Decide by this, never by a name or a profile."""

    def fits(identity: IdentityEvidence) -> bool:
        return (
            method in (None, identity["method"])
            and issuer in (None, identity["issuer"])
            and assurance in (None, identity["assurance"])
            and subject in (None, identity["subject"])
            and (subject_prefix is None or identity["subject"].startswith(subject_prefix))
        )

    return any(fits(identity) for identity in message["sender"].get("identities", []))
