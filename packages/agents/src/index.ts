export { createCallFinder } from './approval/find-call.ts'
export type { AgentIcon } from './config/icon.ts'
export { readQueueMode } from './config/queue.ts'
export type { AgentConfig, AgentConfigInput } from './config.ts'
export { agentConfigSchema } from './config.ts'
export type { AgentKind, AgentPlatform, AgentStores, HumanOperators, OperatorQuestion } from './kind/agent-kind.ts'
export { kinds as agentKinds } from './kinds.ts'
export { describeLoadFault } from './modules/load-fault.ts'
export {
  importOperatorModule,
  listOperatorModules,
  renewOperatorModules,
  withNewOperatorModules,
} from './modules/operator-modules.ts'
export type { AgentDeps, AgentDepsOptions } from './open.ts'
export { openAgents } from './open.ts'
export type { AgentChange, ReplacedAgent } from './residents.ts'
export type { AgentSettings } from './settings.ts'
export type { ComputeDefinition } from './swarm/config/computes.ts'
export { readSharedQuota } from './swarm/config/config.ts'
export type { ToolContext, ToolDefinition, ToolSwarm } from './tools/tools.ts'
