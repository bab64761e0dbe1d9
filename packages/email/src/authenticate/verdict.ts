import type { Proof } from '@postern/core'
import { Rejection, Unavailable } from '@postern/core'
import { vouchesFor } from './arc/chain.ts'
import type { JudgedSignature } from './dkim/classify.ts'
import type { MailEvidence } from './evidence.ts'
import { formatKeyId, listProofs } from './proofs.ts'
import { alignsWithoutPolicy } from './signatures/alignment.ts'
import type { Coverage } from './signatures/coverage.ts'

/** How the author was proven, if at all. */
export interface Authentication {
  readonly method: 'email-dmarc' | 'email-dkim' | 'none'
  readonly isVerified: boolean
  /** The signature that proves it. */
  readonly signature?: JudgedSignature | undefined
  /** The proof where no signature of the author exists: the operator's choice. */
  readonly voucher?: Voucher | undefined
  /** Good signatures of other domains: they say who sent it on, not who wrote it. */
  readonly signedBy: readonly JudgedSignature[]
  readonly isQuarantined: boolean
  readonly proofs: readonly Proof[]
  readonly flags: readonly string[]
  /** The fields that the proof of the author covers; `all` where the author is not proven. */
  readonly coverage: Coverage
}

/** A domain that answers for the author, and its key. */
export interface Voucher {
  readonly issuer: string
  readonly keyId: string
  /** Of the ARC seal that contains it. */
  readonly sealId?: string | undefined
  readonly coverage: Coverage
}

interface JudgingOptions {
  /** DMARC that passes by SPF alone proves the author. */
  readonly spfOnly: boolean
  /** It is a bounce, and the address it comes to proves it, so the policy of its From does not matter. */
  readonly isReport: boolean
  /** The disposition of mail whose author's domain asks for refusal. */
  readonly onReject: 'refuse' | 'quarantine'
  /** Called only when DNS did not answer: whether this message may still be deferred. */
  canDefer(): Promise<boolean>
}

/**
 * The verdict (EM-4.6). SPF alone verifies an author only where the operator allows it: everyone on a shared host
 * passes it.
 * @throws Rejection when the author's domain asks for refusal
 * @throws Unavailable when the deciding look-up did not answer
 */
export async function judgeMail(evidence: MailEvidence, options: JudgingOptions): Promise<Authentication> {
  const { canDefer, spfOnly, isReport, onReject } = options
  const aligned = evidence.signatures.filter(signature => isAligned(signature, evidence))
  const proof = findProof(aligned)
  const voucher = proof ? undefined : findVoucher(evidence, spfOnly)
  const hasTrouble = isUndecided(evidence, proof, spfOnly) && !voucher
  if (hasTrouble && (await canDefer()))
    throw new Unavailable('Cannot verify mail: DNS did not answer', { retryAfter: 300 })
  const isDamaged = aligned.some(({ verdict }) => verdict === 'unverifiable')
  const isUncertain = hasTrouble || isDamaged || onReject === 'quarantine'
  if (!isUncertain && !voucher && !isReport) refuseByPolicy(evidence)
  const signature = hasTrouble ? undefined : proof
  return {
    method: hasTrouble ? 'none' : methodOf(evidence, proof, voucher),
    isVerified: signature !== undefined || voucher !== undefined,
    signature,
    voucher,
    signedBy: evidence.signatures.filter(({ verdict, domain }) => verdict === 'pass' && domain !== proof?.domain),
    isQuarantined: !voucher && !isReport && isHeldByPolicy(evidence, isUncertain),
    proofs: listProofs(evidence, signature => aligned.includes(signature)),
    flags: [...flagsOf(aligned), ...(hasTrouble ? ['dns_trouble'] : [])],
    coverage: signature?.covers ?? voucher?.coverage ?? 'all',
  }
}

/** The signature that covers most: honest programs sign more than once, and each signature alone is proof. */
function findProof(aligned: readonly JudgedSignature[]): JudgedSignature | undefined {
  const good = aligned.filter(({ verdict }) => verdict === 'pass')
  return good.toSorted((left, right) => right.covers.length - left.covers.length)[0]
}

/** A trusted sealer or provider who saw DMARC pass, or SPF where that is enough. */
function findVoucher(
  { chain, believed, dmarc, spf, authorDomain }: MailEvidence,
  spfOnly: boolean,
): Voucher | undefined {
  if (chain && vouchesFor(chain, authorDomain))
    return { issuer: chain.domain, keyId: `arc:${formatKeyId(chain)}`, sealId: chain.id, coverage: chain.covers }
  if (believed) return { ...believed, keyId: believed.issuer }
  if (!spfOnly || dmarc.result !== 'pass' || !dmarc.isSpfAligned || !spf) return undefined
  return { issuer: authorDomain, keyId: `spf:${spf.domain}`, coverage: 'all' }
}

/** A name that never answers must not lift a known policy: refusing was not certain or not wanted, handing on is not either. */
function isHeldByPolicy({ dmarc }: MailEvidence, isUncertain: boolean): boolean {
  return dmarc.result === 'fail' && (dmarc.policy === 'quarantine' || (isUncertain && dmarc.policy === 'reject'))
}

/** A message nothing could be found out about, because reading it cost a thread. */
export function unjudgedMail(reason: string): Authentication {
  const proofs: Proof[] = [{ kind: 'dkim', verdict: 'unverifiable', reason }]
  return { method: 'none', isVerified: false, signedBy: [], isQuarantined: false, proofs, flags: [], coverage: 'all' }
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

/** Did a look-up fail that could have changed the outcome? Of names the author's organization holds, not the sender. */
function isUndecided(evidence: MailEvidence, proof: JudgedSignature | undefined, spfOnly: boolean): boolean {
  const { signatures, spf, dmarc } = evidence
  if (dmarc.result === 'temperror') return true
  if (proof) return false
  const isKeyMissing = signatures.some(
    ({ verdict, domain }) => verdict === 'dns_trouble' && mightAlign(domain, evidence),
  )
  const couldSave = spf?.result === 'temperror' && mightAlign(spf.domain, evidence)
  return isKeyMissing || (couldSave && dmarc.result === 'fail' && (spfOnly || dmarc.policy !== 'none'))
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

const flagged: Readonly<Partial<Record<JudgedSignature['verdict'], string>>> = {
  undersized: 'undersized',
  weak: 'weak_key',
  not_yet: 'signed_in_future',
  unverifiable: 'unverifiable',
}

function flagsOf(aligned: readonly JudgedSignature[]): string[] {
  const named = aligned.flatMap(({ verdict }) => flagged[verdict] ?? [])
  const isShort = aligned.some(({ verdict, bits }) => verdict === 'pass' && bits !== undefined && bits < 2048)
  return [...new Set([...named, ...(isShort ? ['short_key'] : [])])]
}
