import type { NormalizedMessage } from '@postern/message'
import type { AgentContext } from '@postern/pipeline'

/** Reports the earlier senders and their proofs, and the flags of the message. */
export function handle(message: NormalizedMessage, { flags, history }: AgentContext): string {
  const turns = (message.history ?? []).map(({ role, sender, writers }) => ({ role, sender, writers }))
  return JSON.stringify({ turns, flags, breakpoint: history().cacheBreakpointAfter })
}
