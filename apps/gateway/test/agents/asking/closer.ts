// Asks a question, and reports the outcome.
import type { NormalizedMessage, PartialResponse } from '@postern/message'
import { plainTextOf } from '@postern/message'
import type { AgentContext } from '@postern/pipeline'

export function handle(message: NormalizedMessage, { requireConsent }: AgentContext): PartialResponse | string {
  const { kind, in_reply_to, policy_resolution: resolution, parts } = message
  if (kind === 'cancel') return `closed: ${in_reply_to}`
  if (resolution) return `${resolution.outcome}, cancelled: ${resolution.cancelled === true}`
  if (plainTextOf(parts) === 'consent') return requireConsent({ message: 'May I?' })
  return { status: 'input_required', parts: [{ kind: 'text', mime: 'text/plain', content: 'Which color?' }] }
}
