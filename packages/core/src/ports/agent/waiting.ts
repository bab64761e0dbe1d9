import type { Turn } from '../records/work.ts'

/**
 * Turns that wait for another agent. They take no slot: agents that all wait for each other, in this gateway or by way of others,
 * would else take every slot there is, and wait for ever for who gets none.
 */
export interface WaitingTurns {
  has(turn: Turn): boolean
  /** @throws Unavailable when too many calls are under way; whatever the call throws */
  during<Value>(turn: Turn, call: () => Promise<Value>): Promise<Value>
}
