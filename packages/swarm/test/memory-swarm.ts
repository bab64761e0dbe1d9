// Creates a swarm in memory, with models that answer from a script and a clock that tests advance.
import { createMemoryRecords, createMemoryTranscript, type SwarmMessage } from '@postern/transcript'
import {
  type AgentSpec,
  type BusEvent,
  createSwarmBus,
  type ModelAnswer,
  type SwarmDeps,
  type SwarmSpec,
  type SwarmTool,
  type SwarmToolContext,
} from '../src/index.ts'

type Script = (ModelAnswer | string | ((messages: readonly SwarmMessage[]) => ModelAnswer | Promise<ModelAnswer>))[]

export const callOf = (name: string, args: Record<string, never> = {}, id = `id-${name}`): ModelAnswer => ({
  content: '',
  tool_calls: [{ id, type: 'function', function: { name, arguments: args } }],
})

export function scripted(...script: Script) {
  const seen: (readonly SwarmMessage[])[] = []
  return {
    seen,
    async complete(messages: readonly SwarmMessage[]): Promise<ModelAnswer> {
      seen.push(messages)
      const next = script.shift() ?? 'nothing left'
      if (typeof next === 'function') return await next(messages)
      return typeof next === 'string' ? { content: next } : next
    },
  }
}

export function toolOf(name: string, call: (context: SwarmToolContext) => Promise<void>): SwarmTool {
  return { name, description: name, parameters: {}, call }
}

export function openMemorySwarm() {
  let time = 1_700_000_000_000
  let seed = 0
  const sleepers: { until: number; wake: () => void }[] = []
  const warnings: string[] = []
  const system: SwarmDeps['system'] = {
    now: () => time,
    randomBytes(size) {
      seed += 1
      return Uint8Array.from({ length: size }, (_, index) => (seed >> (8 * (index % 3))) & 255)
    },
    sleep: (ms, signal) =>
      new Promise(resolve => {
        sleepers.push({ until: time + ms, wake: resolve })
        signal?.addEventListener('abort', () => resolve())
      }),
    log: { warn: (_, text) => warnings.push(text) },
  }
  const bus = createSwarmBus({ log: system.log })
  const events: BusEvent[] = []
  bus.listen(event => void events.push(event))
  const deps: SwarmDeps = {
    transcript: createMemoryTranscript(system),
    records: createMemoryRecords(),
    bus,
    system,
    owner: 'ann',
  }
  function pass(ms: number): void {
    time += ms
    for (const { until, wake } of sleepers) if (until <= time) wake()
  }
  return { deps, bus, events, warnings, pass }
}

export const agentSpec = (
  agentName: string,
  model: AgentSpec['model'],
  overrides: Partial<AgentSpec> = {},
): AgentSpec => ({
  agentName,
  prompt: `You are ${agentName}`,
  model,
  ...overrides,
})
export const swarmSpec = (agents: readonly AgentSpec[], overrides: Partial<SwarmSpec> = {}): SwarmSpec => ({
  swarmName: 'desk',
  agents,
  defaultAgent: agents[0]?.agentName ?? '',
  ...overrides,
})
export const formatRows = (rows: readonly SwarmMessage[]) =>
  rows.map(({ role, agentName, content }) => `${role}/${agentName}:${content}`)
