// What authors of agents import, and nothing that runs a gateway: an agent's module must load fast.
export type {
  AgentAnswer,
  AgentChunk,
  AgentContext,
  AgentModule,
  AgentPublisher,
  ArgumentsOf,
  JsonSchema,
  NormalizedMessage,
  NormalizedResponse,
  Part,
  PartialResponse,
  Sender,
  ToolContext,
  ToolDefinition,
  TypedTool,
} from '@postern/sdk'
export { defineAgent, defineTool, readMessageText } from '@postern/sdk'
export type { Settings } from './config/settings.ts'
export { defineConfig } from './config/settings.ts'
