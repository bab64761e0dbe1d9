import { hash } from 'node:crypto'
import type { Blob, Intake, Json, LinkPart, Part, TextPart } from '@postern/core'
import { isJsonObject, isoTime } from '@postern/core'
import type { Call } from './endpoint/call.ts'
import { toCanonicalJson } from './endpoint/call.ts'
import type { ProtocolVersion, WireMessage, WirePart } from './format/wire.ts'
import type { SenderEvidence } from './message/mentionable.ts'
import type { PartNote } from './parts/parts.ts'
import { fileReaders } from './parts/parts.ts'
import type { ResolvedMessage } from './resolve.ts'
import { contentOf, impliedTypes, mediaTypeOf } from './validate/params.ts'
import type { Caller } from './verify.ts'
import { renderSender } from './verify.ts'

/** Converts a proven message to an intake. `domain` is that of our agents. */
export function normalizeMessage(proven: ResolvedMessage, domain: string): Intake {
  const { call, params, task, chain, phase, senderEvidence, claim, receivedAt } = proven
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
      thread_id: task.context,
      ...(inReplyTo && { in_reply_to: inReplyTo }),
      sender: renderSender(caller, senderEvidence.accepted, { audience: recipient, issuedAt: received_at }),
      recipient,
      parts: [...parts],
      recipient_capabilities: { mention_relay: senderEvidence.mentionRelay, ...(chain && { agent_chain: chain }) },
      received_via: 'a2a',
      received_at,
      ...(claim && { policy_resolution: claim.resolution }),
      ...phase,
    },
    duplicateKey: duplicateKeyOf(proven),
    // Without the client's wishes for the answer, so that a repetition is recognized.
    fingerprint: hash('sha256', toCanonicalJson(stripMessage(params.message, evidence))),
    thread: { scope: caller.owner, references: [] },
    aliases: [],
    proofs: [caller.proof, ...senderEvidence.proofs],
    arrival: recordCallArrival(proven),
    raw: { bytes: rawOf(call), form: 'json' },
    ...(blobs.length > 0 && { blobs }),
    target: { id: task.id, context: task.context },
    disposition: 'answer',
    task: { owner: caller.owner, ...task },
    ...(claim && { resolution: claim.decision }),
  }
}

/**
 * A message id is unique for its principal. Callers without credentials share one principal: their ids are unique for the task or context
 * that they name. Without either, a repeated message is a new one.
 */
function duplicateKeyOf({ call, params, task }: ResolvedMessage): string {
  const { owner, isAnonymous } = call.caller
  const { messageId, taskId, contextId } = params.message
  const place = isAnonymous ? [taskId || contextId || task.id] : []
  return JSON.stringify([owner, ...place, messageId])
}

/** Of JSON-RPC the parameters are a member; else they are the whole request. Without credentials its bytes stay unchanged. */
function rawOf({ document, bytes, binding }: Call): Uint8Array {
  const envelope = binding === 'JSONRPC' && isJsonObject(document) ? document : undefined
  const params = envelope ? envelope.params : document
  const stripped = stripParams(params)
  if (stripped === params) return bytes
  return Buffer.from(JSON.stringify(envelope ? { ...envelope, params: stripped } : stripped))
}

/** A2A has no member for it, so it is in the family's namespace. */
function readInReplyTo({ metadata }: WireMessage): string | undefined {
  const named = isJsonObject(metadata?.mentionable) ? metadata.mentionable.in_reply_to : undefined
  return typeof named === 'string' && named.length <= 256 ? named : undefined
}

/** What a call took that its stored bytes do not have: the binding, who called, and what credentials proved that are not kept. */
export interface CallArrival {
  readonly binding: Call['binding']
  readonly version: ProtocolVersion
  readonly caller: Pick<
    Caller,
    'owner' | 'isAnonymous' | 'address' | 'authMethod' | 'subject' | 'issuer' | 'keyId' | 'scheme' | 'proof'
  >
  /** Of callers without credentials, who are told apart by their networks. */
  readonly from?: string
  readonly evidence?: SenderEvidence
  readonly resolution?: NonNullable<ResolvedMessage['claim']>['resolution']
}

function recordCallArrival({ call, senderEvidence, claim }: ResolvedMessage): Json {
  const { binding, version, caller } = call
  const { scopes: _, usedKey: _key, ...who } = caller
  const hasEvidence = senderEvidence.accepted.length > 0 || senderEvidence.proofs.length > 0
  const arrival = {
    binding,
    version,
    caller: who,
    ...(hasEvidence && { evidence: senderEvidence }),
    ...(claim && { resolution: claim.resolution }),
  }
  return arrival as unknown as Json
}

/** Undefined when it is no record of a call. */
export function restoreCall(record: Json): CallArrival | undefined {
  return isJsonObject(record) && isJsonObject(record.caller) ? (record as unknown as CallArrival) : undefined
}

/** Credentials in a message. The endpoint consumes them, and the store never keeps them. */
const evidence: readonly string[] = ['verifiable_credentials', 'identity_evidence']
/** A checked decision is stored as its result, without its proof. */
const carriers: readonly string[] = [...evidence, 'policy_resolution']

/** The names in JSON and in protobuf, because the raw request may use either. */
const pushConfigs = ['taskPushNotificationConfig', 'task_push_notification_config']

/** The parameters without credentials; the same object if they have none. */
function stripParams(params: unknown): unknown {
  if (!isJsonObject(params)) return params
  const message = stripMessage(params.message)
  const configuration = isJsonObject(params.configuration)
    ? leaveOut(params.configuration, pushConfigs)
    : params.configuration
  // The gateway reads none of these, but a caller may have put them here.
  const outer = stripMessage(params) as typeof params
  if (message === params.message && configuration === params.configuration && outer === params) return params
  return { ...outer, message, configuration }
}

/** The message without credentials. */
function stripMessage(message: unknown, names = carriers): unknown {
  if (!isJsonObject(message) || !isJsonObject(message.metadata) || !isJsonObject(message.metadata.mentionable))
    return message
  const { mentionable } = message.metadata
  const rest = leaveOut(mentionable, names)
  return rest === mentionable ? message : { ...message, metadata: { ...message.metadata, mentionable: rest } }
}

function leaveOut(
  object: Readonly<Record<string, unknown>>,
  names: readonly string[],
): Readonly<Record<string, unknown>> {
  if (!names.some(name => Object.hasOwn(object, name))) return object
  return Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)))
}

const textTypes: ReadonlySet<string> = new Set<TextPart['mime']>(['text/plain', 'text/markdown', 'text/html'])

/** A2A parts → ours. Bytes are stored by their digest. `data` keeps its exact JSON. */
export function readParts(wire: readonly WirePart[]) {
  const blobs: Blob[] = []
  const parts = wire.map((part): Part => {
    const content = contentOf(part)
    const note = readPartNote(part)
    if (content === 'text') return readLink(note) ?? readText(part)
    return fileReaders[content]({ part, note, blobs })
  })
  return { parts, blobs }
}

/** A link that its writer noted as one. If it is no web address, it stays text. */
function readLink({ kind, url, title, description }: Partial<PartNote>): LinkPart | undefined {
  if (kind !== 'link' || !url || !/^https?:$/.test(URL.parse(url)?.protocol ?? '')) return undefined
  return { kind, url, ...(title && { title }), ...(description && { description }) }
}

/** Text of a type that we do not know is still text for an agent. */
function readText(part: WirePart): TextPart {
  const mime = part.mediaType ? mediaTypeOf(part) : impliedTypes.text
  return {
    kind: 'text',
    mime: (textTypes.has(mime) ? mime : 'text/plain') as TextPart['mime'],
    content: part.text ?? '',
  }
}

const members = ['artifact_type', 'description', 'url', 'title'] as const

const kinds: ReadonlySet<unknown> = new Set(['file', 'artifact', 'link'])

const mostChars = 4_096

/** The writer's note of a part. Members that are no short text are ignored. */
function readPartNote({ metadata }: WirePart): Partial<PartNote> {
  const noted = isJsonObject(metadata?.mentionable) ? metadata.mentionable : {}
  if (!kinds.has(noted.kind)) return {}
  const texts = members.flatMap(name => {
    const value = noted[name]
    return typeof value === 'string' && value !== '' && value.length <= mostChars ? [[name, value] as const] : []
  })
  return { kind: noted.kind as PartNote['kind'], ...Object.fromEntries(texts) }
}
