import { toProblem } from '@postern/http'
import { Rejection } from '@postern/message'
import type { RotateOptions } from '@postern/pipeline'
import { secretPurposes } from '@postern/pipeline'
import { describe, expect, test } from 'vitest'
import { requireOperator } from '../sign-in/operator-token.ts'
import type { OperatorOptions } from './routes.ts'
import { createOperatorRoutes } from './routes.ts'

const store = {
  findMessage: async (id: string) => ({ message: { id, recipient: '@echo@agents.test' } }),
  readHistory: async () => [],
} as unknown as OperatorOptions['store']
const agents = { findRunning: () => undefined, find: () => undefined, list: () => [], domain: 'agents.test' }
const acting = {} as OperatorOptions['acting']
const openResolveSystem = () => ({}) as ReturnType<OperatorOptions['openResolveSystem']>
const requirements = {
  decide: () => Promise.reject(new Error('nothing is required here')),
  approvals: {} as OperatorOptions['requirements']['approvals'],
}
const operatorOnly = requireOperator({
  token: 'operator-token',
  sessions: { isOpen: async () => false },
  origin: 'https://agents.test',
})
const routes = createOperatorRoutes({
  store,
  agents,
  channels: [],
  channelNames: ['activitypub', 'email'],
  version: '0',
  operatorOnly,
  acting,
  requirements,
  openResolveSystem,
})

test.each(['https://evil.test/a%2Fb', '100%', 'a%zz', 'https://evil.test/?x=1#y', 'mail+tag@x.test', 'ümlaut'])(
  'the route shows a message only under its own id "%s"',
  async id => {
    const headers = { authorization: 'Bearer operator-token' }
    const response = await routes.request(`/operator/api/messages/${encodeURIComponent(id)}`, { headers })
    expect(await response.json()).toMatchObject({ message: { id } })
  },
)

test('GET /operator/api/keys makes keys of at most 20 agents at once, and of one by its name', async () => {
  const asked: (readonly string[])[] = []
  const list = async (names: readonly string[] = []) => {
    asked.push(names)
    return []
  }
  const manyAgents = Array.from({ length: 10_000 }, (_, index) => ({ name: `agent${index}` }))
  const app = createOperatorRoutes({
    store: { ...store, listSecrets: async () => [] },
    agents: { ...agents, find: () => ({}), list: () => manyAgents } as unknown as OperatorOptions['agents'],
    channels: [{ descriptor: { name: 'activitypub' }, keys: { list } }] as unknown as OperatorOptions['channels'],
    channelNames: [],
    version: '0',
    operatorOnly,
    acting,
    requirements,
    openResolveSystem,
  })
  const listKeys = async (query: string) => {
    const headers = { authorization: 'Bearer operator-token' }
    return (await app.request(`/operator/api/keys${query}`, { headers })).json()
  }
  expect(await listKeys('')).toMatchObject({ agents_left_out: 9_980 })
  expect(await listKeys('?agent=agent9999')).toMatchObject({ agents_left_out: 0 })
  expect(asked.map(names => [names.length, names.at(-1)])).toEqual([
    [20, 'agent19'],
    [1, 'agent9999'],
  ])
})

describe('POST /operator/api/keys/rotate', () => {
  const rotations: [string | undefined, boolean | undefined][] = []
  const secrets = {
    rotateSecrets: async ({ isRevoking }: RotateOptions = {}) => void rotations.push(['secrets', isRevoking]),
    listSecrets: async () => [2, 1].map(generation => ({ purpose: 'attachments', generation })),
  } as unknown as OperatorOptions['store']
  const channels = [
    {
      descriptor: { name: 'activitypub' },
      keys: {
        rotate: async (agent?: string, options?: RotateOptions) => {
          if (agent === 'nobody') throw new Rejection('no_recipient', 'Cannot rotate keys: there is no such agent')
          rotations.push([agent, options?.isRevoking])
          return [{ purpose: 'signatures', id: 'key-2', algorithm: 'RSA', publicKey: 'PEM' }]
        },
      },
    },
    { descriptor: { name: 'email' } },
  ] as unknown as OperatorOptions['channels']
  const app = createOperatorRoutes({
    store: { ...store, ...secrets },
    agents,
    channels,
    channelNames: [],
    version: '0',
    operatorOnly,
    acting,
    requirements,
    openResolveSystem,
  })
  app.onError(error => toProblem(error))

  test.each([
    ['whose connection is cut', () => new ReadableStream({ pull: c => c.error(new Error('aborted')) }), 400],
    ['that is larger than any that an operator sends', () => ' '.repeat(65_537), 413],
  ])('refuses a body %s without an internal error', async (_, write, status) => {
    const headers = { authorization: 'Bearer operator-token' }
    const init = { method: 'POST', headers, body: write(), duplex: 'half' } as RequestInit
    const response = await app.request('/operator/api/keys/rotate', init)
    expect(response.status).toBe(status)
  })

  const rotate = (body: string | undefined, token = 'operator-token') =>
    app.request('/operator/api/keys/rotate', {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
      ...(body !== undefined && { body }),
    })

  test.each([
    ['{"agent":"echo"}', 'echo', false],
    ['{"agent":"echo","revoke":true}', 'echo', true],
    ['{"revoke":true}', undefined, true],
    ['{}', undefined, false],
    ['null', undefined, false],
    [undefined, undefined, false],
  ])('rotates the keys that the body %s names', async (body, agent, isRevoking) => {
    rotations.length = 0
    const response = await rotate(body)
    expect(await response.json()).toEqual({
      keys: [{ via: 'activitypub', purpose: 'signatures', id: 'key-2', algorithm: 'RSA', publicKey: 'PEM' }],
      secrets: agent === undefined ? [{ id: 'attachments-2', purpose: secretPurposes.attachments }] : [],
    })
    expect(rotations).toEqual([[agent, isRevoking], ...(agent === undefined ? [['secrets', isRevoking]] : [])])
  })

  test.each([
    ['{"agent":1}', 400, 'malformed'],
    ['{"agent":"echo","revoke":"yes"}', 400, 'malformed'],
    ['{"agent":', 400, 'malformed'],
    ['{"agent":"nobody"}', 404, 'no_recipient'],
  ])('refuses %s', async (body, status, code) => {
    const response = await rotate(body)
    expect({ status: response.status, body: await response.json() }).toMatchObject({ status, body: { code } })
  })

  test('refuses callers without the operator token', async () => {
    rotations.length = 0
    expect((await rotate('{}', 'another')).status).toBe(401)
    expect(rotations).toEqual([])
  })
})
