import type { SwarmMessage } from '@postern/transcript'
import { describe, expect, it } from 'vitest'
import { expectWhole } from '../../test/expect-whole.ts'
import { agentSpec, formatRows, openMemorySwarm, scripted, swarmSpec } from '../../test/memory-swarm.ts'
import type { AllCommits, BusEvent } from '../index.ts'
import { openSwarmClient } from '../index.ts'

// W-08 as a table lists the rows and the event of every commit, and the buses that emit it.

type Row = Omit<SwarmMessage, 'agentName'>

interface Operation {
  readonly name: string
  run(commits: AllCommits, options: { readonly agentName: string }): Promise<unknown>
  force(commits: AllCommits): Promise<unknown>
  readonly rows: readonly Row[]
  /** The type of the event; absent if the commit emits none of its own. */
  readonly type?: string
  readonly input?: object
  readonly isOfSession: boolean
  readonly skipped?: unknown
}

const call = { id: 'c-1', type: 'function', function: { name: 't', arguments: { a: 1 } } } as const
const requested = { request: [{ toolName: 't', params: { a: 1 } }] }
const textOf = (
  role: 'assistant' | 'system' | 'developer',
  words: string,
): Pick<Operation, 'rows' | 'type' | 'input' | 'isOfSession'> => ({
  rows: [{ role, content: words, mode: 'tool' }],
  type: `commit-${role}-message`,
  input: { message: words },
  isOfSession: true,
})

const operations: readonly Operation[] = [
  {
    name: 'commitUserMessage, mode user',
    run: (commits, options) => commits.commitUserMessage('u', 'user', { ...options, payload: { image_id: 'i' } }),
    force: commits => commits.commitUserMessageForce('u', 'user', { payload: { image_id: 'i' } }),
    rows: [{ role: 'user', content: 'u', mode: 'user', payload: { image_id: 'i' } }],
    type: 'commit-user-message',
    input: { message: 'u' },
    isOfSession: true,
  },
  {
    name: 'commitUserMessage, mode tool: without the payload',
    run: (commits, options) => commits.commitUserMessage('u', 'tool', { ...options, payload: { a: 1 } }),
    force: commits => commits.commitUserMessageForce('u', 'tool', { payload: { a: 1 } }),
    rows: [{ role: 'user', content: 'u', mode: 'tool' }],
    type: 'commit-user-message',
    input: { message: 'u' },
    isOfSession: true,
  },
  {
    name: 'commitAssistantMessage',
    run: (commits, options) => commits.commitAssistantMessage('as', options),
    force: commits => commits.commitAssistantMessageForce('as'),
    ...textOf('assistant', 'as'),
  },
  {
    name: 'commitSystemMessage',
    run: (commits, options) => commits.commitSystemMessage('s', options),
    force: commits => commits.commitSystemMessageForce('s'),
    ...textOf('system', 's'),
  },
  {
    name: 'commitDeveloperMessage',
    run: (commits, options) => commits.commitDeveloperMessage('d', options),
    force: commits => commits.commitDeveloperMessageForce('d'),
    ...textOf('developer', 'd'),
  },
  {
    name: 'commitToolCalls',
    run: (commits, options) => commits.commitToolCalls('so', [call], options),
    force: commits => commits.commitToolCallsForce('so', [call]),
    rows: [{ role: 'assistant', content: 'so', mode: 'tool', tool_calls: [call] }],
    type: 'commit-tool-request',
    input: requested,
    isOfSession: true,
  },
  {
    name: 'commitToolRequest',
    run: (commits, options) => commits.commitToolRequest([{ toolName: 't', params: { a: 1 } }], options),
    force: commits => commits.commitToolRequestForce([{ toolName: 't', params: { a: 1 } }]),
    rows: [{ role: 'assistant', content: '', mode: 'tool', tool_calls: [{ ...call, id: expect.any(String) }] }],
    type: 'commit-tool-request',
    input: requested,
    isOfSession: true,
    skipped: [],
  },
  {
    name: 'commitToolOutput',
    run: (commits, options) => commits.commitToolOutput('c-1', 'out', options),
    force: commits => commits.commitToolOutputForce('c-1', 'out'),
    rows: [{ role: 'tool', content: 'out', mode: 'tool', tool_call_id: 'c-1' }],
    type: 'commit-tool-output',
    input: { toolId: 'c-1', content: 'out' },
    isOfSession: true,
  },
  {
    name: 'commitFlush',
    run: (commits, options) => commits.commitFlush(options),
    force: commits => commits.commitFlushForce(),
    rows: [{ role: 'flush', content: '', mode: 'tool' }],
    type: 'commit-flush',
    input: {},
    isOfSession: true,
  },
  {
    name: 'commitStopTools',
    run: (commits, options) => commits.commitStopTools(options),
    force: commits => commits.commitStopToolsForce(),
    rows: [],
    type: 'commit-stop-tools',
    input: {},
    isOfSession: true,
  },
  {
    name: 'commitCancelOutput',
    run: (commits, options) => commits.commitCancelOutput(options),
    force: commits => commits.commitCancelOutputForce(),
    rows: [],
    type: 'commit-cancel-output',
    input: {},
    isOfSession: false,
  },
  {
    name: 'commitAgentChange',
    run: (commits, options) => commits.commitAgentChange(options),
    force: commits => commits.commitAgentChangeForce(),
    rows: [],
    type: 'commit-agent-change',
    input: {},
    isOfSession: false,
  },
  {
    name: 'commitRescue',
    run: (commits, options) => commits.commitRescue('empty output', 'Again: u', options),
    force: commits => commits.commitRescueForce('empty output', 'Again: u'),
    rows: [
      { role: 'resque', content: 'empty output', mode: 'tool' },
      { role: 'user', content: 'Again: u', mode: 'tool' },
    ],
    isOfSession: false,
  },
]

const withRows = operations.filter(({ rows }) => rows.length > 0)
const own = { agentName: 'a' }
const spec = swarmSpec([agentSpec('a', scripted()), agentSpec('b', scripted())])

async function openClient() {
  const memory = openMemorySwarm()
  /** The stored rows and the emitted events, in order. */
  const log: string[] = []
  const transcript = {
    ...memory.deps.transcript,
    async append(...given: Parameters<typeof memory.deps.transcript.append>) {
      const stored = await memory.deps.transcript.append(...given)
      log.push('stored')
      return stored
    },
  }
  const emit: typeof memory.bus.emit = event => {
    log.push(`${event.source} ${event.type}`)
    memory.bus.emit(event)
  }
  const client = await openSwarmClient(spec, { ...memory.deps, transcript, bus: { ...memory.bus, emit } }, 'client')
  return { ...memory, client, log }
}

const commitsOf = (events: readonly BusEvent[]) =>
  events.filter(({ source, type }) => source !== 'history-bus' && type !== 'cancel-output')

describe.each(operations)('$name', ({ run, force, rows, type, input = {}, isOfSession, skipped = false }) => {
  it('stores its rows, then emits its event (W-08)', async () => {
    const { client, events, bus, log } = await openClient()
    await run(client.commits, own)
    await bus.drain()
    expect(await client.history.listRaw()).toEqual(rows.map(row => ({ ...row, agentName: 'a' })))
    const sources = type === undefined ? [] : isOfSession ? ['agent-bus', 'session-bus'] : ['agent-bus']
    const told = sources.map(source => ({ source, type, input }))
    expect(commitsOf(events).map(({ source, type, input }) => ({ source, type, input }))).toEqual(told)
    const pushed = rows.flatMap(() => ['stored', 'history-bus push'])
    const order = log.filter(line => line !== 'swarm-bus cancel-output')
    expect(order).toEqual([...pushed, ...told.map(({ source, type }) => `${source} ${type}`)])
  })

  it('emits events with all six fields, its agent and its client (W-10)', async () => {
    const { client, events, bus } = await openClient()
    await run(client.commits, own)
    await bus.drain()
    expect(events.length).toBeGreaterThanOrEqual(Math.max(rows.length, 1))
    for (const event of events) expectWhole(event, 'client')
  })

  it('does nothing if its agent is no longer active, unless the caller forces it (W-17)', async () => {
    const { client, events, bus } = await openClient()
    await client.navigation.changeToAgent('b')
    await bus.drain()
    events.length = 0
    expect(await run(client.commits, own)).toEqual(skipped)
    await bus.drain()
    expect(events).toEqual([])
    expect(await client.history.listRaw()).toEqual([])
    expect(await force(client.commits)).not.toEqual(skipped)
    await bus.drain()
    expect(await client.history.listRaw()).toEqual(rows.map(row => ({ ...row, agentName: 'b' })))
    expect(new Set(commitsOf(events).map(event => event.type))).toEqual(new Set(type === undefined ? [] : [type]))
  })
})

describe.each(withRows)('$name with a failing store', ({ run, force }) => {
  it('throws to its caller, and no listener gets an event (W-09)', async () => {
    const { deps, bus, events } = openMemorySwarm()
    const broken = { ...deps.transcript, append: () => Promise.reject(new Error('disk full')) }
    const client = await openSwarmClient(spec, { ...deps, transcript: broken }, 'c')
    await expect(run(client.commits, own)).rejects.toThrow('disk full')
    await expect(force(client.commits)).rejects.toThrow('disk full')
    await bus.drain()
    expect(events).toEqual([])
  })
})

describe('commits without options', () => {
  it('belong to the active agent', async () => {
    const { client } = await openClient()
    const { commits } = client
    expect(await commits.commitUserMessage('words', 'user')).toBe(true)
    expect(await commits.commitAssistantMessage('answer')).toBe(true)
    expect(await commits.commitSystemMessage('s')).toBe(true)
    expect(await commits.commitDeveloperMessage('d')).toBe(true)
    expect(await commits.commitToolOutput('c-1', 'out')).toBe(true)
    expect(await commits.commitFlush()).toBe(true)
    expect(await commits.commitStopTools()).toBe(true)
    expect(await commits.commitCancelOutput()).toBe(true)
    expect(await commits.commitAgentChange()).toBe(true)
    expect(await commits.commitRescue('reason', 'again')).toBe(true)
    expect(await commits.commitToolRequest([{ toolName: 't', params: {} }])).toHaveLength(1)
    expect(await commits.commitToolCalls('so', [call])).toBe(true)
    const rows = await client.history.listRaw()
    expect(rows.map(({ role }) => role)).toEqual(
      'user assistant system developer tool flush resque user assistant assistant'.split(' '),
    )
    expect(new Set(rows.map(({ agentName }) => agentName))).toEqual(new Set(['a']))
  })

  it('accept an image as a Blob, and so does a user’s message', async () => {
    const { client } = await openClient()
    const png = Buffer.from('89504e470d0a1a0a00', 'hex')
    await client.commits.commitUserMessage('look', 'user', { images: [new Blob([png])] })
    await client.complete('and here', { images: [new Blob([png])] })
    const users = (await client.history.listRaw()).filter(({ role }) => role === 'user')
    expect(users.map(({ images }) => images)).toEqual([[png.toString('base64')], [png.toString('base64')]])
  })
})

describe('a forced message with a Blob', () => {
  it('belongs to the agent active at the call, not to a later one', async () => {
    const { client } = await openClient()
    const committed = client.commits.commitUserMessageForce('look', 'user', { images: [new Blob(['x'])] })
    await client.navigation.changeToAgent('b')
    expect(await committed).toBe(true)
    expect((await client.history.listRaw()).map(({ agentName }) => agentName)).toEqual(['a'])
  })
})

describe('the history bus', () => {
  it('pop removes the last row with its calls and reports it, or returns null without a row', async () => {
    const { client, events, bus } = await openClient()
    await client.commits.commitUserMessage('u', 'user', own)
    await client.commits.commitToolCalls('so', [call], own)
    await bus.drain()
    events.length = 0
    const taken = await client.history.pop('a')
    expect(taken).toEqual({ role: 'assistant', agentName: 'a', content: 'so', mode: 'tool', tool_calls: [call] })
    expect(formatRows(await client.history.listRaw())).toEqual(['user/a:u'])
    await client.history.pop('a')
    expect(await client.history.pop('a')).toBeNull()
    await bus.drain()
    expect(events.map(({ source, type, output }) => [source, type, output])).toEqual([
      ['history-bus', 'pop', { value: taken }],
      ['history-bus', 'pop', { value: expect.objectContaining({ role: 'user', content: 'u' }) }],
      ['history-bus', 'pop', { value: null }],
    ])
    for (const event of events) expectWhole(event, 'client')
  })

  it('a pop with a simultaneous write loses nothing: one of them waits or fails', async () => {
    const { client } = await openClient()
    await client.commits.commitUserMessage('one', 'user', own)
    const done = await Promise.allSettled([
      client.history.pop('a'),
      client.commits.commitUserMessage('two', 'user', own),
    ])
    const failed = done.filter(({ status }) => status === 'rejected')
    const left = formatRows(await client.history.listRaw())
    expect(left).toEqual(failed.length === 0 ? ['user/a:two'] : [])
  })

  it('only the caller learns of a pop that the store refuses', async () => {
    const { deps, bus, events } = openMemorySwarm()
    const broken = { ...deps.transcript, replace: () => Promise.reject(new Error('disk full')) }
    const client = await openSwarmClient(spec, { ...deps, transcript: broken }, 'c')
    await client.commits.commitUserMessage('u', 'user', own)
    await bus.drain()
    events.length = 0
    await expect(client.history.pop('a')).rejects.toThrow('disk full')
    await bus.drain()
    expect(events).toEqual([])
    expect(formatRows(await client.history.listRaw())).toEqual(['user/a:u'])
  })
})
