// Answers nobody, and instead begins a new thread for each message.
import type { NormalizedMessage } from '@postern/message'
import { plainTextOf } from '@postern/message'
import type { AgentContext } from '@postern/pipeline'

/** Begins a thread with the address in the text ("with @name@host"), or else with the sender. */
export function handle({ parts, sender }: NormalizedMessage, context: AgentContext): undefined {
  const [, partner = sender.address] = /with (@[\w-]+@[\w.-]+\w)/.exec(plainTextOf(parts)) ?? []
  context.post(`Ping ${context.responseId}`, { visibility: 'direct', mentions: [partner] })
}
