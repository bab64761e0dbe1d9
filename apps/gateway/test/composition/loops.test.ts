import { afterEach, expect, test } from 'vitest'
import type { GatewayPlan, Gateways } from './gateways.ts'
import { describeRecords, openGateways, settle } from './gateways.ts'

const parrot = { use: '../agents/reporting/parrot.ts' }
let gateways: Gateways

afterEach(() => gateways.close())

async function countStopped(host: string): Promise<number> {
  return (await gateways.gatewayOf(host).store.count()).stopped.loop_guard
}

test('local agents that mention each other on the fediverse wake with all proofs, and stop within the budget (MN-8.1 addressing)', async () => {
  gateways = await openGateways({ 'a.test': { agents: { one: parrot, two: parrot } } })
  const wake = { via: 'activitypub', to: 'one', text: 'wake @two@a.test please', timeoutMs: 60_000 } as const
  const result = await gateways.simulation.send(wake)
  expect(result.status).toBe('answered')
  await settle(gateways, ['a.test'])
  const [recordsOfOne, recordsOfTwo] = [
    await gateways.records('a.test', 'one'),
    await gateways.records('a.test', 'two'),
  ]
  expect(recordsOfTwo[0]).toMatchObject({
    state: 'answered',
    flags: ['from_agent'],
    message: { sender: { address: '@one@a.test', verified: true, auth_method: 'ap-http-signature' } },
  })
  const turns = [...recordsOfOne, ...recordsOfTwo].filter(({ state }) => state === 'answered')
  expect(turns.length).toBeGreaterThan(4)
  expect(turns.length).toBeLessThanOrEqual(11)
  expect(await countStopped('a.test')).toBe(1)
  const stopped = [...recordsOfOne, ...recordsOfTwo].filter(({ flags }) => flags.includes('loop_guard'))
  expect(stopped.map(({ state }) => state)).toEqual(['ignored'])
  const { items: messages } = await askOperator<{ items: { flags: string[] }[] }>('a.test', '/messages?limit=50')
  expect(messages.filter(({ flags }) => flags.includes('loop_guard'))).toHaveLength(1)
  // No message was lost in the network, where neither gateway can reach itself.
  expect((await gateways.gatewayOf('a.test').store.count()).deliveries).toMatchObject({ dead: 0, later: 0 })
})

async function askOperator<Answer>(host: string, path: string): Promise<Answer> {
  const response = await fetch(`${gateways.url(host)}/operator/api${path}`, {
    headers: { authorization: `Bearer ${'x'.repeat(20)}` },
  })
  return (await response.json()) as Answer
}

/** Has Alice write to the parrot of one gateway, which she asks to wake that of the other. */
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

test('two echo agents that mail each other across two gateways stop at the hop limit (EM-64)', async () => {
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
  const [question] = await gateways.records('c.test', 'coco')
  expect(question?.message.sender).toMatchObject({ verified: true, auth_method: 'email-dmarc' })
  // The agent that Alice asked has answered; the others do not write to Alice.
  const toAlice = gateways.simulation.mail.received.filter(mail => mail.envelope.to.includes('alice@alice.test'))
  expect(toAlice).toHaveLength(1)
})

test('two echo agents with a high hop limit stop because their texts repeat (EM-64)', async () => {
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

test('two agents with different texts stop at the hourly limit of turns (EM-64)', async () => {
  await letParrotsWrite({ limits: { loop: { max_hops: 60, similar_turns: 50 } } })
  const lines = [
    ...describeRecords(await gateways.records('a.test', 'polly')),
    ...describeRecords(await gateways.records('c.test', 'coco')),
  ]
  // The limit is ten turns for each of the threads, plus the message from Alice.
  expect(turnsOf(lines).length).toBeLessThanOrEqual(21)
  expect(lines.filter(line => line.includes('loop_guard'))).toHaveLength(1)
})

test('the hop limit ends a circle of agents that call each other', async () => {
  gateways = await openGateways({ 'a.test': { agents: { relay: { use: '../agents/calling/relay.ts' } } } })
  const circle = Array(9).fill('@relay@a.test').join(' ')
  const lines = (await gateways.askAgent('a.test', 'relay', circle)).join('\n').split('\n')
  expect(lines).toHaveLength(7)
  expect(lines.at(-1)).toBe('Rejection: Cannot call agent: agent chain is longer than 5 hops')
})

const insistent = { use: '../agents/calling/insistent.ts' }
const [callers, ends] = [['one', 'two'], 'echo'] as const

async function openCallers(calls_per_message?: number): Promise<void> {
  gateways = await openGateways({
    'a.test': {
      agents: {
        ...Object.fromEntries(callers.map(name => [name, insistent])),
        [ends]: { use: 'builtin:echo' },
      },
      ...(calls_per_message !== undefined && { limits: { loop: { calls_per_message } } }),
    },
  })
}

test('one message causes a bounded number of calls, and the operator sees the first refusal', async () => {
  await openCallers()
  const [answerText = ''] = await gateways.askAgent('a.test', 'one', '130 @echo@a.test')
  expect(answerText).toMatch(/^30 refused Cannot call agent: message #\d+ has caused 100 calls/)
  expect(await gateways.records('a.test', ends)).toHaveLength(100)
  const [record] = await gateways.records('a.test', 'one')
  const refusedSteps = record?.steps?.filter(({ error }) => error !== undefined)
  expect(refusedSteps).toMatchObject([
    { kind: 'call', name: '@echo@a.test', error: expect.stringContaining('100 calls') },
  ])
  const { items } = await askOperator<{ items: object[] }>('a.test', '/refusals?limit=50')
  expect(items).toMatchObject([
    { code: 'forbidden', agent: 'one', endpoint: 'call: @echo@a.test', claimed_sender: '@one@a.test' },
  ])
  const why = await askOperator<{ explanations: { code: string }[] }>('a.test', `/why/${record?.number}`)
  expect(JSON.stringify(why)).toContain('which failed: Cannot call agent: message #')
  const explanation = await askOperator<{ explanations: { code: string }[] }>('a.test', '/why/@one@a.test')
  expect(explanation.explanations.map(({ code }) => code)).toContain('call_limit')
})

test('calls by called agents count for the same message, so they cannot multiply', async () => {
  await openCallers(10)
  // The text causes four calls of "two", each of which would make four more.
  await gateways.askAgent('a.test', 'one', '4 @two@a.test 4 @echo@a.test')
  const [recordsOfTwo, recordsOfEcho] = [
    await gateways.records('a.test', 'two'),
    await gateways.records('a.test', ends),
  ]
  expect(recordsOfTwo.length + recordsOfEcho.length).toBe(10)
  const [first] = await gateways.records('a.test', 'one')
  expect(new Set(recordsOfTwo.map(({ message }) => message.called_by?.message))).toEqual(new Set([first?.number]))
  expect(new Set(recordsOfEcho.map(({ message }) => message.called_by?.first_message))).toEqual(
    new Set([first?.number]),
  )
})

test('an agent can hand over any number of people one after the other', async () => {
  await openCallers(2)
  for (let person = 0; person < 70; person += 1) {
    expect(await gateways.askAgent('a.test', 'one', '1 @echo@a.test')).toEqual(['0 refused'])
  }
  expect(await gateways.records('a.test', ends)).toHaveLength(70)
}, 60_000)

test('the hourly limit of a pair stops agents that begin a new thread each time', async () => {
  const poster = { use: '../agents/calling/poster.ts' }
  gateways = await openGateways({
    'a.test': { agents: { one: poster, two: poster }, limits: { loop: { pair_turns_per_hour: 6 } } },
  })
  const receipt = await gateways.simulation.fediverse.deliver({ to: '@one@a.test', text: 'Talk with @two@a.test' })
  expect(receipt.status).toBe(202)
  await settle(gateways, ['a.test'])
  const records = [...(await gateways.records('a.test', 'one')), ...(await gateways.records('a.test', 'two'))]
  const ofAgents = records.filter(({ flags }) => flags.includes('from_agent'))
  expect(new Set(ofAgents.map(({ thread }) => thread)).size).toBe(ofAgents.length)
  expect(ofAgents).toHaveLength(13)
  expect(ofAgents.filter(({ flags }) => flags.includes('loop_guard'))).toHaveLength(1)
})

test('local agents wake each other also if the gateway admits few senders and only serves signed requests', async () => {
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
