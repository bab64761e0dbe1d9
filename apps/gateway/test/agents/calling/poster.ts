import type { AgentContext, NormalizedMessage } from '@postern/core'
import { plainTextOf } from '@postern/core'

/** Answers nobody: begins a new thread each time, with whom it is told ("with @name@host"), else with who spoke. */
export function handle({ parts, sender }: NormalizedMessage, context: AgentContext): undefined {
  const [, other = sender.address] = /with (@[\w-]+@[\w.-]+\w)/.exec(plainTextOf(parts)) ?? []
  context.post(`Ping ${context.responseId}`, { visibility: 'direct', mentions: [other] })
}
