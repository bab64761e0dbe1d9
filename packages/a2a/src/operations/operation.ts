import type { ChannelContext } from '@postern/core'
import type { Challenger } from '@postern/http/tokens'
import type { Cards } from '../cards/signed-cards.ts'
import type { A2aConfig } from '../config.ts'
import type { Call } from '../endpoint/call.ts'
import { A2aRejection } from '../format/errors.ts'
import type { Feeds } from '../streams/feeds.ts'
import type { TaskWaiter } from '../tasks/await-task.ts'
import type { Cursors } from '../tasks/cursor.ts'
import type { Expiry } from '../tasks/expire-tasks.ts'
import type { ShownTasks } from '../tasks/requirements.ts'

/** One operation. Its result is ProtoJSON in every binding; a streaming operation returns an `EventStream`. @throws Rejection, Unavailable */
export type A2aOperation = (call: Call) => Promise<object>

export type Operations = ReadonlyMap<string, A2aOperation>

/** @throws A2aRejection `methodNotFound` */
export function findOperation(name: string, operations: Operations): A2aOperation {
  const operation = operations.get(name)
  if (!operation) throw new A2aRejection('methodNotFound', 'Cannot take request: there is no such method')
  return operation
}

/** What operations need. */
export interface A2aOperationDeps {
  readonly config: A2aConfig
  readonly gateway: ChannelContext
  /** As their owner sees them. */
  readonly tasks: ShownTasks
  readonly waiter: TaskWaiter
  readonly cursors: Cursors
  readonly feeds: Feeds
  readonly cards: Cards
  readonly challenger: Challenger
  readonly expiry: Pick<Expiry, 'note'>
}
