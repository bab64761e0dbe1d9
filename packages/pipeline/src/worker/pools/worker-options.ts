// Declares the options of a worker.
import type { System } from '@postern/message'

export interface WorkerOptions {
  /** The name of the worker, one for each process. */
  readonly holder: string
  readonly turnSlots: number
  readonly turnsPerAgent: number
  /** The agents whose number of concurrent turns differs from the default. */
  readonly turnsOf?: ReadonlyMap<string, number> | undefined
  /** Counts the turns of an agent that other workers of this process run, because they count in its limit. Default: none. */
  turnsElsewhere?(agent: string): number
  readonly deliverySlots: number
  /** The number of concurrent deliveries of broadcasts; default: half of the number for answers. */
  readonly broadcastSlots?: number | undefined
  readonly deliveriesPerHost: number
  readonly leaseMs: number
}

export type WorkerSystem = Pick<System, 'now' | 'randomBytes' | 'log' | 'sleep'>
