// Lets turns begin within the transactions of their messages, so that one sync to disk stores a message with its answer.
import { LeaseLost } from '@postern/message'
import type { Turn } from '@postern/pipeline'
import { toOperation } from '../sql/operation.ts'
import type { Batch, WriteOperation } from '../transaction/batch.ts'

/** The turns that begin before their messages are durable. */
export interface ContinuedTurns {
  /** Lets a turn begin within the transaction of its message. */
  add(batch: Batch, turn: Turn, begin: (turn: Turn) => void): void
  /**
   * Stores an answer in the transaction of its message. Returns undefined if the transaction takes no more answers. The promise rejects with `LeaseLost` if the
   * transaction is undone.
   */
  storeWithMessage<T>(turn: Turn, operation: WriteOperation<T>): Promise<T> | undefined
  /** Runs a write when the message of the turn is durable. @throws LeaseLost if the message was not stored */
  runWhenStored<T>(turn: Turn, write: () => Promise<T>): Promise<T>
}

/** A turn whose message is not durable yet. */
interface ContinuedTurn {
  readonly storedSignal: PromiseWithResolvers<void>
  /** True while the answer may still join the transaction. */
  isOpen: boolean
  answer: EarlyAnswer | undefined
}

interface EarlyAnswer {
  readonly operation: WriteOperation<unknown>
  readonly endSignal: PromiseWithResolvers<unknown>
  result: unknown
}

export function createContinuedTurns(): ContinuedTurns {
  const turns = new WeakMap<Turn, ContinuedTurn>()
  return {
    add(batch, leasedTurn, begin) {
      const continuedTurn: ContinuedTurn = { storedSignal: Promise.withResolvers(), isOpen: false, answer: undefined }
      const { storedSignal } = continuedTurn
      // The worker handles the rejection. This handler only prevents an unhandled rejection.
      storedSignal.promise.catch(() => undefined)
      const turn: Turn = { ...leasedTurn, whenStored: storedSignal.promise }
      turns.set(turn, continuedTurn)
      const settle = (currentBatch: Batch) => {
        currentBatch.begins.push(() => settleStored(continuedTurn))
        currentBatch.ifUndone.push(() => settleUndone(continuedTurn, turn))
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
          return function* (currentBatch) {
            answer.result = yield* toOperation(answer.operation(currentBatch))
          }
        },
      })
    },
    storeWithMessage<T>(turn: Turn, operation: WriteOperation<T>) {
      const continuedTurn = turns.get(turn)
      if (!continuedTurn?.isOpen || continuedTurn.answer) return undefined
      const endSignal = Promise.withResolvers<unknown>()
      continuedTurn.answer = { operation, endSignal, result: undefined }
      return endSignal.promise as Promise<T>
    },
    runWhenStored(turn, write) {
      const continuedTurn = turns.get(turn)
      return continuedTurn ? continuedTurn.storedSignal.promise.then(write) : write()
    },
  }
}

function settleStored({ storedSignal, answer }: ContinuedTurn): void {
  storedSignal.resolve()
  answer?.endSignal.resolve(answer.result)
}

function settleUndone(continuedTurn: ContinuedTurn, { message }: Turn): void {
  const { storedSignal, answer } = continuedTurn
  continuedTurn.isOpen = false
  const leaseLost = new LeaseLost(`the message of turn ${message} was not stored`)
  storedSignal.reject(leaseLost)
  answer?.endSignal.reject(leaseLost)
}
