// Measures A2A calls and streams at several connection counts, compared with the official SDK.
import type { BenchCase, Contender } from '../harness/rounds.ts'
import { runRounds } from '../harness/rounds.ts'
import type { Figure, ProbeOptions } from '../harness/tables/figure.ts'
import type { SummaryRow } from '../harness/tables/summary.ts'
import { summarizeCase } from '../harness/tables/summary.ts'
import { describeBenchGateway } from '../ours/open.ts'
import { probeAborts } from './aborted-streams.ts'
import { isCompleted } from './is-completed.ts'
import type { Issuer } from './issuer.ts'
import { openAgentIssuer } from './issuer.ts'
import { createCallMaker } from './make-calls.ts'

/** The kinds of calls, each with the answer of the SDK's agent. */
const kinds = {
  call: { method: 'SendMessage', answer: 'task', title: 'A2A call' },
  stream: { method: 'SendStreamingMessage', answer: 'updates', title: 'A2A stream' },
} as const

type Kind = keyof typeof kinds

const connectionCounts = [1, 10, 50] as const
/** The maximum number of warm-up calls per connection. Calls of one connection run one after the other, so more would take too long. */
const maxWarmUpPerConnection = 4_000

/**
 * Measures CPU time and p99 of a call and of a stream (a task, an artifact, the end), without and with JWT, at 1, 10 and 50 connections, compared
 * with the SDK on Express and on Hono, and with bare Hono. Also measures the resources that remain after streams are cut off.
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
  const { loopback, issuerConfig: trusted } = issuer
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
    maxWarmUp: maxWarmUpPerConnection * connections,
    contenders,
    prepare: createCallMaker(issuer, method),
    isExpected: isCompleted,
    close: async () => undefined,
  }
}

function toFigures({ case: title, name, note, cpuMicros, p99, ratio, referenceMicros }: SummaryRow): readonly Figure[] {
  const comparison = ratio === undefined ? {} : { referenceValue: referenceMicros, ratio, ratioLabel: '÷ ours' }
  return [
    { case: title, name, note, value: cpuMicros, unit: 'µs CPU', ...comparison },
    { case: title, name: `${name}, p99`, note: 'at 30 % of its own top rate', value: p99, unit: 'ms' },
  ]
}
