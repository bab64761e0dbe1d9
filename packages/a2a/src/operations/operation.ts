// Defines the form of an operation and the dependencies of all operations.
import type { Challenger } from '@postern/http/tokens'
import type { ChannelContext } from '@postern/pipeline'
import type { Cards } from '../cards/signed-cards.ts'
import type { A2aConfig } from '../config.ts'
import type { LargeAnswers } from '../endpoint/answers.ts'
import type { Call, EndpointDeps } from '../endpoint/call.ts'
import type { TaskOutputModes } from '../forms/task-output-modes.ts'
import type { ShownTasks } from '../render.ts'
import type { Feeds } from '../streams/feeds.ts'
import type { Expiry } from '../tasks/expiry.ts'
import type { Cursors } from '../tasks/own-tasks.ts'
import type { TaskWaiter } from '../tasks/task-waiter.ts'

/** An operation. Its result is ProtoJSON in every binding, and a streaming operation returns an `EventStream`. @throws Rejection, Unavailable */
export type A2aOperation = (call: Call) => Promise<object>

export type Operations = ReadonlyMap<string, A2aOperation>

/** The dependencies of the operations. */
export interface A2aOperationDeps {
  readonly config: A2aConfig
  readonly gateway: ChannelContext
  /** The tasks as their owner sees them. */
  readonly tasks: ShownTasks
  readonly waiter: TaskWaiter
  readonly cursors: Cursors
  readonly feeds: Feeds
  readonly cards: Cards
  readonly challenger: Challenger
  readonly outputModes: TaskOutputModes
  readonly expiry: Pick<Expiry, 'countBytes'>
}

/** The dependencies of each binding. */
export interface BindingDeps extends EndpointDeps {
  readonly operations: Operations
  readonly largeAnswers: LargeAnswers
}
