import { ConfigError } from '@postern/message'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { openAgentGateway, openTestAgent, testContext, testMessage } from '../test/gateway.ts'
import type { AgentConfigInput } from './index.ts'
import { agentConfigSchema } from './index.ts'

const echo = { use: 'builtin:echo' }
const available =
  '"builtin:echo", "builtin:help", "webhook" (with url and secret), "openai" (with base_url and model), "swarm" (with default_agent and members), "a2a" (with card or address), "ag-ui" (with url), a path such as "./agents/desk.ts" (.ts, .mts, .js, .mjs)'

/** Returns the problem that the operator sees if the gateway does not open. */
async function problemOf(opening: Promise<unknown>): Promise<string> {
  const error = await opening.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(ConfigError)
  return (error as ConfigError).message
}

describe('openAgents()', () => {
  test('lists its agents in the order of the file, with their public members', async () => {
    const gateway = await openAgentGateway({
      echo,
      'front.desk': {
        ...echo,
        name: 'Front Store',
        description: 'Takes messages',
        icon: 'https://agents.test/desk.png',
      },
    })
    expect(gateway.domain).toBe('agents.test')
    expect(gateway.origin).toBe('https://agents.test')
    expect(gateway.list()).toEqual([
      {
        name: 'echo',
        displayName: 'Echo',
        description: 'Says back what it heard, and how it was proven who said it',
        version: '1.2.3',
        iconUrl: undefined,
        deadlineMs: 60_000,
        isDiscoverable: false,
        isIndexable: false,
      },
      {
        name: 'front.desk',
        displayName: 'Front Store',
        description: 'Takes messages',
        version: '1.2.3',
        iconUrl: 'https://agents.test/desk.png',
        deadlineMs: 60_000,
        isDiscoverable: false,
        isIndexable: false,
      },
    ])
  })

  test('opens agents with the same settings once, if nothing in them depends on a name', async () => {
    const { agents } = z
      .object({ agents: z.record(z.string(), agentConfigSchema) })
      .parse({ agents: { one: { ...echo }, two: { ...echo }, named: { ...echo, name: 'Three' } } })
    expect(agents.one).toBe(agents.two)
    expect(agents.one).not.toBe(agents.named)
    const gateway = await openAgentGateway(agents)
    expect(gateway.findRunning('one')).toBe(gateway.findRunning('two'))
    expect(gateway.list().map(({ name, displayName }) => [name, displayName])).toEqual([
      ['one', 'Echo'],
      ['two', 'Echo'],
      ['named', 'Three'],
    ])
  })

  test('names each agent of one module by its own name', async () => {
    const agents = { one: { use: './modules/plain.js' }, two: { use: './modules/plain.js' } }
    const gateway = await openAgentGateway(agents)
    expect(gateway.list().map(({ displayName }) => displayName)).toEqual(['one', 'two'])
  })

  test('finds an agent only by its exact name', async () => {
    const gateway = await openAgentGateway({ echo })
    expect(gateway.find('echo')?.name).toBe('echo')
    for (const name of ['Echo', 'help', '', 'constructor', '__proto__']) {
      expect(gateway.find(name)).toBeUndefined()
      expect(gateway.findRunning(name)).toBeUndefined()
    }
  })

  test('knows its default agent, if there is one', async () => {
    expect((await openAgentGateway({ echo }, { defaultAgent: 'echo' })).defaultAgent).toBe('echo')
    expect((await openAgentGateway({ echo })).defaultAgent).toBeUndefined()
  })

  test('limits an agent to a minute, or to the configured time', async () => {
    const gateway = await openAgentGateway({
      a: echo,
      b: { ...echo, deadline: '2m' },
      c: { ...echo, deadline: '1500ms' },
    })
    expect(['a', 'b', 'c'].map(name => gateway.findRunning(name)?.deadlineMs)).toEqual([60_000, 120_000, 1_500])
  })

  test('gives an agent the configured length of history', async () => {
    const { history } = await openTestAgent({ ...echo, history: { keep_head: 1, max_turns: 4, max_chars: 100 } })
    expect(history.reach).toEqual({ head: 5, tail: 8 })
    const entries = ['u', 'a', 'u', 'a', 'u', 'a'].map((side, seq) => ({
      seq,
      entryId: `${seq}`,
      role: side === 'u' ? ('user' as const) : ('assistant' as const),
      author: { address: '@alice@peer.test' },
      parts: [{ kind: 'text' as const, mime: 'text/plain' as const, content: 'x'.repeat(30) }],
      at: '2026-01-01T00:00:00.000Z',
    }))
    expect(history.view(entries).turns.map(({ id }) => id)).toEqual(['0', '5'])
  })

  test('gives an agent only messages, unless it asks for more', async () => {
    const follow = testMessage('', { kind: 'follow' })
    const { agent } = await openTestAgent(echo)
    expect(await agent.handle(follow, testContext())).toBeUndefined()
    expect(await agent.handle(testMessage('hi', { kind: 'message' }), testContext())).toContain('hi')
    const curious = await openTestAgent({ ...echo, receives: ['message', 'follow'] })
    expect(await curious.agent.handle(follow, testContext())).toContain('@alice@peer.test')
  })

  test('refuses an unknown default agent', async () => {
    expect(await problemOf(openAgentGateway({ echo }, { defaultAgent: 'desk' }))).toBe(
      'default_agent: there is no agent "desk". Name one of: echo',
    )
  })

  test.each(['Echo', 'e cho', '', '.', '..', '.echo', 'echo.', 'a..b', 'büro', 'a/b', 'a'.repeat(65)])(
    'refuses the name "%s" (MN-1.2)',
    async name => {
      expect(await problemOf(openAgentGateway({ [name]: echo }))).toBe(
        `agents.${name}: cannot be the name of an agent. Use 1 to 64 of a-z, 0-9, "_", "-", and single dots between them`,
      )
    },
  )

  test.each(['echo', 'e', '0', 'front_desk-2.eu', 'a'.repeat(64)])('accepts the name "%s"', async name => {
    expect((await openAgentGateway({ [name]: echo })).find(name)?.name).toBe(name)
  })
})

describe('openAgents() with an invalid configuration', () => {
  test.each(['llama', 'builtin:nobody', 'desk.ts', './desk.py'])(
    'names the key and what is available instead of "%s"',
    async use => {
      expect(await problemOf(openAgentGateway({ llm: { use } }))).toBe(
        `agents.llm.use: no agent of the kind "${use}"; available: ${available}. Set "use" to one of these`,
      )
    },
  )

  test('names the kinds if the kind is missing', async () => {
    for (const config of [{}, null, 'builtin:echo'] as unknown as AgentConfigInput[]) {
      const problem = await problemOf(openAgentGateway({ desk: config }))
      expect(problem).toMatch(/^agents\.desk/)
      expect(problem).toContain(`Set "use" to one of: ${available}`)
    }
  })

  test.each<[what: string, config: AgentConfigInput, key: string]>([
    ['an unknown member', { ...echo, nmae: 'Echo' }, 'agents.a: Unrecognized key: "nmae"'],
    ['a member of another kind', { ...echo, url: 'https://peer.test/' }, 'agents.a: Unrecognized key: "url"'],
    ['an unknown member deeper', { ...echo, history: { head: 1 } }, 'agents.a.history: Unrecognized key: "head"'],
    ['a deadline without unit', { ...echo, deadline: '60' }, 'agents.a.deadline: must be a time such as "60s"'],
    ['a deadline of nothing', { ...echo, deadline: '0s' }, 'agents.a.deadline: must be a time such as "60s"'],
    ['a deadline of an hour', { ...echo, deadline: '60m' }, 'agents.a.deadline: must be a time such as "60s"'],
    ['a negative budget', { ...echo, history: { max_turns: -1 } }, 'agents.a.history.max_turns: Too small'],
    ['an icon that is no file', { ...echo, icon: 'desk.png' }, 'agents.a.icon: the file "desk.png" cannot be read'],
    ['an icon without https', { ...echo, icon: 'http://peer.test/a.png' }, 'agents.a.icon: must be an https address'],
    ['an icon in itself', { ...echo, icon: 'data:image/png,x' }, 'agents.a.icon: must be an https address'],
    ['nine fields', { ...echo, fields: Array(9).fill({ name: 'a', value: 'b' }) }, 'agents.a.fields: Too big'],
    ['a field without value', { ...echo, fields: [{ name: 'a', value: ' ' }] }, 'agents.a.fields.0.value: Too small'],
    ['another account that is none', { ...echo, also_known_as: ['@a@b.test'] }, 'agents.a.also_known_as.0: must be'],
    ['an unknown kind of message', { ...echo, receives: ['poke'] }, 'agents.a.receives.0: Invalid option'],
    ['a webhook without url', { use: 'webhook', secret: 'x' }, 'agents.a.url: Invalid input'],
    ['a webhook without secret', { use: 'webhook', url: 'https://peer.test/' }, 'agents.a.secret: Invalid input'],
    ['a webhook by mail', { use: 'webhook', url: 'mailto:a@b.test', secret: 'x' }, 'agents.a.url: Invalid URL'],
    [
      'a webhook with a password in its url',
      { use: 'webhook', url: 'https://u:p@peer.test/', secret: 'x' },
      'agents.a.url: must not hold credentials',
    ],
    [
      'an empty secret',
      { use: 'webhook', url: 'https://peer.test/', secret: '' },
      'agents.a.secret: must be some text, or "whsec_" followed by base64',
    ],
    [
      'a secret that is not base64',
      { use: 'webhook', url: 'https://peer.test/', secret: 'whsec_***' },
      'agents.a.secret: must be some text, or "whsec_" followed by base64',
    ],
  ])('names the key of %s', async (_what, config, problem) => {
    expect(await problemOf(openAgentGateway({ a: config }))).toContain(problem)
  })

  test('never shows a secret', async () => {
    const config = { use: 'webhook', url: 'nowhere', secret: 'whsec_hunter2', extra: true }
    expect(await problemOf(openAgentGateway({ a: config }))).not.toContain('hunter2')
  })
})

describe('agentConfigSchema', () => {
  test('parses its own output unchanged', () => {
    const configs: AgentConfigInput[] = [
      { ...echo, deadline: '5s', history: { keep_head: 0 } },
      { use: './desk.ts', name: 'Store' },
      { use: 'webhook', url: 'https://peer.test/hook', secret: 's' },
    ]
    for (const config of configs) {
      const parsedConfig = agentConfigSchema.parse(config)
      expect(agentConfigSchema.parse(parsedConfig)).toEqual(parsedConfig)
      expect(parsedConfig).toMatchObject(config)
    }
  })

  test('names the invalid member of an entry', () => {
    const { error } = agentConfigSchema.safeParse({ use: 'llama', model: 'x' })
    expect(error?.issues).toMatchObject([
      { code: 'custom', path: ['use'], message: `no agent of the kind "llama"; available: ${available}` },
    ])
    const deeper = agentConfigSchema.safeParse({ ...echo, history: { max_chars: 'many' } })
    expect(deeper.error?.issues).toMatchObject([{ path: ['history', 'max_chars'] }])
  })
})
