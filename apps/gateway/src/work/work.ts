import { createHmac, randomBytes } from 'node:crypto'
import type { AgentDeps } from '@postern/agents'
import type {
  Channel,
  LeftAloneHost,
  LookupStore,
  PeopleDeps,
  Platform,
  PublisherDeps,
  RequirementDeps,
  RetryPolicy,
  Store,
  TurnContext,
  WhyStore,
  Worker,
} from '@postern/core'
import { bindLog, createBreaker, createPublisher, startWorker } from '@postern/core'
import { readStoreNote } from '@postern/transcript'
import type { ChannelSlice } from '../config/channel-slices.ts'
import { readMentionFanoutLimits } from '../config/loops.ts'
import type { Config } from '../config/schema.ts'
import type { PublishedAttachments } from '../files/attachments.ts'
import { createFileFetcher } from '../files/kept-files.ts'
import type { GatewayPlatform } from '../platform/platform.ts'

interface WorkDeps {
  readonly config: Config
  readonly slices: readonly ChannelSlice[]
  readonly store: Store
  /** The name in our leases. */
  readonly holder: string
  readonly platform: GatewayPlatform
  readonly agents: AgentDeps
  readonly channels: readonly Channel[]
  readonly attachments: PublishedAttachments
  readonly requirements: RequirementDeps
  readonly people: PeopleDeps
  readonly countUsage: NonNullable<TurnContext['countUsage']>
  readonly traceparentOf: TurnContext['traceparentOf']
  /** How many turns of an agent at once, where that is not `slots.turnsPerAgent`. */
  readonly turnsOf: ReadonlyMap<string, number>
}

export interface Work extends Pick<Worker, 'untilTurnsEnd'> {
  /** Agents that were opened anew begin; what the former ones began is told to end. */
  restartAgents(): void
  /** Hosts that nothing is delivered to now. */
  listLeftAlone(): readonly LeftAloneHost[]
  /** Takes nothing new, finishes or gives back what runs. To stop again with another time is possible: the shorter one counts. */
  stop(graceMs: number): Promise<void>
}

/** Of a gateway that only takes messages in. */
export const noWork: Work = {
  untilTurnsEnd: async () => undefined,
  restartAgents() {},
  listLeftAlone: () => [],
  stop: async () => undefined,
}

/**
 * How much runs at once. A host that hangs holds each of its eight deliveries for as long as a try may take, and strangers make up
 * as many hosts as they like: there is room for sixty of them beside everybody else.
 */
export const slots = {
  turnSlots: 128,
  turnsPerAgent: 32,
  deliverySlots: 512,
  broadcastSlots: 64,
  deliveriesPerHost: 8,
  leaseMs: 60_000,
} as const

/** Answers, delivers, and lets agents speak of themselves. */
export function startWork(gateway: WorkDeps): Work {
  const { platform, channels, requirements, people, countUsage, traceparentOf } = gateway
  const retry = retryPolicyOf(gateway.config)
  const turnContext = {
    ...openTurnParts(gateway),
    ...{ retry, maxCrashes: 5, findAgent: gateway.agents.findRunning, requirements, people, countUsage },
    fetchFile: createFileFetcher(gateway.slices, platform),
    ...(traceparentOf && { traceparentOf }),
  }
  const breaker = createBreaker(platform)
  const sending = { platform, retry, breaker, channels }
  const worker = startWorker(turnContext, sending, platform, {
    holder: gateway.holder,
    ...slots,
    turnsOf: gateway.turnsOf,
  })
  let started = new AbortController()
  startAgents(gateway, started.signal)
  return {
    untilTurnsEnd: worker.untilTurnsEnd,
    listLeftAlone: breaker.listLeftAlone,
    restartAgents() {
      started.abort()
      started = new AbortController()
      startAgents(gateway, started.signal)
    },
    stop(graceMs) {
      started.abort()
      return worker.stop(graceMs)
    },
  }
}

function retryPolicyOf({ delivery }: Config): RetryPolicy {
  return {
    baseMs: delivery.retry_after * 1000,
    capMs: 6 * 3_600_000,
    giveUpAfterMs: delivery.give_up_after_hours * 3_600_000,
  }
}

type TurnParts = Pick<WorkDeps, 'config' | 'store' | 'platform' | 'channels' | 'attachments'>

/** What turns need, of the worker and of a replay. The channels are open. */
export function openTurnParts({ config, store, platform, channels, attachments }: TurnParts) {
  return {
    ...{ store, platform, channels, readNote: readStoreNote, ...attachments },
    fanout: readMentionFanoutLimits(config.limits.loop),
    callAgent: channels.map(({ callAgent }) => callAgent).find(call => call !== undefined),
  }
}

/** What acts of agents need, whoever asks for them. */
export function openPublisherDeps(
  parts: Pick<WorkDeps, 'store' | 'platform' | 'channels' | 'attachments'>,
): PublisherDeps {
  const { store, platform, channels, attachments } = parts
  return { store, platform, channels, storeFiles: attachments.storeFiles }
}

/** An agent that fails to begin still answers. */
function startAgents(parts: WorkDeps, signal: AbortSignal): void {
  const { platform, agents } = parts
  const gateway = openPublisherDeps(parts)
  for (const { name } of agents.list()) {
    const agent = agents.findRunning(name)?.agent
    const log = bindLog(platform.log, { agent: name })
    const acting = { agent: name, address: `@${name}@${agents.domain}` }
    const begin = async () => agent?.start?.(createPublisher({ acting, gateway, signal, log }))
    begin().catch(error => log.error({ err: error }, 'agent failed to start'))
  }
}

interface RunNotesDeps {
  readonly store: Pick<WhyStore, 'noteGatewayRun'>
  /** The name of this process. */
  readonly holder: string
  readonly platform: Pick<Platform, 'log'>
}

/** How often a gateway writes down that it still runs. */
const everyMs = 60_000

/**
 * The store knows when gateways ran, so it can tell that a message came late because none did. It is a hint: the gateway runs on when it
 * cannot be written. @returns what ends the run
 */
export async function startRunNotes({ store, holder, platform }: RunNotesDeps): Promise<() => Promise<void>> {
  const note = (stage: Parameters<WhyStore['noteGatewayRun']>[1]) =>
    store
      .noteGatewayRun(holder, stage)
      .catch(error => platform.log.warn({ err: error }, 'cannot note that the gateway runs'))
  await note('begins')
  const timer = setInterval(() => void note('runs'), everyMs).unref()
  return () => {
    clearInterval(timer)
    return note('ends')
  }
}

/** Codes come of a key that only this gateway has, made once. */
export async function openLinkCodes(store: Pick<LookupStore, 'secret'>): Promise<PeopleDeps> {
  const key = await store.secret('people', async () => randomBytes(32).toString('base64'))
  return { deriveBytes: claim => createHmac('sha256', key).update(claim).digest() }
}
