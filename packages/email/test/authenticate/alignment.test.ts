import { sealMessage } from 'mailauth/lib/arc/index.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { MailGateway } from '../setup/gateway.ts'
import { mailDomain, openMailGateway } from '../setup/gateway.ts'
import { keyRecord, makeDkimKey, signText } from '../setup/sign.ts'

// A name speaks for another one only at the boundary of a label: `evilgood.test` is neither below `good.test` nor above `bigevilgood.test`. Each
// organization has names below it too.

const key = makeDkimKey(2048)
const today = new Date().toUTCString()
const policies = {
  'good.test': 'v=DMARC1; p=reject',
  'evilgood.test': 'v=DMARC1; p=reject',
  // This policy refuses nothing, so a wrong alignment shows in the sender.
  'soft.test': 'v=DMARC1; p=none',
  'evilsoft.test': 'v=DMARC1; p=none',
} as const
const hosts = ['good.test', 'soft.test'].flatMap(name => [name, `sub.${name}`, `evil${name}`, `sub.evil${name}`])
const free = ['free.test', 'sub.free.test', 'evilfree.test', 'sub.evilfree.test']
const pinned = 'mx.front.test'
let gateway: MailGateway
let counter = 0

beforeAll(async () => {
  const upstreams = [{ authserv_id: pinned, endpoint: 'inbound' as const }]
  const trust = { arc_sealers: ['list.test'], upstreams }
  gateway = await openMailGateway({ config: { trust } })
  zone(gateway)
})
afterAll(() => gateway.close())

function zone({ simulation: { dns } }: MailGateway): void {
  for (const [name, policy] of Object.entries(policies)) dns.set(`_dmarc.${name}`, { TXT: [policy] })
  for (const name of [...hosts, ...free, 'list.test']) {
    dns.set(name, { A: ['192.0.2.1'], TXT: ['v=spf1 ip4:192.0.2.1 -all'] })
    dns.set(`s1._domainkey.${name}`, { TXT: [keyRecord(key)] })
  }
}

function write(domain: string, extraFields: readonly string[] = []): string {
  counter += 1
  const baseFields = [`From: ann@${domain}`, `To: echo@${mailDomain}`, `Subject: ${counter}`, `Date: ${today}`]
  return `${[...extraFields, ...baseFields, `Message-ID: <a${counter}@${domain}>`].join('\r\n')}\r\n\r\nHello ${counter}.\r\n`
}

const sign = (message: string, domain: string, fields?: readonly string[]) =>
  signText(message, { domain, key, ...(fields && { fields }) })

async function judge(message: string, envelope: Readonly<Record<string, string>> = {}, at = gateway) {
  const octets = Buffer.from(message, 'latin1')
  const { status } = await at.post(octets, { to: `echo@${mailDomain}`, ...envelope })
  if (status !== 200) return `refused ${status}`
  const { sender } = (await at.latest()).message
  return sender.verified ? 'verified' : 'not verified'
}

describe('DKIM alignment', () => {
  test.each([
    ['good.test', 'sub.good.test', 'verified'],
    ['sub.good.test', 'good.test', 'verified'],
    ['good.test', 'evilgood.test', 'refused 403'],
    ['evilgood.test', 'good.test', 'refused 403'],
    ['good.test', 'sub.evilgood.test', 'refused 403'],
    ['sub.good.test', 'evilgood.test', 'refused 403'],
    ['evilgood.test', 'sub.good.test', 'refused 403'],
    ['sub.evilgood.test', 'good.test', 'refused 403'],
    ['soft.test', 'sub.soft.test', 'verified'],
    ['soft.test', 'evilsoft.test', 'not verified'],
    ['evilsoft.test', 'soft.test', 'not verified'],
    ['soft.test', 'sub.evilsoft.test', 'not verified'],
    ['evilsoft.test', 'sub.soft.test', 'not verified'],
  ])('with a policy: for ann@%s a signature of %s: %s', async (author, signer, outcome) => {
    expect(await judge(sign(write(author), signer))).toBe(outcome)
  })

  test.each([
    ['sub.free.test', 'free.test', 'verified'],
    ['free.test', 'sub.free.test', 'not verified'],
    ['free.test', 'evilfree.test', 'not verified'],
    ['evilfree.test', 'free.test', 'not verified'],
    ['sub.evilfree.test', 'free.test', 'not verified'],
    ['evilfree.test', 'sub.free.test', 'not verified'],
  ])('without a policy: for ann@%s a signature of %s: %s', async (author, signer, outcome) => {
    expect(await judge(sign(write(author), signer))).toBe(outcome)
  })

  test.each([
    ['good.test', 'slow.good.test', 'refused 503'],
    ['good.test', 'slow.evilgood.test', 'refused 403'],
    ['good.test', 'slowevilgood.test', 'refused 403'],
    ['evilgood.test', 'slowgood.test', 'refused 403'],
  ])('for ann@%s with a signature of %s, whose key DNS does not have: %s', async (author, signer, outcome) => {
    gateway.simulation.dns.fail(`s1._domainkey.${signer}`, 'servfail')
    expect(await judge(sign(write(author), signer))).toBe(outcome)
  })
})

describe('SPF when the operator lets it prove an author', () => {
  let loose: MailGateway
  beforeAll(async () => {
    loose = await openMailGateway({ config: { trust: { spf_only: true } } })
    zone(loose)
  })
  afterAll(() => loose.close())

  test.each([
    ['good.test', 'good.test', 'verified'],
    ['good.test', 'sub.good.test', 'verified'],
    ['sub.good.test', 'good.test', 'verified'],
    ['good.test', 'evilgood.test', 'refused 403'],
    ['evilgood.test', 'good.test', 'refused 403'],
    ['good.test', 'sub.evilgood.test', 'refused 403'],
    ['sub.evilgood.test', 'good.test', 'refused 403'],
    ['evilgood.test', 'sub.good.test', 'refused 403'],
  ])('for ann@%s mail from %s: %s', async (author, from, outcome) => {
    const envelope = { from: `bounce@${from}`, ip: '192.0.2.1', helo: from }
    expect(await judge(write(author), envelope, loose)).toBe(outcome)
  })
})

describe('a trusted server', () => {
  test.each([
    ['good.test', 'good.test', 'verified'],
    ['good.test', 'evilgood.test', 'refused 403'],
    ['evilgood.test', 'good.test', 'refused 403'],
    ['good.test', 'sub.good.test', 'refused 403'],
    ['sub.good.test', 'good.test', 'refused 403'],
  ])('for ann@%s with an upstream that passed %s, and a sealer that did: %s', async (author, passed, outcome) => {
    const results = `dkim=pass header.d=${author}; dmarc=pass header.from=${passed}`
    expect(await judge(write(author, [`Authentication-Results: ${pinned}; ${results}`]))).toBe(outcome)
    const message = write(author)
    const privateKey = key.export({ type: 'pkcs8', format: 'pem' }).toString()
    const sealing = {
      signingDomain: 'list.test',
      selector: 's1',
      privateKey,
      authResults: `list.test; ${results}`,
      cv: 'none',
    }
    expect(await judge(`${await sealMessage(message, sealing)}${message}`)).toBe(outcome)
  })

  test.each([
    ['good.test', 'sub.good.test', 'verified'],
    ['sub.good.test', 'good.test', 'verified'],
    ['good.test', 'evilgood.test', 'refused 403'],
    ['evilgood.test', 'good.test', 'refused 403'],
  ])('for ann@%s with an upstream that saw SPF, and a signature of %s: %s', async (author, signer, outcome) => {
    const results = `spf=pass; dkim=pass header.d=${signer}; dmarc=pass header.from=${author}`
    expect(await judge(write(author, [`Authentication-Results: ${pinned}; ${results}`]))).toBe(outcome)
  })
})

describe("a signed mail without To that comes directly from its author's servers", () => {
  test.each([
    ['good.test', { from: 'ann@good.test', helo: 'good.test' }, true],
    ['good.test', { from: 'x@sub.good.test', helo: 'sub.good.test' }, true],
    ['good.test', { from: 'x@evilgood.test', helo: 'evilgood.test' }, false],
    ['good.test', { from: '', helo: 'good.test' }, false],
    ['free.test', { from: 'ann@free.test', helo: 'free.test' }, true],
    ['sub.free.test', { from: 'x@free.test', helo: 'free.test' }, true],
    ['free.test', { from: 'x@evilfree.test', helo: 'evilfree.test' }, false],
    ['evilfree.test', { from: 'x@free.test', helo: 'free.test' }, false],
    ['free.test', { from: '', helo: 'free.test' }, false],
  ])('of ann@%s with %o is no replay: %s', async (author, envelope, isStraight) => {
    const signed = sign(write(author), author, ['from', 'subject', 'date', 'message-id'])
    expect(await judge(signed, { ...envelope, ip: '192.0.2.1' })).toBe('verified')
    expect((await gateway.latest()).flags.includes('unsigned_to')).toBe(!isStraight)
  })
})
