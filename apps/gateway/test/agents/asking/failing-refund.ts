// Asks an operator, and fails in the first turn after the decision.
import type { NormalizedMessage } from '@postern/message'
import type { AgentContext } from '@postern/pipeline'

const failedMessages = new Set<number | undefined>()

/** Clears the record, because gateways of other tests in this process have conversations with the same numbers. */
export function start(): void {
  failedMessages.clear()
}

export function handle({ policy_resolution: resolution }: NormalizedMessage, context: AgentContext) {
  if (!resolution) return context.requireConsent({ message: 'Pay it back?', approver: 'operator' })
  const isFirst = !failedMessages.has(context.thread)
  failedMessages.add(context.thread)
  if (isFirst) throw new Error('the bank is closed')
  return `Paid back, as it was ${resolution.outcome}.`
}
