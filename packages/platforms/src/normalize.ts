// Converts the resolved events of a platform to messages for agents.
import type { IdentityEvidence, Json, Part, Sender } from '@postern/message'
import { agentFlag, formatTransportMethod, isoTime } from '@postern/message'
import type { AuthoredMessage, Intake, TurnQuota, Withdrawal } from '@postern/pipeline'
import type { PlatformEvent, PlatformLocation, PlatformPerson } from './platform.ts'
import type { ResolvedEvent, ResolvedRequest } from './resolve.ts'
import { webhookMethod } from './speaker.ts'

interface NormalizeDeps {
  readonly platform: { readonly name: string; readonly evidenceMethod: string }
  /** The host of the addresses of our agents. */
  readonly domain: string
}

/** The turns that a program gets in one conversation. Two programs that answer each other soon use them up. */
const botQuota: TurnQuota = { turns: 20, withinMs: 3_600_000 }

/** Returns the messages for agents. It is pure. */
export function normalizeRequest(request: ResolvedRequest, deps: NormalizeDeps): readonly Intake[] {
  return request.events.flatMap(resolved =>
    draftIntakes(resolved).map(draft => complete(draft, resolved, request, deps)),
  )
}

/** Lists the messages that their authors have deleted. It is pure. */
export function listDeletions({ events }: ResolvedRequest): readonly Withdrawal[] {
  return events.flatMap(({ event: { kind, person, object } }): readonly Withdrawal[] =>
    kind === 'delete' ? [{ kind: 'forget', author: person.subject, object }] : [],
  )
}

/** The members of a message that depend on the kind of its event. */
interface IntakeDraft extends Pick<Intake, 'agent' | 'duplicateKey' | 'aliases'> {
  readonly id: string
  readonly kind: NonNullable<Intake['message']['kind']>
  readonly parts: readonly Part[]
  readonly conversation: string
  readonly scope: string
  readonly in_reply_to?: string
  /** The object of the message, by which its author edits or deletes it later. */
  readonly object: string
}

function draftIntakes(resolved: ResolvedEvent): readonly IntakeDraft[] {
  const { event, agent, earlierMessages, reactedTo } = resolved
  const { object } = event
  if (event.kind === 'message') {
    if (agent === undefined) return []
    const { conversation, scope } = event.location
    const draft = { agent, id: object, kind: 'message', parts: event.parts, conversation, scope, object } as const
    return [{ ...draft, duplicateKey: object, aliases: [] }]
  }
  if (event.kind === 'edit') {
    const id = `${object}:${event.version}`
    return listNewest(earlierMessages).map(message => reviseMessage(message, { id, kind: 'edit', parts: event.parts }))
  }
  if (event.kind === 'delete') {
    const parts = describeEvent('Deleted the message')
    const received = earlierMessages.filter(({ isKept }) => !isKept)
    return listNewest(received).map(message => ({
      ...reviseMessage(message, { id: `${object}:deleted`, kind: 'delete', parts }),
      object: `${object}:deleted`,
    }))
  }
  return reactedTo ? [draftReaction(event, reactedTo)] : []
}

function draftReaction(
  { object, version, person, emoji, isAdded }: Extract<PlatformEvent, { kind: 'reaction' }>,
  { response, agent, conversation, scope }: NonNullable<ResolvedEvent['reactedTo']>,
): IntakeDraft {
  const suffix = version === undefined ? '' : `:${version}`
  const id = `${object}:${isAdded ? 'reaction' : 'unreaction'}:${emoji}:${person.id}${suffix}`
  const sentence = isAdded ? `Reacted to the answer with :${emoji}:` : `Took back the reaction :${emoji}:`
  const parts = describeEvent(sentence)
  const members = { agent, id, kind: 'reaction', parts, conversation, scope, in_reply_to: response } as const
  return { ...members, object: id, duplicateKey: id, aliases: [] }
}

function describeEvent(sentence: string): readonly Part[] {
  return [{ kind: 'text', mime: 'text/plain', content: sentence }]
}

/** Returns the newest stored version of the message for each agent that got it. */
function listNewest(messages: readonly AuthoredMessage[]): readonly AuthoredMessage[] {
  return [...new Map(messages.map(message => [message.agent, message])).values()]
}

function reviseMessage(
  { agent, object, thread_source, scope }: AuthoredMessage,
  { id, kind, parts }: Pick<IntakeDraft, 'id' | 'kind' | 'parts'>,
): IntakeDraft {
  const members = { agent, id, kind, parts, conversation: thread_source, scope, in_reply_to: object, object }
  return { ...members, duplicateKey: id, aliases: [] }
}

function complete(
  draft: IntakeDraft,
  { event: { person, location, sentAt } }: ResolvedEvent,
  { proven: { document, verifiedAt } }: ResolvedRequest,
  { platform, domain }: NormalizeDeps,
): Intake {
  const { agent, id, kind, parts, conversation, scope, in_reply_to, object, duplicateKey, aliases } = draft
  const recipient = `@${agent}@${domain}`
  const receivedAt = isoTime(verifiedAt)
  const isBot = person.assurance === 'bot'
  const proof = { recipient, domain, issuedAt: receivedAt, app: document.app, platform, channel: location.channel }
  return {
    agent,
    message: {
      id,
      thread_source: conversation,
      ...(in_reply_to !== undefined && { in_reply_to }),
      sender: describeSender(person, proof),
      recipient,
      parts: [...parts],
      recipient_capabilities: { mention_relay: { kind: 'inline' } },
      received_via: platform.name,
      received_at: receivedAt,
      kind,
    },
    duplicateKey,
    thread: { scope, references: [] },
    aliases,
    authorship: { author: person.subject, object },
    proofs: [{ kind: webhookMethod, verdict: 'pass', ...(document.app !== undefined && { key_id: document.app }) }],
    ...(sentAt !== undefined && { sentAt }),
    raw: { bytes: Buffer.from(JSON.stringify(document.stored)), form: 'json' },
    target: toTarget(person, location),
    disposition: 'answer',
    ...(isBot && { quota: botQuota, flags: [agentFlag] }),
  }
}

/** The location of a message, as its answer reads it. */
export interface PlatformTarget {
  readonly thread: string
  readonly conversation: string
  readonly scope: string
  readonly isDirect: boolean
  /** The person who is answered, by the platform's id and as a principal. */
  readonly user: string
  readonly subject: string
}

function toTarget({ id, subject }: PlatformPerson, { thread, conversation, scope, isDirect }: PlatformLocation): Json {
  const target: PlatformTarget = { thread, conversation, scope, isDirect, user: id, subject }
  return { ...target }
}

interface SenderProof {
  readonly recipient: string
  readonly domain: string
  readonly issuedAt: string
  readonly app: string | undefined
  readonly platform: NormalizeDeps['platform']
  readonly channel: string
}

/** Describes the sender. The platform's statement about the person is the evidence; names are profile, which never authorizes. */
function describeSender({ subject, address, assurance, profile }: PlatformPerson, proof: SenderProof): Sender {
  const { recipient, domain, issuedAt, app, platform, channel } = proof
  const evidence: IdentityEvidence = {
    subject,
    issuer: domain,
    method: formatTransportMethod(platform.evidenceMethod),
    assurance,
    audience: recipient,
    issued_at: issuedAt,
    claims: { channel },
    proof: { type: 'transport', verified_by: webhookMethod, ...(app !== undefined && { key_id: app }) },
  }
  return {
    address,
    ...(profile.display_name !== undefined && { display_name: profile.display_name }),
    profile,
    auth_method: webhookMethod,
    verified: true,
    ...(app !== undefined && { key_id: app }),
    identities: [evidence],
  }
}
