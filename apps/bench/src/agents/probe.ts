// Compares a gateway with very many agents to one with ten: its start, its memory, and the cost of a call.
import { isCompleted } from '../a2a/is-completed.ts'
import { openAgentIssuer } from '../a2a/issuer.ts'
import { createCallMaker } from '../a2a/make-calls.ts'
import { measureInterleaved } from '../harness/interleave.ts'
import type { Figure, ProbeOptions } from '../harness/tables/figure.ts'
import { splitWarmUp } from '../harness/warm-up.ts'
import { saturateServer } from '../http/load.ts'
import type { LaunchedGateway } from '../ours/launched-gateway.ts'
import { launchGateway, pauseFor } from '../ours/launched-gateway.ts'
import { findAgentModule, gatewayHost, unreachableLimits } from '../ours/open.ts'
import type { ListeningGateway } from './figures.ts'
import { toAgentFigures } from './figures.ts'

const sizes = { usual: [10, 100_000], quick: [10, 10_000] } as const
const connections = 24
/** The largest number of starts. More would not improve the median. */
const maxStarts = 3
/** The number of calls for each second of a round. */
const callsPerSecond = 1_000
/** The number of called agents, spread evenly: the first call of an agent costs more than later ones. */
const maxCallees = 1_000

/**
 * Measures `postern start` of the npm package with a configuration file of ten agents and of 100,000. The starts alternate. Then one gateway of each
 * kind keeps running, and calls to agents all over the list alternate.
 */
export async function probeAgents({
  rounds,
  seconds,
  warmUp,
  quick,
  progress,
}: ProbeOptions): Promise<readonly Figure[]> {
  const counts = sizes[quick ? 'quick' : 'usual']
  const starts = { title: 'agents, start', rounds: Math.min(rounds, maxStarts), progress }
  const startRounds = await measureInterleaved(counts, starts, measureStart)
  await using resources = new AsyncDisposableStack()
  const makeCalls = createCallMakers(resources.use(await openAgentIssuer()))
  const gateways: { readonly gateway: LaunchedGateway; readonly agents: number }[] = []
  for (const agents of counts) {
    const gateway = resources.use(await launchAgents(agents))
    gateways.push({ gateway, agents })
    progress(`agents: warming up ${agents}`)
    for (const portion of splitWarmUp(warmUp)) await measureCalls(gateway, await makeCalls(agents, portion))
  }
  const count = Math.ceil(callsPerSecond * seconds)
  const turns = { title: 'agents, calls', rounds, progress }
  const calls = await measureInterleaved(gateways, turns, async ({ gateway, agents }) =>
    measureCalls(gateway, await makeCalls(agents, count)),
  )
  return toAgentFigures(
    counts.map((agents, index) => ({ agents, startedGateways: startRounds[index] ?? [], calls: calls[index] ?? [] })),
  )
}

async function measureStart(agents: number): Promise<ListeningGateway> {
  await using gateway = await launchAgents(agents)
  return { startMs: gateway.startMs, ...gateway.readUsage() }
}

function launchAgents(count: number): Promise<LaunchedGateway> {
  const agent = { use: findAgentModule('brief') }
  return launchGateway({
    origin: `https://${gatewayHost}`,
    listen: { port: 0 },
    agents: Object.fromEntries(Array.from({ length: count }, (_, index) => [nameAgent(index), agent])),
    default_agent: nameAgent(0),
    limits: unreachableLimits,
    a2a: { auth: { anonymous: true } },
  })
}

function nameAgent(index: number): string {
  return `agent${index}`
}

/** Creates a maker of calls to agents that lie evenly over the list. */
function createCallMakers(issuer: Parameters<typeof createCallMaker>[0]) {
  return (agents: number, count: number) =>
    createCallMaker(
      issuer,
      'SendMessage',
      callNumber => `/agents/${nameAgent(pickAgent(callNumber, agents))}/a2a`,
    )(count)
}

/** Picks the agent of a call, by the number of the call: one of 1,000 that lie evenly over the list, in turn. */
export function pickAgent(callNumber: number, agents: number): number {
  const callees = Math.min(agents, maxCallees)
  return Math.floor(((callNumber % callees) * agents) / callees)
}

/** Measures the CPU time of a call, µs, all threads, until every message is done. */
async function measureCalls(gateway: LaunchedGateway, requests: readonly Uint8Array[]): Promise<number> {
  const expected = (await gateway.countEndedMessages()) + requests.length
  const cpuMsBefore = gateway.readUsage().cpuMs
  await saturateServer({ port: gateway.port, connections, requests, isExpected: isCompleted }, 600)
  while ((await gateway.countEndedMessages()) < expected) await pauseFor(20)
  return ((gateway.readUsage().cpuMs - cpuMsBefore) * 1_000) / requests.length
}
