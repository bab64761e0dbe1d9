// Finds the source files that run for one message of each channel.
import { setTimeout as sleep } from 'node:timers/promises'
import type { CountedGateway } from './counted-gateway.ts'

export type MeasuredChannel = 'activitypub' | 'a2a' | 'email' | 'web'

/** Sends one message to the channel's own endpoint, from a peer that waits for the answer. */
const senders: Readonly<Record<MeasuredChannel, (gateway: CountedGateway) => Promise<string | undefined>>> = {
  activitypub: ({ simulation }) => sendNew(simulation, 'activitypub'),
  email: ({ simulation }) => sendNew(simulation, 'email'),
  async a2a({ simulation }) {
    const receipt = await simulation.a2a.deliver({ url: 'https://agents.test/agents/echo/a2a', text })
    return JSON.stringify(receipt.result)
  },
  web: gateway => gateway.runChat(text),
}
const measuredChannels = Object.keys(senders) as readonly MeasuredChannel[]

const text = 'hello from outside'
/** The time of an idle measurement, ms: longer than any period of the gateway's own work, except for rare clean-ups. */
const idleMs = 6_000
/**
 * The gateway has settled a message once it did nothing except its periodic work for this long, ms. Two such pauses also outlast the cache of absent
 * DNS records that mail uses, so that every message queries them again.
 */
const quietMs = 1_200
const rounds = 3

/**
 * Returns the files of each channel's path, sorted. A file is on it if each of three messages runs a function there that an idle gateway does not
 * run.
 */
export async function measurePaths(gateway: CountedGateway): Promise<ReadonlyMap<MeasuredChannel, readonly string[]>> {
  for (const channel of measuredChannels) await exchange(gateway, channel)
  const idle = await measureIdle(gateway)
  const paths = new Map<MeasuredChannel, readonly string[]>()
  for (const channel of measuredChannels) {
    const runFunctions: ReadonlySet<string>[] = []
    for (let round = 0; round < rounds; round += 1) {
      await exchange(gateway, channel)
      runFunctions.push(await takeUntilQuiet(gateway, idle))
    }
    const [first = new Set<string>(), ...others] = runFunctions
    paths.set(channel, [...first].filter(path => others.every(files => files.has(path))).sort())
  }
  return paths
}

async function measureIdle(gateway: CountedGateway): Promise<ReadonlySet<string>> {
  await sleep(2 * quietMs)
  await gateway.takeFunctions()
  await sleep(idleMs)
  return new Set((await gateway.takeFunctions()).keys())
}

async function exchange(gateway: CountedGateway, channel: MeasuredChannel): Promise<void> {
  const answer = await senders[channel](gateway)
  if (!answer?.includes(text)) throw new Error(`No answer by ${channel}: ${answer}`)
}

/** Returns the files that ran since the last call, until a quiet moment. */
async function takeUntilQuiet(gateway: CountedGateway, idle: ReadonlySet<string>): Promise<ReadonlySet<string>> {
  const files = new Set<string>()
  for (;;) {
    await sleep(quietMs)
    const runFunctions = await gateway.takeFunctions()
    const newFunctions = [...runFunctions].filter(([name]) => !idle.has(name))
    for (const [, path] of newFunctions) files.add(path)
    if (newFunctions.length === 0) return files
  }
}

async function sendNew(
  simulation: CountedGateway['simulation'],
  via: 'activitypub' | 'email',
): Promise<string | undefined> {
  const { reply } = await simulation.send({ via, to: '@echo@agents.test', text, timeoutMs: 30_000 })
  return reply?.text
}
