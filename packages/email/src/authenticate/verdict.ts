// Judges the author of a mail by all the evidence about its origin.

import type { Proof } from '@postern/message'
import { Rejection, Unavailable } from '@postern/message'
import { proofOfChain, vouchesFor } from '../arc/chain.ts'
import { alignsWithoutPolicy } from '../policy/alignment.ts'
import type { Coverage } from '../signatures/coverage.ts'
import type { JudgedSignature } from '../signatures/judge-signature.ts'
import { formatKeyId, proofOfSignature } from '../signatures/judge-signature.ts'
import type { MailEvidence } from './evidence.ts'
import { proofOfUpstream } from './upstream.ts'

/** The result of authentication: the proof of the author, or its absence. */
export interface Authentication {
  readonly method: 'email-dmarc' | 'email-dkim' | 'none'
  readonly isVerified: boolean
  /** The signature that proves the author. */
  readonly signature?: JudgedSignature | undefined
  /** The statement that proves the author, if no signature of the author does. */
  readonly voucher?: Voucher | undefined
  /** Good signatures of other domains. They show who forwarded the mail, and not who wrote it. */
  readonly otherSignatures: readonly JudgedSignature[]
  readonly isQuarantined: boolean
  readonly proofs: readonly Proof[]
  readonly flags: readonly string[]
  /** The fields that the proof of the author covers, or `all` if the author is not proven. */
  readonly coverage: Coverage
  /**
   * The fields that show when the author wrote and to whom. They are the covered fields, or `all` if the proof does not
   * say which fields it covers.
   */
  readonly timingCoverage: Coverage
}

/** The statement of a third party that the operator trusts: an ARC sealer, a mail server in front, or SPF. */
interface Voucher {
  readonly issuer: string
  readonly keyId: string
  /** The id of the ARC seal that contains this verdict. */
  readonly sealId?: string | undefined
  readonly coverage: Coverage
  readonly timingCoverage: Coverage
}

interface JudgingOptions {
  /** True if DMARC that passes by SPF alone proves the author. */
  readonly isSpfEnough: boolean
  /** True for a bounce. The recipient address proves a bounce, so the policy of its From does not matter. */
  readonly isReport: boolean
  /** The treatment of unproven mail whose author's domain has the policy `reject`. */
  readonly rejectDisposition: 'refuse' | 'quarantine'
  /** Returns true if this message may still be deferred. `judgeMail` calls it only if DNS did not answer. */
  canDefer(): Promise<boolean>
}

/**
 * Judges the author of a mail (EM-4.6). SPF alone verifies an author only if the operator allows that, because everyone
 * on a shared host passes SPF.
 * @throws Rejection if the mail is not proven and the policy of the author's domain is `reject`
 * @throws Unavailable if a DNS query that decides the outcome got no answer
 */
export async function judgeMail(evidence: MailEvidence, options: JudgingOptions): Promise<Authentication> {
  const { canDefer, isSpfEnough, isReport, rejectDisposition } = options
  const alignedSignatures = evidence.signatures.filter(signature => isAligned(signature, evidence))
  const provingSignature = findProvingSignature(alignedSignatures)
  const voucher = provingSignature ? undefined : findVoucher(evidence, isSpfEnough)
  const hasDnsTrouble = isUndecidedByDns(evidence, provingSignature, isSpfEnough) && !voucher
  if (hasDnsTrouble && (await canDefer()))
    throw new Unavailable('Cannot verify mail: DNS did not answer', { retryAfter: 300 })
  const isDamaged = alignedSignatures.some(({ verdict }) => verdict === 'unverifiable')
  const isUncertain = hasDnsTrouble || isDamaged || rejectDisposition === 'quarantine'
  if (!isUncertain && !voucher && !isReport) refuseByPolicy(evidence)
  const signature = hasDnsTrouble ? undefined : provingSignature
  return {
    method: hasDnsTrouble ? 'none' : methodOf(evidence, provingSignature, voucher),
    isVerified: signature !== undefined || voucher !== undefined,
    signature,
    voucher,
    otherSignatures: evidence.signatures.filter(
      ({ verdict, domain }) => verdict === 'pass' && domain !== provingSignature?.domain,
    ),
    isQuarantined: !voucher && !isReport && isQuarantinedByPolicy(evidence, isUncertain),
    proofs: listProofs(evidence, signature => alignedSignatures.includes(signature)),
    flags: [...listSignatureFlags(alignedSignatures), ...(hasDnsTrouble ? ['dns_trouble'] : [])],
    coverage: widenCoverage(signature?.covers ?? voucher?.coverage ?? 'all', evidence),
    timingCoverage: widenCoverage(signature?.covers ?? voucher?.timingCoverage ?? 'all', evidence),
  }
}

/** Fields that name the recipients and the thread of a mail. Microsoft 365 signs none of them. */
const recipientAndThreadFields = ['to', 'cc', 'reply-to', 'in-reply-to', 'references', 'thread-index', 'thread-topic']

/**
 * Adds the recipient and thread fields to the coverage of a proven mail that comes directly from its author's own
 * servers, signed or not. On any other path, a stranger may have added these fields to a mail that they once received.
 */
function widenCoverage(covers: Coverage, evidence: MailEvidence): Coverage {
  if (covers === 'all' || !comesFromAuthorServers(evidence)) return covers
  return [...covers, ...recipientAndThreadFields.filter(name => !covers.includes(name))]
}

/**
 * Returns true if SPF passes for the envelope sender and is aligned with From. Either this gateway or the trusted
 * server in front checked SPF.
 */
function comesFromAuthorServers({ spf, dmarc, upstream, trustedVerdict, authorDomain }: MailEvidence): boolean {
  if (trustedVerdict && upstream?.isFromAuthorServers) return true
  if (spf?.result !== 'pass' || !spf.isMailFromDomain) return false
  return dmarc.policy === undefined ? alignsWithoutPolicy(spf.domain, authorDomain) : dmarc.isSpfAligned
}

/**
 * Returns the signature that covers most fields. Honest programs may sign more than once, and each valid signature
 * alone proves the author.
 */
function findProvingSignature(alignedSignatures: readonly JudgedSignature[]): JudgedSignature | undefined {
  const passingSignatures = alignedSignatures.filter(({ verdict }) => verdict === 'pass')
  return passingSignatures.toSorted((left, right) => right.covers.length - left.covers.length)[0]
}

/** Finds the statement of a trusted sealer or server that DMARC passed, or SPF if that is enough. */
function findVoucher(
  { chain, trustedVerdict, dmarc, spf, authorDomain }: MailEvidence,
  isSpfEnough: boolean,
): Voucher | undefined {
  if (chain && vouchesFor(chain, authorDomain))
    return {
      issuer: chain.domain,
      keyId: `arc:${formatKeyId(chain)}`,
      sealId: chain.id,
      ...toCoveragePair(chain.covers),
    }
  if (trustedVerdict) return { ...trustedVerdict, keyId: trustedVerdict.issuer }
  if (!isSpfEnough || dmarc.result !== 'pass' || !dmarc.isSpfAligned || !spf) return undefined
  return { issuer: authorDomain, keyId: `spf:${spf.domain}`, ...toCoveragePair('all') }
}

function toCoveragePair(coverage: Coverage): Pick<Voucher, 'coverage' | 'timingCoverage'> {
  return { coverage, timingCoverage: coverage }
}

/** Returns the id of the signature or seal that proves the author. All copies of a mail have the same id. */
export function findProofId({ signature, voucher }: Authentication): string | undefined {
  return signature?.id ?? voucher?.sealId
}

/**
 * Returns true if the policy quarantines the mail. A name server that never answers must not cancel a policy that is
 * known.
 */
function isQuarantinedByPolicy({ dmarc }: MailEvidence, isUncertain: boolean): boolean {
  return dmarc.result === 'fail' && (dmarc.policy === 'quarantine' || (isUncertain && dmarc.policy === 'reject'))
}

/**
 * Returns the result for a message that was not judged, because its worker thread died or timed out while parsing it.
 */
export function unjudgedAuthentication(reason: string): Authentication {
  const proofs: Proof[] = [{ kind: 'dkim', verdict: 'unverifiable', reason }]
  const noProof = { method: 'none', isVerified: false, otherSignatures: [], isQuarantined: false } as const
  return { ...noProof, proofs, flags: [], ...toCoveragePair('all') }
}

function isAligned({ domain }: JudgedSignature, { dmarc, authorDomain }: MailEvidence): boolean {
  const hasPolicy = dmarc.policy !== undefined
  return hasPolicy
    ? dmarc.alignedSigners.has(domain) || domain === authorDomain
    : alignsWithoutPolicy(domain, authorDomain)
}

function methodOf({ dmarc }: MailEvidence, proof?: JudgedSignature, voucher?: Voucher): Authentication['method'] {
  if (dmarc.result === 'pass' || voucher) return 'email-dmarc'
  return proof ? 'email-dkim' : 'none'
}

/**
 * Returns true if a failed DNS query could have changed the outcome. Only names of the author's organization count,
 * because a sender can let queries for its own names fail.
 */
function isUndecidedByDns(evidence: MailEvidence, proof: JudgedSignature | undefined, isSpfEnough: boolean): boolean {
  const { signatures, spf, dmarc } = evidence
  if (dmarc.result === 'temperror') return true
  if (proof) return false
  const isKeyMissing = signatures.some(
    ({ verdict, domain }) => verdict === 'dns_trouble' && mightAlign(domain, evidence),
  )
  const couldSpfAlign = spf?.result === 'temperror' && mightAlign(spf.domain, evidence)
  return isKeyMissing || (couldSpfAlign && dmarc.result === 'fail' && (isSpfEnough || dmarc.policy !== 'none'))
}

function mightAlign(domain: string, { dmarc, authorDomain }: MailEvidence): boolean {
  const { organization = authorDomain } = dmarc
  if (dmarc.policy === undefined) return alignsWithoutPolicy(domain, authorDomain)
  return domain === organization || domain.endsWith(`.${organization}`)
}

function refuseByPolicy({ dmarc }: MailEvidence): void {
  if (dmarc.result !== 'fail' || dmarc.policy !== 'reject') return
  throw new Rejection(
    'forbidden',
    'Cannot verify mail: no aligned proof, and the DMARC policy of the From domain is reject',
  )
}

const verdictFlags: Readonly<Partial<Record<JudgedSignature['verdict'], string>>> = {
  undersized: 'undersized',
  weak: 'weak_key',
  not_yet: 'signed_in_future',
  unverifiable: 'unverifiable',
}

function listSignatureFlags(alignedSignatures: readonly JudgedSignature[]): string[] {
  const flags = alignedSignatures.flatMap(({ verdict }) => verdictFlags[verdict] ?? [])
  const hasShortKey = alignedSignatures.some(
    ({ verdict, bits }) => verdict === 'pass' && bits !== undefined && bits < 2048,
  )
  return [...new Set([...flags, ...(hasShortKey ? ['short_key'] : [])])]
}

/** Lists the checks of a message for the operator (EM-7.2). */
function listProofs(evidence: MailEvidence, isAligned: (signature: JudgedSignature) => boolean): Proof[] {
  const signatures = evidence.signatures.map(signature => proofOfSignature(signature, isAligned(signature)))
  const unsignedProof: Proof = { kind: 'dkim', verdict: 'none', reason: 'not signed' }
  const proofs = signatures.length > 0 ? signatures : [unsignedProof]
  return [
    ...proofs,
    proofOfSpf(evidence),
    proofOfDmarc(evidence),
    ...(evidence.chain ? [proofOfChain(evidence.chain)] : []),
    ...(evidence.upstream ? [proofOfUpstream(evidence.upstream, evidence.authorDomain)] : []),
  ]
}

function proofOfSpf({ spf, authorDomain }: MailEvidence): Proof {
  if (!spf) return { kind: 'spf', verdict: 'unverifiable', reason: 'client address or envelope sender not known' }
  return { kind: 'spf', verdict: spf.result, domain: spf.domain, ip: spf.ip, aligned: spf.domain === authorDomain }
}

function proofOfDmarc({ dmarc, authorDomain }: MailEvidence): Proof {
  const { result, policy, alignedSigners, isSpfAligned } = dmarc
  const alignedBy = [...(alignedSigners.size > 0 ? ['dkim'] : []), ...(isSpfAligned ? ['spf'] : [])]
  return { kind: 'dmarc', verdict: result, domain: authorDomain, policy, aligned_by: alignedBy }
}
