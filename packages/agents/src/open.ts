// Opens all agents of a configuration, and replaces all of them when the configuration changes.
import type { Log, MessageKind } from '@postern/message'
import { ConfigError, lazy, messageKinds, parseDuration } from '@postern/message'
import type { Agent, AgentProfile, HistoryPolicy, RunningAgent } from '@postern/pipeline'
import { createMemoryRecords, createMemoryTranscript } from '@postern/transcript'
import { describeCard } from './config/card.ts'
import type { AgentIcon } from './config/profile.ts'
import { readIcon } from './config/profile.ts'
import type { AgentConfigInput } from './config.ts'
import { readAgentConfig } from './config.ts'
import type {
  AgentKind,
  AgentOpenDeps,
  AgentStores,
  AgentSystem,
  CommonAgentConfig,
  OpenedAgent,
} from './kind/agent-kind.ts'
import { createHistoryView } from './kind/history-view.ts'
import { limitToKinds } from './kind/limit-to-kinds.ts'
import type { AgentSet, OpenAgent, RunningDirectory } from './kind/running-agents.ts'
import { createRunningAgents } from './kind/running-agents.ts'

/** The names under which agents are published. The grammar is narrow, without empty segments between dots, so that every wire can carry them. */
const namePattern = /^(?=.{1,64}$)[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/

export interface AgentDepsOptions extends Omit<AgentOpenDeps, 'name' | 'stores'> {
  /** The host in every `@agent@domain`. */
  readonly domain: string
  /** The https origin, without a slash at the end. */
  readonly origin: string
  /** The SemVer version with which the agents are published. */
  readonly version: string
  /** The storage of agents; default: memory, which lasts as long as the process. */
  readonly stores?: AgentStores | undefined
}

/** The agents of this gateway. */
export interface AgentDeps extends RunningDirectory {
  /** Opens the agents of another configuration, or the same ones again. If one cannot be opened, none is. @throws ConfigError */
  prepare(agentConfigs: AgentConfigs, deps: Pick<AgentDepsOptions, 'system' | 'operators'>): Promise<AgentChange>
  /** Closes all agents, including those that others have replaced. */
  close(): Promise<void>
}

/** The agents that the configuration lists. */
interface AgentConfigs {
  readonly agents: Readonly<Record<string, AgentConfigInput>>
  readonly default_agent?: string | undefined
}

function openMemoryStores(system: AgentSystem): AgentStores {
  const transcript = createMemoryTranscript(system)
  const key = Buffer.from(system.randomBytes(32)).toString('base64url')
  return {
    records: createMemoryRecords(),
    transcript: { ...transcript, bindStore: async () => false },
    openSecret: async () => ({ list: () => [key], listAll: () => [key] }),
  }
}

/** Opens every agent of the configuration. If one fails, all fail. @throws ConfigError */
export async function openAgents(agentConfigs: AgentConfigs, options: AgentDepsOptions): Promise<AgentDeps> {
  const { domain, origin } = options
  const runningAgents = createRunningAgents(await openAgentSet(agentConfigs, options), { domain, origin })
  const formerAgents = new Set<OpenAgent>()
  const commit = (nextSet: AgentSet) => {
    const replacedAgents = [...runningAgents.replace(nextSet).agents.values()]
    for (const agent of replacedAgents) formerAgents.add(agent)
    return replacedAgents.map(agent => ({
      name: agent.profile.name,
      async close() {
        await agent.close()
        formerAgents.delete(agent)
      },
    }))
  }
  return Object.assign(runningAgents.directory, {
    async prepare(changedConfigs: AgentConfigs, deps: Pick<AgentDepsOptions, 'system' | 'operators'>) {
      const nextSet = await openAgentSet(changedConfigs, { ...options, ...deps })
      return { commit: () => commit(nextSet), discard: () => closeAgents(nextSet.agents.values()) }
    },
    close: () => closeAgents([...formerAgents, ...runningAgents.listOpenAgents()]),
  })
}

/** Opens all agents of a configuration. If one cannot be opened, it closes the others again. @throws ConfigError */
async function openAgentSet(agentConfigs: AgentConfigs, options: AgentDepsOptions): Promise<AgentSet> {
  const { agents, default_agent } = agentConfigs
  const names = Object.keys(agents)
  for (const name of names) checkAgentName(name)
  checkDefaultAgent(default_agent, names)
  const openedAgents = new Map<string, OpenAgent>()
  const openOptions: OpenAgentOptions = { ...options, sharedParts: new Map() }
  try {
    for (const name of names) openedAgents.set(name, await openAgent(name, agents[name], openOptions))
    return { agents: openedAgents, defaultAgent: default_agent }
  } catch (error) {
    await closeAgents(openedAgents.values())
    throw error
  }
}

function checkAgentName(name: string): void {
  if (namePattern.test(name)) return
  const fix = 'Use 1 to 64 of a-z, 0-9, "_", "-", and single dots between them'
  throw new ConfigError(`agents.${name}`, 'cannot be the name of an agent', fix)
}

function checkDefaultAgent(defaultAgent: string | undefined, names: readonly string[]): void {
  if (defaultAgent === undefined || names.includes(defaultAgent)) return
  const fix = `Name one of: ${names.join(', ') || '(add an agent under "agents" first)'}`
  throw new ConfigError('default_agent', `there is no agent "${defaultAgent}"`, fix)
}

/** The parts of an agent that do not depend on its name. */
interface AgentParts {
  readonly openedAgent: OpenedAgent
  readonly icon: AgentIcon | undefined
  readonly runningAgent: RunningAgent
  /** The profile without its name. It has every member, so that copies of it stay small. */
  readonly profile: AgentProfile
}

/** The parts of agents that share their settings, by these settings. A hundred thousand agents of one module then cost little. */
type SharedParts = Map<CommonAgentConfig, AgentParts>

interface OpenAgentOptions extends AgentDepsOptions {
  readonly sharedParts: SharedParts
}

async function openAgent(name: string, input: unknown, options: OpenAgentOptions): Promise<OpenAgent> {
  const { config, kind } = readAgentConfig(name, input)
  const { sharedParts, log, origin } = options
  const parts = sharedParts.get(config) ?? (await openParts(name, { config, kind }, options))
  if (kind.isShareable(config)) sharedParts.set(config, parts)
  const { openedAgent, icon, runningAgent, profile } = parts
  return {
    profile: {
      ...profile,
      name,
      displayName: config.name ?? openedAgent.displayName ?? name,
      iconUrl: icon ? `${origin}/agents/${name}/icon/${icon.fileName}` : config.icon,
    },
    icon,
    runningAgent,
    close: openedAgent.close ? createAgentCloser(name, openedAgent, log) : closeNothing,
  }
}

interface ReadConfig {
  readonly config: CommonAgentConfig
  readonly kind: AgentKind
}

/** Opens an agent. @throws ConfigError */
async function openParts(name: string, { config, kind }: ReadConfig, options: AgentDepsOptions): Promise<AgentParts> {
  const { system, baseDir, log, version, stores = openMemoryStores(options.system), operators } = options
  const icon = await readIcon(config.icon, { key: `agents.${name}.icon`, baseDir })
  const openedAgent = await kind.open(config, { name, system, baseDir, log, stores, operators })
  log.debug({ agent: name, use: config.use }, 'agent opened')
  if (config.receives.includes('forget') && !openedAgent.agent.forget)
    throw await closeAndRefuseForget(name, openedAgent)
  return {
    openedAgent,
    icon,
    profile: { ...describeAgent(config, openedAgent), version, iconType: icon?.mediaType },
    runningAgent: {
      ...createRunningAgent(openedAgent.agent, config),
      continuesAdmission: continuesAdmission(config, kind),
    },
  }
}

/** Lists the kinds of messages that the agent receives. A request to delete a person's data is no message. */
function listReceivedKinds(receives: CommonAgentConfig['receives']): readonly MessageKind[] {
  return messageKinds.filter(kind => receives.includes(kind))
}

async function closeAndRefuseForget(name: string, openedAgent: OpenedAgent): Promise<ConfigError> {
  await openedAgent.close?.()
  const reason = 'has "forget", but this agent cannot delete the data of a person'
  const fix = 'Remove "forget". A webhook takes it; a module exports a function "forget".'
  return new ConfigError(`agents.${name}.receives`, reason, fix)
}

/** Describes an agent without its name. Absent members are present as undefined. */
function describeAgent(config: CommonAgentConfig, { description }: OpenedAgent): Omit<AgentProfile, 'version'> {
  const { fields, discoverable, indexable, also_known_as, deadline, receives } = config
  return {
    name: '',
    displayName: '',
    iconUrl: undefined,
    deadlineMs: parseDuration(deadline),
    hearsCancels: receives.includes('cancel') ? true : undefined,
    card: config.a2a && describeCard(config.a2a),
    description: config.description ?? description ?? '',
    isDiscoverable: discoverable,
    isIndexable: indexable,
    fields,
    alsoKnownAs: also_known_as,
  }
}

function createRunningAgent(
  agent: Agent,
  { deadline, history, receives, people, mentions, credentials }: CommonAgentConfig,
): RunningAgent {
  return {
    agent: limitToKinds(agent, receives),
    receives: listReceivedKinds(receives),
    history: createHistoryPolicy(history),
    deadlineMs: parseDuration(deadline),
    people,
    mentions,
    credentials,
  }
}

/** Returns true if a message need not be durable before its agent gets it. An agent elsewhere has effects that no crash undoes. */
function continuesAdmission({ durable }: CommonAgentConfig, { runsHere }: AgentKind): boolean {
  return durable === undefined ? runsHere === true : durable === 'with_answer'
}

function createHistoryPolicy({
  keep_head,
  max_turns,
  max_chars,
  ...viewOptions
}: CommonAgentConfig['history']): HistoryPolicy {
  return createHistoryView({
    ...viewOptions,
    ...(keep_head !== undefined && { keepHead: keep_head }),
    ...(max_turns !== undefined && { maxTurns: max_turns }),
    ...(max_chars !== undefined && { maxChars: max_chars }),
  })
}

/** An agent that another one has replaced. Its turns may still run. */
export interface ReplacedAgent {
  readonly name: string
  close(): Promise<void>
}

/** Agents that are open but do not answer yet. */
export interface AgentChange {
  /**
   * Lets the new agents answer from now on. A running turn ends with the agent that began it. @returns the previous agents, which the caller
   * closes
   */
  commit(): readonly ReplacedAgent[]
  /** Closes the new agents and leaves everything as it is. */
  discard(): Promise<void>
}

/** Returns a function that closes an agent once. A failure is logged, so that it does not prevent the others from closing. */
function createAgentCloser(name: string, { close }: OpenedAgent, log: Log): () => Promise<void> {
  return lazy(async () => {
    try {
      await close?.()
    } catch (error) {
      log.error({ agent: name, err: error }, 'agent failed to close')
    }
  })
}

const closeNothing = async () => undefined

async function closeAgents(agents: Iterable<Pick<OpenAgent, 'close'>>): Promise<void> {
  await Promise.all([...agents].map(({ close }) => close()))
}
