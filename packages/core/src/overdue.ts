import type { NormalizedMessage } from './message.ts'
import type { RequirementDecision, RequirementRecord } from './requirement.ts'

/** How a requirement was decided that nobody decided: by its time. */
export const timeoutMethod = 'timeout'

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

/** What is not decided in time is a no, of nobody. */
export function decideByTimeout({ digest, kind }: RequirementRecord): RequirementDecision {
  return { digest, kind, outcome: 'declined', resolver: { method: timeoutMethod } }
}

const longestSubject = 300

/** The same as words: history and models read them. */
export function sayOverdue({ policy }: Pick<RequirementRecord, 'policy'>): NormalizedMessage['parts'] {
  const subject = (policy.title ?? policy.message).slice(0, longestSubject).toWellFormed()
  return [{ kind: 'text', mime: 'text/plain', content: `Nobody decided in time: ${subject}` }]
}
