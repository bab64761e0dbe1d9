import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { MailGateway } from '../setup/gateway.ts'
import { mailDomain, openMailGateway } from '../setup/gateway.ts'
import { createDkimKey, keyRecord, signText } from '../setup/sign.ts'

/** The `Date` of the mails, because a mail that is some days old counts as a possible replay. */
const today = new Date().toUTCString()

// The receiver finds the domain whose DMARC policy applies by walking up the DNS tree (RFC 9989).

const key = createDkimKey(2048)
let gateway: MailGateway
let counter = 0

beforeAll(async () => {
  gateway = await openMailGateway()
  const { dns } = gateway.simulation
  const publishPolicy = (name: string, record: string) => dns.set(`_dmarc.${name}`, { TXT: [`v=DMARC1; ${record}`] })
  publishPolicy('corp.test', 'p=reject; sp=quarantine; np=reject')
  dns.set('sub.corp.test', { A: ['192.0.2.1'] })
  dns.set('corp.test', { A: ['192.0.2.1'] })
  publishPolicy('trial.test', 'p=reject; t=y')
  publishPolicy('strict.test', 'p=reject; adkim=s')
  publishPolicy('relaxed.test', 'p=reject')
  publishPolicy('suffix.test', 'p=reject; psd=y')
  publishPolicy('old.test', 'p=quarantine; pct=0; rf=afrf; ri=3600')
  for (const name of [
    'strict.test',
    'a.strict.test',
    'relaxed.test',
    'a.relaxed.test',
    'b.relaxed.test',
    'one.suffix.test',
    'two.suffix.test',
  ]) {
    dns.set(`s1._domainkey.${name}`, { TXT: [keyRecord(key)] })
    dns.set(name, { A: ['192.0.2.1'] })
  }
})
afterAll(() => gateway.close())

async function postAndDescribeOutcome(author: string, signer?: string) {
  counter += 1
  const plain = `From: ann@${author}\nTo: echo@${mailDomain}\nSubject: ${counter}\nDate: ${today}\nMessage-ID: <d${counter}@${author}>\n\nHi.\n`
  const answer = await gateway.post(signer ? signText(plain, { domain: signer, key }) : plain)
  if (answer.status !== 200) return `refused ${answer.status}`
  const { state, message } = await gateway.readLatestMessage()
  return `${state}, ${message.sender.verified ? 'verified' : 'not verified'}`
}

describe('the DMARC policy for an unsigned mail is that of', () => {
  test.each([
    ['the domain itself (p=)', 'corp.test', 'refused 403'],
    ['the domain above an existing subdomain (sp=)', 'sub.corp.test', 'ignored, not verified'],
    ['the domain above an absent subdomain (np=) (EM-4.6)', 'none.corp.test', 'refused 403'],
    ['the organization, four labels above', 'a.b.c.d.relaxed.test', 'refused 403'],
    ['a domain on trial (t=y), one step milder', 'trial.test', 'ignored, not verified'],
    ['a record with obsolete tags of RFC 7489', 'old.test', 'ignored, not verified'],
    ['nobody, without any record', 'free.test', 'received, not verified'],
  ])('%s', async (_what, author, outcome) => {
    expect(await postAndDescribeOutcome(author)).toBe(outcome)
  })
})

describe('the alignment of a signature with the author is', () => {
  test.each([
    ['relaxed for the domain above', 'a.relaxed.test', 'relaxed.test', 'received, verified'],
    ['relaxed for the domain below', 'relaxed.test', 'a.relaxed.test', 'received, verified'],
    ['relaxed for a sibling domain', 'a.relaxed.test', 'b.relaxed.test', 'received, verified'],
    ['strict for the same domain', 'strict.test', 'strict.test', 'received, verified'],
    ['strict, which refuses the domain below', 'strict.test', 'a.strict.test', 'refused 403'],
    ['absent between domains below a public suffix (psd=y)', 'one.suffix.test', 'two.suffix.test', 'refused 403'],
    ['given for the domain itself below a public suffix', 'one.suffix.test', 'one.suffix.test', 'received, verified'],
  ])('%s', async (_what, author, signer, outcome) => {
    expect(await postAndDescribeOutcome(author, signer)).toBe(outcome)
  })
})
