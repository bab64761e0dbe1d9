import type { Refusal } from '@postern/pipeline'
import { afterEach, expect, test } from 'vitest'
import type { TestGateway } from '../setup/gateway.ts'
import { openTestGateway } from '../setup/gateway.ts'

// The numbers in these tests are rows of the ActivityPub bug history.

let gateway: TestGateway
afterEach(() => gateway.close())

async function post(from: string, text: string): Promise<number> {
  return (await gateway.simulation.fediverse.deliver({ to: '@echo@agents.test', from, text })).status
}

test('a limit stops a burst from one instance by any number of people, and not other instances (AP-66)', async () => {
  gateway = await openTestGateway(() => ({ limits: { per_host: 4 } }))
  const senders = [...gateway.simulation.fediverse.actors.keys()].filter(address => address.endsWith('@mastodon.test'))
  expect(senders.length).toBeGreaterThan(1)
  const statuses: number[] = []
  for (let count = 0; count < 8; count += 1) {
    statuses.push(await post(senders[count % senders.length] ?? '', `one of many: ${count}`))
  }
  expect(statuses).toEqual([202, 202, 202, 202, 429, 429, 429, 429])
  expect(await post('alice@gotosocial.test', 'from elsewhere')).toBe(202)
  expect(await gateway.messages()).toHaveLength(5)
  const { items: refusals } = await gateway.requestOperator<{ items: Refusal[] }>('/refusals?limit=500')
  expect(refusals.map(({ via, code }) => [via, code])).toEqual(Array(4).fill(['activitypub', 'rate_limited']))
})
