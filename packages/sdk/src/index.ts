export type { ToolContext, ToolDefinition } from '@postern/agents'
export type {
  AgentAnswer,
  AgentChunk,
  AgentContext,
  AgentPublisher,
  NormalizedMessage,
  NormalizedResponse,
  Part,
  PartialResponse,
  Sender,
} from '@postern/core'
export type { ArgumentsOf, JsonSchema } from './arguments-of.ts'
export type { AgentModule } from './define-agent.ts'
export { defineAgent } from './define-agent.ts'
export type { TypedTool } from './define-tool.ts'
export { defineTool } from './define-tool.ts'
export { readMessageText } from './read-message-text.ts'
