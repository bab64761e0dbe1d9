import { hash } from 'node:crypto'
import type { Blob, Intake, Part, ProofKey, QueueMode } from '@postern/core'
import { identifySpeaker } from '@postern/core'
import type { StoredEntryDraft } from '../conversations/entries.ts'
import { formatJson } from '../engine/database.ts'

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
