import type { RequirementRecord } from './records/requirement-record.ts'

/** Waits that operators have let go by. */
export interface OverdueStore {
  /** Requirements of operators whose time is over and of which nothing has followed yet; who has waited longest first. */
  listOverdue(limit: number): Promise<readonly RequirementRecord[]>
  /**
   * One transaction: the requirement is over for good, and a turn is queued in its thread as by any decision, so that who asked is told. Without a
   * `correlationId` no turn follows. Gives the message of the turn; undefined when there is none, or somebody else was first.
   */
  endOverdue(requirement: string, correlationId?: string): Promise<number | undefined>
}
