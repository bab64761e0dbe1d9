// Converts the messages of callers to the gateway's form, without their credentials.
import { hash } from 'node:crypto'
import type { Json, LinkPart, Part, TextPart } from '@postern/message'
import { canonicalizeJson, isJsonObject, isoTime, toWellFormed } from '@postern/message'
import type { Blob, Intake } from '@postern/pipeline'
import type { Caller } from './auth/caller.ts'
import { renderSender } from './auth/sender.ts'
import type { Call } from './endpoint/call.ts'
import { contentOf, impliedTypes, mediaTypeOf } from './format/part-content.ts'
import type { ProtocolVersion, WireMessage, WirePart } from './format/wire.ts'
import type { SenderEvidence } from './message/mentionable.ts'
import type { PartNote } from './parts/parts.ts'
import { fileReaders } from './parts/parts.ts'
import type { ResolvedMessage } from './resolve.ts'

/** Converts a proven message to an intake. `domain` is that of our agents. */
export function normalizeMessage(resolvedMessage: ResolvedMessage, domain: string): Intake {
  const { call, params, task, chain, phase, calledBy, senderEvidence, claim, receivedAt } = resolvedMessage
  const { caller, agent } = call
  const { message } = params
  const recipient = `@${agent.name}@${domain}`
  const received_at = isoTime(receivedAt)
  const inReplyTo = readInReplyTo(message)
  const { parts, blobs } = readParts(message.parts)
  return {
    agent: agent.name,
    message: {
      id: message.messageId,
      thread_source: task.context,
      ...(inReplyTo && { in_reply_to: inReplyTo }),
      sender: renderSender(caller, senderEvidence.accepted, { audience: recipient, issuedAt: received_at }),
      recipient,
      parts: [...parts],
      recipient_capabilities: { mention_relay: senderEvidence.mentionRelay, ...(chain && { agent_chain: chain }) },
      received_via: 'a2a',
      received_at,
      ...(claim && { policy_resolution: claim.resolution }),
      ...phase,
      ...calledBy,
    },
    duplicateKey: duplicateKeyOf(resolvedMessage),
    // The fingerprint leaves out the client's options for the answer, so that a repetition is recognized.
    fingerprint: hash('sha256', canonicalizeJson(toWellFormed(stripMessage(params.message, evidenceMembers)))),
    thread: { scope: caller.owner, references: [] },
    aliases: [],
    proofs: [caller.proof, ...senderEvidence.proofs],
    arrival: describeArrival(resolvedMessage),
    raw: { bytes: stripRequest(call), form: 'json' },
    ...(blobs.length > 0 && { blobs }),
    target: { id: task.id, context: task.context },
    disposition: 'answer',
    task: { owner: caller.owner, ...task },
    ...(claim && { resolution: claim.decision }),
  }
}

/**
 * Returns the key by which duplicates are recognized. A message id is unique for its principal. Callers without credentials share one principal,
 * so their ids are unique for the task or context that they name. Without either, a repeated message is a new one.
 */
function duplicateKeyOf({ call, params, task }: ResolvedMessage): string {
  const { owner, isAnonymous } = call.caller
  const { messageId, taskId, contextId } = params.message
  const taskKey = isAnonymous ? [taskId || contextId || task.id] : []
  return JSON.stringify([owner, ...taskKey, messageId])
}

/**
 * Returns the bytes of a request without its credentials, or unchanged if it has none. In JSON-RPC, the parameters are a member. In the other
 * bindings, they are the whole request.
 */
export function stripRequest({ document, bytes, binding }: Call): Uint8Array {
  const envelope = binding === 'JSONRPC' && isJsonObject(document) ? document : undefined
  const params = envelope ? envelope.params : document
  const strippedParams = stripParams(params)
  if (strippedParams === params) return bytes
  return Buffer.from(JSON.stringify(envelope ? { ...envelope, params: strippedParams } : strippedParams))
}

/** Reads the id of the answered message. A2A has no member for it, so it is in the namespace of Mentionable. */
function readInReplyTo({ metadata }: WireMessage): string | undefined {
  const inReplyTo = isJsonObject(metadata?.mentionable) ? metadata.mentionable.in_reply_to : undefined
  return typeof inReplyTo === 'string' && inReplyTo.length <= 256 ? inReplyTo : undefined
}

/** The facts about a call that its stored bytes lack: the binding, the caller, and the results of credentials that are not stored. */
export interface CallArrival {
  readonly binding: Call['binding']
  readonly version: ProtocolVersion
  readonly caller: Pick<
    Caller,
    'owner' | 'isAnonymous' | 'address' | 'authMethod' | 'subject' | 'issuer' | 'keyId' | 'scheme' | 'proof'
  >
  /** The network of a caller without credentials, by which such callers are distinguished. Absent for other callers. */
  readonly from?: string
  readonly evidence?: SenderEvidence
  readonly resolution?: NonNullable<ResolvedMessage['claim']>['resolution']
  /** The id of the answer with the question in a task that the call canceled. */
  readonly question?: string
}

function describeArrival({ call, senderEvidence, claim }: ResolvedMessage): Json {
  const hasEvidence = senderEvidence.accepted.length > 0 || senderEvidence.proofs.length > 0
  const arrival = {
    ...describeCallOrigin(call),
    ...(hasEvidence && { evidence: senderEvidence }),
    ...(claim && { resolution: claim.resolution }),
  }
  return arrival as unknown as Json
}

export function describeCallOrigin({ binding, version, caller }: Call): { readonly [member: string]: Json } {
  const { scopes: _, usedKey: _key, ...callerFields } = caller
  return { binding, version, caller: callerFields as unknown as Json }
}

/** Restores a call from its record. Returns undefined if the value is not such a record. */
export function restoreCall(record: Json): CallArrival | undefined {
  return isJsonObject(record) && isJsonObject(record.caller) ? (record as unknown as CallArrival) : undefined
}

/** The members of a message that contain credentials. The endpoint consumes them, and they are never stored. */
const evidenceMembers: readonly string[] = ['verifiable_credentials', 'identity_evidence']
/** The members that are removed from a stored message. A checked decision is stored as its result, without its proof. */
const unstoredMembers: readonly string[] = [...evidenceMembers, 'policy_resolution']

/** The names of the push configuration in JSON and in protobuf, because the raw request may use either. */
const pushConfigMembers = ['taskPushNotificationConfig', 'task_push_notification_config']

/** Returns the parameters without credentials, or the same object if they have none. */
function stripParams(params: unknown): unknown {
  if (!isJsonObject(params)) return params
  const message = stripMessage(params.message)
  const configuration = isJsonObject(params.configuration)
    ? omitMembers(params.configuration, pushConfigMembers)
    : params.configuration
  // The gateway reads none of these, but a caller may have put them here.
  const strippedParams = stripMessage(params) as typeof params
  if (message === params.message && configuration === params.configuration && strippedParams === params) return params
  return { ...strippedParams, message, configuration }
}

/** Returns the message without credentials. */
function stripMessage(message: unknown, names = unstoredMembers): unknown {
  if (!isJsonObject(message) || !isJsonObject(message.metadata) || !isJsonObject(message.metadata.mentionable))
    return message
  const { mentionable } = message.metadata
  const remainingMembers = omitMembers(mentionable, names)
  return remainingMembers === mentionable
    ? message
    : { ...message, metadata: { ...message.metadata, mentionable: remainingMembers } }
}

function omitMembers(
  object: Readonly<Record<string, unknown>>,
  names: readonly string[],
): Readonly<Record<string, unknown>> {
  if (!names.some(name => Object.hasOwn(object, name))) return object
  return Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)))
}

const textTypes: ReadonlySet<string> = new Set<TextPart['mime']>(['text/plain', 'text/markdown', 'text/html'])

/** Converts A2A parts to ours. Bytes are stored by their digest. `data` keeps its exact JSON. */
export function readParts(wireParts: readonly WirePart[]) {
  const blobs: Blob[] = []
  const parts = wireParts.map((part): Part => {
    const content = contentOf(part)
    const note = readPartNote(part)
    if (content === 'text') return readLink(note) ?? readText(part)
    return fileReaders[content]({ part, note, blobs })
  })
  return { parts, blobs }
}

/** Reads a link that its writer marked as one. If it is not a web address, it stays text. */
function readLink({ kind, url, title, description }: Partial<PartNote>): LinkPart | undefined {
  if (kind !== 'link' || !url || !/^https?:$/.test(URL.parse(url)?.protocol ?? '')) return undefined
  return { kind, url, ...(title && { title }), ...(description && { description }) }
}

/** Reads a text part. Text of an unknown type is still text for an agent. */
function readText(part: WirePart): TextPart {
  const mime = part.mediaType ? mediaTypeOf(part) : impliedTypes.text
  return {
    kind: 'text',
    mime: (textTypes.has(mime) ? mime : 'text/plain') as TextPart['mime'],
    content: part.text ?? '',
  }
}

const partNoteMembers = ['artifact_type', 'description', 'url', 'title'] as const

const partNoteKinds: ReadonlySet<unknown> = new Set(['file', 'artifact', 'link'])

const maxPartNoteChars = 4_096

/** Reads the writer's note of a part. Members that are not short texts are ignored. */
function readPartNote({ metadata }: WirePart): Partial<PartNote> {
  const mentionable = isJsonObject(metadata?.mentionable) ? metadata.mentionable : {}
  if (!partNoteKinds.has(mentionable.kind)) return {}
  const texts = partNoteMembers.flatMap(name => {
    const value = mentionable[name]
    return typeof value === 'string' && value !== '' && value.length <= maxPartNoteChars ? [[name, value] as const] : []
  })
  return { kind: mentionable.kind as PartNote['kind'], ...Object.fromEntries(texts) }
}
