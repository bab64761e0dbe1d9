// Finds the source files that run for one message of each channel.
import { setTimeout as sleep } from 'node:timers/promises'
import type { RecordedGateway } from './recorded-gateway.ts'

export type MeasuredChannel = 'activitypub' | 'a2a' | 'email' | 'web'

/** The sender of one message for each channel. A sender waits for the answer. */
const senders: Readonly<Record<MeasuredChannel, (gateway: RecordedGateway) => Promise<string | undefined>>> = {
  activitypub: ({ simulation }) => sendMessage(simulation, 'activitypub'),
  email: ({ simulation }) => sendMessage(simulation, 'email'),
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
 * A gateway is quiet after it has done only periodic work for this time, ms. Two such pauses also outlast the cache of absent DNS records that mail
 * uses, so every message queries the records again.
 */
const quietMs = 1_200
const rounds = 3

/**
 * Returns the files of each channel's path, sorted. A file belongs to the path if every one of three messages runs a function of the file that an
 * idle gateway does not run.
 */
export async function measurePaths(gateway: RecordedGateway): Promise<ReadonlyMap<MeasuredChannel, readonly string[]>> {
  for (const channel of measuredChannels) await sendAndCheckAnswer(gateway, channel)
  const idleFunctions = await measureIdle(gateway)
  const paths = new Map<MeasuredChannel, readonly string[]>()
  for (const channel of measuredChannels) {
    const fileSets: ReadonlySet<string>[] = []
    for (let round = 0; round < rounds; round += 1) {
      await sendAndCheckAnswer(gateway, channel)
      fileSets.push(await takeUntilQuiet(gateway, idleFunctions))
    }
    const [firstFiles = new Set<string>(), ...otherFileSets] = fileSets
    paths.set(channel, [...firstFiles].filter(path => otherFileSets.every(files => files.has(path))).sort())
  }
  return paths
}

async function measureIdle(gateway: RecordedGateway): Promise<ReadonlySet<string>> {
  await sleep(2 * quietMs)
  await gateway.takeRunFunctions()
  await sleep(idleMs)
  return new Set((await gateway.takeRunFunctions()).keys())
}

async function sendAndCheckAnswer(gateway: RecordedGateway, channel: MeasuredChannel): Promise<void> {
  const answer = await senders[channel](gateway)
  if (!answer?.includes(text)) throw new Error(`No answer by ${channel}: ${answer}`)
}

/** Returns the files that ran since the last call, until a quiet moment. */
async function takeUntilQuiet(
  gateway: RecordedGateway,
  idleFunctions: ReadonlySet<string>,
): Promise<ReadonlySet<string>> {
  const files = new Set<string>()
  for (;;) {
    await sleep(quietMs)
    const runFunctions = await gateway.takeRunFunctions()
    const newFunctions = [...runFunctions].filter(([name]) => !idleFunctions.has(name))
    for (const [, path] of newFunctions) files.add(path)
    if (newFunctions.length === 0) return files
  }
}

async function sendMessage(
  simulation: RecordedGateway['simulation'],
  via: 'activitypub' | 'email',
): Promise<string | undefined> {
  const { reply } = await simulation.send({ via, to: '@echo@agents.test', text, timeoutMs: 30_000 })
  return reply?.text
}
