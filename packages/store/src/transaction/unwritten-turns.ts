// Declares turns that have no row yet, so that a turn which ends within the transaction of its message is written once.
import type { MessageState } from '@postern/pipeline'

/** The end of a turn as columns of its row. */
interface TurnEndColumns {
  readonly state: MessageState
  readonly at: number
  readonly error: string | null
  /** The attempt of the turn as a line of JSON. */
  readonly attempt: string
}

/** A turn that runs within the transaction of its message, which began a thread. It belongs to no task that others watch. */
export interface UnwrittenTurn {
  readonly thread: number
  readonly task: number | undefined
  /** Inserts the row of the turn while it runs. */
  write(): void
  /** Inserts the row of the turn at its end. */
  writeEnded(end: TurnEndColumns): void
}

/** The turns of a transaction that have no row yet, by the numbers of their messages. */
export type UnwrittenTurns = Map<number, UnwrittenTurn>

/** Writes the rows of all turns that have none yet. Call it before anything reads or changes turns of other messages. */
export function writeTurns({ unwrittenTurns }: { readonly unwrittenTurns: UnwrittenTurns }): void {
  for (const turn of unwrittenTurns.values()) turn.write()
  unwrittenTurns.clear()
}
