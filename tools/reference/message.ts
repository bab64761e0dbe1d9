// Writes docs/reference/message.md and docs/reference/response.md from the message schemas.
import { channelModules } from '../../apps/gateway/src/channels.ts'
import type { knownPartSchema } from '../../packages/message/src/message/part.ts'
import { givenPartSchema, partSchema, policySchema, traceSchema } from '../../packages/message/src/message/part.ts'
import { refusalKinds, requirementKinds } from '../../packages/message/src/message/policy/policy-kinds.ts'
import { formatInlineCode, formatMarkdownTable, formatPage } from './markdown.ts'
import type { Schema } from './schema/bounds.ts'
import type { DocumentedName } from './schema/documented.ts'
import { documentedSchemas, formatDocumented } from './schema/documented.ts'
import type { KeyComments } from './schema/key-comments.ts'
import type { NamedSchemas } from './schema/rows.ts'

const { Policy, HistoricalMessage, IdentityEvidence, PolicyResolution, Action, TokenUsage } = documentedSchemas

/** Schemas that have their own section. */
const sections: NamedSchemas = new Map<Schema, string>([
  [partSchema, '[Part](#parts)'],
  [givenPartSchema, '[Part](#parts)'],
  [traceSchema.element, '[tool_call](#tool_call)'],
  [policySchema, '[PolicyPart](#policypart)'],
  [Policy.schema, '[PolicyPart](#policypart)'],
  [HistoricalMessage.schema, '[HistoricalMessage](#historicalmessage)'],
  [IdentityEvidence.schema, '[IdentityEvidence](#identityevidence)'],
  [PolicyResolution.schema, '[PolicyResolution](#policyresolution)'],
  [Action.schema, '[Action](#action)'],
  [TokenUsage.schema, '[TokenUsage](#tokenusage)'],
])

type PartKind = (typeof knownPartSchema.options)[number]['shape']['kind']['value']

/** The names of the kinds of parts. A kind without a name does not compile. */
const partNames: Readonly<Record<PartKind, DocumentedName>> = {
  text: 'TextPart',
  file: 'FilePart',
  link: 'LinkPart',
  artifact: 'ArtifactPart',
  tool_call: 'ToolCallPart',
  policy: 'PolicyPart',
}

/** Writes docs/reference/message.md. */
export function describeMessage(comments: Pick<KeyComments, 'findComment'>): string {
  const table = (name: DocumentedName) => formatDocumented(name, comments, sections)
  return formatPage('Message reference', [
    messageFacts.intro,
    '## NormalizedMessage',
    table('NormalizedMessage'),
    '### Rules',
    messageFacts.rules,
    '### HistoricalMessage',
    table('HistoricalMessage'),
    '## Channels',
    describeChannels(),
    messageFacts.wires,
    '## Parts',
    ...Object.entries(partNames).flatMap(([kind, name]) => [`### \`${kind}\``, table(name)]),
    '## PolicyPart',
    messageFacts.policy,
    `Kinds that somebody can decide: ${listCodes(requirementKinds)}. Kinds that are refusals: ${listCodes(refusalKinds)}. An answer with another kind fails.`,
    table('Policy'),
    '### PolicyResolution',
    table('PolicyResolution'),
    '## IdentityEvidence',
    messageFacts.evidence,
    table('IdentityEvidence'),
  ])
}

/** Writes docs/reference/response.md. */
export function describeResponsePage(comments: Pick<KeyComments, 'findComment'>): string {
  const namedSchemas: NamedSchemas = new Map(
    [...sections].map(([schema, link]) => [
      schema,
      link.replace('(#', '(message.md#').replace(/message\.md(#action|#tokenusage)/, '$1'),
    ]),
  )
  const table = (name: DocumentedName) => formatDocumented(name, comments, namedSchemas)
  return formatPage('Response', [
    messageFacts.response,
    '## NormalizedResponse',
    table('NormalizedResponse'),
    '## What an agent may return',
    table('PartialResponse'),
    '## Action',
    table('Action'),
    '## TokenUsage',
    table('TokenUsage'),
  ])
}

function describeChannels(): string {
  const rows = channelModules.map(({ descriptor: { name, authMethods, mentionRelay } }) => [
    formatInlineCode(name),
    listCodes(authMethods),
    formatInlineCode(JSON.stringify(mentionRelay)),
  ])
  return formatMarkdownTable(['`received_via`', '`auth_method`, beside `none`', '`mention_relay`'], rows)
}

const listCodes = (codes: readonly string[]) => codes.map(formatInlineCode).join(', ')

/** Facts about the members of a message that no schema expresses. Update a sentence together with its code. */
const messageFacts = {
  intro: `
This page has everything that an agent reads, by the schemas in \`packages/message/src/message\`. The names are those of NormalizedMessage v0.1 of [Mentionable](https://mentionable.dev). But
\`thread_source\`, \`kind\`, \`merged\`, \`phase_id\`, \`previous_phase_id\`, the channel \`web\`, the part \`policy\` and the shape of the response are Postern's own. [The guides](../guides/README.md) have examples,
[identity](../explanation/identity/overview.md) explains who is speaking, and [transcripts](../explanation/transcripts/formats.md) the formats of a conversation.
`,
  rules: `
- \`auth_method\` \`none\` goes with \`verified: false\`. A verified sender has at least one identity with \`proof.type\` \`transport\`.
- \`profile\` is context and never authorization. Authorization reads \`sender.identities\`, after \`identity.trusted_issuers\` has said which evidence counts.
- The gateway keeps parts of an unknown kind in messages as they are. An answer with such a part fails.
- The gateway stores inbound bytes once by their digest. It hands them on as \`content_addressed\` with a signed address, and checks the digest at each fetch.
- The gateway trims \`history\` (\`agents.*.history\`). It takes the view, keeps the head byte for byte, and adds the newest turns that fit. It merges neighbours of one role.
- The gateway does not trust the \`agent_chain\` of a peer. It limits \`max_hops\` to \`limits.loop.max_hops\`, computes \`is_final\` anew, and refuses a longer chain with \`forbidden\`.
- The gateway removes credentials before it stores anything.
- An answer that mentions \`@x@domain\` brings them in by \`mention_relay\`. On ActivityPub that is \`to\` or \`cc\`, a \`Mention\` tag and the text; by mail it is To or Cc of the answer.
- With \`none\` the gateway asks the mentioned agents over A2A and writes one joint answer.
`,
  wires: `
| | ActivityPub | A2A | email | web |
| --- | --- | --- | --- | --- |
| \`id\` | IRI of the activity | \`messageId\` | Message-ID without brackets; \`sha256:…\` if no proof covers it | id of the message |
| \`thread_source\` | \`context\`, else \`conversation\`, else what it replies to, else the post | \`contextId\`, else the id of the task | first of References, else In-Reply-To, else the message itself | \`threadId\` |
| same message again | same activity | same caller and \`messageId\` | same recipient and signed id or hash of the body | same owner and \`runId\` |
| \`sender.address\` | name and host of the verified actor | from the authenticated principal | the one From mailbox | from the token's subject and issuer |
| \`raw\` | JSON-LD | the request, without credentials | the mail as it came | the request, without tokens |

- \`thread_id\` is a random UUID. The store draws it once, when a conversation begins, and every message and response of the conversation has it. The store tells conversations apart by agent, channel, readers and \`thread_source\`. So two people who name the same foreign id have two conversations. In a public thread all who take part share one.
- A person who continues a conversation from another channel, by linked addresses, has its \`thread_id\` there, too. A conversation that begins anew after somebody asked to forget it gets another id.
- \`thread_source\` is what the table says of the message that began the conversation. The peer's other ids stand in \`in_reply_to\` and \`raw\`. Peers choose all of these: key no memory by them.
- A conversation that an earlier release began keeps the \`thread_id\` that it had then, its \`thread_source\`. If two conversations of different readers had the same one, both got another.
- Ids of the same message on ActivityPub (activity and post) name the same message.
- The same A2A \`messageId\` with other words is a conflict, which the gateway refuses.
- Mail also finds its thread by Outlook's \`Thread-Index\`. Only header fields that a proof covers count.
- An agent gets a duplicate only once, and the peer gets the first answer again. The gateway knows a duplicate as long as it keeps the message.
`,
  response: `
A response with the status \`completed\` has at least one part.

An agent returns a string, an object of the second table, a part, nothing, or an async iterable of these. A string is one text part in Markdown. Nothing means silence. An
iterable streams: A2A and web see it as it comes, email and ActivityPub get one message at the end.

An \`artifact\` with \`data\` (any JSON) needs no \`bytes_ref\`, also in a post and in a call: the gateway makes the bytes of it. A2A gets it as data, other channels as a file. Values become JSON as \`JSON.stringify\` does it.

The gateway makes all text of an agent well formed: a surrogate without its other half becomes U+FFFD. Two pieces of a stream may part a character; the gateway joins
its halves.

An error of an agent becomes a response with the status \`failed\`, neutral words and a correlation id. The error itself is in the log.
`,
  evidence: `
Each channel makes evidence with \`proof.type\` \`transport\` for what it verified ([identity](../explanation/identity/overview.md) has subject, issuer and method of each). Mail has the assurance \`address\` if DMARC
passes by a signature, else \`domain\`.

The gateway checks evidence of a connector (A2A \`metadata.mentionable.identity_evidence\`, and
credentials in \`verifiable_credentials\`) in this order: structure, trusted issuer, audience, time, key, signature, replay. It fetches nothing before the
issuer is known to be trusted. It leaves out and logs evidence that fails, and takes the message all the same.
`,
  policy: `
A \`policy\` part says what the agent requires, or why it refuses. The gateway keeps each requirement with its agent, thread, sender, kind and expiry. Somebody decides it once; the gateway refuses whatever does not fit. A decision counts only from somebody with the right to it. [A guide](../guides/consent-and-payment.md) explains it.
`,
} as const
