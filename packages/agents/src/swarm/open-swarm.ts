// Opens a swarm with the models, tools and computed values of its members.

import { ConfigError, parseDuration } from '@postern/message'
import type { Agent } from '@postern/pipeline'
import type { ComputeSpec } from '@postern/swarm'
import { z } from 'zod'
import { openApprovals } from '../approval/approvals.ts'
import { durationSchema } from '../config/duration.ts'
import type { AgentOpenDeps, OpenedAgent } from '../kind/agent-kind.ts'
import { openTools } from '../mcp/toolbox.ts'
import { importModule } from '../modules/import-module.ts'
import { openModelEndpoint } from '../openai/model-endpoint.ts'
import { createDelimiterFinder } from '../prompt/data-block.ts'
import type { Toolbox } from '../tools/tools.ts'
import { createSwarmKindAgent } from './agent.ts'
import type { SwarmAgentConfig } from './config/config.ts'
import { isModelMember } from './config/config.ts'
import type { OpenedMember } from './members/members.ts'

/** Opens a swarm as an agent, with all its members. @throws ConfigError */
export async function openSwarm(config: SwarmAgentConfig, deps: AgentOpenDeps): Promise<OpenedAgent> {
  const toolboxes: Toolbox[] = []
  const close = async () => {
    await Promise.all(toolboxes.map(toolbox => toolbox.close?.()))
  }
  try {
    return { agent: await openSwarmAgent(config, deps, toolboxes), close }
  } catch (error) {
    await close()
    throw error
  }
}

async function openSwarmAgent(config: SwarmAgentConfig, deps: AgentOpenDeps, toolboxes: Toolbox[]): Promise<Agent> {
  const { name, system, stores, operators } = deps
  const openedMembers = new Map<string, OpenedMember>()
  for (const member of Object.keys(config.members)) {
    openedMembers.set(member, await openMember(member, config, deps, toolboxes))
  }
  return createSwarmKindAgent({
    name,
    config,
    openedMembers,
    operators,
    computes: await openComputes(config, deps),
    stores,
    system,
    approvals: openApprovals({ name, records: stores.records, system }),
    delimiterOf: await createDelimiterFinder(stores, name),
    // The rest of the deadline is for storing the answer.
    timeoutMs: Math.floor(parseDuration(config.deadline) * 0.9),
  })
}

async function openMember(
  member: string,
  config: SwarmAgentConfig,
  deps: AgentOpenDeps,
  toolboxes: Toolbox[],
): Promise<OpenedMember> {
  const settings = config.members[member]
  if (!settings || !isModelMember(settings)) return { tools: new Map() }
  const configPath = `agents.${deps.name}.members.${member}`
  const toolbox = await openTools(settings, configPath, deps)
  toolboxes.push(toolbox)
  const model = settings.model ?? config.model
  return {
    ...(model && { model: { ...openModelEndpoint(model, deps.system), seesImages: model.images } }),
    tools: toolbox.tools,
  }
}

/** A value that a module of computes exports, under the name by which tools read it. */
export interface ComputeDefinition {
  /** The states from which it is computed. It is computed again when one of them changes. */
  readonly depends_on?: readonly string[] | undefined
  /** The longest time for which the value is valid, such as `"5m"`. */
  readonly ttl?: string | undefined
  /** True if all conversations share one value. */
  readonly shared?: boolean | undefined
  /** Returns JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: the author of the module knows the types of the states
  compute(states: any): unknown
}

const definitionSchema = z.looseObject({
  depends_on: z.array(z.string()).default([]),
  ttl: durationSchema.optional(),
  shared: z.boolean().default(false),
  compute: z.custom<ComputeDefinition['compute']>(value => typeof value === 'function', 'must be a function'),
})

const computeFix = 'A compute is: export const name = { depends_on: ["cart"], compute({ cart }) { … } }'

/** Opens the computed values of a swarm. @throws ConfigError */
export async function openComputes(
  { computes, states }: Pick<SwarmAgentConfig, 'computes' | 'states'>,
  { name, baseDir }: Pick<AgentOpenDeps, 'name' | 'baseDir'>,
): Promise<readonly ComputeSpec[]> {
  if (computes === undefined) return []
  const key = `agents.${name}.computes`
  const moduleExports = (await importModule(computes, key, baseDir)) as Record<string, unknown>
  return Object.entries(moduleExports).map(([computeName, value]) => {
    const { data, error } = definitionSchema.safeParse(value)
    const reason = data ? findDependencyError(data, states) : `${error?.issues[0]?.path.join('.') || 'it'} is not valid`
    if (!data || reason !== undefined) throw new ConfigError(key, `the compute "${computeName}": ${reason}`, computeFix)
    return {
      computeName,
      isShared: data.shared,
      dependsOn: data.depends_on,
      ...(data.ttl !== undefined && { ttlMs: parseDuration(data.ttl) }),
      compute: parameters => data.compute.call(value, parameters) as never,
    }
  })
}

function findDependencyError(
  { depends_on, shared }: Pick<z.output<typeof definitionSchema>, 'depends_on' | 'shared'>,
  states: SwarmAgentConfig['states'],
): string | undefined {
  const unknownState = depends_on.find(name => !Object.hasOwn(states, name))
  if (unknownState !== undefined) return `there is no state "${unknownState}"`
  const unsharedState = shared ? depends_on.find(name => !states[name]?.shared) : undefined
  return unsharedState === undefined ? undefined : `it is shared, and the state "${unsharedState}" is not`
}
