// What `postern/testing` is: a gateway for tests of agents, with the simulated network around it.
export type {
  ChatEvent,
  ChatRequest,
  ChatResult,
  PeerMessage,
  PeerReply,
  StartedGateway,
  StartGatewayOptions,
} from './start-gateway.ts'
export { startGateway } from './start-gateway.ts'
