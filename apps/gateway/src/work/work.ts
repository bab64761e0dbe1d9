// Starts the worker that runs turns and deliveries, and the agents that speak unasked.
import { createHmac } from 'node:crypto'
import type { AgentDeps } from '@postern/agents'
import type { Log } from '@postern/message'
import type {
  Channel,
  LinkDeps,
  PausedHost,
  PublisherDeps,
  RequirementDeps,
  RetryPolicy,
  SecretStore,
  Store,
  TurnContext,
  Worker,
} from '@postern/pipeline'
import { createBreaker, createCallBudget, createPublisher, startWorker } from '@postern/pipeline'
import { readStoreNote } from '@postern/transcript'
import type { ChannelSlice } from '../config/channel-slices.ts'
import { readMentionFanoutLimits } from '../config/loops.ts'
import type { Config } from '../config/schema.ts'
import { walkAgents } from '../config/walk-agents.ts'
import type { PublishedAttachments } from '../files/attachments.ts'
import { createFileFetcher } from '../files/file-fetcher.ts'
import type { GatewaySystem } from '../system/system.ts'
import type { AgentStarts } from './agent-starts.ts'
import { startAgents } from './agent-starts.ts'

interface WorkDeps {
  readonly config: Config
  readonly slices: readonly ChannelSlice[]
  readonly store: Store
  /** The name of this gateway in its leases. */
  readonly holder: string
  readonly system: GatewaySystem
  readonly agents: AgentDeps
  readonly channels: readonly Channel[]
  readonly attachments: PublishedAttachments
  readonly requirements: RequirementDeps
  readonly people: LinkDeps
  readonly countUsage: NonNullable<TurnContext['countUsage']>
  readonly traceparentOf: TurnContext['traceparentOf']
  readonly onStepEnded: TurnContext['onStepEnded']
  /** The number of concurrent turns of the agents for which it differs from `slots.turnsPerAgent`. */
  readonly turnsOf: ReadonlyMap<string, number>
  /** Counts the turns of an agent that still run under an earlier configuration. */
  turnsElsewhere(agent: string): number
}

export interface Work extends Pick<Worker, 'waitForTurns' | 'countTurns'> {
  /** Starts the agents that were reopened, and asks their predecessors to end. */
  restartAgents(): void
  /** Returns the newest starts of the agents. */
  starts(): AgentStarts
  /** Lists the hosts that get no deliveries at present. */
  listPausedHosts(): readonly PausedHost[]
  /** Takes no new work, and finishes or returns the running work. A second call may shorten the time. */
  stop(graceMs: number): Promise<void>
}

/** The work of a gateway that only accepts messages. */
export const noWork: Work = {
  waitForTurns: async () => undefined,
  countTurns: () => 0,
  restartAgents() {},
  starts: () => ({ listFailed: () => [], firstEnded: Promise.resolve() }),
  listPausedHosts: () => [],
  stop: async () => undefined,
}

/**
 * The numbers of concurrent turns and deliveries. A host that hangs blocks its eight deliveries for the whole attempt, and strangers can
 * invent hosts. Sixty such hosts still leave slots for everybody else. All mail together has a quarter of the slots.
 */
export const slots = {
  turnSlots: 128,
  turnsPerAgent: 32,
  deliverySlots: 512,
  broadcastSlots: 64,
  deliveriesPerHost: 8,
  leaseMs: 60_000,
} as const

/** Counts the turns that may run at once. Each agent has its own slots, so that no agent waits for another one that hangs. */
function countTurnSlots({ agents }: Pick<Config, 'agents'>): number {
  let agentSlots = 0
  for (const [, { concurrency = slots.turnsPerAgent }] of walkAgents(agents)) agentSlots += concurrency
  return Math.max(slots.turnSlots, agentSlots)
}

/**
 * The number of crashes during a turn after which the turn fails. After the first crash, a crash counts only if the turn ran alone. A smaller
 * number would fail turns that were running when somebody killed the gateway, because such turns run first at each start. In tests with
 * thirty kills, a limit of two failed good turns.
 */
const maxCrashes = 5

export function startWork(gateway: WorkDeps): Work {
  const { channels, requirements, people, countUsage, traceparentOf, onStepEnded } = gateway
  // Work becomes due by the store's clock.
  const system = { ...gateway.system, now: gateway.store.now }
  const retry = readRetryPolicy(gateway.config)
  const turnContext = {
    ...openTurnDeps({ ...gateway, system }),
    callBudget: createCallBudget(gateway.config.limits.loop.calls_per_message),
    retry,
    maxCrashes,
    findAgent: gateway.agents.findRunning,
    requirements,
    people,
    countUsage,
    fetchFile: createFileFetcher(gateway.slices, system),
    ...(traceparentOf && { traceparentOf }),
    ...(onStepEnded && { onStepEnded }),
  }
  const breaker = createBreaker(system)
  const hasAgent = (name: string) => gateway.agents.find(name) !== undefined
  const sendDeps = { system, retry, breaker, channels, hasAgent }
  const worker = startWorker(turnContext, sendDeps, system, {
    holder: gateway.holder,
    ...slots,
    turnSlots: countTurnSlots(gateway.config),
    turnsOf: gateway.turnsOf,
    turnsElsewhere: gateway.turnsElsewhere,
  })
  let startController = new AbortController()
  let starts = startOwnAgents(gateway, startController.signal)
  return {
    starts: () => starts,
    waitForTurns: worker.waitForTurns,
    countTurns: worker.countTurns,
    listPausedHosts: breaker.listPausedHosts,
    restartAgents() {
      startController.abort()
      startController = new AbortController()
      starts = startOwnAgents(gateway, startController.signal)
    },
    stop(graceMs) {
      startController.abort()
      return worker.stop(graceMs)
    },
  }
}

function readRetryPolicy({ delivery }: Config): RetryPolicy {
  return {
    initialDelayMs: delivery.retry_after * 1000,
    maxDelayMs: 6 * 3_600_000,
    giveUpAfterMs: delivery.give_up_after_hours * 3_600_000,
  }
}

type TurnDepsSources = Pick<WorkDeps, 'config' | 'store' | 'system' | 'channels' | 'attachments'>

/** Returns the dependencies of turns, for the worker and for a replay. The channels are open. */
export function openTurnDeps({ config, store, system, channels, attachments }: TurnDepsSources) {
  return {
    store,
    system,
    channels,
    readNote: readStoreNote,
    ...attachments,
    fanout: readMentionFanoutLimits(config.limits.loop),
    callAgent: channels.map(({ actions }) => actions?.call).find(call => call !== undefined),
  }
}

/** Returns the dependencies of agents’ actions. */
export function openPublisherDeps(
  deps: Pick<WorkDeps, 'store' | 'system' | 'channels' | 'attachments'> & {
    readonly agents: Pick<WorkDeps['agents'], 'findRunning'>
  },
): PublisherDeps {
  const { store, system, channels, attachments, agents } = deps
  return {
    store,
    system,
    channels,
    storeFiles: attachments.storeFiles,
    findAgent: name => agents.findRunning(name),
  }
}

/** Starts the agents of a gateway, each with its own publisher. */
function startOwnAgents(deps: WorkDeps, signal: AbortSignal): AgentStarts {
  const { system, agents } = deps
  const gateway = openPublisherDeps(deps)
  const openPublisher = (agent: string, log: Log) =>
    createPublisher({ actingAgent: { agent, address: `@${agent}@${agents.domain}` }, gateway, signal, log })
  return startAgents({ agents, system, openPublisher }, signal)
}

/** Derives codes for linking addresses from a key of this store. */
export async function openLinkCodes(store: Pick<SecretStore, 'openSecret'>): Promise<LinkDeps> {
  const secret = await store.openSecret('people')
  return { deriveBytes: claim => secret.list().map(key => createHmac('sha256', key).update(claim).digest()) }
}
