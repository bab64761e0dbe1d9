import { Resolver } from 'node:dns/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { MailPlan, Simulation } from '../index.ts'
import { openSimulation, readMail } from '../index.ts'

let simulation: Simulation
let resolver: Resolver

beforeAll(async () => {
  simulation = await openSimulation()
  resolver = new Resolver({ timeout: 5_000, tries: 1 })
  resolver.setServers([...simulation.network.dns])
})
afterAll(() => simulation.close())

const to = 'echo@agents.test'
const compose = (plan: Partial<MailPlan> = {}) => simulation.mail.compose({ to, text: 'hello', ...plan })

function readDkim(octets: Buffer): Record<string, string> {
  const value = readMail(octets).headers.get('dkim-signature')?.[0] ?? ''
  const tags = value.split(';').map(tag => tag.split(/=(.*)/s).map(half => half.trim()))
  return Object.fromEntries(tags.map(([name, text = '']) => [name, text.replace(/\s/g, '')]))
}

test('a mail has CRLF line endings, lines within 998 bytes, and an envelope', async () => {
  const { octets, envelope, helo, messageId } = await compose({
    to: ['Echo <echo@agents.test>', 'help@agents.test'],
    subject: 'ein langer Betreff mit Umlauten: äöü '.repeat(5),
    references: Array.from({ length: 20 }, (_, index) => `reference-${index}@alice.test`),
  })
  const text = octets.toString('latin1')
  expect(text.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/)
  expect(Math.max(...text.split('\r\n').map(line => line.length))).toBeLessThanOrEqual(998)
  expect(envelope).toEqual({ from: 'alice@alice.test', to: ['echo@agents.test', 'help@agents.test'] })
  expect(helo).toBe('mx.alice.test')
  expect(readMail(octets)).toMatchObject({ messageId, references: expect.arrayContaining(['reference-19@alice.test']) })
})

test('the author’s domain signs a mail with a key that DNS publishes', async () => {
  const { octets } = await compose()
  const tags = readDkim(octets)
  expect(tags).toMatchObject({ v: '1', a: 'rsa-sha256', c: 'relaxed/relaxed', d: 'alice.test', s: 'sim' })
  expect(tags.h?.split(':')).toEqual(
    expect.arrayContaining(['from', 'to', 'subject', 'date', 'message-id', 'content-type']),
  )
  const [record] = await resolver.resolveTxt(`${tags.s}._domainkey.${tags.d}`)
  expect(record?.join('')).toMatch(/^v=DKIM1; k=rsa; p=[A-Za-z0-9+/=]{300,}$/)
})

test.each([
  ['alice.test', 'reject'],
  ['quarantine.test', 'quarantine'],
  ['nodmarc.test', undefined],
])('%s publishes SPF, MX and DMARC policy %s', async (domain, policy) => {
  const spf = (await resolver.resolveTxt(domain)).map(strings => strings.join(''))
  expect(spf).toEqual(['v=spf1 ip4:127.0.0.1 -all'])
  expect(await resolver.resolveMx(domain)).toMatchObject([{ exchange: `mx.${domain}` }])
  const dmarc = await resolver.resolveTxt(`_dmarc.${domain}`).catch(error => error.code)
  expect(dmarc).toEqual(policy ? [[`v=DMARC1; p=${policy}; adkim=r; aspf=r`]] : 'ENOTFOUND')
})

test('an unsigned mail has no signature', async () => {
  const { octets, envelope } = await compose({ fault: 'unsigned' })
  expect(readMail(octets).headers.has('dkim-signature')).toBe(false)
  expect(envelope.from).toBe('alice@alice.test')
})

test('a tampered mail has a line beyond its signature, and comes from the attacker’s host', async () => {
  const { octets, envelope } = await compose({ fault: 'tampered' })
  expect(readMail(octets).text).toBe('hello\nOne line more.\n')
  expect(envelope.from).toBe('mallory@evil.test')
})

test('the hand-written signer canonicalizes the body like nodemailer', async () => {
  const text = 'spaces  \t inside   \n\n \nand lines at the end \n\n\n'
  const machine = await compose({ text })
  const hand = await compose({ text, fault: 'expired' })
  expect(readDkim(hand.octets).bh).toBe(readDkim(machine.octets).bh)
})

test('an expired mail has a signature with a past end', async () => {
  const { t, x, d } = readDkim((await compose({ fault: 'expired' })).octets)
  expect(d).toBe('alice.test')
  expect(Number(x)).toBeLessThan(Date.now() / 1000 - 3_600)
  expect(Number(t)).toBeLessThan(Number(x))
})

test('a forged mail names alice’s domain and selector with another key than in DNS', async () => {
  const { octets } = await compose({ from: 'alice@nodmarc.test', fault: 'forged' })
  expect(readDkim(octets)).toMatchObject({ d: 'nodmarc.test', s: 'sim' })
  expect(await resolver.resolveTxt('sim._domainkey.nodmarc.test')).toHaveLength(1)
})

test('a wrong_owner mail has a signature of the attacker’s domain for alice', async () => {
  const { octets } = await compose({ fault: 'wrong_owner' })
  expect(readDkim(octets).d).toBe('evil.test')
  expect(readMail(octets).headers.get('from')).toEqual(['Alice <alice@alice.test>'])
})

test('a key_host_down mail has a key name that answers SERVFAIL', async () => {
  const { octets } = await compose({ fault: 'key_host_down' })
  expect(readDkim(octets).d).toBe('dead.test')
  const code = await resolver.resolveTxt('sim._domainkey.dead.test').catch(error => error.code)
  expect(code).toBe('ESERVFAIL')
})

test('oversized, deep and malformed mails have their faults', async () => {
  const oversized = await compose({ fault: 'oversized', oversizedBytes: 100_000 })
  expect(oversized.octets.length).toBeGreaterThan(100_000)
  const deep = await compose({ fault: 'deep' })
  expect(deep.octets.toString().match(/multipart\/mixed/g)).toHaveLength(200)
  const malformed = await compose({ fault: 'malformed' })
  expect(readMail(malformed.octets).headers.get('from')).toHaveLength(2)
})

test('the default of oversized is more than 25 MB', async () => {
  expect((await compose({ fault: 'oversized' })).octets.length).toBeGreaterThan(25 * 2 ** 20)
})

test('composing for an unknown domain fails with its name', async () => {
  await expect(compose({ from: 'x@nowhere.test' })).rejects.toThrow('No mail is sent from nowhere.test here')
})
