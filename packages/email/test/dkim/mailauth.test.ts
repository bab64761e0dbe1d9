import { readdirSync, readFileSync } from 'node:fs'
import { Rejection } from '@postern/message'
import { drawCount } from '@postern/testing/scale'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { toCrlf } from '../../src/mail/line-ends.ts'
import { createDkimKey, keyRecord, signText } from '../setup/sign.ts'
import { readSignedMail } from '../suites/dkim-suite.ts'
import { breaksMailauth, findDifference, listTags } from './differences.ts'
import type { SignatureJudgement, SignedCase } from './mailauth-oracle.ts'
import { normalizeJudgements, verifyWithMailauth, verifyWithPostern } from './mailauth-oracle.ts'
import { signedCase } from './random-mail.ts'

// Both verifiers must return the same verdict, unless a rule applies that only the gateway's verifier enforces.

const fixtures = new URL('../../../../fixtures/', import.meta.url)

/**
 * Returns the judgements of the gateway's verifier, or undefined if the gateway refuses the header before any
 * verification.
 */
function judgeWithPostern(signed: SignedCase): readonly SignatureJudgement[] | undefined {
  try {
    return verifyWithPostern(signed)
  } catch (error) {
    if (error instanceof Rejection) return undefined
    throw error
  }
}

/**
 * Returns the verdicts of the gateway's verifier, in order.
 * @throws AssertionError if the two verifiers differ without a rule
 */
async function compareVerifiers(drawn: SignedCase): Promise<readonly string[]> {
  const message = { ...drawn, octets: toCrlf(drawn.octets) }
  const posternJudgements = judgeWithPostern(message)
  if (!posternJudgements) return []
  const tags = listTags(message.octets)
  const mailauthJudgements = await verifyWithMailauth(message).catch((error: unknown) => {
    if (tags.some(breaksMailauth)) return undefined
    throw error
  })
  if (!mailauthJudgements) return posternJudgements.map(({ verdict }) => verdict)
  const mayDiffer = (_: unknown, at: number) => findDifference(tags[at]) !== undefined
  expect(posternJudgements.filter(mayDiffer).filter(({ verdict }) => verdict === 'pass')).toEqual([])
  const mustAgree = (_: unknown, at: number) => !mayDiffer(_, at)
  expect(normalizeJudgements(posternJudgements.filter(mustAgree))).toEqual(
    normalizeJudgements(mailauthJudgements.filter(mustAgree)),
  )
  return posternJudgements.map(({ verdict }) => verdict)
}

test('random mail with random signatures and damage gets the same verdict as from mailauth', async () => {
  await fc.assert(
    fc.asyncProperty(signedCase, async drawn => void (await compareVerifiers(drawn))),
    { numRuns: drawCount({ quick: 250, long: 1000 }) },
  )
}, 60_000)

// Otherwise the random mail would not test every verdict. With this seed, the rarest verdict occurs 7 times.
test('the random mails produce every verdict', () => {
  const verdicts = fc.sample(signedCase, { seed: 1, numRuns: 1000 }).flatMap(drawn => judgeWithPostern(drawn) ?? [])
  expect(verdicts.map(({ verdict }) => verdict)).toEqual(
    expect.arrayContaining(['pass', 'fail', 'malformed', 'no_key', 'weak', 'undersized', 'dns_trouble', 'expired']),
  )
}, 60_000)

test('a signature with c=/relaxed makes mailauth throw, while a valid one beside it proves its author here', async () => {
  const key = createDkimKey(2048)
  const signing = { domain: 'open.test', key, fields: ['from'] }
  const validMail = signText('From: ann@open.test\n\nHello.\n', signing)
  const octets = Buffer.from(signText(validMail, { ...signing, tags: { c: '/relaxed' } }))
  const keys = { 's1._domainkey.open.test': { records: [[keyRecord(key)]] } }
  const signed = { octets, keys, now: Date.now() }
  await expect(verifyWithMailauth(signed)).rejects.toThrow('Unknown header canonicalization')
  expect(verifyWithPostern(signed).map(({ verdict }) => verdict)).toEqual(['malformed', 'pass'])
})

test.each(['rfc6376', 'rfc8463'])('the vectors of %s pass both verifiers', async name => {
  const folder = new URL(`email/${name}/`, fixtures)
  const records: Record<string, string> = JSON.parse(readFileSync(new URL('dns.json', folder), 'utf8'))
  const keys = Object.fromEntries(Object.entries(records).map(([key, record]) => [key, { records: [[record]] }]))
  const octets = readFileSync(new URL('message.eml', folder))
  const verdicts = await compareVerifiers({ octets, keys, now: Date.now() })
  expect(verdicts.length).toBeGreaterThan(0)
  expect(new Set(verdicts)).toEqual(new Set(['pass']))
})

/** The distance between the octets of the mail that are changed. */
const octetStep = drawCount({ quick: 2, long: 1 })

test('foreign mail with one changed byte gets the same verdict as from mailauth', async () => {
  const folder = new URL('email/suites/mail-auth/dkim/', fixtures)
  const mails = readdirSync(folder).map(name => readSignedMail(readFileSync(new URL(name, folder))))
  for (const { message, keys } of mails) await compareVerifiers({ octets: message, keys, now: 1_667_843_664_000 })
  const [shortest] = mails.toSorted((left, right) => left.message.length - right.message.length)
  const { message = Buffer.alloc(0), keys = {} } = shortest ?? {}
  const verdicts = new Set<string>()
  for (let offset = 0; offset < message.length; offset += octetStep) {
    const octets = Buffer.from(message)
    octets[offset] = (octets[offset] ?? 0) ^ 0x01
    for (const verdict of await compareVerifiers({ octets, keys, now: 1_667_843_664_000 })) verdicts.add(verdict)
  }
  expect([...verdicts]).toEqual(expect.arrayContaining(['pass', 'fail']))
}, 60_000)

test('every mail of the corpora gets the same verdict as from mailauth, without keys', async () => {
  const files = readdirSync(fixtures, { recursive: true, encoding: 'utf8' }).filter(name =>
    /\.(?:eml|txt|msg)$/.test(name),
  )
  expect(files.length).toBeGreaterThan(300)
  for (const name of files)
    await compareVerifiers({ octets: readFileSync(new URL(name, fixtures)), keys: {}, now: 1_795_255_200_000 })
}, 60_000)
