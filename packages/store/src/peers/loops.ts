import type { Intake, LoopMemory, Part } from '@postern/core'
import { agentFlag, findLoop, isoTime, loopMemoryMs, plainTextOf, stopFlags } from '@postern/core'
import { formatBoundedParts } from '../conversations/entries.ts'
import type { Batch } from '../engine/batch.ts'
import { addToTotal } from '../engine/batch.ts'
import type { Database } from '../engine/database.ts'
import { parseJson, prepareQuery } from '../engine/database.ts'

/** Larger messages say nothing to a guard: what goes round in a circle is short. */
const maxComparedBytes = 64 * 1024

interface Said {
  /** ISO 8601 UTC. */
  readonly at: string
}

/** `begins`: nothing has been said in the thread yet. */
interface LoopPlace {
  readonly thread: number
  readonly begins: boolean
}

const nothingSaid: LoopMemory = { readSenders: () => [], readTexts: () => [] }

/** Whether one more turn of this thread would go round in a circle; read from the newest ends of one index. */
export function createLoopFinder(db: Database): (intake: Intake, place: LoopPlace, now: number) => boolean {
  // What came without a message (a conversation that began elsewhere) was said by somebody else.
  const said = `FROM messages WHERE thread_id = ? AND scope = 'conversation' AND kind IN ('message', 'context')
    ORDER BY coalesce(answers, seq) DESC LIMIT +?`
  const readSenders = prepareQuery<Said & { from_agent: 0 | 1 }>(
    db,
    `SELECT at, CASE WHEN flags LIKE '%"${agentFlag}"%' THEN 1 ELSE 0 END AS from_agent ${said}`,
  )
  const readTexts = prepareQuery<Said & { content: string }>(
    db,
    `SELECT at, ${formatBoundedParts('content', maxComparedBytes)} ${said}`,
  )
  return function goesRound({ loop, message, flags = [] }, { thread, begins }, now) {
    if (!loop) return false
    // Asked for in the statement, it would look for more of them through all of a thread that slept.
    const since = isoTime(now - loopMemoryMs)
    const isRecent = ({ at }: Said) => at >= since
    const memory: LoopMemory = {
      readSenders: most =>
        readSenders
          .all(thread, most)
          .filter(isRecent)
          .map(row => row.from_agent === 1),
      readTexts: most =>
        readTexts
          .all(thread, most)
          .filter(isRecent)
          .map(row => plainTextOf(parseJson<readonly Part[]>(row.content))),
    }
    const incoming = { isFromAgent: flags.includes(agentFlag), text: plainTextOf(message.parts) }
    return findLoop(incoming, begins ? nothingSaid : memory, loop) !== undefined
  }
}

/** What was stopped is counted, whoever stopped it: the endpoint or the store. */
export function countStopped(batch: Batch, flags: readonly (string | undefined)[]): void {
  for (const flag of stopFlags) if (flags.includes(flag)) addToTotal(batch, `stopped.${flag}`)
}
