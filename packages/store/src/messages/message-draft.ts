// Formats an intake as the columns of its row before the transaction begins.
import { hash } from 'node:crypto'
import type { Part, ProofKey } from '@postern/message'
import type { Blob, Intake, QueueMode, StorageQuota } from '@postern/pipeline'
import { createSpeakerKey } from '@postern/pipeline'
import type { LocatedBlob } from '../blobs/raw-part.ts'
import { formatJson } from '../sql/json-columns.ts'
import type { StoredEntryDraft } from '../threads/entries.ts'

/** An intake as the columns of its row. It is formatted in advance, so that the transaction runs only statements. */
export interface MessageDraft {
  readonly intake: Intake
  readonly correlationId: string
  readonly entry: Pick<StoredEntryDraft, 'author' | 'content' | 'at'>
  readonly envelope: string
  readonly proofs: string
  /** The trace of the intake, without the time at which it is stored. */
  readonly trace: string
  /** JSON of the facts about the arrival that the raw bytes do not contain. */
  readonly arrival: string | null
  readonly flags: readonly string[]
  readonly target: string
  readonly queuePosition: SpeakerQueueMode | undefined
  /** The raw bytes, if they are too large for the row. */
  readonly rawBlob: Blob | undefined
  readonly blobs: readonly LocatedBlob[]
  /** The sender for whom the bytes count, as the column `stored_by` names it. */
  readonly storedBy: string | null
  /** The keys of the proofs that may be new to the store. */
  readonly proofKeys: readonly ProofKey[]
}

type DraftOptions = Partial<Pick<MessageDraft, 'rawBlob' | 'proofKeys' | 'blobs'>>

export function draftMessage(intake: Intake, correlationId: string, options: DraftOptions = {}): MessageDraft {
  const { rawBlob, proofKeys = [], blobs = intake.blobs ?? [] } = options
  const { thread_source: _, parts, ...envelope } = intake.message
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
    queuePosition: draftQueueMode(intake),
    rawBlob,
    proofKeys,
    blobs: [...blobs, ...(rawBlob ? [rawBlob] : [])],
    storedBy: intake.storage ? formatStorageOwner(intake.storage) : null,
  }
}

/** Formats a sender for the columns `stored_by`. The prefix is `p` for a proven sender and `u` for an unproven one. */
export function formatStorageOwner({ sender, isProven }: Pick<StorageQuota, 'sender' | 'isProven'>): string {
  return `${isProven ? 'p' : 'u'}:${sender}`
}

function draftQueueMode(intake: Intake): SpeakerQueueMode | undefined {
  const speaker = intake.queueMode && createSpeakerKey(intake)
  return intake.queueMode && speaker !== undefined
    ? { ...intake.queueMode, speaker: hash('sha256', speaker, 'base64') }
    : undefined
}

/** Caches formatted parts, so that a message to several agents is formatted only once. */
const formattedParts = new WeakMap<readonly Part[], string>()

function formatParts(parts: readonly Part[]): string {
  const content = formattedParts.get(parts) ?? formatJson(parts)
  formattedParts.set(parts, content)
  return content
}

/** Adds a flag to a draft. The flag `deleted` is not added here, because the deletion sets it. */
export function addFlag(draft: MessageDraft, flag: string | undefined): MessageDraft {
  return !flag || flag === 'deleted' || draft.flags.includes(flag) ? draft : { ...draft, flags: [...draft.flags, flag] }
}

/** Formats flags for their column. */
export function formatFlags({ flags }: Pick<MessageDraft, 'flags'>): string | null {
  return flags.length > 0 ? formatJson(flags) : null
}

/** Counts the bytes of the content and of the raw bytes in the row of a message. */
export function countRowBytes({ entry, intake, rawBlob }: MessageDraft): number {
  return Buffer.byteLength(entry.content) + (rawBlob ? 0 : intake.raw.bytes.byteLength)
}

/** The queue mode of a turn with a digest that is equal for messages of the same sender. */
export interface SpeakerQueueMode extends QueueMode {
  readonly speaker: string
}
