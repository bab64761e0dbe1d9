import { createPublicKey } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { MessageRecord } from '@postern/pipeline'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { MailGateway, MailIntakeAnswer } from '../setup/gateway.ts'
import { mailDomain, openMailGateway } from '../setup/gateway.ts'
import type { TestSigning } from '../setup/sign.ts'
import { createDkimKey, keyRecord, signText } from '../setup/sign.ts'

/** The `Date` of the mails, because a mail that is some days old counts as a possible replay. */
const today = new Date().toUTCString()

const rsaKey = createDkimKey(2048)
const shortKey = createDkimKey(1024)
const tinyKey = createDkimKey(768)
const ed25519Key = createDkimKey('ed25519')
let gateway: MailGateway
let counter = 0

beforeAll(async () => {
  gateway = await openMailGateway()
  const { dns } = gateway.simulation
  for (const [name, policy] of Object.entries({
    'open.test': 'none',
    'shut.test': 'reject',
    'held.test': 'quarantine',
  })) {
    dns.set(name, { A: ['192.0.2.1'], TXT: ['v=spf1 ip4:192.0.2.1 -all'] })
    dns.set(`_dmarc.${name}`, { TXT: [`v=DMARC1; p=${policy}`] })
  }
  dns.set('bare.test', { A: ['192.0.2.1'] })
  dns.set('other.test', { A: ['192.0.2.1'] })
  for (const name of ['open.test', 'shut.test', 'held.test', 'bare.test', 'other.test', 'sub.open.test']) {
    dns.set(`s1._domainkey.${name}`, { TXT: [keyRecord(rsaKey)] })
  }
  dns.set('small._domainkey.open.test', { TXT: [keyRecord(shortKey)] })
  dns.set('tiny._domainkey.open.test', { TXT: [keyRecord(tinyKey)] })
  dns.set('ed._domainkey.open.test', { TXT: [keyRecord(ed25519Key)] })
  dns.set('revoked._domainkey.open.test', { TXT: ['v=DKIM1; k=rsa; p='] })
  dns.set('none._domainkey.open.test', { TXT: ['v=DKIM1; k=rsa'] })
  dns.set('two._domainkey.open.test', { TXT: [keyRecord(rsaKey), keyRecord(shortKey)] })
  dns.set('chat._domainkey.open.test', { TXT: [keyRecord(rsaKey, 's=chat; ')] })
  dns.set('sha1._domainkey.open.test', { TXT: [keyRecord(rsaKey, 'h=sha1; ')] })
  dns.set('testing._domainkey.open.test', { TXT: [keyRecord(rsaKey, 't=y; ')] })
  dns.set('strict._domainkey.open.test', { TXT: [keyRecord(rsaKey, 't=s; ')] })
  dns.fail('silent._domainkey.open.test', 'servfail')
})
afterAll(() => gateway.close())

function composeMail(from = 'Ann <ann@open.test>', body = 'The first line.\n'): string {
  counter += 1
  return `From: ${from}\nTo: echo@${mailDomain}\nSubject: Number ${counter}\nDate: ${today}\nMessage-ID: <${counter}@open.test>\n\n${body}`
}

function sign(signing: Partial<TestSigning> = {}, message = composeMail()): string {
  return signText(message, { domain: 'open.test', key: rsaKey, ...signing })
}

interface VerifiedMail {
  readonly answer: MailIntakeAnswer
  readonly record: MessageRecord
  readonly sender: MessageRecord['message']['sender']
  readonly dkim: MessageRecord['proofs'][number] | undefined
}

async function postMail(message: string): Promise<VerifiedMail> {
  const answer = await gateway.post(message, { from: 'bounce@elsewhere.test', to: `echo@${mailDomain}` })
  expect(answer.body).toMatchObject({ status: 'accepted' })
  const record = await gateway.readLatestMessage()
  return { answer, record, sender: record.message.sender, dkim: record.proofs.find(({ kind }) => kind === 'dkim') }
}

async function postUnread(message: string): Promise<MailIntakeAnswer> {
  return gateway.post(message, { from: 'bounce@elsewhere.test', to: `echo@${mailDomain}` })
}

const readSeconds = () => Math.floor(Date.now() / 1000)

describe('a valid signature', () => {
  test("proves with rsa-sha256 the author's domain with a DMARC record", async () => {
    const { sender, dkim } = await postMail(sign())
    expect(sender).toMatchObject({ verified: true, auth_method: 'email-dmarc', address: '@ann@open.test' })
    expect(sender.identities).toMatchObject([
      { subject: 'mailto:ann@open.test', issuer: 'open.test', assurance: 'address' },
    ])
    expect(dkim).toMatchObject({ verdict: 'pass', aligned: true, key_id: 'd=open.test/s=s1', bits: 2048 })
  })

  test('puts the author’s display name into the profile', async () => {
    const { sender } = await postMail(sign({}, composeMail('=?utf-8?q?Ann_=C3=85str=C3=B6m?= <ann@open.test>')))
    expect(sender).toMatchObject({ display_name: 'Ann Åström', profile: { display_name: 'Ann Åström' } })
    expect((await postMail(sign({}, composeMail('ann@open.test')))).sender.profile).toBeUndefined()
  })

  test('proves the domain without a DMARC record (EM-4.6)', async () => {
    const { sender } = await postMail(sign({ domain: 'bare.test' }, composeMail('ann@bare.test')))
    expect(sender).toMatchObject({ verified: true, auth_method: 'email-dkim' })
    expect(sender.identities).toMatchObject([{ subject: 'mailto:ann@bare.test', assurance: 'domain' }])
  })

  test('may use Ed25519 without RSA (EM-17)', async () => {
    const { sender } = await postMail(sign({ key: ed25519Key, selector: 'ed' }))
    expect(sender).toMatchObject({ verified: true, key_id: 'd=open.test/s=ed' })
  })

  test('may be the second one after an invalid one (EM-18)', async () => {
    const { sender } = await postMail(sign({ selector: 'absent' }, sign()))
    expect(sender).toMatchObject({ verified: true, key_id: 'd=open.test/s=s1' })
  })

  test('flags a Subject that it does not cover (EM-06)', async () => {
    const { sender, record } = await postMail(sign({ fields: ['from', 'to', 'date', 'message-id'] }))
    expect(sender.verified).toBe(true)
    expect(record.flags).toContain('unsigned_subject')
  })

  test.each([
    ['two fields', 'Reply-To: team@open.test\nReply-To: team@open.test\n', 'duplicate_header', 'ignored'],
    ['one of two addresses', 'Reply-To: team@open.test, other@open.test\n', 'reply_to_diverted', 'received'],
  ])('ignores several Reply-To fields, as %s', async (_what, fields, flag, state) => {
    const coveredFields = ['from', 'to', 'subject', 'date', 'message-id', 'reply-to', 'reply-to']
    const { record } = await postMail(sign({ fields: coveredFields }, `${fields}${composeMail()}`))
    expect(record).toMatchObject({ state, flags: expect.arrayContaining([flag]) })
  })

  test('makes the gateway ignore a Reply-To that it does not cover (EM-32, EM-4.5)', async () => {
    const message = `Reply-To: team@open.test\n${composeMail()}`
    const uncoveredMail = await postMail(sign({}, message))
    expect(uncoveredMail.sender.verified).toBe(true)
    expect(uncoveredMail.record.flags).toEqual(expect.arrayContaining(['reply_to_diverted', 'unsigned_reply_to']))
    const coveredMail = await postMail(
      sign({ fields: ['from', 'to', 'subject', 'date', 'message-id', 'reply-to'] }, message),
    )
    // The same text with a new signature is a second mail.
    expect(coveredMail.record.flags).toEqual(['message_id_reused'])
  })

  test('of 1024 bits counts with a flag (EM-12)', async () => {
    const { sender, record } = await postMail(sign({ key: shortKey, selector: 'small' }))
    expect(sender.verified).toBe(true)
    expect(record.flags).toContain('short_key')
  })

  test('of a subdomain counts in relaxed alignment', async () => {
    const { sender } = await postMail(sign({ domain: 'sub.open.test' }))
    expect(sender).toMatchObject({ verified: true, key_id: 'd=sub.open.test/s=s1' })
  })

  test('may have a key in several strings, with 4096 bits (EM-36)', async () => {
    const key = createDkimKey(4096)
    gateway.simulation.dns.set('long._domainkey.open.test', { TXT: [keyRecord(key)] })
    expect((await postMail(sign({ key, selector: 'long' }))).sender.verified).toBe(true)
  })

  test.each<[string, () => string]>([
    ['tags behind p=', () => `${keyRecord(rsaKey)}; n=note; t=`],
    ['spaces in p=', () => keyRecord(rsaKey).replace(/p=.*/, value => value.replace(/.{40}/g, '$& '))],
    [
      'p= as PKCS#1',
      () => {
        const der = createPublicKey(rsaKey).export({ type: 'pkcs1', format: 'der' })
        return `v=DKIM1; k=rsa; p=${der.toString('base64')}`
      },
    ],
  ])('may have a key record with %s (EM-36)', async (what, record) => {
    const selector = `odd-${what.length}`
    gateway.simulation.dns.set(`${selector}._domainkey.open.test`, { TXT: [record()] })
    expect((await postMail(sign({ selector }))).sender.verified).toBe(true)
  })
})

test('the message of RFC 8463 passes with both of its signatures', async () => {
  const folder = new URL('../../../../fixtures/email/rfc8463/', import.meta.url)
  const records: Record<string, string> = JSON.parse(await readFile(new URL('dns.json', folder), 'utf8'))
  for (const [name, record] of Object.entries(records)) gateway.simulation.dns.set(name, { TXT: [record] })
  await gateway.post(await readFile(new URL('message.eml', folder)))
  const { message, proofs } = await gateway.readLatestMessage()
  expect(message.sender).toMatchObject({
    address: '@joe@football.example.com',
    verified: true,
    auth_method: 'email-dkim',
  })
  const signatures = proofs.filter(({ kind }) => kind === 'dkim')
  expect(signatures.map(({ algorithm, verdict }) => [algorithm, verdict])).toEqual([
    ['ed25519-sha256', 'pass'],
    ['rsa-sha256', 'pass'],
  ])
})

describe('a signature that proves nothing', () => {
  const tamper = (text: string) => text.replace('first line', 'last line')
  const cases: readonly (readonly [row: string, reason: string | RegExp, message: () => string])[] = [
    ['EM-01: body changed', /^fail: body hash/, () => tamper(sign())],
    ['EM-02: Subject changed', /^fail: bad signature/, () => sign().replace('Subject: Number', 'Subject: Another')],
    ['EM-07: From not signed', 'not_from: From field not signed', () => sign({ fields: ['to', 'subject'] })],
    [
      'EM-10: x= in the past',
      'expired: expired',
      () => sign({ tags: { t: `${readSeconds() - 900}`, x: `${readSeconds() - 600}` } }),
    ],
    [
      'EM-10: x= before t=',
      'expired: invalid expiration',
      () => sign({ tags: { t: `${readSeconds()}`, x: `${readSeconds() - 60}` } }),
    ],
    ['EM-11: t= 11 minutes ahead', 'not_yet', () => sign({ tags: { t: `${readSeconds() + 660}` } })],
    ['EM-11: t= 20 minutes ahead', 'not_yet', () => sign({ tags: { t: `${readSeconds() + 1200}` } })],
    ['EM-12: 768 bits', /^weak/, () => sign({ key: tinyKey, selector: 'tiny' })],
    ['EM-13: key revoked', /^no_key/, () => sign({ selector: 'revoked' })],
    ['EM-13: no p=', /^no_key/, () => sign({ selector: 'none' })],
    ['EM-13: two key records', /^no_key/, () => sign({ selector: 'two' })],
    ['EM-13: key of another service', /^no_key/, () => sign({ selector: 'chat' })],
    ['EM-13: key for sha1 only', /^no_key/, () => sign({ selector: 'sha1' })],
    ['EM-13: key in testing', /^testing/, () => sign({ selector: 'testing' })],
    ['EM-14: rsa-sha1', /^weak: weak-algorithm/, () => sign({ algorithm: 'rsa-sha1' })],
    ['EM-15: i= outside d=', /^malformed/, () => sign({ tags: { i: '@evil.test' } })],
    ['EM-15: t=s and a subdomain in i=', /^malformed/, () => sign({ selector: 'strict', tags: { i: '@a.open.test' } })],
    ['EM-16: v=2', /^malformed/, () => sign({ tags: { v: '2' } })],
    ['EM-16: no v=', /^malformed/, () => sign({ tags: { v: undefined } })],
    ['EM-16: unknown algorithm', /^malformed/, () => sign({ tags: { a: 'rsa-sha512' } })],
    ['EM-16: unknown canonicalization', /^malformed/, () => sign({ tags: { c: 'strict/loose' } })],
    ['EM-16: q=http', /^malformed/, () => sign({ tags: { q: 'http' } })],
    ['EM-35: NXDOMAIN for the key', 'no_key: no key', () => sign({ selector: 'absent' })],
  ]

  test.each(cases)('%s', async (_row, reason, message) => {
    const { sender, dkim } = await postMail(message())
    expect(sender).toMatchObject({ verified: false, auth_method: 'none' })
    expect(sender.identities).toBeUndefined()
    expect(dkim?.verdict).not.toBe('pass')
    expect(dkim?.reason).toMatch(reason)
  })

  test.each([
    ['EM-08: l= smaller than the body', 17],
    ['EM-09: l=0', 0],
  ])('%s', async (_row, octets) => {
    const signedMail = sign({ bodyOctets: octets, tags: { l: `${octets}` } })
    const { sender, dkim, record } = await postMail(`${signedMail}And this was added.\n`)
    expect(sender).toMatchObject({ verified: false, auth_method: 'none' })
    expect(dkim).toMatchObject({ verdict: 'policy', reason: 'undersized' })
    expect(record.flags).toContain('undersized')
  })

  test('of another domain names the forwarder instead of the author (EM-19)', async () => {
    const { sender } = await postMail(sign({ domain: 'other.test' }))
    expect(sender).toMatchObject({ verified: false, auth_method: 'none' })
    expect(sender.identities).toMatchObject([{ subject: 'other.test', issuer: 'other.test', assurance: 'domain' }])
  })

  test('of a neighbouring domain, or of a child without a policy (EM-19)', async () => {
    for (const otherDomain of ['other.test', 'sub.bare.test']) {
      gateway.simulation.dns.set(`s1._domainkey.${otherDomain}`, { TXT: [keyRecord(rsaKey)] })
      expect((await postMail(sign({ domain: otherDomain }, composeMail('ann@bare.test')))).sender.verified).toBe(false)
    }
  })

  test.each([
    ['co.uk', 'ann@victim.co.uk', false],
    ['github.io', 'ann@victim.github.io', false],
    ['test', 'ann@victim.test', false],
    ['victim.co.uk', 'ann@mail.victim.co.uk', true],
  ])('or one without a policy: a key of %s for %s: %s', async (signer, author, isVerified) => {
    gateway.simulation.dns.set(`s1._domainkey.${signer}`, { TXT: [keyRecord(rsaKey)] })
    const { sender } = await postMail(sign({ domain: signer }, composeMail(author)))
    expect(sender.verified).toBe(isVerified)
  })

  test('or only a forged Authentication-Results (EM-23)', async () => {
    const forgedMail = `Authentication-Results: ${mailDomain}; dmarc=pass header.from=open.test\n${composeMail()}`
    expect((await postMail(forgedMail)).sender).toMatchObject({ verified: false, auth_method: 'none' })
  })
})

describe('a mail with many signatures', () => {
  const signManyTimes = (count: number, signing: Partial<TestSigning>) => {
    let message = sign()
    for (let index = 0; index < count; index += 1) message = sign({ ...signing, selector: `absent${index}` }, message)
    return message
  }

  test('has only its alignable ones checked if there are more than ten (EM-20)', async () => {
    const questions = gateway.simulation.dns.questions.length
    const { sender, record } = await postMail(signManyTimes(12, { domain: 'noise.example' }))
    expect(sender.verified).toBe(true)
    expect(record.flags).toContain('too_many_signatures')
    const keyQuestions = gateway.simulation.dns.questions.slice(questions)
    expect(keyQuestions.filter(question => question.includes('noise.example'))).toEqual([])
  })

  test('has at most ten checked (EM-20)', async () => {
    const { record } = await postMail(signManyTimes(14, { domain: 'open.test' }))
    expect(record.proofs.filter(({ kind }) => kind === 'dkim')).toHaveLength(10)
  })

  test('gets a refusal above a hundred (EM-20)', async () => {
    const answer = await postUnread(signManyTimes(100, { domain: 'noise.example' }))
    expect(answer).toMatchObject({ status: 400, body: { detail: 'Cannot verify mail: more than 100 signatures' } })
  })

  test('costs no more with a hundred different l= over a large body than with ten (EM-21)', async () => {
    // Each signature is of the author's own domain, so each may prove the author.
    const measureJudging = async (count: number) => {
      let message = composeMail('ann@open.test', 'x'.repeat(70).concat('\n').repeat(14_000))
      for (let index = 0; index < count; index += 1)
        message = sign({ domain: 'open.test', bodyOctets: 10, tags: { l: `${index}` } }, message)
      const cpuBefore = process.cpuUsage()
      const { record } = await postMail(message)
      const { user } = process.cpuUsage(cpuBefore)
      return { ms: user / 1_000, judged: record.proofs.filter(({ kind }) => kind === 'dkim') }
    }
    const fewResult = await measureJudging(10)
    const manyResult = await measureJudging(99)
    expect([fewResult.judged.length, manyResult.judged.length]).toEqual([10, 10])
    expect(manyResult.judged.filter(({ verdict }) => verdict === 'pass')).toEqual([])
    expect(manyResult.ms).toBeLessThan(fewResult.ms * 4 + 500)
  })
})

describe('an expensive signature that proves nothing', () => {
  const spaces = ' '.repeat(60_000)
  const chain = `ARC-Seal: i=1; a=rsa-sha256; cv=none; d=x.test; s=s; b=${spaces}a
ARC-Message-Signature: i=1; a=rsa-sha256; d=x.test; s=s; h=from; bh=a; b=${spaces}a
ARC-Authentication-Results: i=1;${spaces}x
`
  test.each([
    ['a chain of white space', () => `${chain}${sign()}`],
    ['signatures of white space', () => `DKIM-Signature: v=1; b=${' '.repeat(25_000)}a\n`.repeat(5) + sign()],
  ])('%s does not use a parser', async (_what, draft) => {
    // This mail starts the thread before the measurement.
    await postMail(sign())
    const message = draft()
    const began = process.cpuUsage()
    const { sender } = await postMail(message)
    // This is the CPU time of all threads, which a busy machine does not affect.
    expect(process.cpuUsage(began).user).toBeLessThan(1_500_000)
    expect(sender.verified).toBe(true)
  })

  test('is invalid over four thousand bytes', async () => {
    const { sender, dkim } = await postMail(sign({ tags: { z: 'x'.repeat(4096) } }))
    expect(sender.verified).toBe(false)
    expect(dkim).toMatchObject({ verdict: 'none' })
  })
})

describe("the author's domain policy", () => {
  test('has its own query despite many keys', async () => {
    const strictGateway = await openMailGateway({ config: { limits: { dns_questions: 10 } } })
    strictGateway.simulation.dns.set('_dmarc.shut.test', { TXT: ['v=DMARC1; p=reject'] })
    let message = composeMail('ann@shut.test')
    for (let index = 0; index < 10; index += 1)
      message = sign({ domain: 'noise.example', selector: `s${index}` }, message)
    expect(await strictGateway.post(message)).toMatchObject({ status: 403, body: { code: 'forbidden' } })
    await strictGateway.close()
  })

  test("applies despite a neighbour's DNS failure", async () => {
    const { dns } = gateway.simulation
    dns.set('_dmarc.corp.co.test', { TXT: ['v=DMARC1; p=reject'] })
    dns.fail('s1._domainkey.evil.co.test', 'servfail')
    const answer = await postUnread(sign({ domain: 'evil.co.test' }, composeMail('ann@corp.co.test')))
    expect(answer).toMatchObject({ status: 403, body: { code: 'forbidden' } })
  })

  test('p=reject without aligned proof makes the gateway refuse', async () => {
    const answer = await postUnread(composeMail('ann@shut.test'))
    expect(answer).toMatchObject({
      status: 403,
      body: {
        code: 'forbidden',
        detail: expect.stringMatching(/^Cannot verify mail: no aligned proof, and the DMARC policy/),
      },
    })
    const [refusal] = await gateway.store.listRefusals({ limit: 1 })
    expect(refusal).toMatchObject({ via: 'email', code: 'forbidden', from: '127.0.0.1' })
  })

  test('p=reject does not accept a signature that limits the signed part of the body (EM-08)', async () => {
    const signedMail = sign({ domain: 'shut.test', bodyOctets: 17, tags: { l: '17' } }, composeMail('ann@shut.test'))
    expect(await postUnread(`${signedMail}Added.\n`)).toMatchObject({ status: 403 })
  })

  test('p=quarantine without aligned proof shows the mail only to the operator', async () => {
    const { record, sender } = await postMail(composeMail('ann@held.test'))
    expect(record).toMatchObject({ state: 'ignored', flags: expect.arrayContaining(['dmarc_quarantine']) })
    expect(sender).toMatchObject({ verified: false, auth_method: 'none' })
  })

  test('p=none accepts an unsigned mail as unverified', async () => {
    const { record, sender } = await postMail(composeMail())
    expect(record).toMatchObject({ state: 'received', flags: [] })
    expect(sender).toMatchObject({ verified: false, auth_method: 'none' })
  })

  test('SPF alone passes DMARC without verifying anybody, and every check has its result (EM-7.2)', async () => {
    await gateway.post(composeMail('ann@shut.test'), {
      from: 'ann@shut.test',
      to: `echo@${mailDomain}`,
      ip: '192.0.2.1',
      helo: 'mx.shut.test',
    })
    const { message, proofs } = await gateway.readLatestMessage()
    expect(message.sender).toMatchObject({ verified: false, auth_method: 'email-dmarc' })
    expect(proofs.map(({ kind, verdict }) => [kind, verdict])).toEqual([
      ['dkim', 'none'],
      ['spf', 'pass'],
      ['dmarc', 'pass'],
    ])
  })
})

describe('a DNS failure (EM-34)', () => {
  test('for an aligned signature’s key defers the mail, which is unverified after the longest deferral', async () => {
    const message = sign({ selector: 'silent' })
    const answer = await postUnread(message)
    expect(answer).toMatchObject({ status: 503, body: { detail: 'Cannot verify mail: DNS did not answer' } })
    expect(answer.headers.get('retry-after')).toBe('300')
    gateway.system.advance(5 * 3_600_000)
    const { sender, record } = await postMail(message)
    expect(sender).toMatchObject({ verified: false, auth_method: 'none' })
    expect(record.flags).toContain('dns_trouble')
  })

  test('defers no longer after a restart, and in every process', async () => {
    const message = sign({ selector: 'silent' }, composeMail('ann@open.test', 'Put off.'))
    expect(await postUnread(message)).toMatchObject({ status: 503 })
    gateway.system.advance(3 * 3_600_000)
    const secondGateway = await openMailGateway({ wrapStore: () => gateway.store })
    secondGateway.simulation.dns.set('_dmarc.open.test', { TXT: ['v=DMARC1; p=none'] })
    secondGateway.simulation.dns.fail('silent._domainkey.open.test', 'servfail')
    const postToSecondGateway = async () =>
      (await secondGateway.post(Buffer.from(message, 'latin1'), { to: `echo@${mailDomain}` })).status
    secondGateway.system.advance(3 * 3_600_000)
    expect(await postToSecondGateway()).toBe(503)
    gateway.system.advance(2 * 3_600_000)
    secondGateway.system.advance(2 * 3_600_000)
    expect(await postToSecondGateway()).toBe(200)
    await secondGateway.close()
  })

  test('under p=reject shows the mail only to the operator after the longest deferral', async () => {
    gateway.simulation.dns.fail('silent._domainkey.shut.test', 'servfail')
    const message = sign({ domain: 'shut.test', selector: 'silent' }, composeMail('ann@shut.test'))
    expect(await postUnread(message)).toMatchObject({ status: 503 })
    gateway.system.advance(5 * 3_600_000)
    const { record } = await postMail(message)
    expect(record).toMatchObject({
      state: 'ignored',
      flags: expect.arrayContaining(['dns_trouble', 'dmarc_quarantine']),
    })
  })

  test('for the DMARC record defers the mail, even with a valid signature', async () => {
    const restoreDns = gateway.simulation.dns.fail('_dmarc.bare.test', 'servfail')
    const message = sign({ domain: 'bare.test' }, composeMail('ann@bare.test'))
    expect(await postUnread(message)).toMatchObject({ status: 503 })
    restoreDns()
    expect((await postMail(message)).sender.verified).toBe(true)
  })

  test('for a signature that cannot align causes no wait', async () => {
    gateway.simulation.dns.fail('silent._domainkey.noise.example', 'servfail')
    expect((await postMail(sign({ domain: 'noise.example', selector: 'silent' }))).sender.verified).toBe(false)
  })
})

describe('a DMARC record without a policy (EM-39)', () => {
  test.each<[string, string[]]>([
    ['there are two', ['v=DMARC1; p=reject', 'v=DMARC1; p=none']],
    ['it is of another version', ['v=DMARC2; p=reject']],
    ['it is no list of tags', ['v=DMARC1 p=reject']],
    ['it is something else', ['hello']],
  ])('%s counts as none', async (_what, records) => {
    gateway.simulation.dns.set('_dmarc.odd.test', { TXT: records })
    gateway.system.advance(60_000)
    const { record } = await postMail(composeMail('ann@odd.test'))
    expect(record.proofs.find(({ kind }) => kind === 'dmarc')).toMatchObject({ verdict: 'none' })
  })
})

describe('a second From in a signed mail', () => {
  const repeatedFields = ['from', 'from', 'to', 'subject', 'date', 'message-id']
  const addSecondFrom = (message: string) => message.replace('\r\nTo: ', '\r\nFrom: Eve <eve@open.test>\r\nTo: ')
  test.each<[string, () => string]>([
    ['EM-03: above', () => `From: Eve <eve@open.test>\r\n${sign()}`],
    ['EM-04: below, not signed twice', () => addSecondFrom(sign())],
    ['EM-04: below, signed twice', () => addSecondFrom(sign({ fields: repeatedFields }))],
  ])('the gateway refuses %s', async (_row, message) => {
    const questions = gateway.simulation.dns.questions.length
    expect(await postUnread(message())).toMatchObject({
      status: 400,
      body: { detail: 'Cannot read mail: more than one From' },
    })
    expect(gateway.simulation.dns.questions.length).toBe(questions)
  })
})

test('a repeated mail gets the same reply, and the store keeps one copy (EM-25)', async () => {
  const message = sign()
  await postMail(message)
  const repeatedMail = await gateway.post(`Received: by another hop\n${message}`, { to: `echo@${mailDomain}` })
  expect(repeatedMail.status).toBe(200)
  expect((await gateway.readLatestMessage()).duplicates).toBe(1)
})
