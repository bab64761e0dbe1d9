import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { MailGateway } from '../setup/gateway.ts'
import { mailDomain, openMailGateway } from '../setup/gateway.ts'
import { keyRecord, makeDkimKey, signText } from '../setup/sign.ts'

/** The `Date` of every mail here, because a mail that is some days old counts as a possible replay. */
const today = new Date().toUTCString()

// The receiver finds the domain whose DMARC policy applies by walking up the DNS tree (RFC 9989).

const key = makeDkimKey(2048)
let gateway: MailGateway
let counter = 0

beforeAll(async () => {
  gateway = await openMailGateway()
  const { dns } = gateway.simulation
  const policy = (name: string, record: string) => dns.set(`_dmarc.${name}`, { TXT: [`v=DMARC1; ${record}`] })
  policy('corp.test', 'p=reject; sp=quarantine; np=reject')
  dns.set('sub.corp.test', { A: ['192.0.2.1'] })
  dns.set('corp.test', { A: ['192.0.2.1'] })
  policy('trial.test', 'p=reject; t=y')
  policy('strict.test', 'p=reject; adkim=s')
  policy('relaxed.test', 'p=reject')
  policy('suffix.test', 'p=reject; psd=y')
  policy('old.test', 'p=quarantine; pct=0; rf=afrf; ri=3600')
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

async function judge(author: string, signer?: string) {
  counter += 1
  const plain = `From: ann@${author}\nTo: echo@${mailDomain}\nSubject: ${counter}\nDate: ${today}\nMessage-ID: <d${counter}@${author}>\n\nHi.\n`
  const answer = await gateway.post(signer ? signText(plain, { domain: signer, key }) : plain)
  if (answer.status !== 200) return `refused ${answer.status}`
  const { state, message } = await gateway.latest()
  return `${state}, ${message.sender.verified ? 'verified' : 'not verified'}`
}

describe('an unsigned mail', () => {
  test.each([
    ['the domain itself: p=', 'corp.test', 'refused 403'],
    ['a name below it that exists: sp=', 'sub.corp.test', 'ignored, not verified'],
    ['a name below it that does not: np= (EM-4.6)', 'none.corp.test', 'refused 403'],
    ['five names below', 'a.b.c.d.relaxed.test', 'refused 403'],
    ['a policy on trial (t=y): one step milder', 'trial.test', 'ignored, not verified'],
    ['obsolete tags of RFC 7489 change nothing', 'old.test', 'ignored, not verified'],
    ['no policy anywhere', 'free.test', 'received, not verified'],
  ])('%s', async (_what, author, outcome) => {
    expect(await judge(author)).toBe(outcome)
  })
})

describe('a mail signed by another name of the organization', () => {
  test.each([
    ['relaxed: the one above', 'a.relaxed.test', 'relaxed.test', 'received, verified'],
    ['relaxed: the one below', 'relaxed.test', 'a.relaxed.test', 'received, verified'],
    ['relaxed: the one beside', 'a.relaxed.test', 'b.relaxed.test', 'received, verified'],
    ['strict: the same', 'strict.test', 'strict.test', 'received, verified'],
    ['strict: the one below', 'strict.test', 'a.strict.test', 'refused 403'],
    ['a public suffix (psd=y) is no organization', 'one.suffix.test', 'two.suffix.test', 'refused 403'],
    [
      'below a public suffix, each name is an organization of its own',
      'one.suffix.test',
      'one.suffix.test',
      'received, verified',
    ],
  ])('%s', async (_what, author, signer, outcome) => {
    expect(await judge(author, signer)).toBe(outcome)
  })
})
