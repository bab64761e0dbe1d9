import type { AgentContext, NormalizedMessage } from '@postern/core'

/** Says who spoke before, and how that was proven; and what was noticed about the message. */
export function handle(message: NormalizedMessage, { flags, history }: AgentContext): string {
  const turns = (message.history ?? []).map(({ role, sender, writers }) => ({ role, sender, writers }))
  return JSON.stringify({ turns, flags, breakpoint: history().cacheBreakpointAfter })
}
