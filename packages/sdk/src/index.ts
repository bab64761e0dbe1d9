// Publishes the types and functions that the author of an agent imports from `postern`.
export type {
  ActRefusal,
  ArtifactPart,
  FilePart,
  GivenPart,
  Json,
  LinkPart,
  Log,
  MessageKind,
  NormalizedResponse,
  PartialResponse,
  PolicyPart,
  PolicyResolution,
  Reaction,
  RejectionCode,
  Sender,
  SenderIdentity,
  TextPart,
  ToolCallPart,
} from '@postern/message'
export { Rejection, Unavailable, Undeliverable } from '@postern/message/errors'
export type {
  AgentAnswer,
  AgentAskOptions,
  AgentCallAnswer,
  AgentChunk,
  AgentContext,
  AgentNote,
  AgentPerson,
  AgentPublisher,
  AgentState,
  AttachmentBytes,
  ForgettingContext,
  ForgottenPerson,
  HistoryView,
  PostOptions,
} from '@postern/pipeline'
export type { AgentMessage as NormalizedMessage, MailPart, ReceivedPart as Part } from './agent-message.ts'
export type { AgentModule } from './define-agent.ts'
export { defineAgent, readMessageText } from './define-agent.ts'
export type {
  ArgumentsOf,
  JsonSchema,
  PreviewContext as ToolTurnContext,
  RunContext as ToolContext,
  RunnableTool as ToolDefinition,
  TypedTool,
} from './define-tool.ts'
export { defineTool } from './define-tool.ts'
export { json } from './json.ts'
