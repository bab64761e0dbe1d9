"""What an agent reads and what it answers.

Written by `npm run reference -- --write` from the schemas of the gateway; a test compares. Change the schemas, not this file.
"""

from typing import Any, Literal, NotRequired, TypedDict


class PolicyMessageTranslations(TypedDict):
    title: NotRequired[str]
    """The title."""
    message: str
    """The message."""


class PolicyAuthChallenges(TypedDict):
    scheme: str
    """Scheme of authentication."""


class Policy(TypedDict):
    """What is required before the agent goes on, or why it refuses."""

    kind: str
    """The requirement, or why the agent refuses; an unknown kind stays and never means success."""
    message: str
    """What the sender reads."""
    code: NotRequired[str]
    """The meaning, as one word for programs."""
    title: NotRequired[str]
    """Title of the page for the decision."""
    message_translations: NotRequired[dict[str, PolicyMessageTranslations]]
    """Title and message in further languages, by language tag."""
    url: NotRequired[str]
    """Page of the gateway for the decision."""
    action_label: NotRequired[str]
    """Label of the link to that page."""
    data: NotRequired[dict[str, Any]]
    """Details for programs."""
    auth_challenges: NotRequired[list[PolicyAuthChallenges]]
    """How the sender can prove more, for `unauthorized`."""
    retry_after_seconds: NotRequired[float]
    """When asking again makes sense, for refusals that pass."""
    state: NotRequired[str]
    """Single-use state that a decision names: 256 bits that nobody can guess."""


class TextPart(TypedDict):
    """Text."""

    kind: Literal["text"]
    mime: Literal["text/plain", "text/markdown", "text/html"]
    """The markup of the text."""
    content: str
    """The text."""


class InlineBytesRef(TypedDict):
    kind: Literal["inline"]
    data_base64: str
    """The bytes."""


class UrlBytesRef(TypedDict):
    kind: Literal["url"]
    url: str
    """Where the bytes are; of inbound files a signed address of the gateway."""
    expires_at: NotRequired[str]
    """When the address stops working, ISO 8601."""


class ContentAddressedBytesRef(TypedDict):
    kind: Literal["content_addressed"]
    algo: Literal["sha256"]
    digest: str
    """Digest of the bytes, in lower case hexadecimal; the gateway checks it at each fetch."""
    url: NotRequired[str]
    """Where the bytes are; of inbound files a signed address of the gateway."""


BytesRef = InlineBytesRef | UrlBytesRef | ContentAddressedBytesRef


class FilePart(TypedDict):
    """A file."""

    kind: Literal["file"]
    name: NotRequired[str]
    """Name of the file."""
    description: NotRequired[str]
    """What it shows, for people who cannot see it (alt text)."""
    mime: NotRequired[str]
    """Its media type."""
    size: NotRequired[float]
    """Its size in bytes."""
    bytes_ref: BytesRef
    """Where its bytes are."""


class LinkPart(TypedDict):
    """A link."""

    kind: Literal["link"]
    url: str
    """Where it leads."""
    title: NotRequired[str]
    """Its title."""
    description: NotRequired[str]
    """What is there."""


class ArtifactPart(TypedDict):
    """A result that is a thing of its own."""

    kind: Literal["artifact"]
    name: NotRequired[str]
    """Name of the file."""
    description: NotRequired[str]
    """What it shows, for people who cannot see it (alt text)."""
    mime: NotRequired[str]
    """Its media type."""
    size: NotRequired[float]
    """Its size in bytes."""
    bytes_ref: BytesRef
    """Where its bytes are."""
    artifact_type: NotRequired[str]
    """What kind of thing it is."""
    data: NotRequired[Any]
    """The value itself, if it came as one (an A2A data part); the bytes are its JSON."""


class ToolCallPartError(TypedDict):
    message: str
    """The reason."""


class ToolCallPart(TypedDict):
    """A call of a tool; it comes twice under one id, when it begins and when it ends."""

    kind: Literal["tool_call"]
    id: str
    """Id of the call."""
    name: str
    """Name of the tool."""
    args: NotRequired[Any]
    """The arguments of the call."""
    result: NotRequired[Any]
    """What it returned."""
    error: NotRequired[ToolCallPartError]
    """Why it failed."""
    agent: NotRequired[str]
    """The member of a swarm that called it."""
    continues: NotRequired[str]
    """Public id of the requirement that an earlier answer put before the end of this call."""


class PolicyPart(TypedDict):
    """A requirement or a refusal."""

    kind: Literal["policy"]
    policy: Policy
    """What is required or refused."""


# Something that is said. Parts of other kinds may come, too; they are kept as they are.
Part = TextPart | FilePart | LinkPart | ArtifactPart | ToolCallPart | PolicyPart


class TransportIdentityProof(TypedDict):
    type: Literal["transport"]
    verified_by: str
    """What verified it: the method of the channel, or of the token."""
    key_id: NotRequired[str]
    """Id of the key that proved it."""


class SignedAttestationIdentityProof(TypedDict):
    type: Literal["signed-attestation"]
    alg: str
    """Algorithm of the signature."""
    kid: str
    """Id of the key."""
    value: NotRequired[str]
    """The signature; left out once it is verified."""
    canonicalization: NotRequired[str]
    """The canonical form of the signed bytes."""


class BearerTokenIdentityProof(TypedDict):
    type: Literal["bearer-token"]
    verified_by: str
    """What verified it: the method of the channel, or of the token."""


IdentityProof = TransportIdentityProof | SignedAttestationIdentityProof | BearerTokenIdentityProof


class IdentityEvidence(TypedDict):
    """A statement of a trusted party about the sender."""

    id: NotRequired[str]
    """Id of the evidence."""
    subject: str
    """Who the sender is: an actor, `mailto:…`, the subject of a token, or the issuer's own name for them."""
    issuer: str
    """The party that states it."""
    method: str
    """How it was proven, a URN."""
    assurance: str
    """The strength of the proof: `address`, `domain`, `oauth`, or a level of the issuer."""
    audience: str | list[str]
    """The agent, or the agents, that it is for."""
    issued_at: str
    """Time of issue, ISO 8601."""
    not_before: NotRequired[str]
    """When it begins to count, ISO 8601."""
    expires_at: NotRequired[str]
    """When it stops counting, ISO 8601."""
    on_behalf_of: NotRequired[list[str]]
    """Subjects that the sender acts for; it never widens a right."""
    claims: NotRequired[dict[str, Any]]
    """Further statements of the issuer."""
    source: NotRequired[dict[str, Any]]
    """Where the issuer has it from."""
    proof: IdentityProof
    """How it is proven."""


class PolicyResolutionResolver(TypedDict):
    method: str
    """The kind of decision."""
    subject: NotRequired[str]
    """Who decided it."""


class PolicyResolutionReceipt(TypedDict):
    provider: str
    """Who confirms the payment."""
    reference: str
    """The provider's reference."""


class PolicyResolution(TypedDict):
    """How a requirement was decided."""

    in_reply_to_state: str
    """The state of the requirement; at rest it is its SHA-256."""
    requirement: NotRequired[str]
    """Public id of the requirement."""
    kind: NotRequired[str]
    """Kind of the requirement."""
    outcome: NotRequired[Literal["granted", "declined"]]
    """The decision."""
    resolved_at: NotRequired[str]
    """Time of the decision, ISO 8601 UTC."""
    resolver: NotRequired[PolicyResolutionResolver]
    """The kind of decision (`link`, `principal`, `receipt`, `operator`), and who made it, if known."""
    receipt: NotRequired[PolicyResolutionReceipt]
    """Of a payment: who confirms it, and by which reference."""
    args: NotRequired[Any]
    """Of a call that an operator has allowed with other arguments: these."""
    remember: NotRequired[Literal["conversation", "always"]]
    """Of a call: how far the decision counts for later ones."""
    approver: NotRequired[Literal["operator"]]
    code: NotRequired[str]
    """The requirement's `code`."""
    data: NotRequired[dict[str, Any]]
    """The requirement's `data`."""


class HistoricalSender(TypedDict):
    address: str
    """The writer's address, `@name@domain`."""
    display_name: NotRequired[str]
    """Name the writer showed."""
    verified: NotRequired[bool]
    """Whether the transport proved the writer then."""
    auth_method: NotRequired[str]
    """How it did."""
    identities: NotRequired[list[IdentityEvidence]]
    """What was proven of the writer then."""


class HistoricalMessage(TypedDict):
    """A turn spoken earlier in the thread."""

    id: NotRequired[str]
    """Id of the message or the response."""
    role: Literal["user", "assistant"]
    """`assistant` for the agent itself, `user` for everybody else."""
    sender: HistoricalSender
    """Who wrote it; the first writer if there are several, verified only if all are."""
    writers: NotRequired[list[HistoricalSender]]
    """All writers of the turn in order, if there are several or their proofs differ."""
    parts: list[Part]
    """The words; a text part `@name@domain:` stands where the next writer begins."""
    timestamp: str
    """Its time, ISO 8601."""
    via: NotRequired[str]
    """The channel, if it is from another conversation of a person who has linked their addresses."""


class SenderProfileAvatar(TypedDict):
    url: str
    """Where the picture is."""
    mime_type: NotRequired[str]
    """Its media type."""


class SenderProfile(TypedDict):
    display_name: NotRequired[str]
    """Name the sender shows."""
    username: NotRequired[str]
    """Name of the account."""
    url: NotRequired[str]
    """Page of the account."""
    avatar: NotRequired[SenderProfileAvatar]
    """Picture of the account."""
    locale: NotRequired[str]
    """Language, such as `de-AT`."""
    timezone: NotRequired[str]
    """Time zone, such as `Europe/Vienna`."""
    provider: NotRequired[str]
    """Platform of the account."""
    provider_subject: NotRequired[str]
    """Id of the account on its platform."""
    fetched_at: NotRequired[str]
    """When the gateway read the profile, ISO 8601."""


class Sender(TypedDict):
    address: str
    """The sender's address, `@name@domain`; proven only if `verified` is true."""
    display_name: NotRequired[str]
    """Name the sender shows."""
    profile: NotRequired[SenderProfile]
    """How the sender presents themselves; for display only, never for authorization."""
    auth_method: str
    """How the transport proved the sender; `none` if it did not."""
    verified: bool
    """Whether the transport proved the sender."""
    key_id: NotRequired[str]
    """Id of the key that proved it."""
    identities: NotRequired[list[IdentityEvidence]]
    """What is proven of the sender; authorization reads this."""


class InlineMentionRelay(TypedDict):
    kind: Literal["inline"]


class RecipientFieldMentionRelay(TypedDict):
    kind: Literal["recipient-field"]
    fields: list[str]
    """Fields of the wire that name recipients."""


class AddressingMentionRelay(TypedDict):
    kind: Literal["addressing"]
    envelope_fields: list[str]
    """Fields of the wire's envelope that name recipients."""
    also_inline: bool
    """Whether the text has to name them, too."""


class NoneMentionRelay(TypedDict):
    kind: Literal["none"]


MentionRelay = InlineMentionRelay | RecipientFieldMentionRelay | AddressingMentionRelay | NoneMentionRelay


class AgentChain(TypedDict):
    hop: int
    """How many agents have passed the message on."""
    max_hops: int
    """How many may; never more than `limits.loop.max_hops`."""
    is_final: bool
    """Whether the agent has to conclude, and may bring no other agent in."""


class RecipientCapabilities(TypedDict):
    mention_relay: MentionRelay
    """How an answer brings a mentioned recipient in; `none` if only the gateway or the agent can call them."""
    agent_chain: NotRequired[AgentChain]
    """Position in a chain of agents that call each other."""


class MergedMessage(TypedDict):
    id: str
    """Id of the earlier message."""
    received_at: str
    """When it arrived."""
    part_count: int
    """How many of the parts are its own; the parts stand in the order of the messages, those of the message itself last."""


class NormalizedMessage(TypedDict):
    """The one message that every channel makes and every agent reads."""

    id: str
    """Id of the message on its wire."""
    thread_id: str
    """Id of the conversation."""
    in_reply_to: NotRequired[str]
    """Id of the message that it answers."""
    sender: Sender
    """Who sent it, and how that is proven."""
    recipient: str
    """The agent it is for, `@agent@domain`."""
    parts: list[Part]
    """What it says."""
    history: NotRequired[list[HistoricalMessage]]
    """The conversation before it, oldest first, trimmed by the gateway."""
    recipient_capabilities: RecipientCapabilities
    """What an answer can do on this channel."""
    received_via: str
    """The channel."""
    received_at: str
    """When the gateway took it."""
    raw: Any
    """What arrived, without credentials: JSON-LD, an A2A request, or the text of a mail."""
    policy_resolution: NotRequired[PolicyResolution]
    """The decision of a requirement of the agent, if the message has one."""
    kind: NotRequired[Literal["message", "edit", "delete", "reaction", "follow", "unfollow"]]
    """What happened; agents get only the kinds that `receives` names."""
    merged: NotRequired[list[MergedMessage]]
    """Earlier messages of the same sender that share the answer to this one."""
    phase_id: NotRequired[int]
    """Phase of the caller's plan that the message is of."""
    previous_phase_id: NotRequired[int]
    """The phase before it, whose results the agent may look for."""


class Post(TypedDict):
    """A post to all who follow the agent."""

    act: Literal["post"]
    id: NotRequired[str]
    """Id of the post, so that the agent can edit it later; default: made by the gateway."""
    parts: list[Part]
    """What it says."""
    visibility: NotRequired[Literal["public", "unlisted", "followers", "direct"]]
    """Who may read it; `direct` reaches only those it mentions; default: `public`."""
    mentions: NotRequired[list[str]]
    """Whom it mentions, `@name@domain`."""
    subject: NotRequired[str]
    """A content warning; of a mail, its subject."""
    via: NotRequired[str]
    """Send it by this channel as a direct message to those it mentions, if the operator allows that."""


class Edit(TypedDict):
    """Other words for something the agent said."""

    act: Literal["edit"]
    response: str
    """Id of the response or post."""
    parts: list[Part]
    """The new words."""


class Delete(TypedDict):
    """Takes back something the agent said."""

    act: Literal["delete"]
    response: str
    """Id of the response or post."""


class Reaction(TypedDict):
    """A reaction to a message."""

    act: Literal["like", "unlike", "boost", "unboost"]
    """A reaction to a message."""
    message: NotRequired[str]
    """Id of a message to this agent; default: the one it answers."""


# What the agent does besides answering.
Action = Post | Edit | Delete | Reaction


class TokenUsage(TypedDict):
    """What one model was given and said, in tokens."""

    provider: NotRequired[str]
    """Provider of the model."""
    model: NotRequired[str]
    """Name of the model."""
    input_tokens: NotRequired[int]
    """Tokens of the model's input."""
    output_tokens: NotRequired[int]
    """Tokens that it said."""
    total_tokens: NotRequired[int]
    """Their sum."""
    reasoning_tokens: NotRequired[int]
    """Output tokens that were thoughts."""
    cached_input_tokens: NotRequired[int]
    """Input tokens that came from a cache."""
    cache_write_input_tokens: NotRequired[int]
    """Input tokens that went into a cache."""


class ReplyNotes(TypedDict):
    type: str
    """Type of the note."""


ReplyWords = TypedDict("ReplyWords", {"as": NotRequired[Literal["message"]]})


class Reply(ReplyWords):
    """What a webhook may answer: `text` or `parts`, and what else it decides."""

    parts: NotRequired[list[Part]]
    """What it says."""
    status: NotRequired[Literal["completed", "input_required", "auth_required", "rejected", "failed", "working"]]
    """How the turn ends; default: `completed`."""
    mentions: NotRequired[list[str]]
    """Further recipients, `@name@domain`; the channel's `mention_relay` brings them in."""
    visibility: NotRequired[Literal["public", "unlisted", "followers", "direct"]]
    """Who may read it on the fediverse; default: as the message, and never wider."""
    subject: NotRequired[str]
    """A content warning; of a mail, its subject."""
    results: NotRequired[int]
    """How many parts were a result before the agent asked; set for the pieces of a stream."""
    acts: NotRequired[list[Action]]
    """What the agent does besides answering."""
    notes: NotRequired[list[ReplyNotes]]
    """What the transcript keeps of the turn, as `context.note` does."""
    stage: NotRequired[str]
    """The stage that a stream has reached, as `context.stage` tells it."""
    speaker: NotRequired[str]
    """The member that speaks, if several agents stand behind one address."""
    chat_state: NotRequired[dict[str, Any]]
    """What a chat shows of the agent beside its words (AG-UI: `STATE_SNAPSHOT`, `STATE_DELTA`); the last one stands."""
    chat_metadata: NotRequired[dict[str, Any]]
    """What a chat keeps with the message and shows as it is (AG-UI: `metadata`)."""
    trace: NotRequired[list[ToolCallPart]]
    """Calls that are no part of the answer, such as those by which agents hand over."""
    usage: NotRequired[list[TokenUsage]]
    """What the answer cost in tokens, one for each provider and model; pieces of a stream add up."""
    text: NotRequired[str]
    """One text part in Markdown, instead of `parts`."""
