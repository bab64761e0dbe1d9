import type { ChannelContext } from '@postern/core'
import type { Challenger } from '@postern/http/tokens'
import type { Cards } from '../cards/signed-cards.ts'
import type { A2aConfig } from '../config.ts'
import type { LargeAnswers } from '../endpoint/answers.ts'
import type { Call, EndpointDeps } from '../endpoint/call.ts'
import type { ShownTasks } from '../render.ts'
import type { Feeds } from '../streams/feeds.ts'
import type { Expiry, TaskWaiter } from '../tasks/lifetime.ts'
import type { Cursors } from '../tasks/own-tasks.ts'

/** One operation. Its result is ProtoJSON in every binding; a streaming operation returns an `EventStream`. @throws Rejection, Unavailable */
export type A2aOperation = (call: Call) => Promise<object>

export type Operations = ReadonlyMap<string, A2aOperation>

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

/** What each binding needs. */
export interface BindingDeps extends EndpointDeps {
  readonly operations: Operations
  readonly largeAnswers: LargeAnswers
}
