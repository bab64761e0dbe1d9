import type { AgentMessageEnvelope, OrphanFinding, ProviderMessage } from '@postern/transcript'
import { coalesceEnvelopes, findOrphanEnvelopes, pruneOrphanEnvelopes, toProviderMessages } from '@postern/transcript'

/** A session's list as a provider of models is sent it; the list itself stays as it is. */
interface ProjectedSession {
  readonly messages: readonly ProviderMessage[]
  /** Calls and results without each other: no model sees them. */
  readonly findings: readonly OrphanFinding[]
}

/** `coalesces`: neighbours of one role become one, for providers that refuse them. */
export function projectSession(messages: readonly AgentMessageEnvelope[], coalesces: boolean): ProjectedSession {
  const whole = pruneOrphanEnvelopes(messages)
  return {
    messages: toProviderMessages(coalesces ? coalesceEnvelopes(whole) : whole),
    findings: findOrphanEnvelopes(messages),
  }
}
