import type { ChannelContext } from '@postern/core'
import type { Challenger } from '@postern/http/tokens'
import type { TaskWaiter } from '../await-task.ts'
import type { Cards } from '../cards.ts'
import type { A2aConfig } from '../config.ts'
import type { Cursors } from '../cursor.ts'
import { A2aRejection } from '../errors.ts'
import type { Expiry } from '../expire-tasks.ts'
import type { Feeds } from '../streams/feeds.ts'
import type { Call } from '../verify.ts'

/**
 * One operation: its result as ProtoJSON, the same for every binding; of the streaming operations an `EventStream`.
 * @throws Rejection, Unavailable
 */
export type Operation = (call: Call) => Promise<object>

export type Operations = ReadonlyMap<string, Operation>

/** @throws A2aRejection `methodNotFound` */
export function findOperation(name: string, operations: Operations): Operation {
  const operation = operations.get(name)
  if (!operation) throw new A2aRejection('methodNotFound', 'Cannot take request: there is no such method')
  return operation
}

/** What operations are made of. */
export interface OperationDeps {
  readonly config: A2aConfig
  readonly gateway: ChannelContext
  readonly waiter: TaskWaiter
  readonly cursors: Cursors
  readonly feeds: Feeds
  readonly cards: Cards
  readonly challenger: Challenger
  readonly expiry: Pick<Expiry, 'note'>
}
