// Runs Stalwart's suites for DKIM and ARC.
import { readdirSync, readFileSync } from 'node:fs'
import { verifyChain } from '../../src/arc/verify-chain.ts'
import { mailLimitsSchema } from '../../src/config/limits.ts'
import { parseKeyRecord } from '../../src/dkim/key-record.ts'
import { verifySignatures } from '../../src/dkim/verify.ts'
import { scanHeaders } from '../../src/mail/header.ts'
import { toCrlf } from '../../src/mail/line-ends.ts'
import type { MimeJob } from '../../src/mime/job.ts'
import { classifySignature } from '../../src/signatures/judge-signature.ts'
import type { ScoredCase } from './score.ts'

const limits = mailLimitsSchema.parse({})
/** The time in the suite's own driver. */
const now = 1_667_843_664_000

/** Scores Stalwart's six signed mails. Every signature must pass. */
export async function scoreDkim(folder: URL): Promise<readonly ScoredCase[]> {
  return scoreFiles(folder, async ({ message, keys }) => {
    const header = scanHeaders(message, limits)
    const signatures = verifySignatures({ octets: message, header }, { keys, now, readKey: parseKeyRecord })
    const verdicts = signatures.map(report => classifySignature(report, { now, minKeyBits: 1024, isDamaged: false }))
    const note = verdicts.map(({ verdict, error }) => `${verdict} ${error}`).join(', ')
    return { hasPassed: verdicts.length > 0 && verdicts.every(({ verdict }) => verdict === 'pass'), note }
  })
}

/** Scores Stalwart's two sealed mails. Each chain must pass. */
export async function scoreChains(folder: URL): Promise<readonly ScoredCase[]> {
  return scoreFiles(folder, async ({ message, keys }) => {
    const { result, comment } = await verifyChain(message, { keys, now })
    return { hasPassed: result === 'pass', note: `${result} ${comment}` }
  })
}

interface SignedMail {
  readonly message: Buffer
  readonly keys: MimeJob['keys']
}

async function scoreFiles(
  folder: URL,
  judge: (mail: SignedMail) => Promise<Omit<ScoredCase, 'name'>>,
): Promise<readonly ScoredCase[]> {
  const cases: ScoredCase[] = []
  for (const name of readdirSync(folder).toSorted()) {
    cases.push({ name, ...(await judge(readSignedMail(readFileSync(new URL(name, folder))))) })
  }
  return cases
}

/** Reads a file with records above an empty line and the mail below it. */
export function readSignedMail(file: Buffer): SignedMail {
  const octets = toCrlf(file)
  const recordsEnd = octets.indexOf('\r\n\r\n')
  const records = octets.toString('utf8', 0, recordsEnd).split('\r\n')
  const keys = Object.fromEntries(
    records.map(line => {
      const gap = line.indexOf(' ')
      return [line.slice(0, gap).toLowerCase(), { records: [[line.slice(gap + 1)]] }]
    }),
  )
  return { message: octets.subarray(recordsEnd + 4), keys }
}
