import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { join, resolve } from 'node:path'
import type { AgentChange, AgentDeps, AgentDepsOptions } from '@postern/agents'
import { createCallFinder, openAgents, readQueueMode } from '@postern/agents'
import type {
  AdmissionRule,
  Channel,
  ChannelName,
  Log,
  OperatorQuestions,
  QueueMode,
  RequirementDecisions,
} from '@postern/core'
import { ConfigError, createAccessRule, createLoopRule, createRequirementDecisions, findChannel } from '@postern/core'
import { openRequirements } from '@postern/requirements'
import type { GatewayStore } from '@postern/store'
import { isPostgresUrl, openSqliteStore } from '@postern/store'
import type { Hono } from 'hono'
import { createOperatorQuestions } from '../commands/questions/route.ts'
import type { AnyChannelModule, ChannelSlice } from '../config/channel-slices.ts'
import { joinTokens, listSlices, readChannelFiles } from '../config/channel-slices.ts'
import { readLoopLimits } from '../config/loops.ts'
import { hasRole } from '../config/own-schema.ts'
import type { Config } from '../config/schema.ts'
import { handleHostOf } from '../config/schema.ts'
import { createPublishedAttachments } from '../files/attachments.ts'
import type { Limits } from '../http/clients.ts'
import { createLimits } from '../http/clients.ts'
import { observeStore } from '../observe/telemetry/observe-store.ts'
import type { StageListener } from '../observe/telemetry/stage.ts'
import { loadPostgres } from '../platform/load-postgres.ts'
import type { GatewayPlatform } from '../platform/platform.ts'
import { createPlatform } from '../platform/platform.ts'
import { makeDataDirectory } from '../platform/run-file.ts'
import { softwareVersion } from '../platform/version.ts'
import { openPublisherDeps } from '../work/work.ts'

export interface FoundationOptions {
  /** Where relative paths of the configuration start. */
  readonly baseDir: string
  /** The configuration file, where there is one. */
  readonly configPath?: string | undefined
  readonly log: Log
  /** Nothing can be stored any more, for good. */
  readonly onUnusable?: ((error: ConfigError) => void) | undefined
  readonly modules: readonly AnyChannelModule[]
  /** Told of each stage of a message that is over. */
  readonly onStage: StageListener
}

/** What channels and routes stand on. */
export interface Foundation extends Pick<FoundationOptions, 'baseDir' | 'configPath'> {
  readonly config: Config
  readonly slices: readonly ChannelSlice[]
  /** Filled while they are opened. */
  readonly channels: Channel<Hono>[]
  readonly platform: GatewayPlatform
  /** The name in our leases. */
  readonly holder: string
  readonly store: GatewayStore
  /** What each message passes before it is stored. */
  readonly admissionRules: readonly AdmissionRule[]
  readonly decisions: RequirementDecisions
  readonly limits: Limits
  readonly domain: string
  readonly operators: ReturnType<typeof createOperatorQuestions> & OperatorQuestions
  readonly agents: AgentDeps
  readonly attachments: ReturnType<typeof createPublishedAttachments>
  readonly requirements: Awaited<ReturnType<typeof openRequirements>>
}

/** Opens platform, store, agents and requirements. @throws ConfigError, AggregateError of them */
export async function openFoundation(config: Config, options: FoundationOptions): Promise<Foundation> {
  const { baseDir, onUnusable, onStage } = options
  const { slices, platform } = openOutside(config, options)
  // A container that is started again has the name and number of the one before.
  const holder = `${hostname()}:${process.pid}:${randomBytes(4).toString('hex')}`
  const opened = await openConfiguredStore(config, { baseDir, platform, holder, onUnusable, slices })
  const store = observeStore(opened, onStage, platform.now)
  return layFoundation(config, options, {
    ...{ slices, platform, holder, store },
    findAgents: operators =>
      openAgents(listAgents(config), readAgentOpening(config, { baseDir, platform, store, operators })),
  })
}

/** A foundation for another configuration. Its agents answer when `change` is committed. */
interface RenewedFoundation {
  readonly foundation: Foundation
  readonly change: AgentChange
}

/** The same on the store and with the agents' directory of a gateway that runs. @throws ConfigError, AggregateError of them */
export async function renewFoundation(
  config: Config,
  options: FoundationOptions,
  { holder, store, agents }: Foundation,
): Promise<RenewedFoundation> {
  const { slices, platform } = openOutside(config, options)
  let change: AgentChange | undefined
  try {
    const foundation = await layFoundation(config, options, {
      ...{ slices, platform, holder, store },
      async findAgents(operators) {
        change = await agents.prepare(listAgents(config), { platform, operators })
        return agents
      },
    })
    if (!change) throw new Error('the agents were not opened')
    return { foundation, change }
  } catch (error) {
    await change?.discard()
    platform.close()
    throw error
  }
}

/** What agents of this configuration are opened with. */
export function readAgentOpening(
  config: Config,
  { baseDir, platform, store: stores, operators }: Pick<Foundation, 'baseDir' | 'platform' | 'store' | 'operators'>,
): AgentDepsOptions {
  return {
    ...{ domain: handleHostOf(config), origin: config.origin, version: softwareVersion },
    ...{ baseDir, platform, stores, operators, log: platform.log },
  }
}

/** The first one is the default where none is named. */
export function listAgents({ agents, default_agent }: Config): Pick<Config, 'agents' | 'default_agent'> {
  return { agents, default_agent: default_agent ?? Object.keys(agents)[0] }
}

function openOutside(config: Config, { baseDir, log, modules }: FoundationOptions) {
  const slices = joinTokens(readChannelFiles(listSlices(config, modules), { baseDir, log }))
  return { slices, platform: createPlatform(config, { log, slices }) }
}

interface Ground extends Pick<Foundation, 'slices' | 'platform' | 'holder' | 'store'> {
  findAgents(operators: Foundation['operators']): Promise<AgentDeps>
}

async function layFoundation(
  config: Config,
  { baseDir, configPath, modules }: FoundationOptions,
  { slices, platform, holder, store, findAgents }: Ground,
): Promise<Foundation> {
  const describe = (via: ChannelName) => findChannel(modules, via)?.descriptor
  const channels: Channel<Hono>[] = []
  const attachments = createPublishedAttachments({
    store,
    origin: config.origin,
    key: await store.secret('attachments', async () => randomBytes(32).toString('base64')),
    fetch: platform.fetch,
    now: platform.now,
  })
  const openPublishers = () => openPublisherDeps({ store, platform, channels, attachments })
  const domain = handleHostOf(config)
  const operators = createOperatorQuestions({ records: store.records, store, platform, domain, openPublishers })
  const agents = await findAgents(operators)
  const decisions = createRequirementDecisions(store, name => config.agents[name])
  const requirements = await openRequirements({
    config: config.requirements,
    payments: config.payments,
    findCall: createCallFinder(store.records),
    ...{ baseDir, store, decisions, platform, agents },
  })
  const limits = createLimits(config, platform.now, via => describe(via)?.speaker.isChat === true)
  const answersCalls = (via: ChannelName) => describe(via)?.answersCalls === true
  const admissionRules = listAdmissionRules(config, { limits, answersCalls })
  return {
    ...{ config, slices, channels, platform, holder, store, admissionRules, decisions, limits, domain },
    ...{ operators, agents, attachments, requirements, baseDir, configPath },
  }
}

type StorePosition = Pick<FoundationOptions, 'baseDir' | 'onUnusable'> &
  Pick<Foundation, 'platform' | 'holder' | 'slices'>

/** The store that the configuration names. @throws ConfigError */
async function openConfiguredStore(
  { data, store, roles }: Pick<Config, 'data' | 'store' | 'roles'>,
  { baseDir, platform, holder, onUnusable, slices }: StorePosition,
): Promise<GatewayStore> {
  const directory = resolve(baseDir, data)
  makeDataDirectory(directory)
  const { now, log } = platform
  const channels = slices.map(({ module }) => module.descriptor)
  const [bytes] = slices.flatMap(({ module, config }) => module.openBytes?.(config, platform) ?? [])
  if (isPostgresUrl(store)) {
    const { openPostgresStore } = await loadPostgres()
    const worker = hasRole({ roles }, 'worker') ? { holder } : {}
    return openPostgresStore({ url: store, now, log, channels, ...worker, onUnusable, bytes })
  }
  if (store !== 'sqlite') throw new ConfigError('store', 'is no store', 'Use "sqlite" or "postgres://…".')
  return openSqliteStore({ path: join(directory, 'postern.db'), now, log, channels, exclusive: true, bytes })
}

interface AdmissionRuleDeps {
  readonly limits: Pick<Limits, 'messages'>
  /** Whether peers of the channel wait for an answer. */
  answersCalls(via: ChannelName): boolean
}

/** What each message passes before it is stored, in this order. Who may not write to an agent uses up nothing of what others may send. */
export function listAdmissionRules(
  { agents, limits }: Pick<Config, 'agents' | 'limits'>,
  { limits: { messages: rateLimits }, answersCalls }: AdmissionRuleDeps,
): readonly AdmissionRule[] {
  const queueModes = createQueueModeRule(agents)
  const access = createAgentAccessRule(agents, answersCalls)
  const loops = createLoopRule(readLoopLimits(limits.loop))
  return [queueModes, access, rateLimits, loops]
}

type AgentConfigs = Config['agents']

/** Each message waits in its thread as its agent wants it. */
function createQueueModeRule(agents: AgentConfigs): AdmissionRule {
  const lanes = new Map<string, QueueMode>()
  for (const [name, { queue }] of Object.entries(agents)) {
    const lane = readQueueMode(queue)
    if (lane) lanes.set(name, lane)
  }
  if (lanes.size === 0) return { name: 'queue modes' }
  return {
    name: 'queue modes',
    admit(intake) {
      const lane = lanes.get(intake.agent)
      return lane ? { ...intake, lane } : intake
    },
  }
}

/** Who may write to an agent, where an agent says it. */
function createAgentAccessRule(agents: AgentConfigs, answersCalls: AdmissionRuleDeps['answersCalls']): AdmissionRule {
  const isRestricted = Object.values(agents).some(({ allow, deny }) => allow || deny)
  return isRestricted ? createAccessRule(name => agents[name], answersCalls) : { name: 'access' }
}

/** How many turns at once, for agents that say it. */
export function listConcurrency(agents: AgentConfigs): ReadonlyMap<string, number> {
  return new Map(
    Object.entries(agents).flatMap(([name, { concurrency }]) =>
      concurrency === undefined ? [] : [[name, concurrency] as const],
    ),
  )
}
