import type { Agent, AgentProfile, HistoryPolicy, Log, RunningAgent } from '@postern/core'
import { ConfigError, lazy, parseDuration } from '@postern/core'
import { createMemoryRecords, createMemoryTranscript } from '@postern/transcript'
import type { AgentIcon } from './config/profile.ts'
import { readIcon } from './config/profile.ts'
import type { AgentConfigInput } from './config.ts'
import { readAgentConfig } from './config.ts'
import type { AgentPlatform, AgentStores, CommonAgentConfig, OpenedAgent, Opening } from './kind/agent-kind.ts'
import { createHistoryView } from './kind/history-view.ts'
import type { AgentSet, OpenResident, RunningDirectory } from './kind/running-agents.ts'
import { createRunningAgents, hearOnly } from './kind/running-agents.ts'

/** Published names: the narrow grammar, and no empty piece between dots, so that every wire can carry them. */
const namePattern = /^(?=.{1,64}$)[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/

export interface AgentDepsOptions extends Omit<Opening, 'name' | 'stores'> {
  /** Host of every `@agent@domain`. */
  readonly domain: string
  /** https origin, without a slash at the end. */
  readonly origin: string
  /** SemVer that the agents are published with. */
  readonly version: string
  /** Default: as long as the process lives. */
  readonly stores?: AgentStores | undefined
}

/** The agents of this gateway, and how they run. */
export interface AgentDeps extends RunningDirectory {
  /** Opens the agents of another configuration, or the same ones anew. If one cannot be opened, none is. @throws ConfigError */
  prepare(listed: ListedAgents, deps: Pick<AgentDepsOptions, 'platform' | 'operators'>): Promise<AgentChange>
  /** Closes all, former ones too. */
  close(): Promise<void>
}

/** What the configuration says of agents. */
interface ListedAgents {
  readonly agents: Readonly<Record<string, AgentConfigInput>>
  readonly default_agent?: string | undefined
}

function openMemoryStores(platform: AgentPlatform): AgentStores {
  const transcript = createMemoryTranscript(platform)
  return { records: createMemoryRecords(), transcript: { ...transcript, bindStore: async () => false } }
}

/** Opens every agent of the configuration. If one fails, all fail. @throws ConfigError */
export async function openAgents(listed: ListedAgents, options: AgentDepsOptions): Promise<AgentDeps> {
  const { domain, origin } = options
  const running = createRunningAgents(await openAgentSet(listed, options), { domain, origin })
  const former = new Set<OpenResident>()
  const commit = (renewed: AgentSet) => {
    const replaced = [...running.replace(renewed).residents.values()]
    for (const resident of replaced) former.add(resident)
    return replaced.map(resident => ({
      name: resident.profile.name,
      async close() {
        await resident.close()
        former.delete(resident)
      },
    }))
  }
  return Object.assign(running.directory, {
    async prepare(changed: ListedAgents, deps: Pick<AgentDepsOptions, 'platform' | 'operators'>) {
      const renewed = await openAgentSet(changed, { ...options, ...deps })
      return { commit: () => commit(renewed), discard: () => closeResidents(renewed.residents.values()) }
    },
    close: () => closeResidents([...former, ...running.listResidents()]),
  })
}

/** If one cannot be opened, the others are closed again. @throws ConfigError */
async function openAgentSet(listed: ListedAgents, options: AgentDepsOptions): Promise<AgentSet> {
  const { agents, default_agent } = listed
  const names = Object.keys(agents)
  for (const name of names) checkAgentName(name)
  checkDefaultAgent(default_agent, names)
  const residents = new Map<string, OpenResident>()
  try {
    for (const name of names) residents.set(name, await openResident(name, agents[name], options))
    return { residents, defaultAgent: default_agent }
  } catch (error) {
    await closeResidents(residents.values())
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

async function openResident(name: string, input: unknown, options: AgentDepsOptions): Promise<OpenResident> {
  const { config, kind } = readAgentConfig(name, input)
  const { platform, baseDir, log, version, origin, stores = openMemoryStores(options.platform), operators } = options
  const icon = await readIcon(config.icon, { key: `agents.${name}.icon`, baseDir })
  const opened = await kind.open(config, { name, platform, baseDir, log, stores, operators })
  log.debug({ agent: name, use: config.use }, 'agent opened')
  const profile = {
    ...describeAgent(config, opened, name),
    version,
    ...describeIcon(config.icon, icon, `${origin}/agents/${name}`),
  }
  return {
    profile,
    icon,
    running: runAgent(opened.agent, config),
    close: createAgentClosing(name, opened, log),
  }
}

function describeAgent(config: CommonAgentConfig, opened: OpenedAgent, name: string): Omit<AgentProfile, 'version'> {
  const { fields, discoverable, indexable, also_known_as } = config
  return {
    name,
    displayName: config.name ?? opened.displayName ?? name,
    description: config.description ?? opened.description ?? '',
    isDiscoverable: discoverable,
    isIndexable: indexable,
    ...(fields && { fields }),
    ...(also_known_as && { alsoKnownAs: also_known_as }),
  }
}

function describeIcon(
  configured: string | undefined,
  icon: AgentIcon | undefined,
  page: string,
): Pick<AgentProfile, 'iconUrl' | 'iconType'> {
  return icon ? { iconUrl: `${page}/icon/${icon.fileName}`, iconType: icon.mediaType } : { iconUrl: configured }
}

function runAgent(agent: Agent, { deadline, history, receives, people }: CommonAgentConfig): RunningAgent {
  return {
    agent: hearOnly(agent, receives),
    history: createHistoryPolicy(history),
    deadlineMs: parseDuration(deadline),
    people,
  }
}

function createHistoryPolicy({
  keep_head,
  max_turns,
  max_chars,
  ...view
}: CommonAgentConfig['history']): HistoryPolicy {
  return createHistoryView({
    ...view,
    ...(keep_head !== undefined && { keepHead: keep_head }),
    ...(max_turns !== undefined && { maxTurns: max_turns }),
    ...(max_chars !== undefined && { maxChars: max_chars }),
  })
}

/** An agent that another has replaced. Its turns may still run. */
export interface ReplacedAgent {
  readonly name: string
  close(): Promise<void>
}

/** Agents that are open and answer nobody yet. */
export interface AgentChange {
  /** They answer from now on. A turn that runs ends with the agent that began it. @returns the former ones, which the caller closes */
  commit(): readonly ReplacedAgent[]
  /** Closes them, and all stays as it is. */
  discard(): Promise<void>
}

/** Closes an agent once. An agent that fails to close keeps nothing else open. */
function createAgentClosing(name: string, { close }: OpenedAgent, log: Log): () => Promise<void> {
  return lazy(async () => {
    try {
      await close?.()
    } catch (error) {
      log.error({ agent: name, err: error }, 'agent failed to close')
    }
  })
}

async function closeResidents(residents: Iterable<Pick<OpenResident, 'close'>>): Promise<void> {
  await Promise.all([...residents].map(({ close }) => close()))
}
