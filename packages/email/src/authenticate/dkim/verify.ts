import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { judgeChain, listCoveredNames } from '../arc/verify.ts'
import type { ChainReport, SignatureReport, TxtAnswer } from '../signatures/reports.ts'

type SignatureResult = Awaited<ReturnType<typeof dkimVerify>>['results'][number]

/** RFC 8301 §3.2: nothing shorter is worth anything. */
const minBitLength = 1024

/** The inputs of signature verification. */
export interface SignatureJob {
  /** Answers for `selector._domainkey.domain`. */
  readonly keys: Readonly<Record<string, TxtAnswer>>
  /** Whether there is a chain to verify. */
  readonly isSealed?: boolean | undefined
  /** ms since the epoch */
  readonly now: number
}

export interface SignatureReports {
  readonly signatures: readonly SignatureReport[]
  readonly chain?: ChainReport | undefined
}

/** Judges every DKIM signature of a message, and its ARC chain, with keys that were looked up before. Runs in the worker. */
export async function judgeSignatures(octets: Buffer, job: SignatureJob): Promise<SignatureReports> {
  const options = {
    strict: true,
    minBitLength,
    curTime: new Date(job.now),
    resolver: async (name: string) => answerOf(job.keys[name.toLowerCase()]),
  }
  const verified = await dkimVerify(octets, options)
  const signatures = verified.results.flatMap(result => (result.status.result === 'none' ? [] : [reportOf(result)]))
  return { signatures, ...(job.isSealed && { chain: await judgeChain(verified.arc, options) }) }
}

/** A name that was never looked up does not exist, so an unforeseen signature never passes. */
function answerOf(answer: TxtAnswer | undefined): string[][] {
  if (answer && 'records' in answer) return answer.records.map(strings => [...strings])
  throw Object.assign(new Error('no record'), { code: answer?.code ?? 'ENOTFOUND' })
}

function reportOf(result: SignatureResult): SignatureReport {
  const { status, signingHeaders, signTime, modulusLength } = result
  return {
    domain: (result.signingDomain ?? '').toLowerCase(),
    selector: result.selector ?? '',
    algorithm: result.algo ?? '',
    bits: modulusLength,
    result: status.result,
    comment: describeStatus(status),
    uncovered: status.underSized ?? 0,
    isTesting: 'testing' in status && status.testing === true,
    signedAt: signTime ? Date.parse(signTime) / 1000 : undefined,
    covers: listCoveredNames(signingHeaders?.keys),
    id: result.id ?? '',
  }
}

function describeStatus(status: SignatureResult['status']): string {
  const rule = status.policy?.['dkim-rules']
  return typeof rule === 'string' ? rule : String(status.comment ?? '')
}
