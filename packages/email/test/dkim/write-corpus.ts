// Writes signed mail for other verifiers into a folder.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Rejection } from '@postern/message'
import { bodyCanonicalizers } from '../../src/dkim/canonicalization.ts'
import { toCrlf } from '../../src/mail/line-ends.ts'
import { readSignedMail } from '../suites/dkim-suite.ts'
import { listTags } from './differences.ts'
import type { SignatureJudgement, SignedCase } from './mailauth-oracle.ts'
import { verifyWithPostern } from './mailauth-oracle.ts'
import { samplePlainMail } from './random-mail.ts'

// The folder gets the mails, and `corpus.json` with the keys and our verdicts. `npm run test:peers dkim` runs this program.

const fixtures = new URL('../../../../fixtures/email/', import.meta.url)
const [, , folder = '.', count = '400'] = process.argv

function judgeWithPostern(signed: SignedCase): readonly SignatureJudgement[] | undefined {
  try {
    return verifyWithPostern(signed)
  } catch (error) {
    if (error instanceof Rejection) return undefined
    throw error
  }
}

function readVector(name: string): SignedCase {
  const records: Record<string, string> = JSON.parse(readFileSync(new URL(`${name}/dns.json`, fixtures), 'utf8'))
  const keys = Object.fromEntries(Object.entries(records).map(([key, record]) => [key, { records: [[record]] }]))
  return { octets: readFileSync(new URL(`${name}/message.eml`, fixtures)), keys, now: Date.now() }
}

function listMails(): readonly SignedCase[] {
  const suite = new URL('suites/mail-auth/dkim/', fixtures)
  const mails = readdirSync(suite).map(name => readSignedMail(readFileSync(new URL(name, suite))))
  return [
    ...['rfc6376', 'rfc8463'].map(readVector),
    ...mails.map(({ message, keys }) => ({ octets: message, keys, now: Date.now() })),
    ...samplePlainMail({ numRuns: Number(count) * 60, seed: 6376 }),
  ]
}

function measureBody({ octets }: SignedCase, form: 'simple' | 'relaxed'): number {
  return bodyCanonicalizers[form](octets.subarray(octets.indexOf('\r\n\r\n') + 4)).length
}

mkdirSync(folder, { recursive: true })
const cases = listMails().flatMap(drawn => {
  const signed = { ...drawn, octets: toCrlf(drawn.octets), now: Date.now() }
  const ours = judgeWithPostern(signed)
  const tags = ours ? listTags(signed.octets).map(pairs => Object.fromEntries(pairs)) : []
  return ours && ours.length > 0 ? [{ signed, ours, tags }] : []
})
const corpus = cases.slice(0, Number(count)).map(({ signed, ours, tags }, at) => {
  const file = join(folder, `${at}.eml`)
  writeFileSync(file, signed.octets)
  const good = new Set(['pass', 'testing', 'undersized', 'not_yet'])
  const records = Object.entries(signed.keys).flatMap(([name, answer]) =>
    'records' in answer ? [[name, (answer.records[0] ?? []).join('')]] : [],
  )
  const bodyLengths = { simple: measureBody(signed, 'simple'), relaxed: measureBody(signed, 'relaxed') }
  const isGood = ours.map(({ verdict }) => good.has(verdict))
  return { file, records: Object.fromEntries(records), tags, bodyLengths, isGood }
})
writeFileSync(join(folder, 'corpus.json'), JSON.stringify(corpus))
