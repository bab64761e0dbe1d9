// Provides a tool that asks another agent, and one that fails.
import type { ToolContext } from '../../../src/index.ts'

export const ask_hook = {
  description: 'Asks another agent',
  parameters: { type: 'object', properties: {}, additionalProperties: false },
  async run(_args: unknown, context: ToolContext) {
    context.note({ type: 'task', content: `heard ${context.traceparent}` })
    const { parts } = await context.call('@hook@agents.test', 'quoth')
    return parts.map(part => (part.kind === 'text' ? part.content : '')).join('')
  },
}

export const fall = {
  description: 'Fails',
  run() {
    throw new Error('quoth')
  },
}
