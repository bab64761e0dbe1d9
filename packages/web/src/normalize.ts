import { hash } from 'node:crypto'
import type { Intake, Json, MentionRelay, OwnThread } from '@postern/core'
import { isJsonObject, isoTime } from '@postern/core'
import type { TranscriptEntry } from '@postern/transcript'
import type { ReadContent } from './input/file-parts.ts'
import type { AskedRun, RunNews } from './resolve.ts'
import { webDescriptor } from './speaker.ts'
import type { Conversation } from './threads/own-threads.ts'
import type { WebPerson } from './verify.ts'
import { proofOf, senderOf } from './verify.ts'

/** What a person says in a run. Their identity is proven. */
export interface ProvenRun {
  readonly owner: WebPerson
  readonly agent: string
  readonly domain: string
  readonly threadId: string
  readonly runId: string
  /** Id of the message that the agent answers. */
  readonly messageId: string
  readonly content: ReadContent
  /** The request as it came, parsed. */
  readonly document: unknown
  /** Ids of its messages that are not new. */
  readonly former: ReadonlySet<string>
  /** What the stored request does not have, for a replay. */
  readonly arrival: Json
  /** ms */
  readonly at: number
  /** The conversation of another channel that it continues, and what an answer needs to go there. */
  readonly joined?:
    | (Pick<OwnThread, 'id' | 'via' | 'key'> & { readonly target: Json; readonly mentionRelay: MentionRelay })
    | undefined
}

/** A run → what the store keeps and the agent reads. Pure. */
export function normalizeRun(run: ProvenRun): Intake {
  const { owner, agent, domain, threadId, runId, messageId, content, document, former, arrival, at, joined } = run
  const recipient = `@${agent}@${domain}`
  return {
    agent,
    message: {
      id: messageId,
      thread_id: joined?.key ?? threadId,
      sender: senderOf(owner, recipient, at),
      recipient,
      parts: [...content.parts],
      recipient_capabilities: { mention_relay: joined?.mentionRelay ?? webDescriptor.mentionRelay },
      received_via: 'web',
      received_at: isoTime(at),
    },
    // A run is started once (AG-UI: a run id names one execution).
    duplicateKey: JSON.stringify([owner.owner, runId]),
    thread: {
      scope: owner.owner,
      references: [],
      ...(joined && { joined: { id: joined.id, via: joined.via, key: joined.key } }),
    },
    aliases: [],
    proofs: [proofOf(owner)],
    arrival,
    raw: { bytes: Buffer.from(JSON.stringify(leaveOutFormer(document, former), hideTokens)), form: 'json' },
    ...(content.blobs.length > 0 && { blobs: content.blobs }),
    target: joined?.target ?? { run: runId, thread: threadId },
    disposition: 'answer',
    ...(joined && { authorship: { author: owner.owner, object: `run:${runId}` } }),
    task: { owner: owner.owner, id: runId, context: threadId, isNew: true },
  }
}

/**
 * A client sends the whole conversation with each run. Storing each copy whole would grow quadratically, so known messages keep only their
 * ids.
 */
function leaveOutFormer(document: unknown, former: ReadonlySet<string>): unknown {
  const { messages } = document as { readonly messages?: readonly { readonly id?: unknown; readonly role?: unknown }[] }
  if (!messages || former.size === 0) return document
  const shown = messages.map(message => {
    const { id, role } = message
    return typeof id === 'string' && former.has(id) ? { id, role } : message
  })
  return { ...(document as object), messages: shown }
}

const longest = 64 * 1024

// A pattern that starts to match also ends, so text that resembles addresses is read once.
const signedUrl = /https?:\/\/[^/?#\s"]+(\/storage\/v1\/object\/sign\/[^?#\s"]+)(?:\?[^#\s"]*)?/g

/** A stored signed URL keeps its bucket and path, without host and token. Bytes of an attachment become their digest. */
function hideTokens(_: string, value: unknown): unknown {
  if (typeof value !== 'string') return value
  if (value.length > longest && /^[A-Za-z0-9+/=\s]+$/.test(value)) return `sha256:${hash('sha256', value)}`
  return value.replace(signedUrl, '$1').replace(/([?&]token=)[^&#\s"]+/g, '$1')
}

type OwnCall = Pick<NonNullable<TranscriptEntry['tool']>, 'call_id' | 'name' | 'args'>

/** What a run took that its stored request does not have: who called, and what of it was new to the conversation. */
export interface RunArrival {
  readonly owner: WebPerson
  /** Ids of the messages that were new. */
  readonly said: readonly string[]
  /** Of results that the client brought: the calls, by their ids. */
  readonly calls?: readonly OwnCall[]
  readonly answers?: readonly string[]
  /** The files that came along: the digests of their bytes, and their names. */
  readonly files?: readonly { readonly digest: string; readonly name: string }[]
  readonly joined?: {
    readonly id: number
    readonly via: string
    readonly key: string
    readonly mentionRelay: MentionRelay
  }
}

/** What a run says, before it is stored. */
export interface SaidRun {
  readonly asked: AskedRun
  readonly news: RunNews
  /** Answers to questions that waited. */
  readonly answers: readonly string[]
  readonly content: ReadContent
  /** The conversation of another channel that it continues. */
  readonly joined: Conversation['joined']
}

export function recordRun({ asked, news, answers, content, joined }: SaidRun): Json {
  const { owner, subject, issuer, address } = asked.owner
  const arrival: RunArrival = {
    owner: { owner, subject, issuer, address },
    said: news.said.map(({ id }) => id),
    ...(news.toolResults.length > 0 && { calls: news.toolResults.map(({ call }) => describeCall(call)) }),
    ...(answers.length > 0 && { answers }),
    ...(content.blobs.length > 0 && { files: content.parts.flatMap(describeFile) }),
    ...(joined && {
      joined: { id: joined.id, via: joined.via, key: joined.key, mentionRelay: joined.mentionRelay },
    }),
  }
  return arrival as unknown as Json
}

function describeFile(part: ReadContent['parts'][number]) {
  if (part.kind !== 'file' || part.bytes_ref.kind !== 'content_addressed') return []
  return [{ digest: part.bytes_ref.digest, name: part.name ?? '' }]
}

function describeCall({ call_id, name, args }: OwnCall): OwnCall {
  return { call_id, ...(name !== undefined && { name }), ...(args !== undefined && { args }) }
}

/** Undefined when it is no record of a run. */
export function restoreRun(record: Json): RunArrival | undefined {
  return isJsonObject(record) && Array.isArray(record.said) ? (record as unknown as RunArrival) : undefined
}
