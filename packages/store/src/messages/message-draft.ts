// Formats an intake as its columns before its transaction begins.
import { hash } from 'node:crypto'
import type { Part, ProofKey } from '@postern/message'
import type { Blob, Intake, QueueMode, StorageQuota } from '@postern/pipeline'
import { identifySpeaker } from '@postern/pipeline'
import type { LocatedBlob } from '../blobs/raw-part.ts'
import { formatJson } from '../sql/json-columns.ts'
import type { StoredEntryDraft } from '../threads/entries.ts'

/** An intake as its columns. It is formatted before the transaction, so that the transaction runs only statements. */
export interface MessageDraft {
  readonly intake: Intake
  readonly correlationId: string
  readonly entry: Pick<StoredEntryDraft, 'author' | 'content' | 'at'>
  readonly envelope: string
  readonly proofs: string
  /** The trace of the intake, without the time at which it is stored. */
  readonly trace: string
  /** Facts about the arrival that are not in the raw bytes, as JSON. */
  readonly arrival: string | null
  readonly flags: readonly string[]
  readonly target: string
  readonly queuePosition: QueuePosition | undefined
  /** The raw bytes, if they are too large for the row. */
  readonly rawBlob: Blob | undefined
  readonly blobs: readonly LocatedBlob[]
  /** The sender for whom the bytes count, as the column `stored_by` names it. */
  readonly storedBy: string | null
  /** Keys that may be new to the store. */
  readonly proofKeys: readonly ProofKey[]
}

export function draftIntake(
  intake: Intake,
  correlationId: string,
  {
    rawBlob,
    proofKeys = [],
    blobs = intake.blobs ?? [],
  }: Partial<Pick<MessageDraft, 'rawBlob' | 'proofKeys' | 'blobs'>> = {},
): MessageDraft {
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

/** Names a sender as the columns `stored_by` do. */
export function formatStorageOwner({ sender, isProven }: Pick<StorageQuota, 'sender' | 'isProven'>): string {
  return `${isProven ? 'p' : 'u'}:${sender}`
}

function draftQueueMode(intake: Intake): QueuePosition | undefined {
  const speaker = intake.queueMode && identifySpeaker(intake)
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

/** Adds a flag to a draft. The flag `deleted` is left to the deletion itself. */
export function addFlag(draft: MessageDraft, flag: string | undefined): MessageDraft {
  return !flag || flag === 'deleted' || draft.flags.includes(flag) ? draft : { ...draft, flags: [...draft.flags, flag] }
}

/** Formats flags as their column has them. */
export function formatFlags({ flags }: Pick<MessageDraft, 'flags'>): string | null {
  return flags.length > 0 ? formatJson(flags) : null
}

/** Returns the number of bytes that a message has in its row. */
export function sizeOf({ entry, intake, rawBlob }: MessageDraft): number {
  return Buffer.byteLength(entry.content) + (rawBlob ? 0 : intake.raw.bytes.byteLength)
}

/** The queue mode of a turn. `speaker` is a digest that is equal for messages of the same sender. */
export interface QueuePosition extends QueueMode {
  readonly speaker: string
}
