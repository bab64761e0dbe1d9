export { createCallFinder } from './approval/port.ts'
export type { AgentConfigInput } from './config.ts'
export { agentConfigSchema } from './config.ts'
export type { AgentPlatform, HumanOperators, OperatorQuestion } from './kind/agent-kind.ts'
export { readQueueMode } from './kind/agent-kind.ts'
export { kinds as agentKinds } from './kinds.ts'
export { describeLoadFault } from './modules/import-module.ts'
export {
  importOperatorModule,
  listOperatorModules,
  renewOperatorModules,
  withNewOperatorModules,
} from './modules/operator-modules.ts'
export type { AgentChange, AgentDeps, AgentDepsOptions, ReplacedAgent } from './open.ts'
export { openAgents } from './open.ts'
export type { AgentSettings } from './settings.ts'
export { readSharedQuota } from './swarm/config/config.ts'
export type { ComputeDefinition } from './swarm/open.ts'
export type { ToolContext, ToolDefinition } from './tools/tools.ts'
