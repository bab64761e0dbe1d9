import { maxAborts } from '@postern/core'
import type { Batch } from '../engine/batch.ts'
import type { Database } from '../engine/database.ts'
import { prepareQuery } from '../engine/database.ts'
import type { CancelTurn, OpenTurn } from './open-turn.ts'

interface Line {
  readonly thread: number
  readonly task: number | undefined
  readonly speaker: string
}

interface Interruptible extends OpenTurn {
  readonly holder: string | null
  readonly aborts: number
}

/** Ends the open turns of a speaker for his newer message; undefined when there was none. One that has been broken off often enough runs on. */
export type Interrupt = (batch: Batch, line: Line, now: number) => { readonly aborts: number } | undefined

export function createInterruption(db: Database, cancel: CancelTurn): Interrupt {
  // There are two at most: each newer one ends those that wait.
  const findOpen = prepareQuery<Interruptible>(
    db,
    `SELECT message, thread_id, state, merged_into, holder, aborts FROM turns INDEXED BY turns_speaker
     WHERE thread_id = ? AND speaker = ? AND ended_at IS NULL AND mode = 'interrupt' AND task_id IS ? ORDER BY message`,
  )
  return (batch, { thread, task, speaker }, now) => {
    const open = findOpen
      .all(thread, speaker, task ?? null)
      .filter(({ holder, aborts }) => holder === null || aborts < maxAborts)
    for (const turn of open) cancel(batch, turn, now, 'interrupted')
    if (open.length === 0) return undefined
    return { aborts: Math.max(...open.map(({ holder, aborts }) => (holder === null ? aborts : aborts + 1))) }
  }
}
