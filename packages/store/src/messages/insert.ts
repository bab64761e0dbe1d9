import { hash, randomUUID } from 'node:crypto'
import type { Admitted, Blob, Intake, Part, ProofKey, QueueMode, RequirementObjection } from '@postern/core'
import { identifySpeaker, Rejection, refuseResolution } from '@postern/core'
import type { StoredEntryDraft, StoredEntryScope } from '../conversations/entries.ts'
import { viaOf } from '../conversations/threads.ts'
import type { Batch } from '../engine/batch.ts'
import type { Database } from '../engine/database.ts'
import { formatJson, prepareInsert } from '../engine/database.ts'

interface MessagePosition {
  readonly thread: number
  readonly task: number | undefined
  readonly scope: StoredEntryScope
  /** Now, ms. */
  readonly at: number
}

/** Inserts a message with all its columns. @returns its seq */
type InsertMessage = (draft: MessageDraft, position: MessagePosition) => number

export function createMessageInserter(db: Database): InsertMessage {
  const insert = prepareInsert(
    db,
    `INSERT INTO messages (entry_id, native_id, kind, scope, thread_id, task_id, agent, channel, at, duplicate_key, fingerprint,
       correlation_id, principal, object, author, proofs, trace, arrival, flags, target, raw_form, raw_digest, envelope, content, raw)
     VALUES (?, ?, 'message', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    'seq',
  )
  return (draft, { thread, task, scope, at }) => {
    const { agent, message, duplicateKey, fingerprint, raw, authorship } = draft.intake
    return insert(
      randomUUID(),
      message.id,
      scope,
      thread,
      task ?? null,
      agent,
      viaOf(draft.intake),
      draft.entry.at,
      duplicateKey,
      fingerprint ?? null,
      draft.correlationId,
      authorship?.author ?? null,
      authorship?.object ?? null,
      draft.entry.author,
      draft.proofs,
      stampTrace(draft.trace, at),
      draft.arrival,
      formatFlags(draft),
      draft.target,
      raw.form,
      draft.rawBlob?.digest ?? null,
      draft.envelope,
      draft.entry.content,
      draft.rawBlob ? null : raw.bytes,
    )
  }
}

/** The last member is known only within the transaction; the rest is written before it. */
function stampTrace(trace: string, at: number): string {
  return `${trace.slice(0, -1)},"admitted_at":${at}}`
}

/** An intake as its columns, made before the transaction so that it holds only statements. */
export interface MessageDraft {
  readonly intake: Intake
  readonly correlationId: string
  readonly entry: Pick<StoredEntryDraft, 'author' | 'content' | 'at'>
  readonly envelope: string
  readonly proofs: string
  /** Its way in, but for the moment at which it is stored. */
  readonly trace: string
  /** What came beside the raw bytes. */
  readonly arrival: string | null
  readonly flags: readonly string[]
  readonly target: string
  readonly lane: QueuePosition | undefined
  /** The raw bytes, when they are too large for the row. */
  readonly rawBlob: Blob | undefined
  readonly blobs: readonly Blob[]
  /** Keys that may not be stored yet. */
  readonly proofKeys: readonly ProofKey[]
}

export function draftIntake(
  intake: Intake,
  correlationId: string,
  { rawBlob, proofKeys = [] }: Partial<Pick<MessageDraft, 'rawBlob' | 'proofKeys'>> = {},
): MessageDraft {
  const { thread_id: _, parts, ...envelope } = intake.message
  return {
    intake,
    correlationId,
    entry: {
      author: formatJson({ address: envelope.sender.address, display_name: envelope.sender.display_name }),
      content: formatParts(parts),
      at: envelope.received_at,
    },
    envelope: formatJson(envelope),
    proofs: formatJson(intake.proofs),
    trace: formatJson(intake.trace ?? { received_at: Date.parse(envelope.received_at), steps: [] }),
    arrival: intake.arrival === undefined ? null : formatJson(intake.arrival),
    flags: intake.flags ?? [],
    target: formatJson(intake.target),
    lane: draftQueueMode(intake),
    rawBlob,
    proofKeys,
    blobs: [...(intake.blobs ?? []), ...(rawBlob ? [rawBlob] : [])],
  }
}

function draftQueueMode(intake: Intake): QueuePosition | undefined {
  const speaker = intake.lane && identifySpeaker(intake)
  return intake.lane && speaker !== undefined
    ? { ...intake.lane, speaker: hash('sha256', speaker, 'base64') }
    : undefined
}

/** Written once for all agents that one message came to. */
const writtenParts = new WeakMap<readonly Part[], string>()

function formatParts(parts: readonly Part[]): string {
  const content = writtenParts.get(parts) ?? formatJson(parts)
  writtenParts.set(parts, content)
  return content
}

/** What is forgotten gets its flag when it is. */
export function addFlag(draft: MessageDraft, flag: string | undefined): MessageDraft {
  return !flag || flag === 'deleted' || draft.flags.includes(flag) ? draft : { ...draft, flags: [...draft.flags, flag] }
}

/** As a column has them. */
export function formatFlags({ flags }: Pick<MessageDraft, 'flags'>): string | null {
  return flags.length > 0 ? formatJson(flags) : null
}

/** Bytes of its words and of what arrived, as far as they are in its rows. */
export function sizeOf({ entry, intake, rawBlob }: MessageDraft): number {
  return Buffer.byteLength(entry.content) + (rawBlob ? 0 : intake.raw.bytes.byteLength)
}

/** How a turn stands in its line; `speaker`: digest of who is meant by "the same sender". */
export interface QueuePosition extends QueueMode {
  readonly speaker: string
}

/** What is surely no duplicate, inside a write; nothing is changed when it is refused. */
export type AdmitNew = (batch: Batch, draft: MessageDraft) => Admitted | IntakeRefusal

const refusals = {
  ended: () => new Rejection('unsupported', 'Cannot continue task: it has ended'),
  taken: () => new Rejection('replayed', 'Cannot open task: there is one of this id'),
  gone: () => new Rejection('no_recipient', 'Cannot take message: its conversation is gone'),
  full: () => new Rejection('rate_limited', 'Cannot open task: too many are open', { retryAfter: 60 }),
} as const

export type IntakeRefusal = keyof typeof refusals | RequirementObjection

export function refuseIntake(reason: IntakeRefusal): Rejection {
  return Object.hasOwn(refusals, reason)
    ? refusals[reason as keyof typeof refusals]()
    : refuseResolution(reason as RequirementObjection)
}
