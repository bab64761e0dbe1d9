// Exports `postern/testing`: a gateway for tests of agents, with a simulated network.
export type { InboxItem, SentPart } from '@postern/simulation'
export type { StartGatewayOptions } from './start-gateway.ts'
export { startGateway } from './start-gateway.ts'
export type {
  AnswerRecord,
  ChatEvent,
  ChatRequest,
  ChatResult,
  NamedMessage,
  NamedRequirement,
  PeerMessage,
  PeerReply,
  StartedGateway,
} from './started-gateway.ts'
export type { RecordedContext, TestContextOptions, TestMessage } from './test-context.ts'
export { createTestContext, createTestMessage } from './test-context.ts'
