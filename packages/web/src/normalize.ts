// Converts a run of a person to the message that an agent reads.
import { hash } from 'node:crypto'
import type { Json, MentionRelay } from '@postern/message'
import { isJsonObject, isoTime } from '@postern/message'
import type { Intake, OwnThread } from '@postern/pipeline'
import type { TranscriptEntry } from '@postern/transcript'
import type { RunContent } from './input/file-parts.ts'
import type { RunNews } from './input/reconcile-run.ts'
import type { RequestedRun } from './resolve.ts'
import { webDescriptor } from './speaker.ts'
import type { Conversation } from './threads/own-threads.ts'
import type { WebPerson } from './verify.ts'
import { proofOf, senderOf } from './verify.ts'

/** A run of a person whose identity is proven. */
export interface ProvenRun {
  readonly owner: WebPerson
  readonly agent: string
  readonly domain: string
  readonly threadId: string
  readonly runId: string
  /** The id of the message that the agent answers. */
  readonly messageId: string
  readonly content: RunContent
  /** The question that the person closes without a message. */
  readonly closedQuestion?: string | undefined
  /** The parsed request. */
  readonly document: unknown
  /** The ids of the messages in the request that are not new. */
  readonly formerIds: ReadonlySet<string>
  /** The facts that the stored request lacks, for a replay. */
  readonly arrival: Json
  /** The time of receipt, ms since the epoch. */
  readonly receivedAt: number
  /** The conversation of another channel that the run continues, with the target of an answer on that channel. */
  readonly joined?:
    | (Pick<OwnThread, 'id' | 'via' | 'key'> & { readonly target: Json; readonly mentionRelay: MentionRelay })
    | undefined
}

/** Converts a run to the intake that the store keeps and the agent reads. It is pure. */
export function normalizeRun(run: ProvenRun): Intake {
  const {
    owner,
    agent,
    domain,
    threadId,
    runId,
    messageId,
    closedQuestion,
    content,
    document,
    formerIds,
    arrival,
    receivedAt,
    joined,
  } = run
  const recipient = `@${agent}@${domain}`
  return {
    agent,
    message: {
      id: messageId,
      thread_source: joined?.key ?? threadId,
      sender: senderOf(owner, recipient, receivedAt),
      recipient,
      parts: [...content.parts],
      recipient_capabilities: { mention_relay: joined?.mentionRelay ?? webDescriptor.mentionRelay },
      received_via: 'web',
      received_at: isoTime(receivedAt),
      ...(closedQuestion !== undefined && { kind: 'cancel', in_reply_to: closedQuestion }),
    },
    // A run is started once (AG-UI: a run id names one execution), and a question is closed once, regardless of the run.
    duplicateKey: JSON.stringify(
      closedQuestion === undefined ? [owner.owner, runId] : [owner.owner, 'closed', closedQuestion],
    ),
    thread: {
      scope: owner.owner,
      references: [],
      ...(joined && { joined: { id: joined.id, via: joined.via, key: joined.key } }),
    },
    aliases: [],
    proofs: [proofOf(owner)],
    arrival,
    raw: {
      bytes: Buffer.from(JSON.stringify(withoutFormerContent(document, formerIds), hideCredentials)),
      form: 'json',
    },
    ...(content.blobs.length > 0 && { blobs: content.blobs }),
    target: joined?.target ?? { run: runId, thread: threadId },
    disposition: 'answer',
    isFollowed: true,
    ...(joined && { authorship: { author: owner.owner, object: `run:${runId}` } }),
    task: { owner: owner.owner, id: runId, context: threadId, isNew: true },
  }
}

/**
 * Removes the content of known messages from a request. A client sends the whole conversation with each run, so storing each copy whole would need
 * quadratic space. Known messages keep only their ids and roles.
 */
function withoutFormerContent(document: unknown, formerIds: ReadonlySet<string>): unknown {
  const { messages } = document as { readonly messages?: readonly { readonly id?: unknown; readonly role?: unknown }[] }
  if (!messages || formerIds.size === 0) return document
  const newMessages = messages.map(message => {
    const { id, role } = message
    return typeof id === 'string' && formerIds.has(id) ? { id, role } : message
  })
  return { ...(document as object), messages: newMessages }
}

const maxTextChars = 64 * 1024

// A pattern that starts to match also ends, so text that resembles addresses is read once.
const signedUrlPattern = /https?:\/\/[^/?#\s"]+(\/storage\/v1\/object\/sign\/[^?#\s"]+)(?:\?[^#\s"]*)?/g

/**
 * Hides credentials in a value of the stored request. A signed URL keeps its bucket and path, without host and token. The bytes of an attachment
 * become their digest.
 */
function hideCredentials(_: string, value: unknown): unknown {
  if (typeof value !== 'string') return value
  if (value.length > maxTextChars && /^[A-Za-z0-9+/=\s]+$/.test(value)) return `sha256:${hash('sha256', value)}`
  return hideToken(value)
}

/** Returns a text or an address in the form of the stored request. */
export function hideToken(text: string): string {
  return text.replace(signedUrlPattern, '$1').replace(/([?&]token=)[^&#\s"]+/g, '$1')
}

type ClientCall = Pick<NonNullable<TranscriptEntry['tool']>, 'call_id' | 'name' | 'args'>

/** The facts about a run that its stored request lacks: the caller, and the items that were new to the conversation. */
export interface RunArrival {
  readonly owner: WebPerson
  /** The ids of the new messages. */
  readonly said: readonly string[]
  /** The calls by id whose results the client sent. */
  readonly calls?: readonly ClientCall[]
  readonly answers?: readonly string[]
  readonly closed?: string
  /** The texts and addresses that contain tokens, in their order. The stored request has them without the tokens. */
  readonly whole?: readonly string[]
  /** The files in the run: the digests of their bytes, and their names. */
  readonly files?: readonly { readonly digest: string; readonly name: string }[]
  readonly joined?: {
    readonly id: number
    readonly via: string
    readonly key: string
    readonly mentionRelay: MentionRelay
  }
}

/** A run with the new content that it adds to the conversation, before it is stored. */
export interface RunRecord {
  readonly request: RequestedRun
  readonly news: RunNews
  /** The answers to waiting questions. */
  readonly answers: readonly string[]
  readonly closedQuestion: string | undefined
  readonly content: RunContent
  /** The conversation of another channel that the run continues. */
  readonly joined: Conversation['joined']
}

export function recordRun({ request, news, answers, closedQuestion, content, joined }: RunRecord): Json {
  const { owner, subject, issuer, address, credential } = request.owner
  const textsWithTokens = (content.verbatimTexts ?? []).filter(text => hideToken(text) !== text)
  const arrival: RunArrival = {
    owner: { owner, subject, issuer, address, ...(credential && { credential }) },
    said: news.userMessages.map(({ id }) => id),
    ...(news.toolResults.length > 0 && { calls: news.toolResults.map(({ call }) => describeCall(call)) }),
    ...(answers.length > 0 && { answers }),
    ...(closedQuestion !== undefined && { closed: closedQuestion }),
    ...(textsWithTokens.length > 0 && { whole: textsWithTokens }),
    ...(content.blobs.length > 0 && { files: content.parts.flatMap(describeFile) }),
    ...(joined && {
      joined: { id: joined.id, via: joined.via, key: joined.key, mentionRelay: joined.mentionRelay },
    }),
  }
  return arrival as unknown as Json
}

function describeFile(part: RunContent['parts'][number]) {
  if (part.kind !== 'file' || part.bytes_ref.kind !== 'content_addressed') return []
  return [{ digest: part.bytes_ref.digest, name: part.name ?? '' }]
}

function describeCall({ call_id, name, args }: ClientCall): ClientCall {
  return { call_id, ...(name !== undefined && { name }), ...(args !== undefined && { args }) }
}

/** Restores a run from its record. It returns undefined if the value is not a record of a run. */
export function restoreRun(record: Json): RunArrival | undefined {
  return isJsonObject(record) && Array.isArray(record.said) ? (record as unknown as RunArrival) : undefined
}
