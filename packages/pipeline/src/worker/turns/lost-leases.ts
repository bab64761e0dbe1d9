// Ends the turns whose lease is lost.
import { LeaseLost } from '@postern/message'
import type { Turn } from '../../ports/records/work/turn.ts'
import { callAfter } from './call-after.ts'

/** The turns whose lease is lost. They end at once when another worker has leased them, before further tools, calls or posts. */
export interface LostLeases {
  end(work: object): void
  /** Runs a turn with a signal that aborts when its lease is lost, when its message was not stored, or when running turns must end. */
  run(turn: Turn, begin: (signal: AbortSignal) => Promise<void>): Promise<void>
  /** Returns false for a turn whose message, and so its lease, is not durable yet. */
  isStored(work: object): boolean
}

export function createLostLeases(abandonSignal: AbortSignal): LostLeases {
  const controllers = new Map<object, AbortController>()
  const unstoredTurns = new Set<object>()
  const end = (work: object, reason: LeaseLost) => controllers.get(work)?.abort(reason)
  // `AbortSignal.any` for each turn would do the same, but needs weak references, which cost more than the rest of a signal.
  const endAll = () => {
    for (const controller of controllers.values()) controller.abort(abandonSignal.reason)
  }
  abandonSignal.addEventListener('abort', endAll, { once: true })
  return {
    end: work => end(work, new LeaseLost('Another worker has taken the work over')),
    isStored: work => !unstoredTurns.has(work),
    run(turn, begin) {
      const controller = new AbortController()
      controllers.set(turn, controller)
      if (abandonSignal.aborted) controller.abort(abandonSignal.reason)
      if (turn.whenStored) {
        unstoredTurns.add(turn)
        turn.whenStored.then(
          () => unstoredTurns.delete(turn),
          reason => end(turn, reason),
        )
      }
      return callAfter(begin(controller.signal), () => {
        controllers.delete(turn)
        unstoredTurns.delete(turn)
      })
    },
  }
}
