import { activityPubDescriptor } from '@postern/activitypub'
import { toProblem } from '@postern/http'
import { noLog } from '@postern/message'
import type { PlannedAction } from '@postern/pipeline'
import { beforeEach, expect, test } from 'vitest'
import { requireOperator } from '../../sign-in/operator-token.ts'
import type { OperatorOptions } from '../routes.ts'
import { createOperatorRoutes } from '../routes.ts'

const plannedActions: PlannedAction[] = []
beforeEach(() => {
  plannedActions.length = 0
})

const addressing = { deliveries: [{ to: 'https://peer.test/inbox', target: null }], aliases: [] }
const channel = { descriptor: activityPubDescriptor, actions: { address: () => addressing } }
const acting = {
  store: {
    findResponse: async () => undefined,
    findMessageTo: async (agent: string, id: string) =>
      agent === 'echo' && id === 'm1' ? { message: 7, via: 'activitypub', target: null } : undefined,
    storeActions: async (acts: readonly PlannedAction[]) => void plannedActions.push(...acts),
  },
  system: {
    now: () => 0,
    randomBytes: (count: number) => crypto.getRandomValues(new Uint8Array(count)),
    log: noLog,
  },
  channels: [channel],
} as unknown as OperatorOptions['acting']
const agents = {
  find: (name: string) => (name === 'echo' ? { name } : undefined),
  domain: 'agents.test',
} as unknown as OperatorOptions['agents']
const store = {} as OperatorOptions['store']
const operatorOnly = requireOperator({
  token: 'operator-token',
  sessions: { isOpen: async () => false },
  origin: 'https://agents.test',
})
const app = createOperatorRoutes({
  requirements: {
    decide: () => Promise.reject(new Error('nothing is required here')),
    approvals: {} as OperatorOptions['requirements']['approvals'],
  },
  store,
  agents,
  channels: [],
  channelNames: ['activitypub', 'email'],
  version: '0',
  operatorOnly,
  acting,
  openResolveSystem: () => ({}) as never,
})
app.onError(error => toProblem(error))

const parts = [{ kind: 'text', mime: 'text/markdown', content: 'news' }]

function act(body: unknown, { agent = 'echo', token = 'operator-token' } = {}) {
  const headers = { authorization: `Bearer ${token}` }
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return app.request(`/operator/api/agents/${agent}/acts`, { method: 'POST', headers, body: text })
}

test('the operator posts and reacts through an agent, and gets the id of the post', async () => {
  const response = await act({
    acts: [
      { act: 'post', parts },
      { act: 'like', message: 'm1' },
    ],
  })
  expect(response.status).toBe(200)
  const id = expect.stringMatching(/^[0-9a-f]{32}$/)
  expect(await response.json()).toEqual({ done: [{ act: 'post', id }, { act: 'like' }] })
  expect(plannedActions).toMatchObject([
    {
      kind: 'post',
      syntheticMessage: { agent: 'echo' },
      answer: { response: { id, sender: '@echo@agents.test', parts } },
    },
    { kind: 'react', message: 7 },
  ])
})

test('only the gateway chooses ids of posts', async () => {
  const id = '0123456789abcdef0123456789abcdef'
  const { done: performed } = (await (await act({ acts: [{ act: 'post', id, parts }] })).json()) as {
    done: { id: string }[]
  }
  expect(performed[0]?.id).not.toBe(id)
})

test.each(['wrong', ''])('callers without the operator token get a refusal: "%s"', async token => {
  const response = await act({ acts: [{ act: 'post', parts }] }, { token })
  expect(response.status).toBe(401)
  expect(plannedActions).toEqual([])
})

test('the gateway refuses an action of an unknown agent', async () => {
  const response = await act({ acts: [{ act: 'post', parts }] }, { agent: 'nobody' })
  expect(response.status).toBe(404)
  expect(await response.json()).toMatchObject({ code: 'no_recipient', detail: 'Cannot act: there is no such agent' })
})

test('the gateway performs all actions of a request or none', async () => {
  const acts = [
    { act: 'post', parts },
    { act: 'delete', response: 'unknown' },
  ]
  const response = await act({ acts })
  expect(response.status).toBe(404)
  expect(await response.json()).toMatchObject({
    code: 'no_recipient',
    detail: 'Cannot delete "unknown": this agent has no answer or post with this id',
  })
  expect(plannedActions).toEqual([])
})

test.each<[what: string, body: unknown, detail: string]>([
  ['no JSON', '{', 'Cannot read request: not valid JSON'],
  ['no acts', {}, 'Cannot act: "acts" is missing'],
  ['an empty list', { acts: [] }, 'Cannot act: "acts" must have at least 1 entry'],
  [
    'an act that there is not',
    { acts: [{ act: 'hug' }] },
    'Cannot act: "acts.0.act" must be one of post, reply, edit, delete, like, unlike, boost, unboost',
  ],
  [
    'a post without parts',
    { acts: [{ act: 'post', parts: [] }] },
    'Cannot act: "acts.0.parts" must have at least 1 entry',
  ],
  [
    'more than it knows',
    { acts: [{ act: 'like' }], agent: 'help' },
    'Cannot act: there is no member "agent"; use acts',
  ],
  [
    'too many',
    { acts: Array(21).fill({ act: 'like', message: 'm1' }) },
    'Cannot act: "acts" must have at most 20 entries',
  ],
])('the gateway refuses a request with %s as malformed', async (_what, body, detail) => {
  const response = await act(body)
  expect(await response.json()).toMatchObject({ status: 400, code: 'malformed', detail })
  expect(plannedActions).toEqual([])
})

test('the gateway does not read an oversized request', async () => {
  const response = await act(' '.repeat(9 * 1024 * 1024))
  expect(response.status).toBe(413)
})
