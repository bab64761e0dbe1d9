import type { ToolContext } from '../../tools/tools.ts'

/** What a tool of a member does is the member's: whom it asks, and what it writes down. */
export function createMemberContext(context: ToolContext, member: string): ToolContext {
  return {
    ...context,
    call: (address, content, options) => context.call(address, content, { agentKey: member, ...options }),
    note: note => context.note({ agent_key: member, ...note }),
  }
}
