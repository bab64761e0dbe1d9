import { ConfigError, type Json } from '@postern/message'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { messagesOf } from '../../test/arbitraries.ts'
import {
  createMemoryTranscript,
  createStoreBuilders,
  createStoreMemory,
  createTranscriptMessageStore,
  filterMessagesByRole,
  findMessageTypeInfo,
  isMessageTurnComplete,
  messageTypeNames,
  messageTypes,
  parseStoreMessage,
  prepareJobHistory,
  seedAgentTypes,
} from '../index.ts'

function openStore() {
  let time = 1_700_000_000_000
  let seed = 0
  const randomBytes = (size: number) => {
    seed += 1
    return Uint8Array.from({ length: size }, (_, index) => (seed >> (8 * (index % 4))) & 255)
  }
  const system = { now: () => time, randomBytes }
  const transcript = createMemoryTranscript(system)
  const store = createTranscriptMessageStore({ transcript, system, owner: 'ann' })
  return { system, transcript, store, pass: (ms: number) => (time += ms) }
}

const sampleOf = (type: string): Record<string, Json> =>
  Object.fromEntries([
    ['type', type],
    ...(findMessageTypeInfo(type)?.required_fields ?? []).map(name => [
      name,
      name === 'args' ? { a: 1 } : `some ${name}`,
    ]),
  ])
const contents = (messages: readonly { readonly [name: string]: unknown }[]) => messages.map(({ content }) => content)

describe('messages of a store', () => {
  it('keep all members for each of the 16 types (S-01)', async () => {
    const { store } = openStore()
    const messages = messageTypeNames.map((type, index) => ({
      ...sampleOf(type),
      timestamp: index + 0.25,
      turn_id: 't',
      agent_key: 'a',
      own: { deep: [null, 1] },
    }))
    await store.add('job', messages)
    const all = [await store.listConversation('job'), await store.listAgent('job', 'a'), await store.listGlobal('job')]
    const byTime = all.flat().toSorted((a, b) => Number(a.timestamp) - Number(b.timestamp))
    expect(byTime).toEqual(messages)
  })

  it('appear completely in the views together (S-01)', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(messagesOf.store, { maxLength: 6 }), async given => {
        const { store } = openStore()
        const messages = given.map((message, index) => ({ ...message, agent_key: 'a', timestamp: index }))
        await store.add('job', messages)
        const views = [
          await store.listConversation('job'),
          await store.listAgent('job', 'a'),
          await store.listGlobal('job'),
        ]
        const back = views.flat().toSorted((a, b) => Number(a.timestamp) - Number(b.timestamp))
        // The parts are disjoint, and together they are the whole list.
        expect(JSON.parse(JSON.stringify(back))).toEqual(JSON.parse(JSON.stringify(messages)))
      }),
      { numRuns: 50 },
    )
  })

  it('fail for an unknown type with the list of known ones (S-02)', () => {
    expect(() => parseStoreMessage({ type: 'nope', content: 1 })).toThrow(
      expect.objectContaining({
        code: 'malformed',
        message: `Cannot read message: type: unknown type, must be one of ${messageTypeNames.join(', ')}`,
      }),
    )
    expect(() => parseStoreMessage({ type: 'constructor', content: 1 })).toThrow('unknown type')
  })

  it('fail for a missing member by its name (S-03)', () => {
    for (const type of messageTypeNames) {
      for (const name of messageTypes[type].required_fields) {
        const { [name]: _, ...message } = sampleOf(type)
        expect(() => parseStoreMessage(message)).toThrow(
          expect.objectContaining({
            code: 'malformed',
            message: `Cannot read message: ${name}: missing, a message of type ${type} requires it`,
          }),
        )
      }
    }
    expect(messageTypes.action.required_fields).toEqual(['tool', 'args'])
    expect(messageTypes.delegation.required_fields).toEqual(['worker', 'task'])
    expect(messageTypes.synthesis.required_fields).toEqual(['content', 'from_manager'])
  })

  it('get no content if they are an action or a delegation (S-04)', async () => {
    const { store } = openStore()
    await store.add('job', [sampleOf('action'), sampleOf('delegation')], 'a')
    const [action, delegation] = await store.listAgent('job', 'a')
    expect(action).toMatchObject({ tool: 'some tool', args: { a: 1 } })
    expect(delegation).toMatchObject({ worker: 'some worker', task: 'some task' })
    expect(action).not.toHaveProperty('content')
    expect(delegation).not.toHaveProperty('content')
  })

  it('keep the type of their content (S-05)', async () => {
    const { store } = openStore()
    const given = ['text', '', ['list', 1], { map: {} }, 7, null, true]
    await store.add(
      'job',
      given.map(content => ({ type: 'observation', content })),
      'a',
    )
    expect(contents(await store.listAgent('job', 'a'))).toEqual(given)
  })

  it('get a time if they have none, which the transcript marks as ours (S-07)', async () => {
    const { store, transcript } = openStore()
    await store.add(
      'job',
      [
        { type: 'task', content: 'a' },
        { type: 'task', content: 'b', timestamp: 5 },
      ],
      'a',
    )
    expect((await store.listAgent('job', 'a')).map(({ timestamp }) => timestamp)).toEqual([1_700_000_000, 5])
    const thread = await transcript.findThread('ann', { transport: 'store', key: 'job' })
    const entries = thread ? await transcript.read(thread) : []
    expect(entries.map(({ native_at }) => native_at)).toEqual([undefined, 5])
  })
})

describe('the four views', () => {
  it('show the conversation of two types in order, with equal times by arrival (S-06)', async () => {
    const { store } = openStore()
    await store.add('job', [
      { type: 'user_message', content: 1, timestamp: 1 },
      { type: 'assistant_message', content: 2, timestamp: 1 },
      { type: 'task', content: 'x', agent_key: 'a' },
      { type: 'user_message', content: 3, timestamp: 1 },
    ])
    expect(contents(await store.listConversation('job'))).toEqual([1, 2, 3])
  })

  it('show an agent only its own messages, plans and contexts included, unless types say otherwise (S-08, S-09)', async () => {
    const { store } = openStore()
    await store.add('job', messageTypeNames.map(sampleOf), 'worker-1')
    await store.add('job', [sampleOf('task')], 'worker-2')
    const types = (await store.listAgent('job', 'worker-1')).map(({ type }) => type)
    const spoken = ['user_message', 'assistant_message', 'synthesis', 'global_observation']
    expect(types).toEqual(messageTypeNames.filter(type => !spoken.includes(type)))
    const seed = await store.listAgent('job', 'worker-1', { types: seedAgentTypes })
    const six = ['task', 'action', 'observation', 'error', 'final', 'delegation']
    expect(seed.map(({ type }) => type).toSorted()).toEqual(six.toSorted())
  })

  it('keep the order of storage for any clocks, and the form of times (S-06, S-11)', async () => {
    const { store } = openStore()
    const at = (timestamp: number) => ({ type: 'user_message', content: timestamp, timestamp })
    await store.add('job', [at(3), at(1)])
    await store.add('job', [at(2)])
    const shown = await store.listConversation('job')
    expect(shown.map(({ content, timestamp }) => [content, timestamp])).toEqual([
      [3, 3],
      [1, 1],
      [2, 2],
    ])
    await store.add('job', [{ type: 'task', content: 'late', timestamp: 9 }], 'a')
    await store.add('job', [{ type: 'task', content: 'early', timestamp: 1 }], 'b')
    expect(contents(await store.listTeam('job', ['b', 'a']))).toEqual(['late', 'early'])
  })

  it('show both types of every agent globally (S-10)', async () => {
    const { store } = openStore()
    await store.add('job', [sampleOf('synthesis'), sampleOf('task')], 'a')
    await store.add('job', [sampleOf('global_observation')], 'b')
    expect((await store.listGlobal('job')).map(({ type }) => type)).toEqual(['synthesis', 'global_observation'])
  })

  it('merge a team in order with the agent in every row, and return nothing for an empty team (S-11)', async () => {
    const { store } = openStore()
    for (const [key, content] of [
      ['a', 1],
      ['b', 2],
      ['c', 3],
      ['a', 4],
    ] as const) {
      await store.add('job', [{ type: 'observation', content }], key)
    }
    const team = await store.listTeam('job', ['a', 'b'])
    expect(team.map(({ agent_key, content }) => [agent_key, content])).toEqual([
      ['a', 1],
      ['b', 2],
      ['a', 4],
    ])
    expect(await store.listTeam('job', [])).toEqual([])
  })

  it('return the oldest for a limit and the newest for a tail, ascending, and all for 0 (S-12)', async () => {
    const { store } = openStore()
    const given = Array.from({ length: 10 }, (_, content) => ({ type: 'user_message', content }))
    await store.add('job', given)
    const view = async (options?: object) => contents(await store.listConversation('job', options))
    expect(await view({ limit: 3 })).toEqual([0, 1, 2])
    expect(await view({ tail: 3 })).toEqual([7, 8, 9])
    expect(await view({ limit: 0 })).toHaveLength(10)
    expect(await view({ tail: 0 })).toHaveLength(10)
    expect(await view()).toHaveLength(10)
  })

  it('count a team’s limit in all, or per agent on request (S-13)', async () => {
    const { store } = openStore()
    for (const key of ['a', 'a', 'a', 'b', 'b', 'b']) await store.add('job', [{ type: 'task', content: key }], key)
    expect(contents(await store.listTeam('job', ['a', 'b'], { limit: 2 }))).toEqual(['a', 'a'])
    const each = await store.listTeam('job', ['a', 'b'], { limit: 2, limit_scope: 'per_agent' })
    expect(contents(each)).toEqual(['a', 'a', 'b', 'b'])
  })

  it('are separate for two locations with any characters (S-14)', async () => {
    const { store } = openStore()
    const locations = ['a', 'a/', 'a/b', '../a', 'a:b', '', '"a"', 'a\u0000b']
    for (const location of locations) await store.add(location, [{ type: 'user_message', content: location }])
    for (const location of locations) expect(contents(await store.listConversation(location))).toEqual([location])
    expect(await store.listConversation('A')).toEqual([])
  })

  it('pair an observation with its action over two calls', async () => {
    const { store, transcript } = openStore()
    await store.add('job', [sampleOf('action')], 'a')
    await store.add('job', [sampleOf('observation')], 'b')
    await store.add('job', [sampleOf('observation')], 'a')
    const thread = await transcript.findThread('ann', { transport: 'store', key: 'job' })
    const ids = (thread ? await transcript.read(thread) : []).map(({ tool }) => tool?.call_id)
    expect(ids[2]).toBe(ids[0])
    expect(ids[1]).not.toBe(ids[0])
  })
})

describe('createStoreMemory()', () => {
  it('needs a store, a location and a key (S-15)', () => {
    const { store } = openStore()
    const options = { store, location: 'job', agent_key: 'a' }
    const refuse = (change: object) => () => createStoreMemory({ ...options, ...change })
    const refusal = (name: string) => new ConfigError(name, 'a memory over a message store needs it', `Give ${name}`)
    expect(refuse({ location: '' })).toThrow(refusal('location'))
    expect(refuse({ agent_key: '' })).toThrow(refusal('agent_key'))
    expect(refuse({ store: undefined })).toThrow(refusal('message_store'))
  })

  it('returns history in blocks, or merged by time (S-16)', async () => {
    const { store } = openStore()
    await store.add('job', [{ type: 'global_observation', content: 'g', timestamp: 1 }])
    await store.add('job', [{ type: 'task', content: 'team', timestamp: 2 }], 'w')
    await store.add('job', [{ type: 'task', content: 'own', timestamp: 3 }], 'boss')
    await store.add('job', [{ type: 'user_message', content: 'c', timestamp: 4 }])
    const boss = createStoreMemory({ store, location: 'job', agent_key: 'boss', subordinates: ['w'] })
    const worker = createStoreMemory({ store, location: 'job', agent_key: 'w' })
    expect(contents(await boss.listHistory())).toEqual(['c', 'own', 'team', 'g'])
    expect(contents(await worker.listHistory())).toEqual(['c', 'team', 'g'])
    expect(contents(await boss.listHistory({ order: 'timeline' }))).toEqual(['g', 'team', 'own', 'c'])
    // The order follows the time, not the order of storing. Among equal times, the earlier block comes first.
    await store.add('job', [{ type: 'task', content: 'text', timestamp: '1970-01-01T00:00:02.500Z' }], 'boss')
    await store.add('job', [{ type: 'user_message', content: 'with team', timestamp: 2 }])
    expect(contents(await boss.listHistory({ order: 'timeline' }))).toEqual([
      'g',
      'with team',
      'team',
      'text',
      'own',
      'c',
    ])
  })

  it('asks for no team without subordinates (S-17)', async () => {
    const { store } = openStore()
    const asked: string[] = []
    const listTeam = async () => {
      asked.push('team')
      return []
    }
    await createStoreMemory({ store: { ...store, listTeam }, location: 'job', agent_key: 'a' }).listHistory()
    expect(asked).toEqual([])
  })

  it('stores new messages under the agent, and all agents see a broadcast (S-18, S-19)', async () => {
    const { store } = openStore()
    const a = createStoreMemory({ store, location: 'job', agent_key: 'a' })
    const b = createStoreMemory({ store, location: 'job', agent_key: 'b' })
    await a.add({ type: 'task', content: 'mine' })
    await a.addGlobal({ found: 10 })
    await a.addGlobal({ type: 'synthesis', content: 's', from_manager: 'a' })
    expect(contents(await a.listHistory())).toEqual(['mine', { found: 10 }, 's'])
    expect(contents(await b.listHistory())).toEqual([{ found: 10 }, 's'])
    expect((await b.listHistory())[0]).toMatchObject({ type: 'global_observation', from_worker: 'a' })
  })
})

describe('filters by role', () => {
  const conversation = Array.from({ length: 20 }, (_, index) => ({
    type: index % 2 ? 'assistant_message' : 'user_message',
    content: index,
    timestamp: index,
  }))
  const synthesis = (phase_id: number) => ({
    type: 'synthesis',
    content: `phase ${phase_id}`,
    from_manager: 'm',
    phase_id,
  })
  const trace = (type: string, content: string, timestamp: number, agent_key = 'w') => ({
    type,
    content,
    timestamp,
    agent_key,
  })

  it('show an orchestrator the last eight messages, or the given number, where 0 means none (S-20)', () => {
    const history = [...conversation, trace('task', 'x', 30), synthesis(0)]
    const seen = (max?: number) =>
      contents(filterMessagesByRole(history, { role: 'orchestrator', max_conversation_turns: max }))
    expect(seen()).toEqual([12, 13, 14, 15, 16, 17, 18, 19])
    expect(seen(3)).toEqual([17, 18, 19])
    expect(seen(0)).toEqual([])
  })

  it('show a manager only the previous phase’s synthesis (S-21, S-32)', () => {
    const history = [...conversation, synthesis(0), synthesis(1), synthesis(2)]
    const seen = (options: object) => contents(filterMessagesByRole(history, { role: 'manager', ...options }))
    expect(seen({})).toEqual([])
    expect(seen({ phase_id: 0 })).toEqual([])
    expect(seen({ phase_id: 1 })).toEqual(['phase 0'])
    expect(seen({ phase_id: 2 })).toEqual(['phase 1'])
    expect(seen({ phase_id: 5, previous_phase_id: 0 })).toEqual(['phase 0'])
  })

  it('show a worker its own current turn only (S-22, S-24, S-33)', () => {
    const history = [
      trace('task', 'old', 1),
      trace('observation', 'old result', 2),
      trace('task', 'new', 3),
      trace('strategic_plan', 'plan', 4),
      trace('observation', 'new result', 5),
      trace('final', 'the end', 6),
      trace('task', 'another’s', 7, 'w2'),
      trace('observation', 'private', 8, 'w2'),
      { type: 'delegation', worker: 'w3', task: 'x', timestamp: 9, agent_key: 'w' },
    ]
    const seen = (agent_key: string) => contents(filterMessagesByRole(history, { role: 'worker', agent_key }))
    expect(seen('w')).toEqual(['new', 'new result'])
    expect(seen('w2')).toEqual(['another’s', 'private'])
    expect(seen('w4')).toEqual([])
  })

  it('hide a broadcast of an earlier turn, at any position in the list (S-23)', () => {
    const broadcast = (content: string, timestamp: number) => ({
      type: 'global_observation',
      content,
      timestamp,
      from_worker: 'z',
    })
    const history = [trace('task', 'now', 5), broadcast('before', 1), broadcast('since', 6)]
    expect(contents(filterMessagesByRole(history, { role: 'worker', agent_key: 'w' }))).toEqual(['now', 'since'])
  })

  it('begin a manager’s turn with its own task, not with a subordinate’s later one (S-24)', () => {
    const history = [
      trace('task', 'lead', 1, 'boss'),
      trace('final', 'Task completed', 2, 'boss'),
      trace('task', 'work', 3, 'w'),
      trace('observation', 'found', 4, 'w'),
    ]
    expect(isMessageTurnComplete(history, { agent_key: 'boss' })).toBe(true)
    expect(isMessageTurnComplete(history, { agent_key: 'w' })).toBe(false)
    const seen = filterMessagesByRole(history, { role: 'worker', agent_key: 'boss' })
    expect(contents(seen)).toEqual(['lead'])
  })

  it.each(['All completed', 'a success', 'Done.', 'We have FINISHED', 'task complete'])(
    'end a turn at the final word %j (S-25)',
    words => {
      const turn = [trace('task', 'a', 1), trace('final', words, 2)]
      expect(isMessageTurnComplete(turn, { agent_key: 'w' })).toBe(true)
      const observed = [trace('task', 'a', 1), trace('observation', words, 2)]
      expect(isMessageTurnComplete(observed, { agent_key: 'w' })).toBe(false)
    },
  )

  it('ignore an earlier turn’s end, and read only the last ten entries (S-25)', () => {
    const end = trace('final', 'Task completed', 2)
    const isComplete = (messages: readonly object[]) => isMessageTurnComplete(messages, { agent_key: 'w' })
    expect(isComplete([trace('task', 'a', 1), end])).toBe(true)
    expect(isComplete([trace('task', 'a', 1), end, trace('task', 'b', 3)])).toBe(false)
    expect(isComplete([trace('task', 'a', 1), trace('final', 'I gave up', 2)])).toBe(false)
    const finishing = { type: 'action', tool: 'complete_task', args: {}, agent_key: 'w' }
    expect(isComplete([trace('task', 'a', 1), finishing])).toBe(true)
    const noise = Array.from({ length: 10 }, (_, index) => trace('observation', 'x', 10 + index))
    expect(isComplete([trace('task', 'a', 1), end, ...noise])).toBe(false)
  })
})

describe('builders and catalogue', () => {
  const build = createStoreBuilders(() => 9000)

  const content = (builder: keyof typeof build, type: string) =>
    [type, (options?: object) => (build[builder] as Build)('c', options), { content: 'c' }, {}] as const
  type Build = (content: string, options?: object) => object
  const built: readonly (readonly [string, (options?: object) => object, object, object])[] = [
    content('createUserMessage', 'user_message'),
    content('createAssistantMessage', 'assistant_message'),
    content('createTaskEntry', 'task'),
    content('createObservationEntry', 'observation'),
    content('createFinalEntry', 'final'),
    content('createStrategicPlanEntry', 'strategic_plan'),
    content('createSuggestedPlanEntry', 'suggested_plan'),
    content('createScriptPlanEntry', 'script_plan'),
    content('createScriptInstructionEntry', 'script_instruction'),
    content('createDirectorContextEntry', 'director_context'),
    content('createInjectedContextEntry', 'injected_context'),
    ['action', options => build.createActionEntry('list', { a: 1 }, options), { tool: 'list', args: { a: 1 } }, {}],
    ['error', options => build.createErrorEntry('c', options), { content: 'c' }, { error_type: 'E' }],
    ['delegation', options => build.createDelegationEntry('w', 'do', options), { worker: 'w', task: 'do' }, {}],
    [
      'synthesis',
      options => build.createSynthesisEntry('c', 'm', options),
      { content: 'c', from_manager: 'm' },
      { phase_id: 0 },
    ],
    [
      'global_observation',
      options => build.createGlobalObservationEntry('c', options),
      { content: 'c' },
      { from_worker: 'w', summary: 's' },
    ],
  ]

  it.each(built)('give %s exactly its members, with and without options (S-26)', (type, make, members, further) => {
    expect(make()).toEqual({ type, ...members, timestamp: 9 })
    const empty = Object.fromEntries(Object.keys(further).map(name => [name, name === 'phase_id' ? undefined : '']))
    expect(make({ turn_id: '', ...empty })).toEqual({ type, ...members, timestamp: 9 })
    const fullMembers = { timestamp: 1.5, turn_id: 't', ...further }
    expect(make({ ...fullMembers, extra: { step: 2 } })).toEqual({ type, ...members, ...fullMembers, step: 2 })
  })

  it('have a builder for every type (S-26)', () => {
    expect(built.map(([type]) => type).toSorted()).toEqual([...messageTypeNames].toSorted())
  })

  it('keep the time 0 (S-27)', () => {
    expect(build.createTaskEntry('t', { timestamp: 0 }).timestamp).toBe(0)
  })

  it('let no further member replace one that the builder sets (S-28)', () => {
    const extra = { type: 'final', content: 'other', step: 2 }
    expect(build.createTaskEntry('t', { extra })).toEqual({ type: 'task', content: 't', step: 2, timestamp: 9 })
  })

  it('know nothing of an unknown type (S-29)', () => {
    expect(findMessageTypeInfo('nope')).toBeUndefined()
    expect(findMessageTypeInfo('toString')).toBeUndefined()
  })

  it('list sixteen types, each with an existing builder (S-30)', () => {
    expect(messageTypeNames).toHaveLength(16)
    for (const type of messageTypeNames) {
      const { builder, description, optional_fields } = messageTypes[type]
      expect(build).toHaveProperty(builder)
      expect(description).not.toBe('')
      expect(optional_fields).toContain('turn_id')
    }
    expect(JSON.parse(JSON.stringify(messageTypes))).toEqual(messageTypes)
    expect(messageTypes.action.required_arguments).toEqual(['tool_name', 'tool_args'])
  })

  it('the record of a job contains its text and actions, and skips the rest', () => {
    const job = {
      conversation: [
        { role: 'user', content: 'a' },
        { role: 'system', content: 'b' },
        'junk',
        { role: 'assistant', content: 'c' },
      ],
      traces: [
        { type: 'task', content: 'd' },
        { type: 'final', content: 'e' },
        { type: 'action', tool: 'f' },
      ],
    }
    expect(prepareJobHistory(job)).toEqual([
      { type: 'user_message', content: 'a' },
      { type: 'assistant_message', content: 'c' },
      { type: 'task', content: 'd' },
    ])
  })
})
