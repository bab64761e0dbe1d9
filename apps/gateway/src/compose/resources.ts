// Opens the system, store, agents, limits and requirements that channels and routes use.
import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { join, resolve } from 'node:path'
import type { AgentChange, AgentDeps, AgentDepsOptions } from '@postern/agents'
import { createCallFinder, openAgents, readQueueMode } from '@postern/agents'
import type { ChannelName, Log } from '@postern/message'
import { ConfigError } from '@postern/message'
import { createOperatorQuestions } from '@postern/operator'
import type { AdmissionRule, Channel, OperatorQuestions, QueueMode, RequirementDecisions } from '@postern/pipeline'
import { createAccessRule, createLoopRule, createRequirementDecisions, findChannel } from '@postern/pipeline'
import { openRequirements } from '@postern/requirements'
import type { GatewayStore } from '@postern/store'
import { isPostgresUrl, loadPostgres, openSqliteStore, readSqliteStore } from '@postern/store'
import type { Hono } from 'hono'
import type { AnyChannelModule, ChannelSlice } from '../config/channel-slices.ts'
import { joinChannelTokenRules, listSlices, readChannelFiles } from '../config/channel-slices.ts'
import { readLoopLimits } from '../config/loops.ts'
import { hasRole } from '../config/own-schema.ts'
import type { Config } from '../config/schema.ts'
import { findHandleHost } from '../config/schema.ts'
import { walkAgents } from '../config/walk-agents.ts'
import { createPublishedAttachments } from '../files/attachments.ts'
import type { Limits } from '../http/clients/limits.ts'
import { createLimits } from '../http/clients/limits.ts'
import { maskLog } from '../masking/masked-log.ts'
import { maskRecords } from '../masking/masked-records.ts'
import type { SecretMask } from '../masking/secret-mask.ts'
import { listSecretTexts } from '../masking/secret-settings.ts'
import { observeStore } from '../observe/telemetry/observe-store.ts'
import type { StageListener } from '../observe/telemetry/stage.ts'
import type { AgentForgetting } from '../storage/agent-forgetting.ts'
import { createAgentForgetting } from '../storage/agent-forgetting.ts'
import type { FreeSpace } from '../storage/free-space.ts'
import { createFreeSpace, readFreeBytes } from '../storage/free-space.ts'
import type { PeopleForgetting } from '../storage/people-forgetting.ts'
import { createPeopleForgetting } from '../storage/people-forgetting.ts'
import { checkStoredOrigin } from '../storage/run-setup.ts'
import { createStorageRule, readStorageLimits } from '../storage/storage-rule.ts'
import { createDataDirectory } from '../system/run/run-file.ts'
import type { GatewaySystem } from '../system/system.ts'
import { createSystem } from '../system/system.ts'
import { softwareVersion } from '../system/version.ts'
import { openPublisherDeps } from '../work/work.ts'

export interface ResourceOptions {
  /** The folder that relative paths in the configuration start from. */
  readonly baseDir: string
  /** The configuration file; absent if there is none. */
  readonly configPath?: string | undefined
  readonly log: Log
  /** Called when the store has failed for good. */
  readonly onUnusable?: ((error: ConfigError) => void) | undefined
  readonly modules: readonly AnyChannelModule[]
  /** Hides the secrets of the configuration in the log and in records. */
  readonly mask: SecretMask
  /** Called at the end of each stage of a message. */
  readonly onStage: StageListener
  /** False if the gateway must reject a store of an earlier release and create no store. Default: true, which updates the tables. */
  readonly mayMigrate?: boolean | undefined
  /** True if the gateway must write nothing and create no folder. Default: false. */
  readonly isReadOnly?: boolean | undefined
  /** Absent for the clock of the machine. */
  readonly clock?: Pick<GatewaySystem, 'now' | 'sleep'> | undefined
  /** Returns the address on this machine if the origin leads elsewhere, as in a simulated network. */
  findLocalAddress?(): string | undefined
}

/** The system, store, agents and limits that channels and routes use. */
export interface GatewayResources extends Pick<ResourceOptions, 'baseDir' | 'configPath' | 'mask'> {
  readonly config: Config
  readonly slices: readonly ChannelSlice[]
  /** The channels that have opened so far. */
  readonly channels: Channel<Hono>[]
  readonly system: GatewaySystem
  /** The name of this gateway in its leases. */
  readonly holder: string
  readonly store: GatewayStore
  readonly freeSpace: FreeSpace
  /** The rules that each message must pass before it is stored. */
  readonly admissionRules: readonly AdmissionRule[]
  readonly forgetting: PeopleForgetting
  readonly agentForgetting: AgentForgetting
  readonly decisions: RequirementDecisions
  readonly limits: Limits
  readonly domain: string
  readonly operators: ReturnType<typeof createOperatorQuestions> & OperatorQuestions
  readonly agents: AgentDeps
  readonly attachments: ReturnType<typeof createPublishedAttachments>
  readonly requirements: Awaited<ReturnType<typeof openRequirements>>
}

/** Opens system, store, agents and requirements. @throws ConfigError, AggregateError of them */
export async function openResources(config: Config, options: ResourceOptions): Promise<GatewayResources> {
  const { baseDir, onUnusable, onStage, mayMigrate, isReadOnly, mask } = options
  const { slices, system } = openSystem(config, options)
  // A restarted container has the same host name and process id as before.
  const holder = `${hostname()}:${process.pid}:${randomBytes(4).toString('hex')}`
  const openedStore = await openConfiguredStore(config, {
    baseDir,
    system,
    holder,
    onUnusable,
    mayMigrate,
    isReadOnly,
    slices,
  })
  // A command that does not start the gateway checks only the origin. A start compares the whole setup, and may adopt the data.
  if (mayMigrate === false && !isReadOnly) {
    await checkStoredOrigin(config, { slices, store: openedStore }).catch(async error => {
      system.close()
      await openedStore.close()
      throw error
    })
  }
  const observe = <Observed extends GatewayStore['forOperators']>(wrappedStore: Observed) =>
    maskRecords(observeStore(wrappedStore, onStage, system.now), mask)
  const operatorStore = observe(openedStore.forOperators)
  let openedAgents: AgentDeps | undefined
  const { agentForgetting, forgetting } = openForgetting({
    store: operatorStore,
    system,
    slices,
    directory: resolve(baseDir, config.data),
    findAgents: () => openedAgents,
  })
  // Each request to forget adds the person to the list. A person who asks does not wait for the agents.
  const forgetPerson: GatewayStore['forgetPerson'] = async request => {
    const { calls, ...forgotten } = await forgetting.forgetPerson(request)
    void agentForgetting.call(calls)
    return forgotten
  }
  const store = { ...observe(openedStore), forgetPerson, forOperators: { ...operatorStore, forgetPerson } }
  return completeResources(config, options, {
    slices,
    system,
    holder,
    store,
    forgetting,
    agentForgetting,
    async prepareAgents(operators) {
      openedAgents = await openAgents(
        listAgents(config),
        createAgentOptions(config, { baseDir, system, store, operators }),
      )
      return openedAgents
    },
  })
}

interface ForgettingDeps extends Pick<GatewayResources, 'system' | 'slices'> {
  readonly store: GatewayStore['forOperators']
  /** The data folder. */
  readonly directory: string
  findAgents(): AgentDeps | undefined
}

/** Opens the forgetting of people, by the gateway itself and by its agents. */
function openForgetting({ store, system, slices, directory, findAgents }: ForgettingDeps) {
  const agentForgetting = createAgentForgetting({
    store,
    system,
    agents: findAgents,
    channels: slices.map(({ module }) => module),
  })
  const forgetting = createPeopleForgetting({ store, directory, log: system.log, agents: agentForgetting })
  return { agentForgetting, forgetting }
}

/** The resources of a changed configuration. Their agents answer once `change` is committed. */
interface ReopenedResources {
  readonly resources: GatewayResources
  readonly change: AgentChange
}

/** Opens the resources of a changed configuration, on the store and agents of the running gateway. @throws ConfigError, AggregateError of them */
export async function reopenResources(
  config: Config,
  options: ResourceOptions,
  { holder, store, agents, forgetting, agentForgetting }: GatewayResources,
): Promise<ReopenedResources> {
  const { slices, system } = openSystem(config, options)
  let change: AgentChange | undefined
  try {
    const resources = await completeResources(config, options, {
      slices,
      system,
      holder,
      store,
      forgetting,
      agentForgetting,
      async prepareAgents(operators) {
        change = await agents.prepare(listAgents(config), { system, operators })
        return agents
      },
    })
    if (!change) throw new Error('the agents were not opened')
    return { resources, change }
  } catch (error) {
    await change?.discard()
    system.close()
    throw error
  }
}

/** Returns the dependencies with which agents are opened. */
export function createAgentOptions(
  config: Config,
  { baseDir, system, store: stores, operators }: Pick<GatewayResources, 'baseDir' | 'system' | 'store' | 'operators'>,
): AgentDepsOptions {
  return {
    domain: findHandleHost(config),
    origin: config.origin,
    version: softwareVersion,
    baseDir,
    system,
    stores,
    operators,
    log: system.log,
  }
}

/** Returns the agents and the name of the default agent, which is the first one if the configuration names none. */
export function listAgents({ agents, default_agent }: Config): Pick<Config, 'agents' | 'default_agent'> {
  return { agents, default_agent: default_agent ?? Object.keys(agents)[0] }
}

function openSystem(config: Config, { baseDir, log: unmaskedLog, mask, modules, clock }: ResourceOptions) {
  mask.addSecrets(listSecretTexts({ tree: config }))
  const log = maskLog(unmaskedLog, mask)
  const slices = joinChannelTokenRules(readChannelFiles(listSlices(config, modules), { baseDir, log }))
  return { slices, system: createSystem(config, { log, slices, clock }) }
}

interface CompletionDeps
  extends Pick<GatewayResources, 'slices' | 'system' | 'holder' | 'store' | 'forgetting' | 'agentForgetting'> {
  prepareAgents(operators: GatewayResources['operators']): Promise<AgentDeps>
}

async function completeResources(
  config: Config,
  { baseDir, configPath, modules, mask, findLocalAddress }: ResourceOptions,
  { slices, system, holder, store, forgetting, agentForgetting, prepareAgents }: CompletionDeps,
): Promise<GatewayResources> {
  const findDescriptor = (via: ChannelName) => findChannel(modules, via)?.descriptor
  const channels: Channel<Hono>[] = []
  const attachments = createPublishedAttachments({
    store,
    origin: config.origin,
    secret: await store.openSecret('attachments'),
    fetch: system.fetch,
    now: system.now,
    ...(findLocalAddress && { findLocalAddress }),
  })
  const openPublishers = () => openPublisherDeps({ store, system, channels, attachments, agents })
  const domain = findHandleHost(config)
  const operators = createOperatorQuestions({ store, system, domain, openPublishers })
  const agents = await prepareAgents(operators)
  const decisions = createRequirementDecisions(store, name => config.agents[name])
  const requirements = await openRequirements({
    config: config.requirements,
    payments: config.payments,
    findCall: createCallFinder(store.records),
    baseDir,
    store,
    decisions,
    system,
    agents,
  })
  const limits = createLimits(config, system.now, via => findDescriptor(via)?.speaker.isChat === true)
  const answersCalls = (via: ChannelName) => findDescriptor(via)?.answersCalls === true
  const freeSpace = openFreeSpace(config, { baseDir, system })
  const storage = createStorageRule(config, freeSpace)
  const admissionRules = listAdmissionRules(config, { limits, storage, answersCalls })
  return {
    config,
    slices,
    channels,
    system,
    holder,
    store,
    forgetting,
    agentForgetting,
    freeSpace,
    admissionRules,
    decisions,
    limits,
    domain,
    operators,
    agents,
    attachments,
    requirements,
    baseDir,
    configPath,
    mask,
  }
}

type OpenStoreDeps = Pick<ResourceOptions, 'baseDir' | 'onUnusable' | 'mayMigrate' | 'isReadOnly'> &
  Pick<GatewayResources, 'system' | 'holder' | 'slices'>

/** Opens the store that the configuration names. @throws ConfigError */
async function openConfiguredStore(
  { data, store, roles }: Pick<Config, 'data' | 'store' | 'roles'>,
  { baseDir, system, holder, onUnusable, mayMigrate, isReadOnly = false, slices }: OpenStoreDeps,
): Promise<GatewayStore> {
  const directory = resolve(baseDir, data)
  if (!isReadOnly && mayMigrate !== false) createDataDirectory(directory)
  const { now, log } = system
  const channels = slices.map(({ module }) => module.descriptor)
  const [bytes] = slices.flatMap(({ module, config }) => module.openBytes?.(config, system) ?? [])
  if (isPostgresUrl(store)) {
    const { openPostgresStore } = await loadPostgres()
    const workerOptions = hasRole({ roles }, 'worker') && !isReadOnly ? { holder } : {}
    const accessOptions = isReadOnly ? { readsOnly: isReadOnly } : { mayMigrate }
    return openPostgresStore({ url: store, log, channels, ...workerOptions, onUnusable, bytes, ...accessOptions })
  }
  if (store !== 'sqlite') throw new ConfigError('store', 'is not a store', 'Use "sqlite" or "postgres://…".')
  const path = join(directory, 'postern.db')
  if (isReadOnly) return readSqliteStore({ path, now, log, channels, bytes })
  return openSqliteStore({
    path,
    now,
    log,
    channels,
    exclusive: true,
    bytes,
    mayMigrate,
  })
}

/** Watches the disk of the embedded store. A PostgreSQL server watches its own disk. */
function openFreeSpace(
  config: Pick<Config, 'data' | 'store' | 'limits' | 'dev'>,
  { baseDir, system: { now, log } }: Pick<GatewayResources, 'baseDir' | 'system'>,
): FreeSpace {
  const minFreeBytes = config.store === 'sqlite' ? readStorageLimits(config).free_bytes : undefined
  return createFreeSpace({
    minFreeBytes,
    measureFreeBytes: () => readFreeBytes(resolve(baseDir, config.data)),
    now,
    log,
  })
}

interface AdmissionRuleDeps {
  readonly limits: Pick<Limits, 'messages'>
  readonly storage: AdmissionRule
  /** Returns true if peers of the channel wait for an answer. */
  answersCalls(via: ChannelName): boolean
}

/** Lists the rules for messages in their order. Access comes first, so that a refused sender uses up no one’s limits. */
export function listAdmissionRules(
  { agents, limits }: Pick<Config, 'agents' | 'limits'>,
  { limits: { messages: rateLimits }, storage, answersCalls }: AdmissionRuleDeps,
): readonly AdmissionRule[] {
  const queueModes = createQueueModeRule(agents)
  const access = createAgentAccessRule(agents, answersCalls)
  const loops = createLoopRule(readLoopLimits(limits.loop))
  return [queueModes, access, rateLimits, storage, loops]
}

type AgentConfigs = Config['agents']

/** Gives each message the queue mode of its agent. */
function createQueueModeRule(agents: AgentConfigs): AdmissionRule {
  const modes = new Map<string, QueueMode>()
  for (const [name, { queue }] of walkAgents(agents)) {
    const mode = readQueueMode(queue)
    if (mode) modes.set(name, mode)
  }
  if (modes.size === 0) return { name: 'queue modes' }
  return {
    name: 'queue modes',
    admit(intake) {
      const mode = modes.get(intake.agent)
      return mode ? { ...intake, queueMode: mode } : intake
    },
  }
}

/** Creates the rule of agents that restrict their senders. */
function createAgentAccessRule(agents: AgentConfigs, answersCalls: AdmissionRuleDeps['answersCalls']): AdmissionRule {
  const isRestricted = Object.keys(agents).some(name => agents[name]?.allow || agents[name]?.deny)
  return isRestricted ? createAccessRule(name => agents[name], answersCalls) : { name: 'access' }
}

/** Returns the number of concurrent turns of each agent that sets one. */
export function listConcurrency(agents: AgentConfigs): ReadonlyMap<string, number> {
  const turnsOf = new Map<string, number>()
  for (const [name, { concurrency }] of walkAgents(agents))
    if (concurrency !== undefined) turnsOf.set(name, concurrency)
  return turnsOf
}
