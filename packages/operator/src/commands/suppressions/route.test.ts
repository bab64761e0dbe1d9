import { toProblem } from '@postern/http'
import { expect, test } from 'vitest'
import { createOperationRouter } from '../../api/router.ts'
import type { SuppressionRouteDeps } from './route.ts'
import { createSuppressionRoutes } from './route.ts'

const suppressedAddress = 'gone@nodmarc.test'
const channels = [
  { descriptor: { name: 'a2a' } },
  {
    descriptor: { name: 'email' },
    diagnostics: { probe: async () => 'probe@agents.test' },
    peers: { liftSuppression: async (_: string, peer: string) => peer === suppressedAddress },
  },
] as unknown as SuppressionRouteDeps['channels']
const store: SuppressionRouteDeps['store'] = {
  listRelations: async ({ after }) => [
    {
      agent: 'echo',
      via: 'email',
      relation: 'suppressed',
      peer: suppressedAddress,
      target: `after ${after}`,
      number: 7,
      since: 0,
    },
  ],
}
const app = createOperationRouter(createSuppressionRoutes({ store, channels }), { authenticate: (_, next) => next() })
app.onError(error => toProblem(error))

const lift = (body: string) => app.request('/operator/api/suppressions/lift', { method: 'POST', body })

test('the list shows suppressed addresses with the reason', async () => {
  const response = await app.request('/operator/api/suppressions?agent=echo&after=3&limit=1')
  const suppression = {
    agent: 'echo',
    via: 'email',
    relation: 'suppressed',
    peer: suppressedAddress,
    target: 'after 3',
  }
  expect(await response.json()).toMatchObject({ items: [suppression], next: 7 })
})

test('the operator can only lift an existing suppression', async () => {
  expect(await (await lift(JSON.stringify({ agent: 'echo', peer: suppressedAddress }))).json()).toMatchObject({
    done: 'lift',
  })
  const otherResponse = await lift(JSON.stringify({ agent: 'echo', peer: 'other@nodmarc.test' }))
  expect([otherResponse.status, await otherResponse.json()]).toMatchObject([404, { code: 'no_recipient' }])
  expect((await lift('{}')).status).toBe(400)
})

test('a probe returns the message that it sent', async () => {
  expect(await (await app.request('/operator/api/probes/email', { method: 'POST' })).json()).toEqual({
    id: 'probe@agents.test',
  })
  expect((await app.request('/operator/api/probes/a2a', { method: 'POST' })).status).toBe(415)
})
