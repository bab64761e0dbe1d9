import { afterEach, expect, test } from 'vitest'
import type { GatewayPlan, Gateways } from './gateways.ts'
import { describeRecords, openGateways, settle } from './gateways.ts'

const parrot = { use: '../agents/reporting/parrot.ts' }
let gateways: Gateways

afterEach(() => gateways.close())

async function countStopped(host: string): Promise<number> {
  return (await gateways.at(host).store.count()).stopped.loop_guard
}

test('MN-8.1 addressing: local agents that mention each other on the fediverse wake with all proof, and stop within the budget', async () => {
  gateways = await openGateways({ 'a.test': { agents: { one: parrot, two: parrot } } })
  const wake = { via: 'activitypub', to: 'one', text: 'wake @two@a.test please', timeoutMs: 60_000 } as const
  const sent = await gateways.simulation.send(wake)
  expect(sent.status).toBe('answered')
  await settle(gateways, ['a.test'])
  const [one, two] = [await gateways.records('a.test', 'one'), await gateways.records('a.test', 'two')]
  expect(two[0]).toMatchObject({
    state: 'answered',
    flags: ['from_agent'],
    message: { sender: { address: '@one@a.test', verified: true, auth_method: 'ap-http-signature' } },
  })
  const turns = [...one, ...two].filter(({ state }) => state === 'answered')
  expect(turns.length).toBeGreaterThan(4)
  expect(turns.length).toBeLessThanOrEqual(11)
  expect(await countStopped('a.test')).toBe(1)
  const stopped = [...one, ...two].filter(({ flags }) => flags.includes('loop_guard'))
  expect(stopped.map(({ state }) => state)).toEqual(['ignored'])
  const { items: messages } = await askOperator<{ items: { flags: string[] }[] }>('a.test', '/messages?limit=50')
  expect(messages.filter(({ flags }) => flags.includes('loop_guard'))).toHaveLength(1)
  // Nobody was lost in the network: neither can find itself there.
  expect((await gateways.at('a.test').store.count()).deliveries).toMatchObject({ dead: 0, later: 0 })
})

async function askOperator<Answer>(host: string, path: string): Promise<Answer> {
  const answer = await fetch(`${gateways.url(host)}/operator/api${path}`, {
    headers: { authorization: `Bearer ${'x'.repeat(20)}` },
  })
  return (await answer.json()) as Answer
}

/** Alice writes to the parrot of the one gateway, and tells it to wake that of the other. */
async function letParrotsWrite(plan: Partial<GatewayPlan>): Promise<void> {
  gateways = await openGateways({
    'a.test': { agents: { polly: parrot }, ...plan },
    'c.test': { agents: { coco: parrot }, ...plan },
  })
  const text = 'Say hello: wake @coco@c.test'
  await gateways.simulation.mail.deliver({ from: 'Alice <alice@alice.test>', to: 'polly@a.test', text })
  await settle(gateways, ['a.test', 'c.test'])
}

const turnsOf = (lines: readonly string[]) => lines.filter(line => line.includes(' answered'))

test('EM-64: two echo agents that mail each other across two gateways stop at the hop limit', async () => {
  await letParrotsWrite({})
  const [a, c] = [
    describeRecords(await gateways.records('a.test', 'polly')),
    describeRecords(await gateways.records('c.test', 'coco')),
  ]
  expect(a).toEqual([
    '@alice@alice.test email answered',
    '@coco@c.test email hop 2 answered from_agent',
    '@coco@c.test email hop 4 answered from_agent',
    '@coco@c.test email ignored from_agent hop_limit',
  ])
  expect(c).toEqual([
    '@polly@a.test email hop 1 answered from_agent',
    '@polly@a.test email hop 3 answered from_agent',
    '@polly@a.test email hop 5 answered from_agent',
  ])
  const [asked] = await gateways.records('c.test', 'coco')
  expect(asked?.message.sender).toMatchObject({ verified: true, auth_method: 'email-dmarc' })
  // The agent that Alice asked has answered; the others do not write to Alice.
  const toAlice = gateways.simulation.mail.received.filter(mail => mail.envelope.to.includes('alice@alice.test'))
  expect(toAlice).toHaveLength(1)
})

test('EM-64: with quota for many hops they stop by their words', async () => {
  await letParrotsWrite({ limits: { loop: { max_hops: 60 } } })
  const lines = [
    ...describeRecords(await gateways.records('a.test', 'polly')),
    ...describeRecords(await gateways.records('c.test', 'coco')),
  ]
  expect(turnsOf(lines).length).toBeLessThanOrEqual(8)
  expect(lines.filter(line => line.includes('ignored'))).toEqual([
    expect.stringMatching(/^@(polly|coco)@[ac]\.test email hop \d+ ignored from_agent loop_guard$/),
  ])
  expect((await countStopped('a.test')) + (await countStopped('c.test'))).toBe(1)
})

test('EM-64: and whatever they say, by the turns that agents have in an hour', async () => {
  await letParrotsWrite({ limits: { loop: { max_hops: 60, similar_turns: 50 } } })
  const lines = [
    ...describeRecords(await gateways.records('a.test', 'polly')),
    ...describeRecords(await gateways.records('c.test', 'coco')),
  ]
  // Ten of each thread, and the one of Alice.
  expect(turnsOf(lines).length).toBeLessThanOrEqual(21)
  expect(lines.filter(line => line.includes('loop_guard'))).toHaveLength(1)
})

test('the hop ceiling ends a circle of agents that call each other', async () => {
  gateways = await openGateways({ 'a.test': { agents: { relay: { use: '../agents/calling/relay.ts' } } } })
  const circle = Array(9).fill('@relay@a.test').join(' ')
  const lines = (await gateways.say('a.test', 'relay', circle)).join('\n').split('\n')
  expect(lines).toHaveLength(7)
  expect(lines.at(-1)).toBe('Rejection: Cannot call agent: agent chain is longer than 5 hops')
})

test('the hourly limit of a pair stops agents that begin a new thread each time', async () => {
  const poster = { use: '../agents/calling/poster.ts' }
  gateways = await openGateways({
    'a.test': { agents: { one: poster, two: poster }, limits: { loop: { pair_turns_per_hour: 6 } } },
  })
  const sent = await gateways.simulation.fediverse.deliver({ to: '@one@a.test', text: 'Talk with @two@a.test' })
  expect(sent.status).toBe(202)
  await settle(gateways, ['a.test'])
  const records = [...(await gateways.records('a.test', 'one')), ...(await gateways.records('a.test', 'two'))]
  const ofAgents = records.filter(({ flags }) => flags.includes('from_agent'))
  expect(new Set(ofAgents.map(({ thread }) => thread)).size).toBe(ofAgents.length)
  expect(ofAgents).toHaveLength(13)
  expect(ofAgents.filter(({ flags }) => flags.includes('loop_guard'))).toHaveLength(1)
})

test('local agents wake each other also where the gateway admits few and shows its documents only to signed requests', async () => {
  gateways = await openGateways({
    'a.test': {
      agents: { one: parrot, two: { use: 'builtin:echo' } },
      activitypub: { allow: ['mastodon.test'], require_signed_fetch: true },
    },
  })
  await gateways.simulation.send({ via: 'activitypub', to: 'one', text: 'wake @two@a.test please' })
  await settle(gateways, ['a.test'])
  const [woken] = await gateways.records('a.test', 'two')
  expect(woken).toMatchObject({ state: 'answered', message: { sender: { address: '@one@a.test', verified: true } } })
})
