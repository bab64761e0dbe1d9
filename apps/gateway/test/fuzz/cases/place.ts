import type { Seeds } from './seeds.ts'

export interface CasePlace {
  readonly seeds: Seeds
  /** Ids that the server has told. */
  readonly ids: readonly string[]
  /** ms since the epoch. */
  readonly now: number
}
