import { toProblem } from '@postern/http'
import { expect, test } from 'vitest'
import { createOperationRouter } from '../../api/router.ts'
import type { FollowerOptions } from './route.ts'
import { createFollowerRoutes } from './route.ts'

const decisions: unknown[] = []
const filters: unknown[] = []
const channels = [
  { descriptor: { name: 'email' } },
  {
    descriptor: { name: 'activitypub' },
    peers: {
      decideFollow: async (...decision: readonly unknown[]) => {
        decisions.push(decision)
        return decision[1] === 'https://peer.test/ada'
      },
    },
  },
] as unknown as FollowerOptions['channels']
const follower = { agent: 'echo', via: 'activitypub', relation: 'pending', target: null, since: 0 } as const
const store: FollowerOptions['store'] = {
  async listRelations(filter) {
    filters.push(filter)
    return [{ ...follower, peer: 'https://peer.test/ada', number: 7 }]
  },
}
const app = createOperationRouter(createFollowerRoutes({ store, channels }), { authenticate: (_, next) => next() })
app.onError(error => toProblem(error))

const decide = (verdict: string, body: string) =>
  app.request(`/operator/api/follow-requests/${verdict}`, { method: 'POST', body })

test('the API lists pending follow requests of an agent', async () => {
  const response = await app.request('/operator/api/relations?agent=echo&relation=pending&after=3&limit=1')
  expect(await response.json()).toMatchObject({ items: [{ peer: 'https://peer.test/ada' }], next: 7 })
  expect(filters.at(-1)).toMatchObject({ agent: 'echo', via: 'activitypub', relation: 'pending', after: 3 })
})

test.each(['relation=friend', 'after=x'])('the API refuses a list with %s as malformed', async query => {
  const response = await app.request(`/operator/api/relations?agent=echo&${query}`)
  expect(response.status).toBe(400)
  expect(await response.json()).toMatchObject({ code: 'malformed' })
})

test.each([
  ['accept', true],
  ['reject', false],
])('the verdict %s answers a follow request', async (verdict, isAccepted) => {
  const response = await decide(verdict, JSON.stringify({ agent: 'echo', peer: 'https://peer.test/ada' }))
  expect(await response.json()).toEqual({ agent: 'echo', peer: 'https://peer.test/ada', done: verdict })
  expect(decisions.at(-1)).toEqual(['echo', 'https://peer.test/ada', isAccepted])
})

test('a decision about a person without a request answers 404', async () => {
  const response = await decide('accept', JSON.stringify({ agent: 'echo', peer: 'https://peer.test/bob' }))
  expect(response.status).toBe(404)
  expect(await response.json()).toMatchObject({
    code: 'no_recipient',
    detail: 'Cannot decide: nobody of this name asks to follow that agent',
  })
})

test.each(['{', '{}', '{"agent":"echo"}', '[]'])('the API refuses a decision that is %s as malformed', async body => {
  expect((await decide('accept', body)).status).toBe(400)
})
