import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { RequirementsGateway } from './gateway.ts'
import { openRequirementsGateway } from './gateway.ts'

let gateway: RequirementsGateway

beforeAll(async () => {
  gateway = await openRequirementsGateway({ use: 'builtin:test' })
})
afterAll(() => gateway.close())

const visit = (path: string, init: RequestInit = {}) => fetch(gateway.url + path, init)
const decide = (path: string, body: BodyInit, headers: Record<string, string> = {}) =>
  visit(path, { method: 'POST', body, headers })
const form = (decision: string) => new URLSearchParams({ decision })

test('the page forbids frames, scripts, external content and caching', async () => {
  const { path } = await gateway.requirement('consent_required')
  for (const answer of [await visit(path), await visit('/actions/nothing'), await decide(path, form('nonsense'))]) {
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'text/html; charset=UTF-8',
      'content-security-policy': expect.stringMatching(
        /^default-src 'none'; style-src 'sha256-[\w+/=]{44}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'$/,
      ),
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
    })
  }
})

test('the page shows an agent’s text without markup', async () => {
  const evil = `</blockquote><script>alert(1)</script>"'><img src=x onerror=alert(1)>`
  const challenges = [{ scheme: evil, realm: evil, uri: 'javascript:alert(1)' }]
  for (const kind of ['consent_required', 'payment_required', 'unauthorized'] as const) {
    const words = { title: evil, message: evil, action_label: evil, amount: evil, currency: evil }
    const { path } = await gateway.requirement(kind, { ...words, auth_challenges: challenges })
    const html = await (await visit(path)).text()
    expect(html).toContain('&lt;script&gt;')
    expect(html).not.toMatch(/<script|<img|href="javascript/)
    expect(html).toContain('Echo &amp; Co')
  }
})

test('HEAD returns the headers of GET without the page', async () => {
  const { path } = await gateway.requirement('consent_required')
  const answer = await visit(path, { method: 'HEAD' })
  expect([answer.status, await answer.text()]).toEqual([200, ''])
  expect(await gateway.countTurns()).toBe(0)
})

test('the page uses the reader’s language if it has a translation', async () => {
  const message_translations = {
    de: { title: 'Bestellung', message: 'Darf ich?' },
    'pt-BR': { message: 'Posso?' },
  }
  const { path } = await gateway.requirement('consent_required', { title: 'Order', message_translations })
  const textFor = async (language: string) => (await visit(path, { headers: { 'accept-language': language } })).text()
  expect(await textFor('de-AT,de;q=0.9')).toMatch(/<h1>Bestellung<\/h1>[\s\S]*Darf ich\?/)
  expect(await textFor('fr, pt-br;q=0.8')).toMatch(/<h1>Order<\/h1>[\s\S]*Posso\?/)
  expect(await textFor('fr')).toContain('May I?')
})

describe('the page of a decision', () => {
  test('accepts a complete and short form', async () => {
    const { path } = await gateway.requirement('consent_required')
    const answers = [
      await decide(path, '{"decision":"grant"}', { 'content-type': 'application/json' }),
      await decide(path, 'decision=grant', { 'content-type': 'text/plain' }),
      await decide(path, new URLSearchParams({ decision: 'grant', more: 'x'.repeat(5_000) })),
      await decide(path, form('')),
      await decide(path, form('constructor')),
    ]
    expect(answers.map(({ status }) => status)).toEqual([415, 415, 413, 400, 400])
    expect(await answers[4]?.text()).toContain('say decision=grant or decision=decline')
    expect(await gateway.countTurns()).toBe(0)
  })

  test('changes nothing after the deadline, and says so', async () => {
    const { path } = await gateway.requirement('consent_required')
    gateway.advance(3_600_000)
    for (const answer of [await visit(path), await decide(path, form('grant'))]) {
      expect([answer.status, await answer.text()]).toEqual([410, expect.stringContaining('<h1>This is over</h1>')])
    }
    expect(await gateway.countTurns()).toBe(0)
  })

  test.each([
    ['a payment', 'payment_required', 'grant'],
    ['who somebody is', 'unauthorized', 'grant'],
    ['a consent by a payment', 'consent_required', 'pay_test'],
  ] as const)('does not settle %s by a click', async (_, kind, decision) => {
    const { path } = await gateway.requirement(kind, { amount: '1', currency: 'EUR' })
    const answer = await decide(path, form(decision))
    expect([answer.status, await answer.text()]).toEqual([403, expect.stringContaining('That did not work')])
    expect(await gateway.countTurns()).toBe(0)
  })
})

test('the gateway refuses a receipt if nobody has to pay', async () => {
  const paid = await gateway.requirement('payment_required', { amount: '1', currency: 'EUR' })
  const consent = await gateway.requirement('consent_required')
  expect((await decide(paid.path, form('pay_test'))).status).toBe(200)
  const answer = await visit(`${consent.path}/receipt?receipt=a.b.c`)
  expect([answer.status, await answer.text()]).toEqual([
    403,
    expect.stringContaining('&quot;consent_required&quot; is not paid for'),
  ])
  expect(await gateway.countTurns()).toBe(1)
})

test('a person who opens too many pages has to wait', async () => {
  const other = await openRequirementsGateway()
  other.holdClock()
  const statuses: number[] = []
  for (let visit = 0; visit < 62; visit += 1) statuses.push((await fetch(`${other.url}/actions/x`)).status)
  expect(statuses.slice(0, 60)).toEqual(Array.from({ length: 60 }, () => 404))
  expect(statuses.slice(60)).toEqual([429, 429])
  await other.close()
})

test('nobody can pay without a provider, and the page says whom to ask', async () => {
  const other = await openRequirementsGateway()
  const { path } = await other.requirement('payment_required', { amount: '1', currency: 'EUR' })
  const html = await (await fetch(other.url + path)).text()
  expect(html).toContain('Ask whoever runs this agent how to pay.')
  expect(html).not.toContain('pay_test')
  const answer = await fetch(`${other.url}/payments/callback`, { method: 'POST', body: 'a.b.c' })
  expect([answer.status, await answer.json()]).toMatchObject([
    404,
    { detail: 'Cannot take receipt: it is for no requirement of this gateway' },
  ])
  await other.close()
})
