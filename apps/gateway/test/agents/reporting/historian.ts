// Reports the earlier senders with their proofs, and the flags of the message.
import type { NormalizedMessage } from '@postern/message'
import type { AgentContext } from '@postern/pipeline'

export function handle(message: NormalizedMessage, { flags, history }: AgentContext): string {
  const turns = (message.history ?? []).map(({ role, sender, writers }) => ({ role, sender, writers }))
  return JSON.stringify({ turns, flags, breakpoint: history().cacheBreakpointAfter })
}
