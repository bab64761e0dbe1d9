// Declares the storage of requirements and their decisions.

import type { Page } from '../records/operator/page.ts'
import type {
  RequirementDecision,
  RequirementRecord,
  RequirementStatus,
  RerunResult,
  ResolutionResult,
} from '../records/requirement-record.ts'
import type { RememberedStore } from './remembered-store.ts'

export interface RequirementStore extends RememberedStore {
  /** Finds a requirement by the digest of its state, or by its id. A requirement whose time is over has the status `expired`. */
  findRequirement(
    reference: { readonly digest: string } | { readonly id: string },
  ): Promise<RequirementRecord | undefined>
  listRequirements(
    page: Page & {
      readonly status?: RequirementStatus | undefined
      /** Limits the list to the requirements of this principal. `operatorSubject` stands for those that operators decide. */
      readonly subject?: string | undefined
    },
  ): Promise<readonly RequirementRecord[]>
  /**
   * Uses up the requirement, stores the decision for later calls if it is to be remembered, and queues a turn in its thread, all in one transaction.
   * The message of the turn is from the person to whom the requirement was made, over the channel of the original message. Of several concurrent
   * decisions only one counts.
   */
  resolveRequirement(decision: RequirementDecision, correlationId: string): Promise<ResolutionResult>
  /** Repeats a decision as a new message, in one transaction, if its last turn has failed. A task that has ended gets no notice of it. */
  rerunDecision(requirement: string, correlationId: string): Promise<RerunResult>
}

/** The operations that decide requirements, or end those that nobody decided in time. */
export type RequirementDecisions = Pick<RequirementStore, 'resolveRequirement'> & Pick<OverdueStore, 'endOverdue'>

/** The operations on requirements that nobody has decided in time. */
export interface OverdueStore {
  /** Lists expired requirements that `endOverdue` has not ended yet; the one that expired first comes first. */
  listOverdue(limit: number): Promise<readonly RequirementRecord[]>
  /**
   * Ends an overdue requirement. In the same transaction it queues a turn in its thread, as a decision would, if an operator should have decided it
   * or a task still waits for it. Without a `correlationId` it queues no turn. Returns the message of the turn; undefined if there is none, or if
   * another process was first.
   */
  endOverdue(requirement: string, correlationId?: string): Promise<number | undefined>
}
