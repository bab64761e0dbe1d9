import type { Agent, AgentDirectory, AgentProfile, HistoryPolicy, Log, RunningAgent } from '@postern/core'
import { ConfigError } from '@postern/core'
import { createMemoryRecords, createMemoryTranscript } from '@postern/transcript'
import { parseDeadline } from './config/duration.ts'
import type { AgentIcon } from './config/icon.ts'
import { readIcon } from './config/icon.ts'
import type { AgentConfigInput } from './config.ts'
import { readAgentConfig } from './config.ts'
import type { AgentPlatform, AgentStores, CommonAgentConfig, HumanOperators, OpenedAgent } from './kind/agent-kind.ts'
import { createHistoryView } from './kind/history-view.ts'

/** Published names: the narrow grammar, and no empty piece between dots, so that every wire can carry them. */
const namePattern = /^(?=.{1,64}$)[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/

export interface AgentDepsOptions {
  /** Host of every `@agent@domain`. */
  readonly domain: string
  /** https origin, without a slash at the end. */
  readonly origin: string
  /** SemVer that the agents are published with. */
  readonly version: string
  readonly platform: AgentPlatform
  /** Folder that module paths start from: the configuration file's. */
  readonly baseDir: string
  readonly log: Log
  /** Default: as long as the process lives. */
  readonly stores?: AgentStores | undefined
  readonly operators?: HumanOperators | undefined
}

/** The agents of this gateway, and how they run. */
export interface AgentDeps extends AgentDirectory {
  findRunning(name: string): RunningAgent | undefined
  /** Its picture, when it is a file; `AgentProfile.iconUrl` says where it is served. */
  findIcon(name: string): AgentIcon | undefined
  /**
   * Opens all agents anew; they answer from now on. A turn that runs ends with the agent that began it. If one cannot be opened, all stay
   * as they are. @throws ConfigError
   */
  reload(): Promise<void>
  close(): Promise<void>
}

function openMemoryStores(platform: AgentPlatform): AgentStores {
  const transcript = createMemoryTranscript(platform)
  return { records: createMemoryRecords(), transcript: { ...transcript, bindStore: async () => false } }
}

interface Resident {
  readonly profile: AgentProfile
  readonly running: RunningAgent
  readonly opened: OpenedAgent
  readonly icon: AgentIcon | undefined
}

/** Opens every agent of the configuration. If one fails, all fail. @throws ConfigError */
export async function openAgents(
  config: Readonly<Record<string, AgentConfigInput>>,
  defaultAgent: string | undefined,
  options: AgentDepsOptions,
): Promise<AgentDeps> {
  const { domain, origin } = options
  const names = Object.keys(config)
  for (const name of names) checkAgentName(name)
  checkDefaultAgent(defaultAgent, names)
  let residents = await openResidents(config, options)
  /** Their turns may still run. */
  const former: Resident[] = []
  return {
    domain,
    origin,
    defaultAgent,
    find: name => residents.get(name)?.profile,
    list: () => [...residents.values()].map(({ profile }) => profile),
    findRunning: name => residents.get(name)?.running,
    findIcon: name => residents.get(name)?.icon,
    async reload() {
      const renewed = await openResidents(config, options)
      former.push(...residents.values())
      residents = renewed
    },
    async close() {
      await Promise.all([...former, ...residents.values()].map(({ opened }) => opened.close?.()))
    },
  }
}

/** If one cannot be opened, the others are closed again. @throws ConfigError */
async function openResidents(
  config: Readonly<Record<string, AgentConfigInput>>,
  options: AgentDepsOptions,
): Promise<ReadonlyMap<string, Resident>> {
  const residents = new Map<string, Resident>()
  try {
    for (const name of Object.keys(config)) residents.set(name, await openResident(name, config[name], options))
    return residents
  } catch (error) {
    await Promise.allSettled([...residents.values()].map(async ({ opened }) => opened.close?.()))
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

async function openResident(name: string, input: unknown, options: AgentDepsOptions): Promise<Resident> {
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
  return { opened, icon, profile, running: runAgent(opened.agent, config) }
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
    deadlineMs: parseDeadline(deadline),
    people,
  }
}

/** Agents that only handle messages get only messages. */
function hearOnly(agent: Agent, kinds: CommonAgentConfig['receives']): Agent {
  return {
    ...(agent.start && { start: publisher => agent.start?.(publisher) }),
    handle: (message, context) =>
      kinds.includes(message.kind ?? 'message') ? agent.handle(message, context) : undefined,
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
