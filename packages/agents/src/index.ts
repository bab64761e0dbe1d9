// Opens the agents of a configuration: built-in, modules, webhooks, models, swarms, remote A2A and AG-UI agents.
export { createCallFinder } from './approval/port.ts'
export type { AgentConfigInput } from './config.ts'
export { agentConfigSchema } from './config.ts'
export type { AgentSystem } from './kind/agent-kind.ts'
export { readQueueMode } from './kind/agent-kind.ts'
export { kinds as agentKinds } from './kinds.ts'
export { describeLoadFault } from './modules/import-module.ts'
export {
  importOperatorModule,
  listOperatorModules,
  reloadAllModules,
  withPreloadedModules,
  withReloadedModules,
} from './modules/operator-modules.ts'
export type { AgentChange, AgentDeps, AgentDepsOptions, ReplacedAgent } from './open.ts'
export { openAgents } from './open.ts'
export type { AgentSettings } from './settings.ts'
export { readSharedQuota } from './swarm/config/config.ts'
export type { ComputeDefinition } from './swarm/open-swarm.ts'
export type { ToolContext, ToolDefinition, ToolTurnContext } from './tools/tools.ts'
