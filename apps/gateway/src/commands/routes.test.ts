import type { RotateOptions } from '@postern/core'
import { Rejection } from '@postern/core'
import { toProblem } from '@postern/http'
import { describe, expect, test } from 'vitest'
import { requireOperator } from './operator-token.ts'
import type { OperatorOptions } from './routes.ts'
import { createOperatorRoutes } from './routes.ts'

const store = {
  findMessage: async (id: string) => ({ message: { id, recipient: '@echo@agents.test' } }),
  readHistory: async () => [],
} as unknown as OperatorOptions['store']
const agents = { findRunning: () => undefined, find: () => undefined, domain: 'agents.test' }
const acting = {} as OperatorOptions['acting']
const openResolvePlatform = () => ({}) as ReturnType<OperatorOptions['openResolvePlatform']>
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
  operatorOnly,
  acting,
  requirements,
  openResolvePlatform,
})

test.each(['https://evil.test/a%2Fb', '100%', 'a%zz', 'https://evil.test/?x=1#y', 'mail+tag@x.test', 'ümlaut'])(
  'the route shows a message under its own id, "%s", and no other',
  async id => {
    const headers = { authorization: 'Bearer operator-token' }
    const answer = await routes.request(`/operator/api/messages/${encodeURIComponent(id)}`, { headers })
    expect(await answer.json()).toMatchObject({ message: { id } })
  },
)

describe('POST /operator/api/keys/rotate', () => {
  const rotated: [string | undefined, boolean | undefined][] = []
  const channels = [
    {
      descriptor: { name: 'activitypub' },
      rotateKeys: async (agent?: string, options?: RotateOptions) => {
        if (agent === 'nobody') throw new Rejection('no_recipient', 'Cannot rotate keys: there is no such agent')
        rotated.push([agent, options?.isRevoking])
        return [{ purpose: 'signatures', id: 'key-2', algorithm: 'RSA', publicKey: 'PEM' }]
      },
    },
    { descriptor: { name: 'email' } },
  ] as unknown as OperatorOptions['channels']
  const app = createOperatorRoutes({
    store,
    agents,
    channels,
    operatorOnly,
    acting,
    requirements,
    openResolvePlatform,
  })
  app.onError(error => toProblem(error))

  test.each([
    ['whose connection is cut', () => new ReadableStream({ pull: c => c.error(new Error('aborted')) }), 400],
    ['that is larger than any that an operator sends', () => ' '.repeat(65_537), 413],
  ])('answers a body %s with a refusal, not with a bug', async (_, write, status) => {
    const headers = { authorization: 'Bearer operator-token' }
    const init = { method: 'POST', headers, body: write(), duplex: 'half' } as RequestInit
    const answer = await app.request('/operator/api/keys/rotate', init)
    expect(answer.status).toBe(status)
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
  ])('rotates what %s says', async (body, agent, isRevoking) => {
    rotated.length = 0
    const answer = await rotate(body)
    expect(await answer.json()).toEqual({
      keys: [{ via: 'activitypub', purpose: 'signatures', id: 'key-2', algorithm: 'RSA', publicKey: 'PEM' }],
    })
    expect(rotated).toEqual([[agent, isRevoking]])
  })

  test.each([
    ['{"agent":1}', 400, 'malformed'],
    ['{"agent":"echo","revoke":"yes"}', 400, 'malformed'],
    ['{"agent":', 400, 'malformed'],
    ['{"agent":"nobody"}', 404, 'no_recipient'],
  ])('refuses %s', async (body, status, code) => {
    const answer = await rotate(body)
    expect({ status: answer.status, body: await answer.json() }).toMatchObject({ status, body: { code } })
  })

  test('is for the operator alone', async () => {
    rotated.length = 0
    expect((await rotate('{}', 'another')).status).toBe(401)
    expect(rotated).toEqual([])
  })
})
