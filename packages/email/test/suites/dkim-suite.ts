import { readdirSync, readFileSync } from 'node:fs'
import { planChain } from '../../src/authenticate/chain.ts'
import type { DkimSignature } from '../../src/authenticate/dkim.ts'
import { classifySignature, planSignatures } from '../../src/authenticate/dkim.ts'
import { judgeSignatures } from '../../src/authenticate/dkim-verify.ts'
import { mailLimitsSchema } from '../../src/config.ts'
import { scanHeaders } from '../../src/header-scan.ts'
import { toCrlf } from '../../src/line-ends.ts'
import type { Scored } from './score.ts'

const limits = mailLimitsSchema.parse({})
/** The clock of the suite's own driver. */
const now = 1_667_843_664_000

/** Stalwart's six signed mails: records above an empty line, the mail below. Every signature has to pass. */
export async function scoreDkim(folder: URL): Promise<readonly Scored[]> {
  const scored: Scored[] = []
  for (const name of readdirSync(folder).toSorted()) {
    const verdicts = await judgeFile(readFileSync(new URL(name, folder)))
    const isRight = verdicts.length > 0 && verdicts.every(({ verdict }) => verdict === 'pass')
    const note = verdicts.map(({ verdict, comment }) => `${verdict} ${comment}`).join(', ')
    scored.push({ name, isRight, note })
  }
  return scored
}

async function judgeFile(file: Buffer): Promise<readonly DkimSignature[]> {
  const octets = toCrlf(file)
  const end = octets.indexOf('\r\n\r\n')
  const records = octets.toString('utf8', 0, end).split('\r\n')
  const keys = Object.fromEntries(
    records.map(line => {
      const gap = line.indexOf(' ')
      return [line.slice(0, gap).toLowerCase(), { records: [[line.slice(gap + 1)]] }]
    }),
  )
  const message = octets.subarray(end + 4)
  const header = scanHeaders(message, limits)
  const plan = planSignatures(header, '', { limits, chain: planChain(header, []) })
  const job = { octets: message, ignored: plan.ignored, keys, isSigned: plan.isSigned, keepsQuotes: false, now }
  const { signatures } = await judgeSignatures(message, job)
  return signatures.map(report => classifySignature(report, { now, minKeyBits: 1024, isDamaged: false }))
}
