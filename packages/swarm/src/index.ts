// Runs several agents that hand a conversation over to each other.
export { createSwarmAgent } from './agent.ts'
export { findAnswerFault } from './answers/answer-faults.ts'
export type { BusEvent } from './bus/bus.ts'
export { busSources, createSwarmBus } from './bus/bus.ts'
export type { OutgoingMessage, SwarmClient } from './client/client.ts'
export { openSwarmClient } from './client/client.ts'
export type { AllCommits } from './conversation/commits.ts'
export { readSwarmState } from './conversation/navigation.ts'
export type { StateSpec } from './data/state.ts'
export type { ComputeSpec, SwarmData } from './data/swarm-data.ts'
export { createNavigateBackTool, createNavigateTool } from './spec/navigate-tool.ts'
export type {
  AgentSpec,
  AnswerCheck,
  ModelAnswer,
  SwarmDeps,
  SwarmModel,
  SwarmPolicy,
  SwarmSpec,
  SwarmTool,
  SwarmToolContext,
  ToolDescription,
} from './spec/swarm.ts'
export { answerChecks, defaultAnswerChecks } from './spec/swarm.ts'
export { createSwarm } from './swarm.ts'
export type { TurnState } from './turn-store/records.ts'
export { createSharedTies, createTurnRecords, openTurnState } from './turn-store/records.ts'
export { createTurnTranscript } from './turn-store/transcript.ts'
