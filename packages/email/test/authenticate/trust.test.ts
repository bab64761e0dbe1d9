import type { KeyObject } from 'node:crypto'
import { sealMessage } from 'mailauth/lib/arc/index.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { MailGateway } from '../setup/gateway.ts'
import { mailDomain, openMailGateway } from '../setup/gateway.ts'
import { createDkimKey, keyRecord, signText } from '../setup/sign.ts'

/** The `Date` of the mails, because a mail that is some days old counts as a possible replay. */
const today = new Date().toUTCString()

// These tests cover the verdicts that an operator may trust in addition to the author's own signature (EM-4.6).

const key = createDkimKey(2048)
const sealer = createDkimKey(2048)
const shortKey = createDkimKey(1024)
let counter = 0
let gateway: MailGateway
let strictGateway: MailGateway

function publishDns({ simulation: { dns } }: MailGateway): void {
  for (const [name, policy] of Object.entries({ 'open.test': 'none', 'shut.test': 'reject' })) {
    dns.set(name, { A: ['192.0.2.1'], TXT: ['v=spf1 ip4:192.0.2.1 -all'] })
    dns.set(`_dmarc.${name}`, { TXT: [`v=DMARC1; p=${policy}`] })
    dns.set(`s1._domainkey.${name}`, { TXT: [keyRecord(key)] })
    dns.set(`small._domainkey.${name}`, { TXT: [keyRecord(shortKey)] })
  }
  for (const name of ['list.test', 'other.test']) dns.set(`seal._domainkey.${name}`, { TXT: [keyRecord(sealer)] })
}

beforeAll(async () => {
  gateway = await openMailGateway({
    config: { answer_bcc: true, trust: { spf_only: true, arc_sealers: ['List.test'], min_key_bits: 2048 } },
    agents: Object.fromEntries(['echo', 'helper', ...manyAgents].map(name => [name, { handle: () => undefined }])),
  })
  strictGateway = await openMailGateway()
  publishDns(gateway)
  publishDns(strictGateway)
})
afterAll(() => Promise.all([gateway.close(), strictGateway.close()]))

const manyAgents = Array.from({ length: 22 }, (_, index) => `bee${index}`)

function composeMail(author = 'ann@shut.test', body = 'Hello all.'): string {
  counter += 1
  return `From: ${author}\r\nTo: echo@${mailDomain}\r\nSubject: ${counter}\r\nDate: ${today}\r\nMessage-ID: <t${counter}@open.test>\r\n\r\n${body}\r\n`
}

const sign = (message: string, signer = 'shut.test', overrides: { key?: KeyObject; selector?: string } = {}) =>
  signText(message, { domain: signer, key, ...overrides })

interface SealOptions {
  readonly sealer?: string
  readonly results?: string
  readonly cv?: string
  readonly i?: number
}

/** Adds a set of ARC fields on top, as a list does. */
async function sealAsList(
  message: string,
  { sealer: sealDomain = 'list.test', results, cv = 'none', i }: SealOptions = {},
): Promise<string> {
  const authResults = results ?? `list.test; dmarc=pass header.from=shut.test`
  const privateKey = sealer.export({ type: 'pkcs8', format: 'pem' }).toString()
  const sealOptions = { signingDomain: sealDomain, selector: 'seal', privateKey, authResults, cv, ...(i && { i }) }
  return `${await sealMessage(message, sealOptions)}${message}`
}

/** Returns a mail to which a list added its footer, so that the author's signature is no longer valid. */
const composeListMail = async (sealOptions: SealOptions = {}) =>
  sealAsList(sign(composeMail()).replace('Hello all.', 'Hello all.\r\n-- \r\nThe list'), sealOptions)

const post = (message: string, server = gateway) =>
  server.post(Buffer.from(message, 'latin1'), { to: `echo@${mailDomain}` })

describe('an ARC chain of a trusted sealer', () => {
  test('passes a mail that a mailing list changed, despite p=reject', async () => {
    expect((await post(await composeListMail())).status).toBe(200)
    const { message, proofs, state } = await gateway.readLatestMessage()
    expect(state).toBe('received')
    expect(message.sender).toMatchObject({
      verified: true,
      auth_method: 'email-dmarc',
      key_id: 'arc:d=list.test/s=seal',
      identities: [{ subject: 'mailto:ann@shut.test', issuer: 'list.test', assurance: 'domain' }],
    })
    expect(proofs.find(({ kind }) => kind === 'arc')).toMatchObject({ verdict: 'pass', instances: 1, dmarc: 'pass' })
  })

  test('counts if the trusted sealer made the second of two sets', async () => {
    const twiceSealedMail = await sealAsList(await composeListMail({ sealer: 'other.test' }), { cv: 'pass' })
    expect((await post(twiceSealedMail)).status).toBe(200)
    expect((await gateway.readLatestMessage()).proofs.find(({ kind }) => kind === 'arc')).toMatchObject({
      verdict: 'pass',
      instances: 2,
    })
  })

  test('does not count if the operator trusts no sealer', async () => {
    expect(await post(await composeListMail(), strictGateway)).toMatchObject({
      status: 403,
      body: { code: 'forbidden' },
    })
  })

  const renumber = (message: string, from: number, to: number) => message.replaceAll(`i=${from};`, `i=${to};`)
  const invalidChains: readonly (readonly [string, () => Promise<string>])[] = [
    ['whose last sealer is another', () => composeListMail({ sealer: 'other.test' })],
    ['that saw DMARC fail', () => composeListMail({ results: 'list.test; dmarc=fail header.from=shut.test' })],
    ['that saw another domain', () => composeListMail({ results: 'list.test; dmarc=pass header.from=open.test' })],
    ['that says nothing of DMARC', () => composeListMail({ results: 'list.test; spf=pass' })],
    ['over another body', async () => (await composeListMail()).replace('The list', 'A trick')],
    ['EM-22: with instance 51', async () => renumber(await composeListMail(), 1, 51)],
    ['EM-22: with a gap', async () => renumber(await composeListMail(), 1, 2)],
    [
      'EM-22: with an instance twice',
      async () => {
        const message = await composeListMail()
        return `${message.slice(0, message.indexOf('ARC-Message-Signature'))}${message}`
      },
    ],
    ['EM-22: with cv=fail', async () => sealAsList(await composeListMail(), { cv: 'fail' })],
    [
      'with a field of endless white space',
      async () => `ARC-Seal: i=1; d=list.test;${' '.repeat(20_000)}\r\n${composeMail()}`,
    ],
  ]

  test.each(invalidChains)('proves nothing if it is %s', async (_what, message) => {
    expect(await post(await message())).toMatchObject({ status: 403, body: { code: 'forbidden' } })
  })

  test('with eleven sets causes no key query (EM-22)', async () => {
    let message = await composeListMail()
    for (let i = 2; i <= 11; i += 1) message = await sealAsList(message, { cv: 'pass', i })
    const questionCount = gateway.simulation.dns.questions.length
    expect((await post(message)).status).toBe(403)
    expect(
      gateway.simulation.dns.questions.slice(questionCount).filter(question => question.includes('seal._domainkey')),
    ).toEqual([])
  })
})

describe('SPF alone', () => {
  const envelope = { from: 'ann@shut.test', to: `echo@${mailDomain}`, ip: '192.0.2.1', helo: 'mx.shut.test' }
  test('verifies if the operator allows it, and names the method', async () => {
    expect((await gateway.post(composeMail(), envelope)).status).toBe(200)
    expect((await gateway.readLatestMessage()).message.sender).toMatchObject({
      verified: true,
      auth_method: 'email-dmarc',
      key_id: 'spf:shut.test',
      identities: [{ issuer: 'shut.test', assurance: 'domain' }],
    })
  })

  test('of another domain verifies nobody', async () => {
    const otherEnvelope = { ...envelope, from: 'ann@open.test' }
    expect((await gateway.post(composeMail(), otherEnvelope)).status).toBe(403)
  })
})

test('a configured minimum of 2048 bits makes 1024 too weak (EM-12)', async () => {
  await post(sign(composeMail('ann@open.test'), 'open.test', { key: shortKey, selector: 'small' }))
  const { message, flags } = await gateway.readLatestMessage()
  expect(message.sender.verified).toBe(false)
  expect(flags).toContain('weak_key')
})

describe('a repeated valid signature (EM-24)', () => {
  /** Posts a mail, and returns the state and flags of its record. The mails share an id, so the record is found by its number. */
  const postAndReadFlags = async (message: string, to: string) => {
    await gateway.post(message, { to })
    const [summary] = await gateway.store.listMessages({ limit: 1 })
    const record = await gateway.store.findMessage(`#${summary?.message}`)
    return { state: record?.state, flags: record?.flags }
  }

  test('gets a flag for a recipient whom its header does not name, and none for the others', async () => {
    const draft = composeMail('ann@open.test').replace('To: ', `Cc: helper@${mailDomain}\r\nTo: `)
    const message = signText(draft, { domain: 'open.test', key, fields: ['from', 'to', 'cc', 'date', 'message-id'] })
    expect((await postAndReadFlags(message, `echo@${mailDomain}`)).flags).not.toContain('replayed_signature')
    expect((await postAndReadFlags(message, `helper@${mailDomain}`)).flags).not.toContain('replayed_signature')
    expect((await postAndReadFlags(message, `bee0@${mailDomain}`)).flags).toContain('replayed_signature')
  })

  test('reaches no agent after twenty copies in a day', async () => {
    const message = sign(composeMail('ann@open.test'), 'open.test')
    const outcomes = []
    for (const agentName of manyAgents) outcomes.push(await postAndReadFlags(message, `${agentName}@${mailDomain}`))
    expect(outcomes.map(({ state }) => state)).toEqual([...Array(20).fill('received'), 'ignored', 'ignored'])
    expect(outcomes.at(-1)?.flags).toContain('signature_flood')
    gateway.system.advance(86_400_001)
    expect((await postAndReadFlags(message, `helper@${mailDomain}`)).state).toBe('received')
  })
})

describe('mail from a provider that loses bytes', () => {
  const providers = { postmark: { user: 'u', password: 'p' } }
  let lossyGateway: MailGateway
  beforeAll(async () => {
    lossyGateway = await openMailGateway({ config: { providers } })
    publishDns(lossyGateway)
  })
  afterAll(() => lossyGateway.close())

  const postAndRead = async (octets: string) => {
    const body = JSON.stringify({ RawEmail: octets, OriginalRecipient: `echo@${mailDomain}` })
    const response = await lossyGateway.channel.endpoint.routes.request('/email/inbound/postmark', {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Basic ${btoa('u:p')}` },
      body,
    })
    return response.status
  }
  const composeDamagedMail = (author: string) =>
    sign(composeMail(author, 'Gr\u00fc\u00dfe'), author.split('@')[1]).replace('\u00fc', '\ufffd')

  test('is unverifiable instead of failed if its body was not ASCII (EM-2.2)', async () => {
    expect(await postAndRead(composeDamagedMail('ann@open.test'))).toBe(200)
    const { state, flags, proofs, message } = await lossyGateway.readLatestMessage()
    expect(proofs[0]).toMatchObject({ kind: 'dkim', verdict: 'unverifiable' })
    expect({ state, verified: message.sender.verified }).toEqual({ state: 'received', verified: false })
    expect(flags).toContain('unverifiable')
  })

  test('stays with the operator instead of a refusal under p=reject', async () => {
    expect(await postAndRead(composeDamagedMail('ann@shut.test'))).toBe(200)
    expect(await lossyGateway.readLatestMessage()).toMatchObject({
      state: 'ignored',
      flags: expect.arrayContaining(['unverifiable', 'dmarc_quarantine']),
    })
  })

  test('fails if it is all ASCII', async () => {
    expect(await postAndRead(sign(composeMail('ann@shut.test')).replace('Hello', 'Hallo'))).toBe(403)
  })

  test('fails over an endpoint of our own', async () => {
    expect((await post(composeDamagedMail('ann@shut.test'), lossyGateway)).status).toBe(403)
  })
})

test('the gateway ignores Authentication-Results that claim its own name or a trusted sealer’s (EM-23)', async () => {
  for (const authservId of [mailDomain, 'list.test']) {
    const forgedMail = `Authentication-Results: ${authservId}; dmarc=pass header.from=open.test; arc=pass\r\n${composeMail('ann@open.test')}`
    await post(forgedMail)
    expect((await gateway.readLatestMessage()).message.sender).toMatchObject({ verified: false, auth_method: 'none' })
  }
})
