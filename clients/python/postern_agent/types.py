"""What an agent reads and what it answers.

Written by `npm run reference -- --write` from the schemas of the gateway; a test compares. Change the schemas, not this file.
"""

from typing import Any, Literal, NotRequired, TypedDict


class PolicyMessageTranslations(TypedDict):
    title: NotRequired[str]
    """The title."""
    message: str
    """The message."""


class Policy(TypedDict):
    """A requirement of the agent before it acts, or the reason of a refusal."""

    kind: str
    """The kind of requirement or refusal; an unknown kind stays and never means success."""
    message: str
    """The text for the sender."""
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
    auth_challenges: NotRequired[list[dict[str, Any]]]
    """The challenges by which the sender can prove more, for `unauthorized`."""
    retry_after_seconds: NotRequired[float]
    """Seconds after which a new request makes sense, for temporary refusals."""
    state: NotRequired[str]
    """Single-use state that a decision names: 256 bits that nobody can guess."""
    expires_in: NotRequired[float]
    """The seconds until the decision is due; default: the configured value."""
    approver: NotRequired[Literal["sender", "operator"]]
    """The approver; default: the sender."""
    sender_message: NotRequired[str]
    """The text for the sender while an operator decides, because only the operator reads `message`; default: a sentence that asks them to wait."""
    notify: NotRequired[str]
    """A mailbox that gets the question if an operator decides; it has to be in `email.write_to`."""
    amount: NotRequired[str]
    """The price, a decimal number as text: `4.50`."""
    currency: NotRequired[str]
    """Its currency, three capital letters (ISO 4217)."""
    requirement: NotRequired[str]
    """Public id of the question, made by the gateway."""
    expires_at: NotRequired[str]
    """The decision is due then, ISO 8601; made by the gateway."""


class TextPartSection(TypedDict):
    id: str
    """Identifies the section within its answer."""
    name: NotRequired[str]
    """Name of the result."""


class TextPart(TypedDict):
    """Text."""

    kind: Literal["text"]
    mime: NotRequired[Literal["text/plain", "text/markdown", "text/html"]]
    """The markup of the text."""
    content: str
    """The text."""
    section: NotRequired[TextPartSection]
    """The result to which the part belongs, if an answer has several; in A2A, an artifact."""


class InlineBytesRef(TypedDict):
    kind: Literal["inline"]
    data_base64: str
    """The bytes."""


class UrlBytesRef(TypedDict):
    kind: Literal["url"]
    url: str
    """The location of the bytes."""
    foreign: NotRequired[bool]
    """True if a peer chose the address: it may lead into your own network, so fetch it through a guard or not at all."""
    expires_at: NotRequired[str]
    """The time at which the address stops working, ISO 8601."""


class ContentAddressedBytesRef(TypedDict):
    kind: Literal["content_addressed"]
    algo: Literal["sha256"]
    digest: str
    """Digest of the bytes, in lower case hexadecimal; the gateway checks it at each fetch."""
    url: NotRequired[str]
    """The location of the bytes."""


BytesRef = InlineBytesRef | UrlBytesRef | ContentAddressedBytesRef


class FilePartSection(TypedDict):
    id: str
    """Identifies the section within its answer."""
    name: NotRequired[str]
    """Name of the result."""


class FilePart(TypedDict):
    """A file."""

    kind: Literal["file"]
    name: NotRequired[str]
    """Name of the file."""
    description: NotRequired[str]
    """A description of what it shows, for people who cannot see it (alt text)."""
    mime: NotRequired[str]
    """Its media type."""
    size: NotRequired[float]
    """Its size in bytes."""
    bytes_ref: BytesRef
    """The location of its bytes."""
    section: NotRequired[FilePartSection]
    """The result to which the part belongs, if an answer has several."""


class LinkPartSection(TypedDict):
    id: str
    """Identifies the section within its answer."""
    name: NotRequired[str]
    """Name of the result."""


class LinkPart(TypedDict):
    """A link."""

    kind: Literal["link"]
    url: str
    """Address that it leads to."""
    title: NotRequired[str]
    """Its title."""
    description: NotRequired[str]
    """A description of the page there."""
    section: NotRequired[LinkPartSection]
    """The result to which the part belongs, if an answer has several."""


class ArtifactPartSection(TypedDict):
    id: str
    """Identifies the section within its answer."""
    name: NotRequired[str]
    """Name of the result."""


class ArtifactPart(TypedDict):
    """A result of the agent’s work, separate from its text."""

    kind: Literal["artifact"]
    name: NotRequired[str]
    """Name of the file."""
    description: NotRequired[str]
    """A description of what it shows, for people who cannot see it (alt text)."""
    mime: NotRequired[str]
    """Its media type."""
    size: NotRequired[float]
    """Its size in bytes."""
    bytes_ref: BytesRef
    """The location of its bytes."""
    section: NotRequired[ArtifactPartSection]
    """The result to which the part belongs, if an answer has several."""
    artifact_type: NotRequired[str]
    """The type of the artifact."""
    data: NotRequired[Any]
    """The JSON value, if a peer sent a data part of A2A; the bytes are its JSON."""


class ToolCallPartError(TypedDict):
    message: str
    """The reason."""


class ToolCallPart(TypedDict):
    """A call of a tool. The agent sends it twice under one id: when the call begins and when it ends."""

    kind: Literal["tool_call"]
    id: str
    """Id of the call."""
    name: str
    """Name of the tool."""
    args: NotRequired[Any]
    """The arguments of the call."""
    result: NotRequired[Any]
    """The value that it returned."""
    error: NotRequired[ToolCallPartError]
    """The reason for its failure."""
    agent: NotRequired[str]
    """The member of a swarm that called it."""
    continues: NotRequired[str]
    """Public id of the requirement, in an earlier answer, whose decision this call awaited."""
    flags: NotRequired[list[str]]
    """Findings of the gateway in the result: `invisible_characters`, which it has removed."""


class PolicyPart(TypedDict):
    """A requirement or a refusal."""

    kind: Literal["policy"]
    policy: Policy
    """The requirement or refusal."""


# A part of a message. Unknown kinds are possible and stay unchanged.
Part = TextPart | FilePart | LinkPart | ArtifactPart | ToolCallPart | PolicyPart


class DataPartSection(TypedDict):
    id: str
    """Identifies the section within its answer."""
    name: NotRequired[str]
    """Name of the result."""


class DataPart(TypedDict):
    """An artifact that an agent gives as JSON alone."""

    kind: Literal["artifact"]
    name: NotRequired[str]
    """Name of the file."""
    description: NotRequired[str]
    """A description of what it shows, for people who cannot see it (alt text)."""
    mime: NotRequired[str]
    """Its media type."""
    section: NotRequired[DataPartSection]
    """The result to which the part belongs, if an answer has several."""
    artifact_type: NotRequired[str]
    """The type of the artifact."""
    data: Any
    """Any JSON value; the gateway creates the bytes from it."""


# A part as an agent hands it over.
GivenPart = Part | DataPart


class TransportIdentityProof(TypedDict):
    type: Literal["transport"]
    verified_by: str
    """The method that verified it, of the channel or of the token."""
    key_id: NotRequired[str]
    """Id of the key that proved it."""
    credential: NotRequired[Literal["client_id", "api_key", "chat_token"]]
    """Kind of the credential whose holder the subject names, unless it is an account: a client, an API key or a chat token."""


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
    """The method that verified it, of the channel or of the token."""


IdentityProof = TransportIdentityProof | SignedAttestationIdentityProof | BearerTokenIdentityProof


class IdentityEvidence(TypedDict):
    """A statement of a trusted party about the sender."""

    id: NotRequired[str]
    """Id of the evidence."""
    subject: str
    """The sender: an actor, `mailto:…`, the subject of a token, or the issuer's own name for them."""
    issuer: str
    """The party that states it."""
    method: str
    """The method of the proof, a URN."""
    assurance: str
    """The strength of the proof: `address`, `domain`, `oauth`, or a level of the issuer."""
    audience: str | list[str]
    """The agent, or the agents, that it is for."""
    issued_at: str
    """Time of issue, ISO 8601."""
    not_before: NotRequired[str]
    """The time at which it begins to count, ISO 8601."""
    expires_at: NotRequired[str]
    """The time at which it stops counting, ISO 8601."""
    on_behalf_of: NotRequired[list[str]]
    """Subjects that the sender acts for; it never widens a right."""
    claims: NotRequired[dict[str, Any]]
    """Further statements of the issuer."""
    source: NotRequired[dict[str, Any]]
    """The issuer's own source of it."""
    proof: IdentityProof
    """Its proof."""


class PolicyResolutionResolver(TypedDict):
    method: str
    """The kind of decision."""
    subject: NotRequired[str]
    """The person who decided it."""


class PolicyResolutionReceipt(TypedDict):
    provider: str
    """The provider that confirms the payment."""
    reference: str
    """The provider's reference."""


class PolicyResolution(TypedDict):
    """How a requirement was decided."""

    in_reply_to_state: str
    """The state of the requirement; the store contains its SHA-256 instead."""
    requirement: NotRequired[str]
    """Public id of the requirement."""
    kind: NotRequired[str]
    """Kind of the requirement."""
    outcome: NotRequired[Literal["granted", "declined"]]
    """The decision."""
    cancelled: NotRequired[Literal[True]]
    """True if nobody declined: the question was closed, or its time ran out."""
    resolved_at: NotRequired[str]
    """Time of the decision, ISO 8601 UTC."""
    resolver: NotRequired[PolicyResolutionResolver]
    """The kind of decision (`link`, `principal`, `receipt`, `operator`), and who made it, if known."""
    receipt: NotRequired[PolicyResolutionReceipt]
    """The confirmation of a payment, with its reference."""
    args: NotRequired[Any]
    """The changed arguments with which an operator allowed a call."""
    remember: NotRequired[Literal["conversation", "always"]]
    """The later calls for which a decision on a call counts."""
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
    """True if the transport proved the writer then."""
    auth_method: NotRequired[str]
    """The method of that proof."""
    identities: NotRequired[list[IdentityEvidence]]
    """The proven identities of the writer then."""


class HistoricalMessage(TypedDict):
    """A turn spoken earlier in the thread."""

    id: NotRequired[str]
    """Id of the message or the response."""
    role: Literal["user", "assistant"]
    """`assistant` for the agent itself, `user` for everybody else."""
    sender: HistoricalSender
    """The writer; the first writer if there are several, verified only if all are."""
    writers: NotRequired[list[HistoricalSender]]
    """All writers of the turn in order, if there are several or their proofs differ."""
    parts: list[Part]
    """Its content; a text part `@name@domain:` precedes the parts of the next writer."""
    timestamp: str
    """Its time, ISO 8601."""
    via: NotRequired[str]
    """The channel, if it is from another conversation of a person who has linked their addresses."""


class SenderProfileAvatar(TypedDict):
    url: str
    """Address of the picture."""
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
    """The time at which the gateway read the profile, ISO 8601."""


class Sender(TypedDict):
    address: str
    """The sender's address, `@name@domain`; proven only if `verified` is true."""
    display_name: NotRequired[str]
    """Name the sender shows."""
    profile: NotRequired[SenderProfile]
    """The profile as the sender presents it; for display only, never for authorization."""
    auth_method: str
    """The method by which the transport proved the sender; `none` if it did not."""
    verified: bool
    """True if the transport proved the sender."""
    key_id: NotRequired[str]
    """Id of the key that proved it."""
    identities: NotRequired[list[IdentityEvidence]]
    """The proven identities of the sender; authorization reads these."""


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
    """True if the text has to name them, too."""


class NoneMentionRelay(TypedDict):
    kind: Literal["none"]


MentionRelay = InlineMentionRelay | RecipientFieldMentionRelay | AddressingMentionRelay | NoneMentionRelay


class AgentChain(TypedDict):
    hop: int
    """Number of agents that have passed the message on."""
    max_hops: int
    """The maximum number of agents that may pass it on; never more than `limits.loop.max_hops`."""
    is_final: bool
    """True if the agent must conclude, and must not call another agent."""


class RecipientCapabilities(TypedDict):
    mention_relay: MentionRelay
    """The way an answer brings a mentioned recipient in; `none` if only the gateway or the agent can call them."""
    agent_chain: NotRequired[AgentChain]
    """Position in a chain of agents that call each other."""


class NormalizedMessagePersonChangeBeforeAddresses(TypedDict):
    via: str
    """The channel."""
    address: str
    """The address there, `@name@domain`."""


class NormalizedMessagePersonChangeBefore(TypedDict):
    id: str
    """The agent's key of the person, as `context.person.id`."""
    addresses: list[NormalizedMessagePersonChangeBeforeAddresses]
    """The person's addresses."""


class NormalizedMessagePersonChangeAfterAddresses(TypedDict):
    via: str
    """The channel."""
    address: str
    """The address there, `@name@domain`."""


class NormalizedMessagePersonChangeAfter(TypedDict):
    id: str
    """The agent's key of the person, as `context.person.id`."""
    addresses: list[NormalizedMessagePersonChangeAfterAddresses]
    """The person's addresses."""


class NormalizedMessagePersonChange(TypedDict):
    before: list[NormalizedMessagePersonChangeBefore]
    """The persons before it: two for a `link`, one for an `unlink`."""
    after: list[NormalizedMessagePersonChangeAfter]
    """The persons after it: one for a `link`, two or more for an `unlink`."""


class NormalizedMessageCalledBy(TypedDict):
    agent: str
    """The calling agent."""
    message: int
    """Number of the message that the calling agent is answering."""
    first_message: NotRequired[int]
    """Number of the message with which the calls began, if that is another one."""
    correlation_id: str
    """Correlation id of the calling turn in the log."""
    on_behalf: NotRequired[bool]
    """True if it calls on behalf of the sender of that message."""


class MergedMessage(TypedDict):
    id: str
    """Id of the earlier message."""
    received_at: str
    """The time of its arrival."""
    part_count: int
    """Number of its own parts; all parts are in the order of the messages, those of the message itself last."""


class NormalizedMessage(TypedDict):
    """The one message that every channel makes and every agent reads."""

    id: str
    """Id of the message on its wire."""
    thread_id: str
    """Id of the conversation, chosen by the gateway; it works only for people who may read the conversation."""
    thread_source: NotRequired[str]
    """Id by which the wire named the conversation when it began."""
    in_reply_to: NotRequired[str]
    """Id of the message that it answers."""
    sender: Sender
    """The sender, with the proof of their identity."""
    recipient: str
    """The agent it is for, `@agent@domain`."""
    parts: list[Part]
    """Its content."""
    history: NotRequired[list[HistoricalMessage]]
    """The conversation before it, oldest first, trimmed by the gateway."""
    recipient_capabilities: RecipientCapabilities
    """The possibilities of an answer on this channel."""
    received_via: str
    """The channel."""
    received_at: str
    """The time at which the gateway accepted it."""
    raw: Any
    """The document as it arrived, without credentials: JSON-LD, an A2A request, or the text of a mail."""
    policy_resolution: NotRequired[PolicyResolution]
    """The decision on a requirement of the agent, if the message contains one."""
    kind: NotRequired[Literal["message", "edit", "delete", "reaction", "follow", "unfollow", "link", "unlink", "cancel"]]
    """The kind of event; agents get only the kinds that `receives` names."""
    person_change: NotRequired[NormalizedMessagePersonChange]
    """The persons that a `link` or an `unlink` concerns, before and after."""
    called_by: NotRequired[NormalizedMessageCalledBy]
    """The calling turn, if another agent of this gateway sent the message."""
    on_behalf_of: NotRequired[Sender]
    """The sender on whose behalf that agent calls, with their proof there; they did not send this message."""
    merged: NotRequired[list[MergedMessage]]
    """Earlier messages of the same sender that share the answer to this one."""
    phase_id: NotRequired[int]
    """Phase of the caller's plan to which the message belongs."""
    previous_phase_id: NotRequired[int]
    """The phase before it, whose results the agent may look for."""


class Post(TypedDict):
    """A post to all who follow the agent."""

    act: Literal["post"]
    id: NotRequired[str]
    """Id of the post, so that the agent can edit it later; default: chosen by the gateway."""
    parts: list[GivenPart]
    """Its content."""
    visibility: NotRequired[Literal["public", "unlisted", "followers", "direct"]]
    """Its audience; `direct` reaches only the people that it mentions; default: `public`."""
    mentions: NotRequired[list[str]]
    """The people that it mentions, `@name@domain`."""
    subject: NotRequired[str]
    """A content warning; of a mail, its subject."""
    via: NotRequired[str]
    """The channel that sends it as a direct message to the people it mentions, if the operator allows that."""


class FurtherReply(TypedDict):
    """A further message in a conversation, without a message to answer."""

    act: Literal["reply"]
    id: NotRequired[str]
    """Id of the reply, so that the agent can edit it later; default: chosen by the gateway."""
    thread: str
    """`thread_id` of the conversation."""
    parts: list[GivenPart]
    """Its content."""


class Edit(TypedDict):
    """Replaces the text of an earlier post or answer of the agent."""

    act: Literal["edit"]
    response: str
    """Id of the response or post."""
    parts: list[GivenPart]
    """The new content."""


class Delete(TypedDict):
    """Deletes an earlier post or answer of the agent."""

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
Action = Post | FurtherReply | Edit | Delete | Reaction


class TokenUsage(TypedDict):
    """The tokens that one model read and wrote."""

    provider: NotRequired[str]
    """Provider of the model."""
    model: NotRequired[str]
    """Name of the model."""
    input_tokens: NotRequired[int]
    """Tokens of the model's input."""
    output_tokens: NotRequired[int]
    """Tokens of the model's output."""
    total_tokens: NotRequired[int]
    """Their sum."""
    reasoning_tokens: NotRequired[int]
    """Output tokens that were thoughts."""
    cached_input_tokens: NotRequired[int]
    """Input tokens that came from a cache."""
    cache_write_input_tokens: NotRequired[int]
    """Input tokens that went into a cache."""


class ReplyWithheld(TypedDict):
    kind: str
    """Its kind: `reasoning`, `tool_call`, `control_token` or `data_block`."""
    text: str
    """The text."""


ReplyWords = TypedDict("ReplyWords", {"as": NotRequired[Literal["message"]]})


class Reply(ReplyWords):
    """What a webhook may answer: `text` or `parts`, and what else it decides."""

    parts: NotRequired[list[GivenPart]]
    """Its content."""
    status: NotRequired[Literal["completed", "input_required", "auth_required", "rejected", "failed", "working"]]
    """The outcome of the turn; default: `completed`."""
    mentions: NotRequired[list[str]]
    """Further recipients, `@name@domain`; the channel's `mention_relay` brings them in."""
    visibility: NotRequired[Literal["public", "unlisted", "followers", "direct"]]
    """Its audience on the fediverse; default: that of the message, and never a wider one."""
    subject: NotRequired[str]
    """A content warning; of a mail, its subject."""
    results: NotRequired[int]
    """Number of parts that were a result before the agent asked; set for the pieces of a stream."""
    acts: NotRequired[list[Action]]
    """The agent's actions besides answering."""
    notes: NotRequired[list[dict[str, Any]]]
    """The notes of the turn for the transcript, as with `context.note`."""
    withheld: NotRequired[list[ReplyWithheld]]
    """Text of a model behind the agent that people do not get; the record keeps its beginning for the operator."""
    stage: NotRequired[str]
    """The stage that a stream has reached, as with `context.stage`."""
    speaker: NotRequired[str]
    """The member that speaks, if several agents share an address."""
    chat_state: NotRequired[dict[str, Any]]
    """The state that a chat shows beside the agent's text (AG-UI: `STATE_SNAPSHOT`, `STATE_DELTA`); the last one counts."""
    chat_metadata: NotRequired[dict[str, Any]]
    """The data that a chat stores with the message and shows as it is (AG-UI: `metadata`)."""
    trace: NotRequired[list[ToolCallPart]]
    """Tool calls that are not part of the answer, such as those by which agents hand over."""
    usage: NotRequired[list[TokenUsage]]
    """The tokens that the answer used, one entry for each provider and model; pieces of a stream add up."""
    text: NotRequired[str]
    """One text part in Markdown, instead of `parts`."""
    person_state: NotRequired[Any]
    """The new state of the person, which replaces the present one."""
