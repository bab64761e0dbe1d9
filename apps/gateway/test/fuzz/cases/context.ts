// Defines the values that all generators of cases use.
import type { Seeds } from './seeds.ts'

export interface CaseContext {
  readonly seeds: Seeds
  /** Ids that the server has returned. */
  readonly ids: readonly string[]
  /** The time, in ms since the epoch. */
  readonly now: number
}
