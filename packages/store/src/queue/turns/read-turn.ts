// Builds the turn of a worker from its stored rows.
import type { Turn } from '@postern/pipeline'
import { mergeMessages } from '@postern/pipeline'
import type { ReadMessage, StoredMessage } from '../../messages/read-message.ts'
import type { Operation } from '../../sql/operation.ts'
import { mapInOrder } from '../../sql/operation.ts'
import type { Sql } from '../../sql/sql.ts'

interface TurnReaderDeps {
  readonly readMessage: ReadMessage
}

/** The row of a turn before it is leased. */
interface UnleasedTurn {
  readonly message: number
  readonly lease_token: number
  readonly attempt: number
  readonly tried_at: number | null
  readonly crash_count: number
  readonly revision: number
}

interface TurnMessages {
  /** The earlier messages that the turn also answers, the oldest first. */
  readonly merged: readonly number[]
  /** The message of the turn, if it began its thread and is in memory. */
  readonly firstMessage?: StoredMessage | undefined
}

/** Builds the turn with the lease that is being stored. */
export function* toTurn(
  { readMessage }: TurnReaderDeps,
  due: UnleasedTurn,
  { merged, firstMessage }: TurnMessages,
): Operation<Turn> {
  const { message, lease_token: token, attempt, tried_at, crash_count: crashes, revision } = due
  const { agent, via, content, thread, target, flags, correlationId, task } =
    firstMessage ?? (yield* readMessage(message))
  const lease = {
    message,
    token: token + 1,
    attempt: attempt + 1,
    ...(tried_at !== null && { firstAttemptAt: tried_at }),
    crashes,
  }
  const turn = {
    ...lease,
    agent,
    via,
    thread,
    target,
    correlationId,
    task,
    ...(revision > 0 && { revision }),
    ...(firstMessage && { isFirst: true }),
  }
  if (merged.length === 0) return { ...turn, content, flags }
  const earlierMessages = yield* mapInOrder(merged, readMessage)
  return {
    ...turn,
    content: mergeMessages(
      earlierMessages.map(message => message.content),
      content,
    ),
    flags: [...new Set([...earlierMessages.flatMap(message => message.flags), ...flags])],
    merged,
  }
}

interface TurnRow extends UnleasedTurn {
  readonly merged_into: number | null
}

/** Prepares a reader of turns that leases nothing. The reader returns undefined for a turn that was merged into a later turn. */
export function createTurnReader(db: Sql, tables: TurnReaderDeps): (message: number) => Operation<Turn | undefined> {
  const find = db.prepare<TurnRow>(
    'SELECT message, lease_token, attempt, tried_at, crash_count, revision, merged_into FROM turns WHERE message = ?',
  )
  const listMerged = db.prepare<{ message: number }>('SELECT message FROM turns WHERE merged_into = ? ORDER BY message')
  return function* (number) {
    const row = yield* find.get(number)
    if (!row || row.merged_into !== null) return undefined
    const merged = (yield* listMerged.all(number)).map(({ message }) => message)
    return yield* toTurn(tables, row, { merged })
  }
}
