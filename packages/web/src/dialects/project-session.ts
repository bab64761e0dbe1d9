import type { AgentMessageEnvelope, OrphanFinding, ProviderMessage } from '@postern/transcript'
import { coalesceEnvelopes, findOrphanEnvelopes, pruneOrphanEnvelopes, toProviderMessages } from '@postern/transcript'

/** A session's messages as a model provider receives them. The stored list does not change. */
interface ProjectedSession {
  readonly messages: readonly ProviderMessage[]
  /** Calls without results, and results without calls. No model receives them. */
  readonly findings: readonly OrphanFinding[]
}

/** `coalesces`: joins neighbours of one role, for providers that refuse them. */
export function projectSession(messages: readonly AgentMessageEnvelope[], coalesces: boolean): ProjectedSession {
  const whole = pruneOrphanEnvelopes(messages)
  return {
    messages: toProviderMessages(coalesces ? coalesceEnvelopes(whole) : whole),
    findings: findOrphanEnvelopes(messages),
  }
}
