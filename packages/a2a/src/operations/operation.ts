import type { House } from '@postern/core'
import type { TaskWaiter } from '../await-task.ts'
import type { A2aConfig } from '../config.ts'
import type { Cursors } from '../cursor.ts'
import type { Call } from '../verify.ts'

/**
 * One operation of A2A §3.1: its result as ProtoJSON, the same for every binding.
 * @throws Rejection, Unavailable
 */
export type Operation = (call: Call) => Promise<object>

/** What operations are made of. */
export interface Rooms {
  readonly config: A2aConfig
  readonly house: House
  readonly waiter: TaskWaiter
  readonly cursors: Cursors
}
