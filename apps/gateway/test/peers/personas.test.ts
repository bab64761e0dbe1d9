import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TestGateway } from '../setup/gateway.ts'
import { openTestGateway } from '../setup/gateway.ts'

// These tests run the whole gateway among the simulation's servers, each of which behaves in its own way.

let gateway: TestGateway

beforeAll(async () => {
  gateway = await openTestGateway()
})
afterAll(() => gateway?.close())

const to = '@echo@agents.test'

test.each([
  ['alice@mastodon.test', 'with an ordinary key'],
  ['alice@gotosocial.test', 'whose server shows nothing to strangers'],
  ['alice@snac.test', 'whose server verifies later'],
  ['alice@barekey.test', 'whose key has an address of its own'],
  ['alice@rfc9421.test', 'whose server reads RFC 9421 alone'],
  ['alice@slow.test', 'whose server takes its time'],
  ['alice@redirector.test', 'who has moved within her server'],
])('a mention by %s, %s, gets an answer that her server verifies', async from => {
  const { fediverse } = gateway.simulation
  const receipt = await fediverse.deliver({ from, to, text: `it is me, ${from}` })
  expect([receipt.status, receipt.body]).toEqual([202, ''])
  const { activity } = await fediverse.awaitReply(receipt.objectId, 30_000)
  expect((activity.object as { content: string }).content).toContain(`it is me, ${from}`)
  expect((await gateway.readMessage(receipt.activityId)).message.sender).toMatchObject({
    address: `@${from}`,
    verified: true,
  })
})

test('requests use draft-cavage first; after a refusal the gateway uses RFC 9421, and remembers it for that server', async () => {
  const { fediverse } = gateway.simulation
  for (const from of ['bob@rfc9421.test', 'bob@snac.test', 'bob@rfc9421.test', 'bob@snac.test']) {
    const { objectId } = await fediverse.deliver({ from, to, text: 'knock, knock' })
    await fediverse.awaitReply(objectId, 30_000)
  }
  const verdictsAt = (host: string) =>
    fediverse.received.filter(activity => activity.host === host).map(request => request.verified)
  const [firstVerdict, ...laterVerdicts] = verdictsAt('rfc9421.test')
  expect([firstVerdict, new Set(laterVerdicts)]).toEqual([false, new Set([true])])
  expect(verdictsAt('snac.test')).not.toContain(false)
})

test.each([
  ['mallory@redirector.test', 'leads to somebody else'],
  ['carol@redirector.test', 'leads in a circle'],
  ['alice@gone.test', 'is gone'],
])('the gateway does not believe %s, whose address %s', async from => {
  const { status, activityId } = await gateway.simulation.fediverse.deliver({ from, to, text: 'believe me' })
  expect(status).toBe(401)
  expect((await gateway.messages()).map(({ id }) => id)).not.toContain(activityId)
})

test('a deleted account may send its Delete without a proof, any number of times', async () => {
  const object = 'https://gone.test/users/alice'
  const sayGoodbye = () => gateway.simulation.fediverse.send({ from: 'alice@gone.test', to, type: 'Delete', object })
  expect([(await sayGoodbye()).status, (await sayGoodbye()).status]).toEqual([202, 202])
})

test.each(['Follow', 'Like', 'Announce', 'Block', 'Move', 'Flag', 'Add', 'Remove', 'Invented'])(
  'the gateway accepts %s with a valid signature, and refuses a forged one',
  async type => {
    const { fediverse } = gateway.simulation
    const from = 'bob@mastodon.test'
    expect((await fediverse.send({ from, to, type })).status).toBe(202)
    expect((await fediverse.send({ from, to, type, fault: 'forged' })).status).toBe(401)
  },
)
