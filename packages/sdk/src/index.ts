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
export type { AgentModule } from './define-agent.ts'
export { defineAgent, readMessageText } from './define-agent.ts'
export type { ArgumentsOf, JsonSchema, TypedTool } from './define-tool.ts'
export { defineTool } from './define-tool.ts'
