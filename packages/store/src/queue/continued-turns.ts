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
    add(batch, leasedTurn, begin) {
      const continuedTurn: ContinuedTurn = { stored: Promise.withResolvers(), isOpen: false, answer: undefined }
      const { stored } = continuedTurn
      // A worker hears of a message that was not stored; nobody else has to.
      stored.promise.catch(() => undefined)
      const turn: Turn = { ...leasedTurn, stored: stored.promise }
      turns.set(turn, continuedTurn)
      const settle = (currentBatch: Batch) => {
        currentBatch.begins.push(() => endStored(continuedTurn))
        currentBatch.ifUndone.push(() => endUndone(continuedTurn, turn))
      }
      batch.continuations.push({
        begin(currentBatch) {
          settle(currentBatch)
          continuedTurn.isOpen = true
          begin(turn)
        },
        beginLater(currentBatch) {
          settle(currentBatch)
          currentBatch.begins.push(() => begin(turn))
        },
        takeAnswer() {
          continuedTurn.isOpen = false
          const { answer } = continuedTurn
          if (!answer) return undefined
          return currentBatch => {
            answer.result = answer.operation(currentBatch)
          }
        },
      })
    },
    join<T>(turn: Turn, operation: (batch: Batch) => T) {
      const continuedTurn = turns.get(turn)
      if (!continuedTurn?.isOpen || continuedTurn.answer) return undefined
      const ended = Promise.withResolvers<unknown>()
      continuedTurn.answer = { operation, ended, result: undefined }
      return ended.promise as Promise<T>
    },
    afterStored(turn, write) {
      const continuedTurn = turns.get(turn)
      return continuedTurn ? continuedTurn.stored.promise.then(write) : write()
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
