// Runs a swarm of two agents without a gateway. Name a file to store its transcript there, and run it twice to see the agents remember.
//   node examples/transcript/desk.ts /tmp/desk.db
import { randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { openSqliteStore } from '@postern/store'
import type { SwarmDeps, SwarmModel, SwarmTool } from '@postern/swarm'
import { createNavigateTool, createSwarm, createSwarmBus } from '@postern/swarm'
import { envelopeCodec } from '@postern/transcript'

const print = (line: string) => void process.stdout.write(`${line}\n`)
const log = {
  debug() {},
  info() {},
  warn: (_: object, text: string) => print(text),
  error: (_: object, text: string) => print(text),
}
const system: SwarmDeps['system'] = {
  now: Date.now,
  randomBytes: size => randomBytes(size),
  sleep: (ms, signal) => delay(ms, undefined, signal && { signal }).catch(() => undefined),
  log,
}
const store = await openSqliteStore({ path: process.argv[2] ?? ':memory:', now: Date.now, log, channels: [] })
const bus = createSwarmBus({ log })

/** Replaces a real model in this example. Its replies depend only on the last message and the tools. */
const model: SwarmModel = {
  async complete(messages, tools, onText) {
    const lastMessage = messages.at(-1)
    const call = (name: string, args = {}) => {
      return {
        content: '',
        tool_calls: [{ id: randomUUID(), type: 'function', function: { name, arguments: args } }],
      } as const
    }
    const canNavigate = tools.some(({ name }) => name === 'navigate_to_refunds')
    if (canNavigate && lastMessage?.content.includes('money')) return call('navigate_to_refunds')
    if (lastMessage?.role === 'user' && tools.some(({ name }) => name === 'note'))
      return call('note', { text: lastMessage.content })
    const content = lastMessage?.role === 'tool' ? `Noted as number ${lastMessage.content}.` : 'How can I help?'
    onText?.(content)
    return { content }
  },
}

const noteTool: SwarmTool = {
  name: 'note',
  description: 'Notes what the customer wants',
  parameters: { type: 'object', properties: { text: { type: 'string' } } },
  async call({ params, data, commitToolOutput }) {
    const id = await data.state<number>('count').set(count => count + 1)
    await data.storage('notes').upsert({ id, text: String(params.text) })
    await commitToolOutput(String(id))
  },
}

const swarm = createSwarm(
  {
    swarmName: 'desk',
    defaultAgent: 'triage',
    agents: [
      {
        agentName: 'triage',
        prompt: 'Find out what it is about.',
        model,
        tools: [createNavigateTool({ to: 'refunds' })],
      },
      { agentName: 'refunds', prompt: 'You give money back.', model, tools: [noteTool] },
    ],
    policies: [
      { policyName: 'manners', banMessage: 'Politely, please.', validateInput: words => !/idiot/i.test(words) },
    ],
    states: [{ stateName: 'count', isShared: true, getDefault: () => 0 }],
    storages: [{ storageName: 'notes' }],
    computes: [
      { computeName: 'load', isShared: true, dependsOn: ['count'], compute: ({ count }) => `${count} waiting` },
    ],
  },
  { transcript: store.transcript, records: store.records, bus, system, owner: 'shop' },
)

bus.listen(({ context }) => print(`* ${context.agentName} takes over`), {
  clientId: 'ann',
  source: 'swarm-bus',
  filter: ({ type }) => type === 'set-agent-name',
})

const ann = await swarm.session('ann')
for (const words of ['Hello', 'I want my money back', 'You idiot', 'The green cup']) {
  print(`ann: ${words}`)
  print(`     ${await ann.complete(words, { payload: { shop: 'north' } })}`)
}
await bus.drain()

const { data, history } = await swarm.open('ann')
print(
  `notes: ${(await data.storage('notes').list()).map(({ text }) => text).join(', ')}; ${await data.compute('load').get()}`,
)

// This prints the same conversation as message envelopes.
const envelopes = envelopeCodec.write(await store.transcript.read(history.thread))
print(`as envelopes: ${envelopes.map(({ type }) => type).join(' ')}`)
await ann.dispose()
await store.close()
