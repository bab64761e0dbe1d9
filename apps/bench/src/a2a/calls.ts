import { once } from 'node:events'
import type { Socket } from 'node:net'
import { connect } from 'node:net'
import type { Figure, ProbeOptions } from '../harness/figure.ts'
import type { Line } from '../harness/report.ts'
import { summarizeCase } from '../harness/report.ts'
import type { BenchCase, Contender } from '../harness/rounds.ts'
import { runRounds } from '../harness/rounds.ts'
import { formatRequest } from '../http/load.ts'
import { describeBenchGateway, gatewayHost } from '../ours/open.ts'
import { startServer } from '../servers/process.ts'
import type { Issuer } from './case.ts'
import { createCallMaker, isCompleted, openAgentIssuer } from './case.ts'

/** What one call is, and how the SDK's agent answers it. */
const kinds = {
  call: { method: 'SendMessage', answer: 'task', title: 'A2A call' },
  stream: { method: 'SendStreamingMessage', answer: 'updates', title: 'A2A stream' },
} as const

type Kind = keyof typeof kinds

const connectionCounts = [1, 10, 50] as const

/**
 * CPU time and p99 of a call and of a stream (a task, an artifact, the end), without and with JWT, at 1, 10 and 50 connections, beside the
 * SDK on Express and on Hono, and bare Hono. And what is left of streams that are cut off.
 */
export async function probeCalls(options: ProbeOptions): Promise<readonly Figure[]> {
  await using issuer = await openAgentIssuer()
  const figures: Figure[] = []
  for (const kind of Object.keys(kinds) as Kind[]) {
    for (const connections of options.quick ? [10] : connectionCounts) {
      const benchCase = openCalls(kind, connections, issuer)
      const rounds = options.quick ? 1 : Math.min(options.rounds, 3)
      const results = await runRounds(benchCase, { ...options, rounds })
      figures.push(...summarizeCase(benchCase.title, results).flatMap(toFigures))
    }
  }
  figures.push(...(await probeAborts(options)))
  return figures
}

function openCalls(kind: Kind, connections: number, issuer: Issuer): BenchCase {
  const { method, answer, title } = kinds[kind]
  const sdk = new URL('./sdk.ts', import.meta.url)
  const { loopback, trusted } = issuer
  const contenders: readonly Contender[] = [
    {
      name: 'Postern',
      note: 'anonymous, validated, durable',
      ...describeBenchGateway({ a2a: { auth: { anonymous: true } } }),
    },
    {
      name: 'Postern, ES256 JWT',
      note: 'the same with a bearer token',
      ...describeBenchGateway({ a2a: { auth: { issuers: [trusted] } }, network: { loopback } }),
      variant: 'jwt',
    },
    { name: 'SDK on Express', note: 'tasks in memory', entry: sdk, setup: { answer } },
    { name: 'SDK on Hono', note: 'the same', entry: sdk, setup: { answer, framework: 'hono' } },
    { name: 'bare Hono', note: 'a constant answer', entry: new URL('./constant.ts', import.meta.url), setup: {} },
  ]
  return {
    name: `calls, ${kind} at ${connections}`,
    title: `${title}, ${connections} connection${connections > 1 ? 's' : ''}`,
    connections,
    contenders,
    prepare: createCallMaker(issuer, method),
    isAccepted: isCompleted,
    close: async () => undefined,
  }
}

function toFigures({ case: title, name, note, cpuMicros, p99, ratio, besideMicros }: Line): readonly Figure[] {
  const against = ratio === undefined ? {} : { beside: besideMicros, ratio, against: '÷ ours' }
  return [
    { case: title, name, note, value: cpuMicros, unit: 'µs CPU', ...against },
    { case: title, name: `${name}, p99`, note: 'at 30 % of its own top rate', value: p99, unit: 'ms' },
  ]
}

const counts = { usual: 1_000, quick: 200 } as const
/** Streams that are opened at a time. */
const portion = 50
const settleMs = 10_000

/** What a gateway still listens to when its callers have gone in the middle of their streams. */
async function probeAborts({ quick, cores, progress }: ProbeOptions): Promise<readonly Figure[]> {
  const count = quick ? counts.quick : counts.usual
  const limits = { streams_per_caller: 2 * count, open_tasks_per_caller: 2 * count }
  await using gateway = await startServer({
    ...describeBenchGateway({ a2a: { auth: { anonymous: true }, limits } }),
    core: cores?.server,
  })
  // Each turn that runs listens, too, whether its caller is there or not.
  const countStreams = async () => {
    const listeners = Number(await gateway.work('listeners'))
    return listeners - (await gateway.sample()).handled
  }
  progress(`calls: ${count} streams that are cut off`)
  const sockets: Socket[] = []
  while (sockets.length < count) {
    const opening = Array.from({ length: portion }, (_, at) => openStream(gateway.port, sockets.length + at))
    sockets.push(...(await Promise.all(opening)))
  }
  const open = await countStreams()
  if (open < count) throw new Error(`${count} streams are open, but ${open} listeners`)
  for (const socket of sockets) socket.destroy()
  const left = await waitUntilNone(countStreams)
  return [
    {
      case: 'A2A streams',
      name: `listeners after ${count} aborted streams`,
      note: `${open} while they were open; a listener more is a leak`,
      value: left,
      unit: '',
      ratio: left,
      against: 'left',
      aim: { atMost: 0 },
    },
  ]
}

/** Resolves with its first bytes: the task. */
async function openStream(port: number, number: number): Promise<Socket> {
  const message = { messageId: `aborted-${number}`, role: 'ROLE_USER', parts: [{ text: 'Wait for it.' }] }
  const call = { jsonrpc: '2.0', id: number, method: 'SendStreamingMessage', params: { message } }
  const headers = { host: gatewayHost, 'content-type': 'application/json', 'a2a-version': '1.0' }
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  socket.write(formatRequest('/agents/patient/a2a', headers, Buffer.from(JSON.stringify(call))))
  let text = ''
  while (!text.includes('TASK_STATE_')) {
    const [bytes] = (await once(socket, 'data')) as [Buffer]
    text += bytes.toString('latin1')
    if (/^HTTP\/1\.1 (?!200)/.test(text)) throw new Error(`a stream was refused: ${text.slice(0, 200)}`)
  }
  return socket
}

async function waitUntilNone(count: () => Promise<number>): Promise<number> {
  const until = performance.now() + settleMs
  let left = await count()
  while (left > 0 && performance.now() < until) {
    await new Promise(resolve => setTimeout(resolve, 50))
    left = await count()
  }
  return left
}
