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

// A swarm in memory: models that answer by script, a clock that goes on when told.

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
  const platform: SwarmDeps['platform'] = {
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
  const bus = createSwarmBus({ log: platform.log })
  const events: BusEvent[] = []
  bus.listen(event => void events.push(event))
  const deps: SwarmDeps = {
    transcript: createMemoryTranscript(platform),
    records: createMemoryRecords(),
    bus,
    platform,
    owner: 'ann',
  }
  function pass(ms: number): void {
    time += ms
    for (const { until, wake } of sleepers) if (until <= time) wake()
  }
  return { deps, bus, events, warnings, pass }
}

export const agentSpec = (agentName: string, model: AgentSpec['model'], rest: Partial<AgentSpec> = {}): AgentSpec => ({
  agentName,
  prompt: `You are ${agentName}`,
  model,
  ...rest,
})
export const swarmSpec = (agents: readonly AgentSpec[], rest: Partial<SwarmSpec> = {}): SwarmSpec => ({
  swarmName: 'desk',
  agents,
  defaultAgent: agents[0]?.agentName ?? '',
  ...rest,
})
export const formatRows = (rows: readonly SwarmMessage[]) =>
  rows.map(({ role, agentName, content }) => `${role}/${agentName}:${content}`)
