// Finds the message that an intake repeats.
import type { TaskKey } from '@postern/pipeline'
import type { MessageDraft } from '../messages/message-draft.ts'
import { readTaskKey } from '../messages/read-message.ts'
import type { HandledKeyTable } from '../peers/handled-keys.ts'
import { handledCondition } from '../peers/handled-keys.ts'
import type { Operation } from '../sql/operation.ts'
import type { Sql } from '../sql/sql.ts'
import { nameScopeOf, selectThreadOfKey, viaOf } from '../threads/threads.ts'
import type { StoredTotals } from './storage-quota.ts'
import { selectTotals } from './storage-quota.ts'

/** The result of the search for an earlier message with the same key. */
interface DuplicateSearch {
  readonly earlierMessage: EarlierMessage | undefined
  /** True if an earlier message was deleted, so that only the digest of its key is left. */
  readonly isForgotten: boolean
  /** The stored bytes if the intake has a storage quota. */
  readonly totals: StoredTotals | undefined
  /** The thread whose key is the `thread_source` of the message, if the message joins no other thread. */
  readonly threadOfKey: number | undefined
}

interface EarlierMessage {
  readonly number: number
  readonly fingerprint: string | null
  readonly task: TaskKey | undefined
}

interface EarlierRow extends Omit<EarlierMessage, 'task' | 'number'> {
  readonly number: number | null
  readonly owner: string | null
  readonly native_id: string | null
  readonly is_forgotten: 0 | 1
  readonly key_thread: number | null
}

interface DuplicateFinderDeps {
  readonly handledKeys: Pick<HandledKeyTable, 'digest'>
  readonly now: () => number
}

/**
 * Prepares the search for an earlier message with the same key. The same statement also finds the thread by its key, and reads the totals if the intake
 * has a storage quota.
 */
export function createDuplicateFinder(
  db: Sql,
  { handledKeys, now }: DuplicateFinderDeps,
): (draft: MessageDraft) => Operation<DuplicateSearch> {
  const threadOfKey = selectThreadOfKey({ agent: '?2', channel: '?6', scope: '?7', key: '?8' })
  const columns = `m.seq AS number, m.fingerprint, k.owner, k.native_id, CASE WHEN ${handledCondition('?4', '?5')} THEN 1 ELSE 0 END AS is_forgotten,
    ${threadOfKey} AS key_thread`
  const joinTask = 'LEFT JOIN tasks k ON k.id = m.task_id'
  const duplicateCondition = 'm.duplicate_key = ?1 AND m.agent = ?2 AND m.channel IN (?3)'
  const from = `FROM (SELECT 1 AS one) v LEFT JOIN messages m ON ${duplicateCondition} ${joinTask}`
  const find = db.prepare<EarlierRow>(`SELECT ${columns} ${from}`)
  const findWithTotals = db.prepare<EarlierRow & StoredTotals>(`SELECT ${columns}, ${selectTotals('?9')} ${from}`)
  return function* ({ intake, storedBy }) {
    const { maxBytes, maxUnprovenBytes } = intake.storage ?? {}
    const { agent, duplicateKey } = intake
    const channel = viaOf(intake)
    const { channel: nameChannel, scope } = nameScopeOf(intake)
    const key = [
      ...[duplicateKey, agent, channel, handledKeys.digest({ agent, channel, duplicateKey }), now()],
      ...[nameChannel, scope, intake.message.thread_source],
    ] as const
    const isBounded = maxBytes !== undefined || maxUnprovenBytes !== undefined
    const totals = isBounded ? yield* findWithTotals.get(...key, storedBy) : undefined
    const row = totals ?? (yield* find.get(...key))
    const isForgotten = row?.is_forgotten === 1
    const threadOfKey = intake.thread.joined ? undefined : (row?.key_thread ?? undefined)
    if (!row || row.number === null) return { earlierMessage: undefined, isForgotten, totals, threadOfKey }
    const earlierMessage = { number: row.number, fingerprint: row.fingerprint, task: readTaskKey(row) }
    return { earlierMessage, isForgotten, totals, threadOfKey }
  }
}
