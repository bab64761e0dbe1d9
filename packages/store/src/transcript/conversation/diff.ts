// Finds the difference between the entries of a message and the original message.
import type { NormalizedMessage, NormalizedResponse } from '@postern/message'
import { parseJsonText } from '@postern/message'
import type { EntryBody, LosslessDiff } from '@postern/transcript'
import { normalizedCodec } from '@postern/transcript'
import type { ReadMessage } from '../../messages/read-message.ts'
import type { ResponseTable } from '../../messages/responses.ts'
import { loadMembers } from '../../sql/lazy-members.ts'
import type { Operation } from '../../sql/operation.ts'
import type { StoreContext } from '../../transaction/store-context.ts'

type OriginalMessage = NormalizedMessage | NormalizedResponse
type NonEmptyEntries = readonly [EntryBody, ...EntryBody[]]
type ForeignMessage = Parameters<typeof normalizedCodec.diffOf>[1]

/** Finds the difference between the entries of a message and the message itself, so that an export can restore the message. */
export type FindDiff = (seq: number, entries: NonEmptyEntries) => Operation<LosslessDiff>

export interface DiffDeps {
  readonly readMessage: ReadMessage
  readonly responses: Pick<ResponseTable, 'find'>
}

export function createDiffFinder(
  { db, channels }: Pick<StoreContext, 'db' | 'channels'>,
  { readMessage, responses }: DiffDeps,
): FindDiff {
  const findMessage = db.prepare("SELECT 1 FROM messages WHERE seq = ? AND kind = 'message'")
  const findVia = db.prepare<{ channel: string }>(
    'SELECT t.channel FROM messages e JOIN threads t ON t.id = e.thread_id WHERE e.seq = ?',
  )
  function* findOriginal(seq: number): Operation<OriginalMessage | undefined> {
    if (!(yield* findMessage.get(seq))) return (yield* responses.find(seq))?.response
    const { content } = yield* readMessage(seq)
    yield* loadMembers(content)
    return content
  }

  return function* (seq, entries) {
    const original = yield* findOriginal(seq)
    if (original) return describeDifference(original, entries)
    // A message of the background was not sent to this gateway, but its channel is known.
    const via = entries[0].role === 'user' ? (yield* findVia.get(seq))?.channel : undefined
    if (via === undefined) return { of: entries.length }
    const channelMembers = {
      received_via: via,
      recipient_capabilities: { mention_relay: channels.mentionRelayOf(via) },
    }
    return { of: entries.length, patch: { set: channelMembers } }
  }
}

function describeDifference(originalMessage: OriginalMessage, entries: NonEmptyEntries): LosslessDiff {
  const message = parseJsonText(JSON.stringify(originalMessage)) as ForeignMessage
  const [reconstructed] = normalizedCodec.write(entries, { marker: 'none' })
  // An answer without parts was retracted.
  const isEmpty = 'status' in originalMessage && originalMessage.parts.length === 0
  return normalizedCodec.diffOf(
    entries,
    isEmpty && reconstructed ? { ...message, parts: reconstructed.parts } : message,
  )
}
