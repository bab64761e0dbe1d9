// Verifies signed mail with the gateway's verifier and with mailauth.
import { domainToASCII } from 'node:url'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { mailLimitsSchema } from '../../src/config/limits.ts'
import { parseKeyRecord } from '../../src/dkim/key-record.ts'
import type { SignatureReport, TxtAnswer } from '../../src/dkim/signature-report.ts'
import { verifySignatures } from '../../src/dkim/verify.ts'
import { scanHeaders } from '../../src/mail/header.ts'
import type { SignatureVerdict } from '../../src/signatures/judge-signature.ts'
import { classifySignature } from '../../src/signatures/judge-signature.ts'

/** The judgement of a verifier on one signature. Tests compare the details only of valid signatures. */
export interface SignatureJudgement {
  readonly verdict: SignatureVerdict
  readonly domain: string
  readonly selector: string
  readonly detail: {
    readonly algorithm: string
    readonly bits: number | undefined
    readonly uncoveredOctets: number
    readonly isTesting: boolean
    readonly signedAt: number | undefined
    readonly covers: readonly string[]
    readonly id: string
  }
}

export interface SignedCase {
  readonly octets: Buffer
  readonly keys: Readonly<Record<string, TxtAnswer>>
  /** The time, ms since the epoch. */
  readonly now: number
}

const limits = mailLimitsSchema.parse({})

/** Returns the judgements of the gateway's verifier. @throws Rejection for a header that the gateway refuses */
export function verifyWithPostern({ octets, keys, now }: SignedCase): readonly SignatureJudgement[] {
  const message = { octets, header: scanHeaders(octets, limits) }
  return verifySignatures(message, { keys, now, readKey: parseKeyRecord }).map(report => {
    const { verdict } = classifySignature(report, { now, minKeyBits: 1024, isDamaged: false })
    return { verdict, domain: report.domain, selector: report.selector, detail: selectDetail(report) }
  })
}

function selectDetail({
  algorithm,
  bits,
  uncoveredOctets,
  isTesting,
  signedAt,
  covers,
  id,
}: SignatureReport): SignatureJudgement['detail'] {
  return { algorithm, bits, uncoveredOctets, isTesting, signedAt, covers, id }
}

/**
 * Returns the judgements of mailauth in strict mode. The results are converted as the gateway did before it had its own
 * verifier.
 */
export async function verifyWithMailauth({ octets, keys, now }: SignedCase): Promise<readonly SignatureJudgement[]> {
  const resolver = async (name: string) => {
    const answer = keys[name.toLowerCase()]
    if (answer && 'records' in answer) return answer.records.map(strings => [...strings])
    throw Object.assign(new Error('no record'), { code: answer?.code ?? 'ENOTFOUND' })
  }
  const options = { strict: true, minBitLength: 1024, curTime: new Date(now), resolver }
  const { results } = await dkimVerify(octets, options)
  return results.flatMap(result => (result.status.result === 'none' ? [] : [readResult(result, now)]))
}

type MailauthResult = Awaited<ReturnType<typeof dkimVerify>>['results'][number]

function readResult(result: MailauthResult, now: number): SignatureJudgement {
  const { status, signingHeaders, signTime } = result
  const detail = {
    algorithm: (result.algo ?? '').toLowerCase(),
    bits: result.modulusLength,
    uncoveredOctets: status.underSized ?? 0,
    isTesting: 'testing' in status && status.testing === true,
    signedAt: signTime ? Date.parse(signTime) / 1000 : undefined,
    covers: (signingHeaders?.keys ?? '').split(':').flatMap(name => name.trim().toLowerCase() || []),
    id: result.id ?? '',
  }
  return {
    verdict: readVerdict(status, detail, now),
    domain: domainToASCII(result.signingDomain ?? '') || (result.signingDomain ?? '').toLowerCase(),
    selector: (result.selector ?? '').toLowerCase(),
    detail,
  }
}

const neutralVerdicts: Readonly<Record<string, SignatureVerdict>> = {
  expired: 'expired',
  'invalid expiration': 'expired',
  'no key': 'no_key',
  'invalid public key': 'no_key',
  'unknown key version': 'no_key',
  'unknown key type': 'no_key',
  'key not for email': 'no_key',
  'inappropriate hash algorithm': 'no_key',
  'From field not signed': 'not_from',
}
const otherVerdicts: Readonly<Record<string, SignatureVerdict>> = {
  fail: 'fail',
  policy: 'weak',
  temperror: 'dns_trouble',
}

function readVerdict(
  status: MailauthResult['status'],
  { uncoveredOctets, isTesting, signedAt, covers }: SignatureJudgement['detail'],
  now: number,
): SignatureVerdict {
  if (status.result !== 'pass')
    return otherVerdicts[status.result] ?? neutralVerdicts[String(status.comment)] ?? 'malformed'
  if (uncoveredOctets > 0) return 'undersized'
  if (isTesting) return 'testing'
  if (signedAt !== undefined && signedAt > now / 1000 + 600) return 'not_yet'
  return covers.includes('from') ? 'pass' : 'not_from'
}

/**
 * Reduces judgements so that verifiers that agree have equal results. A malformed signature may not even have a domain.
 */
export function normalizeJudgements(opinions: readonly SignatureJudgement[]) {
  return opinions.map(({ verdict, domain, selector, detail }) => ({
    verdict,
    ...(verdict !== 'malformed' && { domain, selector }),
    ...(verdict === 'pass' && detail),
  }))
}
