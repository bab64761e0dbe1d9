// Counts turns against the quota of a thread.
import type { TurnQuota } from '@postern/pipeline'
import { digestName } from '../digests/digest-name.ts'
import type { Operation } from '../sql/operation.ts'
import type { Sql } from '../sql/sql.ts'
import { maxClockSkewMs } from './clock-skew.ts'

/** The thread and author whose quota is checked. */
interface QuotaContext {
  readonly thread: number
  readonly author: string
  readonly isNewThread: boolean
}

export interface QuotaTable {
  /**
   * Uses one turn of the thread's quota. Returns false if the quota is used up. A new period begins after the previous period has ended. A quota with
   * `automatedReplyMs` counts for each author, and only messages that follow the last answer within that time use it.
   */
  consume(context: QuotaContext, quota: TurnQuota, now: number): Operation<boolean>
}

export function createQuotaTable(db: Sql): QuotaTable {
  const expiredCondition = 'turn_quotas.began_at <= ?3 OR turn_quotas.began_at > ?6'
  const consumeTurn = db.prepare(
    `INSERT INTO turn_quotas (thread_id, author, began_at, used) VALUES (?1, ?5, ?2, 1) ON CONFLICT (thread_id, author) DO UPDATE SET
       used = CASE WHEN ${expiredCondition} THEN 1 ELSE turn_quotas.used + 1 END,
       began_at = CASE WHEN ${expiredCondition} THEN ?2 ELSE turn_quotas.began_at END
     WHERE ${expiredCondition} OR turn_quotas.used < ?4`,
  )
  const findLastAnswer = createLastAnswerFinder(db)
  function* isAutomatedReply(thread: number, automatedReplyMs: number, now: number) {
    const passedMs = now - ((yield* findLastAnswer(thread)) ?? -Infinity)
    return passedMs <= automatedReplyMs && passedMs > -maxClockSkewMs
  }
  return {
    *consume({ thread, author, isNewThread }, { turns, withinMs, automatedReplyMs }, now) {
      const isForAutomatedReplies = automatedReplyMs !== undefined
      if (isForAutomatedReplies && (isNewThread || !(yield* isAutomatedReply(thread, automatedReplyMs, now))))
        return true
      if (turns <= 0) return false
      const authorDigest = isForAutomatedReplies ? digestName(author) : ''
      return (yield* consumeTurn.change(thread, now, now - withinMs, turns, authorDigest, now + maxClockSkewMs)) > 0
    },
  }
}

/** Prepares the search for the time of the last answer in a thread. The search reads only the newest entries, so a long thread costs no more than a short one. */
function createLastAnswerFinder(db: Sql): (thread: number) => Operation<number | undefined> {
  const find = db.prepare<{ at: number | null }>(
    `SELECT max(ended_at) AS at FROM turns WHERE message IN (SELECT answers FROM messages
       WHERE thread_id = ? AND scope = 'conversation' ORDER BY coalesce(answers, seq) DESC LIMIT 8)`,
  )
  return function* (thread) {
    return (yield* find.get(thread))?.at ?? undefined
  }
}
