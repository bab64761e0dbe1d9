import type { ToolContext } from '../../tools/tools.ts'

/** A tool's actions belong to its member: questions and notes have its name. */
export function createMemberContext(context: ToolContext, member: string): ToolContext {
  return {
    ...context,
    call: (address, content, options) => context.call(address, content, { agentKey: member, ...options }),
    note: note => context.note({ agent_key: member, ...note }),
  }
}
