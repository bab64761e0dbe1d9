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
  readonly lease_owner: string | null
  readonly abort_count: number
}

/** Ends the open turns of a speaker for their newer message; undefined when there was none. One that has been broken off often enough runs on. */
export type Interrupt = (batch: Batch, line: Line, now: number) => { readonly aborts: number } | undefined

export function createInterruption(db: Database, cancel: CancelTurn): Interrupt {
  // There are two at most: each newer one ends those that wait.
  const findOpen = prepareQuery<Interruptible>(
    db,
    `SELECT message, thread_id, state, merged_into, lease_owner, abort_count FROM turns INDEXED BY turns_speaker
     WHERE thread_id = ? AND speaker = ? AND ended_at IS NULL AND mode = 'interrupt' AND task_id IS ? ORDER BY message`,
  )
  return (batch, { thread, task, speaker }, now) => {
    const open = findOpen
      .all(thread, speaker, task ?? null)
      .filter(({ lease_owner, abort_count }) => lease_owner === null || abort_count < maxAborts)
    for (const turn of open) cancel(batch, turn, now, 'interrupted')
    if (open.length === 0) return undefined
    return {
      aborts: Math.max(...open.map(({ lease_owner, abort_count }) => abort_count + (lease_owner === null ? 0 : 1))),
    }
  }
}
