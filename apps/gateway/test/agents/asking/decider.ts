// Asks before it acts, and then acts as requested: at once, or until it is stopped.
import type { NormalizedMessage, PartialResponse } from '@postern/message'
import { plainTextOf } from '@postern/message'
import type { AgentContext } from '@postern/pipeline'

export async function handle(message: NormalizedMessage, context: AgentContext): Promise<PartialResponse | string> {
  const { policy_resolution: resolution, parts } = message
  if (!resolution) {
    const text = plainTextOf(parts)
    if (!text.startsWith('may I')) return `heard: ${text}`
    return context.requireConsent({ message: text, data: { 'test.agents.slowly': text.includes('slowly') } })
  }
  if (resolution.data?.['test.agents.slowly'] === true) {
    await new Promise((_resolve, reject) =>
      context.signal.addEventListener('abort', () => reject(context.signal.reason)),
    )
  }
  return `decided: ${resolution.outcome}`
}
