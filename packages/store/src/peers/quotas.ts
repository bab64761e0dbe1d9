import type { TurnQuota } from '@postern/core'
import type { Database } from '../engine/database.ts'
import { prepareQuery } from '../engine/database.ts'

/** `begins`: nobody has answered in the thread yet. */
interface QuotaPlace {
  readonly thread: number
  readonly author: string
  readonly begins: boolean
}

export interface QuotaTable {
  /**
   * Takes one turn of the thread's quota; false when it is used up. A new time begins when the old one is over. A quota for
   * the swift is each author's own, and nothing of it is taken by who is not.
   */
  take(place: QuotaPlace, quota: TurnQuota, now: number): boolean
}

export function createQuotaTable(db: Database): QuotaTable {
  const take = prepareQuery(
    db,
    `INSERT INTO turn_quotas (thread_id, author, began_at, used) VALUES (?1, ?5, ?2, 1) ON CONFLICT (thread_id, author) DO UPDATE SET
       used = CASE WHEN turn_quotas.began_at <= ?3 THEN 1 ELSE turn_quotas.used + 1 END,
       began_at = CASE WHEN turn_quotas.began_at <= ?3 THEN ?2 ELSE turn_quotas.began_at END
     WHERE turn_quotas.began_at <= ?3 OR turn_quotas.used < ?4`,
  )
  const findLastAnswer = createLastAnswerFinder(db)
  const isSwift = (thread: number, swiftMs: number, now: number) =>
    now - (findLastAnswer(thread) ?? -Infinity) <= swiftMs
  return {
    take({ thread, author, begins }, { turns, withinMs, swiftMs }, now) {
      const isForSwift = swiftMs !== undefined
      if (isForSwift && (begins || !isSwift(thread, swiftMs, now))) return true
      return turns > 0 && take.run(thread, now, now - withinMs, turns, isForSwift ? author : '').changes > 0
    },
  }
}

/** When our last answer in a thread was committed; looked for among the newest entries, so that a long backlog costs nothing. */
function createLastAnswerFinder(db: Database): (thread: number) => number | undefined {
  const find = prepareQuery<{ at: number | null }>(
    db,
    `SELECT max(ended_at) AS at FROM turns WHERE message IN (SELECT answers FROM messages
       WHERE thread_id = ? AND scope = 'conversation' ORDER BY coalesce(answers, seq) DESC LIMIT 8)`,
  )
  return thread => find.get(thread)?.at ?? undefined
}
