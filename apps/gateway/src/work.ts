import { createA2aClient } from '@postern/a2a'
import type { AgentHouse } from '@postern/agents'
import type {
  Channel,
  ChannelName,
  DemandHouse,
  Desk,
  OutpostHouse,
  PeopleHouse,
  RetryPolicy,
  Working,
} from '@postern/core'
import { bindLog, createBreaker, createOutpost, startWorker } from '@postern/core'
import { readNote } from '@postern/transcript'
import type { AttachmentShelf } from './attachments.ts'
import { readJointLimits } from './config/loops.ts'
import type { Config } from './config/schema.ts'
import { createFileFetcher } from './kept-files.ts'
import { listConcurrency } from './lanes.ts'
import type { RealWorld } from './world.ts'

export interface WorkHouse {
  readonly config: Config
  readonly desk: Desk
  /** The name in our leases. */
  readonly holder: string
  readonly world: RealWorld
  readonly agents: AgentHouse
  readonly channels: readonly Channel[]
  readonly shelf: AttachmentShelf
  readonly demands: DemandHouse
  readonly people: PeopleHouse
  readonly countUsage: NonNullable<Working['countUsage']>
}

export interface Work {
  /** Takes nothing new, finishes or gives back what runs. */
  stop(graceMs: number): Promise<void>
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
export function startWork(house: WorkHouse): Work {
  const { config, desk, world, agents } = house
  const findChannel = createChannelFinder(house.channels)
  const retry = retryPolicyOf(config)
  const { origin } = config
  const { call: callAgent } = createA2aClient({ config: config.a2a, world, desk, origin })
  const { findRunning: findAgent } = agents
  const joint = readJointLimits(config.limits.loop)
  const { demands, people, shelf, countUsage } = house
  const fetchFile = createFileFetcher(config, { fetch: world.fetch, now: world.now })
  const working = {
    desk,
    world,
    retry,
    maxCrashes: 5,
    findAgent,
    findChannel,
    callAgent,
    fetchFile,
    joint,
    demands,
    people,
    countUsage,
    readNote,
    ...shelf,
  }
  const sending = { desk, world, retry, breaker: createBreaker(world), findChannel }
  const worker = startWorker(working, sending, world, {
    holder: house.holder,
    ...slots,
    turnsOf: listConcurrency(config.agents),
  })
  const stopping = new AbortController()
  startAgents(house, stopping.signal)
  return {
    stop(graceMs) {
      stopping.abort()
      return worker.stop(graceMs)
    },
  }
}

function createChannelFinder(channels: readonly Channel[]): (name: ChannelName) => Channel | undefined {
  const byName = new Map(channels.map(channel => [channel.name, channel]))
  return name => byName.get(name)
}

function retryPolicyOf({ delivery }: Config): RetryPolicy {
  return {
    baseMs: delivery.retry_after * 1000,
    capMs: 6 * 3_600_000,
    giveUpAfterMs: delivery.give_up_after_hours * 3_600_000,
  }
}

/** What acts of agents need, whoever asks for them. */
export function openOutpostHouse(parts: Pick<WorkHouse, 'desk' | 'world' | 'channels' | 'shelf'>): OutpostHouse {
  const { desk, world, channels, shelf } = parts
  return { desk, world, findChannel: createChannelFinder(channels), storeFiles: shelf.storeFiles }
}

/** An agent that fails to begin still answers. */
function startAgents(parts: WorkHouse, signal: AbortSignal): void {
  const { world, agents } = parts
  const house = openOutpostHouse(parts)
  for (const { name } of agents.list()) {
    const agent = agents.findRunning(name)?.agent
    const log = bindLog(world.log, { agent: name })
    const acting = { agent: name, address: `@${name}@${agents.domain}` }
    const begin = async () => agent?.start?.(createOutpost({ acting, house, signal, log }))
    begin().catch(error => log.error({ err: error }, 'agent failed to start'))
  }
}
