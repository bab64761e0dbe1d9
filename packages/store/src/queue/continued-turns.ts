// Lets turns begin within the transactions of their messages, and joins their answers.
import { LeaseLost } from '@postern/message'
import type { Turn } from '@postern/pipeline'
import type { Batch } from '../transaction/batch.ts'

/** Turns that began before their messages were durable. */
export interface ContinuedTurns {
  /** Lets a turn begin within the transaction of its message. */
  add(batch: Batch, turn: Turn, begin: (turn: Turn) => void): void
  /**
   * Stores an answer in the transaction of its message. Returns undefined if that is too late. The promise rejects with `LeaseLost` if the transaction
   * is undone.
   */
  join<T>(turn: Turn, operation: (batch: Batch) => T): Promise<T> | undefined
  /** Runs a write when the message of the turn is durable. @throws LeaseLost if the message was not stored */
  afterStored<T>(turn: Turn, write: () => Promise<T>): Promise<T>
}

/** A turn whose message is not durable yet. */
interface ContinuedTurn {
  readonly stored: PromiseWithResolvers<void>
  /** True while the transaction may take the answer. */
  isOpen: boolean
  answer: JoinedAnswer | undefined
}

interface JoinedAnswer {
  readonly operation: (batch: Batch) => unknown
  readonly ended: PromiseWithResolvers<unknown>
  result: unknown
}

export function createContinuedTurns(): ContinuedTurns {
  const turns = new WeakMap<Turn, ContinuedTurn>()
  return {
    add(batch, message, begin) {
      const continued: ContinuedTurn = { stored: Promise.withResolvers(), isOpen: false, answer: undefined }
      const { stored } = continued
      // A worker hears of a message that was not stored; nobody else has to.
      stored.promise.catch(() => undefined)
      const turn: Turn = { ...message, stored: stored.promise }
      turns.set(turn, continued)
      const settle = (within: Batch) => {
        within.begins.push(() => endStored(continued))
        within.ifUndone.push(() => endUndone(continued, turn))
      }
      batch.continuations.push({
        begin(within) {
          settle(within)
          continued.isOpen = true
          begin(turn)
        },
        beginLater(within) {
          settle(within)
          within.begins.push(() => begin(turn))
        },
        takeAnswer() {
          continued.isOpen = false
          const { answer } = continued
          if (!answer) return undefined
          return within => {
            answer.result = answer.operation(within)
          }
        },
      })
    },
    join<T>(turn: Turn, operation: (batch: Batch) => T) {
      const continued = turns.get(turn)
      if (!continued?.isOpen || continued.answer) return undefined
      const ended = Promise.withResolvers<unknown>()
      continued.answer = { operation, ended, result: undefined }
      return ended.promise as Promise<T>
    },
    afterStored(turn, write) {
      const continued = turns.get(turn)
      return continued ? continued.stored.promise.then(write) : write()
    },
  }
}

function endStored({ stored, answer }: ContinuedTurn): void {
  stored.resolve()
  answer?.ended.resolve(answer.result)
}

function endUndone(continued: ContinuedTurn, { message }: Turn): void {
  const { stored, answer } = continued
  continued.isOpen = false
  const leaseLost = new LeaseLost(`the message of turn ${message} was not stored`)
  stored.reject(leaseLost)
  answer?.ended.reject(leaseLost)
}
