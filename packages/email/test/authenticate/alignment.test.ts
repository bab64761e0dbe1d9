import { sealMessage } from 'mailauth/lib/arc/index.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { MailGateway } from '../setup/gateway.ts'
import { mailDomain, openMailGateway } from '../setup/gateway.ts'
import { createDkimKey, keyRecord, signText } from '../setup/sign.ts'

// A domain aligns with another domain only if they differ by whole labels: `evilgood.test` is neither below `good.test`
// nor above `bigevilgood.test`. Each organization also has subdomains.

const key = createDkimKey(2048)
const today = new Date().toUTCString()
const policies = {
  'good.test': 'v=DMARC1; p=reject',
  'evilgood.test': 'v=DMARC1; p=reject',
  // This policy refuses nothing, so a wrong alignment shows in the sender.
  'soft.test': 'v=DMARC1; p=none',
  'evilsoft.test': 'v=DMARC1; p=none',
} as const
const hosts = ['good.test', 'soft.test'].flatMap(name => [name, `sub.${name}`, `evil${name}`, `sub.evil${name}`])
const domainsWithoutPolicy = ['free.test', 'sub.free.test', 'evilfree.test', 'sub.evilfree.test']
const trustedAuthservId = 'mx.front.test'
let gateway: MailGateway
let counter = 0

beforeAll(async () => {
  const upstreams = [{ authserv_id: trustedAuthservId, endpoint: 'inbound' as const }]
  const trust = { arc_sealers: ['list.test'], upstreams }
  gateway = await openMailGateway({ config: { trust } })
  addDnsRecords(gateway)
})
afterAll(() => gateway.close())

function addDnsRecords({ simulation: { dns } }: MailGateway): void {
  for (const [name, policy] of Object.entries(policies)) dns.set(`_dmarc.${name}`, { TXT: [policy] })
  for (const name of [...hosts, ...domainsWithoutPolicy, 'list.test']) {
    dns.set(name, { A: ['192.0.2.1'], TXT: ['v=spf1 ip4:192.0.2.1 -all'] })
    dns.set(`s1._domainkey.${name}`, { TXT: [keyRecord(key)] })
  }
}

function composeMail(domain: string, extraFields: readonly string[] = []): string {
  counter += 1
  const baseFields = [`From: ann@${domain}`, `To: echo@${mailDomain}`, `Subject: ${counter}`, `Date: ${today}`]
  return `${[...extraFields, ...baseFields, `Message-ID: <a${counter}@${domain}>`].join('\r\n')}\r\n\r\nHello ${counter}.\r\n`
}

const sign = (message: string, domain: string, fields?: readonly string[]) =>
  signText(message, { domain, key, ...(fields && { fields }) })

async function postAndDescribeOutcome(
  message: string,
  envelope: Readonly<Record<string, string>> = {},
  target = gateway,
) {
  const octets = Buffer.from(message, 'latin1')
  const { status } = await target.post(octets, { to: `echo@${mailDomain}`, ...envelope })
  if (status !== 200) return `refused ${status}`
  const { sender } = (await target.readLatestMessage()).message
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
  ])('with a policy: a mail of ann@%s with a signature of %s is %s', async (author, signer, outcome) => {
    expect(await postAndDescribeOutcome(sign(composeMail(author), signer))).toBe(outcome)
  })

  test.each([
    ['sub.free.test', 'free.test', 'verified'],
    ['free.test', 'sub.free.test', 'not verified'],
    ['free.test', 'evilfree.test', 'not verified'],
    ['evilfree.test', 'free.test', 'not verified'],
    ['sub.evilfree.test', 'free.test', 'not verified'],
    ['evilfree.test', 'sub.free.test', 'not verified'],
  ])('without a policy: a mail of ann@%s with a signature of %s is %s', async (author, signer, outcome) => {
    expect(await postAndDescribeOutcome(sign(composeMail(author), signer))).toBe(outcome)
  })

  test.each([
    ['good.test', 'slow.good.test', 'refused 503'],
    ['good.test', 'slow.evilgood.test', 'refused 403'],
    ['good.test', 'slowevilgood.test', 'refused 403'],
    ['evilgood.test', 'slowgood.test', 'refused 403'],
  ])(
    'without an answer for the key: a mail of ann@%s with a signature of %s is %s',
    async (author, signer, outcome) => {
      gateway.simulation.dns.fail(`s1._domainkey.${signer}`, 'servfail')
      expect(await postAndDescribeOutcome(sign(composeMail(author), signer))).toBe(outcome)
    },
  )
})

describe('SPF that may prove an author alone', () => {
  let spfOnlyGateway: MailGateway
  beforeAll(async () => {
    spfOnlyGateway = await openMailGateway({ config: { trust: { spf_only: true } } })
    addDnsRecords(spfOnlyGateway)
  })
  afterAll(() => spfOnlyGateway.close())

  test.each([
    ['good.test', 'good.test', 'verified'],
    ['good.test', 'sub.good.test', 'verified'],
    ['sub.good.test', 'good.test', 'verified'],
    ['good.test', 'evilgood.test', 'refused 403'],
    ['evilgood.test', 'good.test', 'refused 403'],
    ['good.test', 'sub.evilgood.test', 'refused 403'],
    ['sub.evilgood.test', 'good.test', 'refused 403'],
    ['evilgood.test', 'sub.good.test', 'refused 403'],
  ])('a mail of ann@%s with the envelope sender at %s is %s', async (author, from, outcome) => {
    const envelope = { from: `bounce@${from}`, ip: '192.0.2.1', helo: from }
    expect(await postAndDescribeOutcome(composeMail(author), envelope, spfOnlyGateway)).toBe(outcome)
  })
})

describe('a trusted server', () => {
  test.each([
    ['good.test', 'good.test', 'verified'],
    ['good.test', 'evilgood.test', 'refused 403'],
    ['evilgood.test', 'good.test', 'refused 403'],
    ['good.test', 'sub.good.test', 'refused 403'],
    ['sub.good.test', 'good.test', 'refused 403'],
  ])('a mail of ann@%s with a pass of an upstream or a sealer for %s is %s', async (author, passedDomain, outcome) => {
    const results = `dkim=pass header.d=${author}; dmarc=pass header.from=${passedDomain}`
    expect(
      await postAndDescribeOutcome(composeMail(author, [`Authentication-Results: ${trustedAuthservId}; ${results}`])),
    ).toBe(outcome)
    const message = composeMail(author)
    const privateKey = key.export({ type: 'pkcs8', format: 'pem' }).toString()
    const sealing = {
      signingDomain: 'list.test',
      selector: 's1',
      privateKey,
      authResults: `list.test; ${results}`,
      cv: 'none',
    }
    expect(await postAndDescribeOutcome(`${await sealMessage(message, sealing)}${message}`)).toBe(outcome)
  })

  test.each([
    ['good.test', 'sub.good.test', 'verified'],
    ['sub.good.test', 'good.test', 'verified'],
    ['good.test', 'evilgood.test', 'refused 403'],
    ['evilgood.test', 'good.test', 'refused 403'],
  ])(
    'a mail of ann@%s with a pass of an upstream that saw SPF and a signature of %s is %s',
    async (author, signer, outcome) => {
      const results = `spf=pass; dkim=pass header.d=${signer}; dmarc=pass header.from=${author}`
      expect(
        await postAndDescribeOutcome(composeMail(author, [`Authentication-Results: ${trustedAuthservId}; ${results}`])),
      ).toBe(outcome)
    },
  )
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
  ])('of ann@%s with %o is no replay: %s', async (author, envelope, isDirect) => {
    const signedMail = sign(composeMail(author), author, ['from', 'subject', 'date', 'message-id'])
    expect(await postAndDescribeOutcome(signedMail, { ...envelope, ip: '192.0.2.1' })).toBe('verified')
    expect((await gateway.readLatestMessage()).flags.includes('unsigned_to')).toBe(!isDirect)
  })
})
