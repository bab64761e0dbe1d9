import { Unavailable } from '@postern/message'
import type { Delivery } from '@postern/pipeline'
import { performActions } from '@postern/pipeline'
import { afterEach, expect, test } from 'vitest'
import { composeActivity, echoActor } from '../activity.ts'
import { composeNote, postActivity, settlePerson } from '../person.ts'
import type { Stage } from '../stage.ts'
import { openStage } from '../stage.ts'

let stage: Stage
afterEach(() => stage.close())

/** Returns the error of the delivery to an actor of evil.test with this inbox. */
async function findDeliveryError(inbox: string): Promise<unknown> {
  stage = await openStage()
  const { peer, gateway } = stage
  peer.serve(inbox, { status: 503 })
  const endpoints = undefined
  const eve = settlePerson(peer, 'eve@evil.test', { key: stage.mallory.key, document: { inbox, endpoints } })
  const { channel, store } = gateway
  let deliveryError: unknown
  await postActivity(gateway, eve, composeNote(eve))
  const prepare = channel.prepare.bind(channel)
  Object.assign(channel, {
    prepare(delivery: Delivery) {
      const preparedDelivery = prepare(delivery)
      async function transmit() {
        try {
          return await preparedDelivery.transmit()
        } catch (error) {
          deliveryError = error
          throw error
        }
      }
      return { ...preparedDelivery, transmit }
    },
  })
  gateway.work()
  await expect.poll(async () => (await store.listDeliveries({ limit: 1 }))[0]?.state).toBe('later')
  return deliveryError
}

test('an actor that names an inbox on a foreign host does not stop the deliveries to that host (AP-42)', async () => {
  const deliveryError = await findDeliveryError('https://good.test/always-busy')
  expect(deliveryError).toBeInstanceOf(Unavailable)
  expect(deliveryError).toMatchObject({
    isHearsay: true,
    status: 503,
    message: 'Cannot deliver: the inbox answered 503',
  })
})

test('an inbox on its actor’s own host counts for the state of that host', async () => {
  expect(await findDeliveryError('https://evil.test/busy')).toMatchObject({ isHearsay: false, status: 503 })
})

async function follow(name: string, inbox: string): Promise<number> {
  const { peer, mallory, gateway } = stage
  const document = { inbox, endpoints: undefined }
  const person = settlePerson(peer, `${name}@evil.test`, { key: mallory.key, document, hasHandle: false })
  return (await postActivity(gateway, person, composeActivity(person, 'Follow', echoActor))).status
}

const countFollowers = () =>
  stage.gateway.store.countRelations({ agent: 'echo', via: 'activitypub', relation: 'follower' })

test('nobody can make an agent post to thousands of addresses on a foreign host (AP-42)', async () => {
  stage = await openStage()
  stage.gateway.system.holdClock()
  const answers: number[] = []
  for (let index = 0; index < 70; index += 1) answers.push(await follow(`e${index}`, `https://good.test/any/${index}`))
  expect(answers.filter(status => status === 202)).toHaveLength(60)
  expect(answers.slice(60)).toEqual(Array(10).fill(429))
  expect(await follow('own', 'https://evil.test/users/own/inbox')).toBe(202)
  expect(await countFollowers()).toBe(61)
})

test.each([404, 405, 410])(
  'the gateway ends the follow of an actor whose inbox on another host answers %s',
  async status => {
    stage = await openStage({ agents: { echo: { handle: () => undefined } } })
    const { peer, gateway } = stage
    const { store, system, channel } = gateway
    const [foreignInbox, ownInbox] = ['https://good.test/contact', 'https://evil.test/users/own/inbox']
    for (const inbox of [foreignInbox, ownInbox])
      peer.serve(inbox, ({ body }) => (/"Accept"/.test(body) ? {} : { status }))
    await follow('eve', foreignInbox)
    await follow('own', ownInbox)
    gateway.work()
    const author = { agent: 'echo', address: '@echo@agents.test' }
    const parts = [{ kind: 'text' as const, mime: 'text/plain' as const, content: 'hello' }]
    await performActions([{ act: 'post', parts }], author, { store, system, channels: [channel] })
    const countDeadDeliveries = async () => (await store.listDeliveries({ limit: 9, state: 'dead' })).length
    await expect.poll(countDeadDeliveries).toBe(2)
    // The actor's own host may decide about its own addresses.
    await expect.poll(countFollowers).toBe(1)
  },
)

test('the gateway sends at most sixty requests a minute to a host for inboxes of foreign actors (AP-41)', async () => {
  stage = await openStage({ agents: { echo: { handle: () => 'words and words. '.repeat(600) } } })
  const { peer, mallory, gateway } = stage
  peer.serve('https://good.test/victim', { status: 429 })
  const document = { inbox: 'https://good.test/victim', endpoints: undefined }
  const eve = settlePerson(peer, 'eve@evil.test', { key: mallory.key, document })
  gateway.work()
  const startedAt = gateway.system.now()
  for (let count = 0; count < 90; count += 1) await postActivity(gateway, eve, composeNote(eve))
  const hasWaitingDelivery = async () =>
    (await gateway.store.listDeliveries({ limit: 500, state: 'later' })).some(({ last_error }) =>
      last_error?.startsWith('Cannot deliver: too much lately'),
    )
  await expect.poll(hasWaitingDelivery, { timeout: 60_000 }).toBe(true)
  const requestCount = peer.countOf('https://good.test/victim')
  // Each second allows one more delivery.
  expect(requestCount).toBeLessThanOrEqual(60 + (gateway.system.now() - startedAt) / 1_000)
}, 90_000)

test.each([
  ['the shared inbox', 'https://good.test/inbox', {}],
  ['an inbox', 'https://good.test/users/alice/inbox', { endpoints: undefined }],
])(
  'an operator’s block of an actor that claims others’ %s does not stop deliveries to the others (AP-41)',
  async (_, inbox, document) => {
    stage = await openStage({ agents: { echo: { handle: () => undefined } }, config: { block: ['sub.evil.test'] } })
    const { peer, mallory, gateway } = stage
    const { store, system, channel } = gateway
    peer.serve(inbox, { status: 202 })
    const alice = settlePerson(peer, 'alice@good.test', { document })
    await postActivity(gateway, mallory, composeActivity(mallory, 'Follow', echoActor))
    await postActivity(gateway, alice, composeActivity(alice, 'Follow', echoActor))
    const [{ number = 0 } = {}] = await stage.listStoredMessages()
    // The followers date from before the operator blocked the host.
    const target = { inbox }
    const effects = ['1', '2'].map(
      name => ({ kind: 'relate', relation: 'follower', peer: `https://sub.evil.test/users/${name}`, target }) as const,
    )
    await store.decide(number, { effects, deliveries: [] })
    const parts = [{ kind: 'text' as const, mime: 'text/plain' as const, content: 'hello' }]
    const author = { agent: 'echo', address: '@echo@agents.test' }
    gateway.work()
    await performActions([{ act: 'post', parts }], author, { store, system, channels: [channel] })
    const listReachedInboxes = () =>
      peer.requests
        .filter(({ body, method, host }) => method === 'POST' && host === 'good.test' && /"Create"/.test(body))
        .map(({ host, path }) => `https://${host}${path}`)
    await expect.poll(listReachedInboxes).toEqual([inbox])
  },
)
