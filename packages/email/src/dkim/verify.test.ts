import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { createDkimKey, keyRecord, signText } from '../../test/setup/sign.ts'
import { mailLimitsSchema } from '../config/limits.ts'
import { scanHeaders } from '../mail/header.ts'
import { parseKeyRecord } from './key-record.ts'
import { verifySignatures } from './verify.ts'

const now = 1_795_255_200_000
const seconds = now / 1000
const rsaKey = createDkimKey(2048)
const ed25519Key = createDkimKey('ed25519')
const limits = { ...mailLimitsSchema.parse({}), field_bytes: 1 << 24, header_bytes: 1 << 24, fields: 1 << 20 }
const mail = 'To: echo@agents.test\nFrom: ann@open.test\nSubject: One\nSubject: Two\n\nThe first line.\n'

function verify(text: string, record = keyRecord(rsaKey), name = 's1._domainkey.open.test') {
  const octets = Buffer.from(text, 'latin1')
  const keys = { [name]: { records: [[record]] } }
  return verifySignatures({ octets, header: scanHeaders(octets, limits) }, { keys, now, readKey: parseKeyRecord })
}

const sign = (tags: Readonly<Record<string, string | undefined>> = {}, overrides = {}) =>
  signText(mail, { domain: 'open.test', key: rsaKey, tags, ...overrides })
const findError = (text: string, record?: string) => verify(text, record)[0]?.error

test.each(['rfc6376', 'rfc8463'])('the verifier accepts the signatures of %s', name => {
  const folder = new URL(`../../../../fixtures/email/${name}/`, import.meta.url)
  const records: Record<string, string> = JSON.parse(readFileSync(new URL('dns.json', folder), 'utf8'))
  const keys = Object.fromEntries(Object.entries(records).map(([key, record]) => [key, { records: [[record]] }]))
  const octets = readFileSync(new URL('message.eml', folder))
  const header = scanHeaders(octets, limits)
  const reports = verifySignatures({ octets, header }, { keys, now, readKey: parseKeyRecord })
  expect(reports.map(({ algorithm, error }) => ({ algorithm, error }))).toEqual(
    name === 'rfc6376' ? [{ algorithm: 'rsa-sha256' }] : [{ algorithm: 'ed25519-sha256' }, { algorithm: 'rsa-sha256' }],
  )
})

test('a signature covers fields of one name from the bottom up, each field once (RFC 6376 §5.4.2)', () => {
  const signedMail = sign({}, { fields: ['from', 'subject', 'From', 'absent'] })
  expect(verify(signedMail)).toMatchObject([{ covers: ['from', 'subject'] }])
  expect(findError(signedMail.replace('Subject: One', 'Subject: Other'))).toBeUndefined()
  expect(findError(signedMail.replace('Subject: Two', 'Subject: Other'))).toBe('bad signature')
  expect(findError(`From: eve@open.test\r\n${signedMail}`)).toBe('bad signature')
})

test('the report counts the bytes that l= leaves unsigned', () => {
  const signedMail = sign({ l: '5' }, { bodyOctets: 5 })
  expect(verify(signedMail)).toMatchObject([{ uncoveredOctets: 12 }])
  expect(verify(`${signedMail}More.\r\n`)).toMatchObject([{ uncoveredOctets: 19 }])
  expect(findError(signedMail.replace('The f', 'THE f'))).toBe('body hash did not verify')
  expect(verify(sign({ l: '0' }, { bodyOctets: 0 }))).toMatchObject([{ uncoveredOctets: 17 }])
  expect(verify(sign({ l: '17' }))).toMatchObject([{ uncoveredOctets: 0 }])
})

test.each<[string, Readonly<Record<string, string | undefined>>, string | undefined]>([
  ['no h= with From', { h: 'to:subject' }, 'From field not signed'],
  ['an empty h=', { h: ':' }, 'signature syntax error'],
  ['no v=', { v: undefined }, 'signature missing required tag'],
  ['v=2', { v: '2' }, 'incompatible version'],
  ['an unknown algorithm', { a: 'rsa-sha512' }, 'unknown algorithm'],
  ['Ed25519 over SHA-1', { a: 'ed25519-sha1' }, 'unknown algorithm'],
  ['rsa-sha1', { a: 'rsa-sha1' }, 'weak-algorithm'],
  ['the algorithm of another key', { a: 'ed25519-sha256' }, 'inappropriate key algorithm'],
  ['three canonicalizations', { c: 'relaxed/relaxed/simple' }, 'unknown canonicalization'],
  ['q=http', { q: 'http' }, 'unsupported query method'],
  ['i= of another domain', { i: '@evil.test' }, 'domain mismatch'],
  ['i= that only ends like d=', { i: '@xopen.test' }, 'domain mismatch'],
  ['i= without an at sign', { i: 'open.test' }, 'signature syntax error'],
  ['i= of a subdomain', { i: 'ann@a.open.test' }, undefined],
  ['i= that is encoded', { i: '=61nn=2Eb@open.test' }, undefined],
  ['x= that is over', { x: `${seconds - 1}` }, 'expired'],
  ['x= that ends now', { x: `${seconds}` }, undefined],
  ['x= that is t=', { t: `${seconds}`, x: `${seconds}` }, 'invalid expiration'],
  ['a t= that is no number', { t: '1e9' }, 'signature syntax error'],
  ['an l= of 77 digits', { l: '1'.repeat(77) }, 'signature syntax error'],
  ['a d= of one label', { d: 'test' }, 'signature syntax error'],
  ['an s= that is no name', { s: 'a_b' }, 'signature syntax error'],
  ['an unknown tag', { newtag: '", (b=' }, undefined],
  ['another selector', { s: 'other' }, 'no key'],
])('a signature with %s has the error in RFC 6376 §6.1 or RFC 8301, or none', (_what, tags, error) => {
  expect(findError(sign(tags))).toBe(error)
})

test('a repeated tag, an empty tag or an invalid name makes the signature malformed (RFC 6376 §3.2)', () => {
  const signedMail = sign()
  for (const [from, to] of [
    ['v=1;', 'v=1; v=1;'],
    ['v=1;', 'v=1;;'],
    ['v=1;', 'v=1; 1a=x;'],
    ['v=1;', 'v=1; x;'],
  ] as const)
    expect(findError(signedMail.replace(from, to))).toBe('signature syntax error')
})

test('a key with t=s requires the same domain in i= and d=', () => {
  const exactRecord = keyRecord(rsaKey, 't=s; ')
  expect(findError(sign({ i: '@open.test' }), exactRecord)).toBeUndefined()
  expect(findError(sign({ i: '@a.open.test' }), exactRecord)).toBe('domain mismatch')
})

test('a key of another type does not verify, even with matching bytes', () => {
  const signedMail = signText(mail, { domain: 'open.test', key: ed25519Key })
  expect(findError(signedMail, keyRecord(ed25519Key))).toBeUndefined()
  expect(findError(signedMail)).toBe('inappropriate key algorithm')
})

test('the verifier compares and resolves international names as A-labels (RFC 8616 §5)', () => {
  const signedMail = sign({ d: 'b\xc3\xbccher.test', i: '@M\xc3\xbcller.B\xc3\x9cCHER.test' })
  const [report] = verify(signedMail, keyRecord(rsaKey), 's1._domainkey.xn--bcher-kva.test')
  expect(report).toMatchObject({ domain: 'xn--bcher-kva.test' })
  expect(report?.error).toBeUndefined()
})

test('a DNS failure has its own code, and a name without a query does not exist', () => {
  const octets = Buffer.from(sign())
  const message = { octets, header: scanHeaders(octets, limits) }
  const keys = { 's1._domainkey.open.test': { code: 'ESERVFAIL' } }
  const reports = verifySignatures(message, { keys, now, readKey: parseKeyRecord })
  expect(reports).toMatchObject([{ error: 'DNS failure', dnsCode: 'ESERVFAIL' }])
  expect(verifySignatures(message, { keys: {}, now, readKey: parseKeyRecord })).toMatchObject([{ error: 'no key' }])
})

/** Returns the CPU time of the fastest of three runs, in ms. */
function measure(run: () => void): number {
  const times = [0, 1, 2].map(() => {
    const cpuBefore = process.threadCpuUsage()
    run()
    return process.threadCpuUsage(cpuBefore).user / 1000
  })
  return Math.min(...times)
}

test.each<[string, (count: number) => string]>([
  ['fields', count => 'X-A: b\r\n'.repeat(count)],
  ['lines of one field', count => `X-A: b\r\n${' \r\n'.repeat(count)}`],
  ['blanks in one field', count => `X-A:${' \t'.repeat(count)}b\r\n`],
  [
    'names in h=',
    count => `DKIM-Signature: v=1; a=rsa-sha256; d=open.test; s=s1; bh=; b=AA; h=from${':x-a'.repeat(count)}\r\n`,
  ],
  [
    'empty names in h=',
    count => `DKIM-Signature: v=1; a=rsa-sha256; d=open.test; s=s1; bh=; b=AA; h=from${':'.repeat(count)}\r\n`,
  ],
  ['tags', count => `DKIM-Signature: v=1${Array.from({ length: count }, (_, at) => `; t${at}=`).join('')}\r\n`],
  ['blanks in b=', count => `DKIM-Signature: v=1; b=${' \t'.repeat(count)}AA${'\r\n '.repeat(count)}\r\n`],
  [
    'atoms in i=',
    count =>
      `DKIM-Signature: v=1; a=rsa-sha256; d=open.test; s=s1; h=from; bh=; b=AA; i=${'a.'.repeat(count)}@open.test\r\n`,
  ],
  [
    'quotes in i=',
    count =>
      `DKIM-Signature: v=1; a=rsa-sha256; d=open.test; s=s1; h=from; bh=; b=AA; i="${'\\"'.repeat(count)}@open.test\r\n`,
  ],
])('the verifier takes about four times as long for four times as many %s', (_what, createFields) => {
  const measureVerification = (count: number) => {
    const text = `${createFields(count)}${sign({}, { fields: ['from', ...Array.from({ length: 400 }, () => 'x-a')] })}`
    return measure(() => void verify(text))
  }
  measureVerification(2_000)
  expect(measureVerification(40_000)).toBeLessThan(measureVerification(10_000) * 12 + 40)
})
