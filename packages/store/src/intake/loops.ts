// Finds conversations in which agents answer each other without end.
import type { Part } from '@postern/message'
import { agentFlag, isoTime, plainTextOf } from '@postern/message'
import type { Intake } from '@postern/pipeline'
import { findLoop, loopMemoryMs, measureLoopMemory } from '@postern/pipeline'
import { parseJson } from '../sql/json-columns.ts'
import type { Operation } from '../sql/operation.ts'
import { runTogether } from '../sql/operation.ts'
import type { Sql } from '../sql/sql.ts'
import { formatBoundedParts } from '../threads/entries.ts'

/** The maximum size of compared messages in bytes. Messages of a loop are short. */
const maxComparedBytes = 64 * 1024

interface TimedRow {
  /** The time of the entry, ISO 8601 UTC. */
  readonly at: string
}

interface LoopContext {
  readonly thread: number
  readonly isNewThread: boolean
}

/** The memory of a new thread. */
const nothing = { senders: 0, texts: 0 }

/** Prepares the check whether another turn of a thread would continue a loop. The check reads only the newest messages of the thread. */
export function createLoopFinder(db: Sql): (intake: Intake, context: LoopContext, now: number) => Operation<boolean> {
  // Entries of kind `context` are messages of other people, from a conversation that began elsewhere.
  const conversationSql = `FROM messages WHERE thread_id = ? AND scope = 'conversation' AND kind IN ('message', 'context')
    ORDER BY coalesce(answers, seq) DESC LIMIT +?`
  const readSenders = db.prepare<TimedRow & { from_agent: 0 | 1 }>(
    `SELECT at, CASE WHEN flags LIKE '%"${agentFlag}"%' THEN 1 ELSE 0 END AS from_agent ${conversationSql}`,
  )
  const readTexts = db.prepare<TimedRow & { content: string }>(
    `SELECT at, ${formatBoundedParts('content', maxComparedBytes)} ${conversationSql}`,
  )
  return function* isLoop({ loop, message, flags = [] }, { thread, isNewThread }, now) {
    if (!loop) return false
    // A condition on the time in the statement would read a whole thread if its messages are old.
    const cutoff = isoTime(now - loopMemoryMs)
    const isRecent = ({ at }: TimedRow) => at >= cutoff
    const incomingMessage = { isFromAgent: flags.includes(agentFlag), text: plainTextOf(message.parts) }
    const needed = isNewThread ? nothing : measureLoopMemory(incomingMessage, loop)
    const [senderRows, textRows] = yield* runTogether([
      () => (needed.senders > 0 ? readSenders.all(thread, needed.senders) : []),
      () => (needed.texts > 0 ? readTexts.all(thread, needed.texts) : []),
    ])
    const senders = senderRows.filter(isRecent).map(row => row.from_agent === 1)
    const texts = textRows.filter(isRecent).map(row => plainTextOf(parseJson<readonly Part[]>(row.content)))
    return findLoop(incomingMessage, { senders, texts }, loop) !== undefined
  }
}
