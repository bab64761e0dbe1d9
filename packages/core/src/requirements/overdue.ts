import type { NormalizedMessage } from '../message/message.ts'
import type { RequirementDecision, RequirementRecord } from '../ports/records/requirement-record.ts'

/** How a requirement was decided that nobody decided: by its time. */
export const timeoutMethod = 'timeout'

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
