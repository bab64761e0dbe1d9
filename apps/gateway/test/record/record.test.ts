import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { formatRecord } from '@postern/operator/views'
import type { MessageRecord, Refusal, TurnContext } from '@postern/pipeline'
import { rebuildAgentInput } from '@postern/pipeline'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TestGateway } from '../setup/gateway.ts'
import { eventually, gatewayOrigin, openTestGateway, operatorToken, testIntakeSecret } from '../setup/gateway.ts'

const thrower = join(import.meta.dirname, '../agents/failing/thrower.ts')
let gateway: TestGateway

beforeAll(async () => {
  gateway = await openTestGateway(() => ({
    agents: { echo: { use: 'builtin:echo' }, thrower: { use: thrower } },
    default_agent: 'echo',
  }))
})
afterAll(() => gateway.close())

async function showSettled(id: string): Promise<MessageRecord> {
  return eventually(async () => {
    const record = await gateway.readMessage(id)
    return record.deliveries.length > 0 && record.deliveries.every(({ state }) => state === 'sent') && record
  })
}

const channels = [
  ['activitypub', ['digest', 'http-signature', 'resolve', 'webfinger'], 'http-signature', 'fetched'],
  ['a2a', ['jwt', 'resolve'], 'jwt', 'fetched'],
  ['email', ['dkim', 'spf', 'dmarc'], 'dkim', 'dns'],
] as const

describe.each(channels)('the record of a message by %s', (via, kinds, keyed, origin) => {
  let record: MessageRecord
  let next: MessageRecord

  beforeAll(async () => {
    const first = await gateway.simulation.send({ via, to: 'echo', text: 'hello' })
    record = await showSettled(first.id)
    const second = await gateway.simulation.send({ via, to: 'echo', text: 'and again', thread: first.thread })
    next = await showSettled(second.id)
  })

  test('has each check with its verdict, its time and the source of its key', () => {
    const steps = record.trace?.steps ?? []
    expect(steps.map(({ kind }) => kind)).toEqual(expect.arrayContaining([...kinds]))
    const step = steps.find(({ kind }) => kind === keyed)
    expect(step).toMatchObject({ verdict: 'pass', key_from: origin, key_digest: expect.any(String) })
    expect(steps.every(({ after, ms }) => after >= 0 && ms >= 0)).toBe(true)
    const cachedStep = next.trace?.steps.find(({ kind }) => kind === keyed)
    expect(cachedStep).toMatchObject({ key_from: 'cache', key_digest: step?.key_digest })
  })

  test('keeps the public key of that time, once', async () => {
    const digest = record.trace?.steps.find(({ kind }) => kind === keyed)?.key_digest ?? ''
    const key = await gateway.gateway().store.findProofKey(digest)
    expect(key?.material).toMatch(/PUBLIC KEY|"kty"|p=/)
    expect(key?.material).not.toMatch(/PRIVATE|"d":/)
  })

  test('lists its events in the order of time, to the last attempt', () => {
    const { trace, turn, deliveries } = record
    const [attempt] = turn?.attempts ?? []
    const times = [
      trace?.received_at,
      trace?.admitted_at,
      attempt?.leased_at,
      attempt?.called_at,
      attempt?.first_output_at,
      attempt?.ended_at,
      turn?.ended_at,
    ] as number[]
    expect(times.every(Number.isInteger)).toBe(true)
    expect(times).toEqual(times.toSorted((left, right) => left - right))
    expect(attempt).toMatchObject({ attempt: 1, outcome: 'answered', given: { history: [] } })
    const log = deliveries[0]?.attempt_log
    if (via === 'a2a') expect(log).toEqual([])
    else {
      const reply =
        via === 'activitypub' ? { status: 202, reply_line: /^202 Accepted/ } : { status: 250, reply_line: /^250 / }
      expect(log).toMatchObject([{ attempt: 1, outcome: 'sent', status: reply.status }])
      expect(log?.[0]?.reply_line).toMatch(reply.reply_line)
      expect(log?.[0]?.at).toBeGreaterThanOrEqual(turn?.ended_at as number)
    }
  })

  test('prints as a waterfall in the terminal', () => {
    const text = formatRecord(record)
    const rows = text.slice(text.indexOf('waterfall\n'), text.indexOf('\nanswered\n')).split('\n')
    const names = rows.slice(2).map(row => row.trim().split(/ {2,}/)[0])
    expect(names).toEqual(expect.arrayContaining(['received', keyed, 'admitted', 'queued', 'agent', 'committed']))
    expect(names.indexOf('received')).toBeLessThan(names.indexOf('agent'))
  })

  test('rebuilds the agent’s input exactly', async () => {
    const rebuilt = await rebuild(next)
    expect(rebuilt).toMatchObject({ isExact: true, changes: [] })
    expect(rebuilt.message.history?.map(({ role }) => role)).toEqual(['user', 'assistant'])
  })
})

async function rebuild({ number: messageNumber, turn }: MessageRecord) {
  const { store, channels: open, agents, system } = gateway.gateway()
  const running = agents.findRunning('echo')
  const storedTurn = await store.readTurn(messageNumber)
  const recordedInput = turn?.attempts.at(-1)?.given
  if (!running || !storedTurn || !recordedInput) throw new Error('there is nothing to build again')
  const turnContext = { store, channels: open, system } as unknown as TurnContext
  return rebuildAgentInput(storedTurn, recordedInput, { turnContext, running })
}

test('the agent’s input changes when an author deletes a message, and the record names it', async () => {
  const first = await gateway.simulation.send({ via: 'activitypub', to: 'echo', text: 'soon taken back' })
  const firstRecord = await showSettled(first.id)
  const second = await gateway.simulation.send({ via: 'activitypub', to: 'echo', text: 'later', thread: first.thread })
  const record = await showSettled(second.id)
  expect(await rebuild(record)).toMatchObject({ isExact: true })
  const { store } = gateway.gateway()
  const { principal, object } = readAuthorship(firstRecord.number)
  await store.withdraw('activitypub', [{ kind: 'forget', author: principal, object }])
  const rebuilt = await rebuild(record)
  expect(rebuilt.isExact).toBe(false)
  expect(rebuilt.changes).toMatchObject([{ seq: firstRecord.number, how: 'forgotten', at: expect.any(Number) }])
  // The echo of that message is the agent's own.
  expect(rebuilt.message.history?.map(({ role }) => role)).toEqual(['assistant'])
})

function readAuthorship(messageNumber: number): { readonly principal: string; readonly object: string } {
  const db = new DatabaseSync(join(gateway.dataDir, 'postern.db'), { readOnly: true })
  try {
    return db.prepare('SELECT principal, object FROM messages WHERE seq = ?').get(messageNumber) as never
  } finally {
    db.close()
  }
}

test('an agent that throws leaves its error with file and line for the operator, and nothing for the sender', async () => {
  const { id, reply } = await gateway.simulation.send({ via: 'a2a', to: 'thrower', text: 'seventeen' })
  const record = await showSettled(id)
  const [attempt] = record.turn?.attempts ?? []
  expect(attempt).toMatchObject({ outcome: 'failed', error: { message: 'there is no order "seventeen"' } })
  expect(attempt?.error?.file).toBe(thrower)
  expect(attempt?.error?.line).toBeGreaterThan(1)
  expect(formatRecord(record)).toContain(`failed, TypeError: there is no order "seventeen" at ${thrower}:`)
  const wires = JSON.stringify([record.response, record.deliveries, reply])
  expect(wires).not.toMatch(/thrower\.ts|there is no order/)
})

const listRefusals = async () => (await gateway.requestOperator<{ items: Refusal[] }>('/refusals?limit=500')).items

describe('a refused or deferred message', () => {
  test.each([
    ['activitypub', 'expired', { endpoint: 'POST /agents/:agent/inbox', status: 401, agent: 'echo' }, /mastodon\.test/],
    ['activitypub', 'key_host_down', { code: 'unavailable', status: 503 }, /test\//],
    ['a2a', 'expired', { endpoint: 'A2A JSONRPC', status: 401, agent: 'echo' }, / of https:\/\/issuer\.test/],
    ['email', 'forged', { endpoint: 'SMTP', status: 550, code: 'forbidden' }, /^@alice@alice\.test$/],
    ['email', 'key_host_down', { endpoint: 'SMTP', status: 451, code: 'unavailable' }, /@/],
  ] as const)(
    'by %s (%s) has a record of its endpoint, its status and its claimed sender',
    async (via, fault, expectedFields, sender) => {
      const { fediverse, a2a, mail } = gateway.simulation
      if (via === 'activitypub') await fediverse.deliver({ to: '@echo@agents.test', text: 'x', fault })
      else if (via === 'a2a') await a2a.deliver({ url: `${gatewayOrigin}/agents/echo/a2a`, text: 'x', fault })
      else await mail.deliver({ to: 'echo@agents.test', text: 'x', fault })
      const [newest] = await listRefusals()
      expect(newest).toMatchObject({ via, ...expectedFields })
      expect(newest?.claimed_sender).toMatch(sender)
      if (via === 'email') expect(newest).toMatchObject({ agent: 'echo', peer_id: expect.stringMatching(/@/) })
    },
  )

  test('has one record for one request', async () => {
    const countBefore = (await listRefusals()).length
    await gateway.simulation.fediverse.deliver({ to: '@echo@agents.test', text: 'x', fault: 'unsigned' })
    expect(await listRefusals()).toHaveLength(countBefore + 1)
  })

  test('has a record in the chat too', async () => {
    const headers = { 'content-type': 'application/json', accept: 'text/event-stream' }
    const response = await fetch(`${gateway.url()}/api/v1/agents/echo/runs`, { method: 'POST', headers, body: '{}' })
    const [newest] = await listRefusals()
    expect(newest).toMatchObject({ via: 'web', status: response.status, agent: 'echo', from: '127.0.0.1' })
  })

  test('has a record even if no channel handles it', async () => {
    const response = await fetch(`${gateway.url()}/api/v1/agents/echo/runs/none/cancel`, { method: 'POST' })
    const [newest] = await listRefusals()
    expect(newest).toMatchObject({ via: 'web', status: response.status, endpoint: expect.stringContaining('/cancel') })
  })
})

const recordColumns = {
  messages: 'trace, proofs',
  turns: 'trace, error',
  proof_keys: '*',
  delivery_attempts: '*',
  deliveries: 'last_error, note, wire',
  refusals: '*',
}

test('no record contains a secret: a token, password or private key', async () => {
  const token = await gateway.simulation.a2a.token()
  const headers = {
    'content-type': 'application/json',
    authorization: `Bearer ${token}`,
    'x-api-key': 'api-key-of-the-tests',
  }
  for (const path of ['/agents/echo/a2a', '/agents/nobody/a2a', '/api/v1/agents/echo/runs'])
    await fetch(`${gateway.url()}${path}`, { method: 'POST', headers, body: `{"token":"${token}"}` })
  await fetch(`${gateway.url()}/email/inbound?from=ann@ann.test&to=echo@agents.test`, {
    method: 'POST',
    headers: { authorization: `Bearer ${testIntakeSecret}`, 'content-type': 'text/html' },
    body: 'x',
  })
  await listRefusals()
  const db = new DatabaseSync(join(gateway.dataDir, 'postern.db'), { readOnly: true })
  const rows = Object.entries(recordColumns).map(([name, columns]) => {
    const rows = db.prepare(`SELECT ${columns} FROM ${name}`).all()
    expect([name, rows.length > 0]).toEqual([name, true])
    return rows
  })
  db.close()
  const text = JSON.stringify(rows)
  for (const secret of [token, token.split('.')[2] ?? '', operatorToken, testIntakeSecret, 'api-key-of-the-tests'])
    expect(text).not.toContain(secret)
  expect(text).not.toMatch(/PRIVATE KEY|eyJ[\w-]{20,}\.eyJ|Bearer \S{12}|\\"d\\":/)
})
