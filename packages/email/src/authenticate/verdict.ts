import type { IdentityEvidence, Proof, Sender } from '@postern/core'
import { formatAddress, mintTransportEvidence, Rejection, Unavailable } from '@postern/core'
import type { Mailbox } from '../mail/header-values.ts'
import { formatMailbox } from '../mail/header-values.ts'
import type { ChainReport } from './arc-chain.ts'
import { vouchesFor } from './arc-chain.ts'
import type { DmarcCheck, SpfCheck } from './dns-checks.ts'
import type { Coverage, JudgedSignature, SignatureVerdict } from './signatures.ts'
import { alignsWithoutPolicy } from './signatures.ts'
import type { UpstreamVerdict } from './upstream.ts'

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
interface Voucher {
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

const wireVerdicts: Readonly<Record<SignatureVerdict, Proof['verdict']>> = {
  pass: 'pass',
  fail: 'fail',
  weak: 'policy',
  undersized: 'policy',
  testing: 'policy',
  not_yet: 'policy',
  not_from: 'neutral',
  expired: 'neutral',
  malformed: 'neutral',
  no_key: 'permerror',
  dns_trouble: 'temperror',
  unverifiable: 'unverifiable',
}

/** The checks of a message as the operator sees them (EM-7.2). */
function listProofs(evidence: MailEvidence, isAligned: (signature: JudgedSignature) => boolean): Proof[] {
  const signatures = evidence.signatures.map(signature => proofOfSignature(signature, isAligned(signature)))
  const unsigned: Proof = { kind: 'dkim', verdict: 'none', reason: 'not signed' }
  const found = signatures.length > 0 ? signatures : [unsigned]
  return [
    ...found,
    proofOfSpf(evidence),
    proofOfDmarc(evidence),
    ...proofsOfChain(evidence),
    ...proofsOfUpstream(evidence),
  ]
}

/** Shown only where a chain was judged at all. */
function proofsOfChain({ chain }: MailEvidence): Proof[] {
  if (!chain) return []
  const { result, comment, instances, dmarc } = chain
  const reason = result === 'pass' ? undefined : comment
  return [{ kind: 'arc', verdict: result, reason, key_id: formatKeyId(chain), instances, dmarc: dmarc?.result }]
}

/** A pass that does not count says why. */
function proofsOfUpstream({ upstream, authorDomain }: MailEvidence): Proof[] {
  if (!upstream) return []
  const { authservId, dmarc, isProven } = upstream
  const verdict = isProven ? 'pass' : dmarc === 'pass' ? 'policy' : dmarc === 'fail' ? 'fail' : 'none'
  const reason = verdict === 'policy' ? 'by SPF alone' : undefined
  return [{ kind: 'authentication-results', verdict, reason, domain: authorDomain, key_id: `authserv:${authservId}` }]
}

/** `d=<domain>/s=<selector>`: how a signature's key is named everywhere. */
function formatKeyId({ domain, selector }: Pick<JudgedSignature, 'domain' | 'selector'>): string {
  return `d=${domain}/s=${selector}`
}

function proofOfSignature(signature: JudgedSignature, aligned: boolean): Proof {
  const { verdict, fault, dnsCode, domain, algorithm, bits, covers, id } = signature
  const reason = [verdict, fault, dnsCode].filter(Boolean).join(': ')
  return {
    kind: 'dkim',
    verdict: wireVerdicts[verdict],
    reason: verdict === 'pass' ? undefined : reason,
    key_id: formatKeyId(signature),
    domain,
    aligned,
    algorithm,
    bits,
    covers,
    signature_id: id,
  }
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

/** Everything that was found out about a message's origin. */
export interface MailEvidence {
  readonly authorDomain: string
  readonly signatures: readonly JudgedSignature[]
  /** Undefined when the client is not known. */
  readonly spf: SpfCheck | undefined
  readonly dmarc: DmarcCheck
  /** Undefined where the operator trusts no sealer. */
  readonly chain?: ChainReport | undefined
  /** The verdict of a server in front of this one, where the operator has named one. */
  readonly upstream?: UpstreamVerdict | undefined
  /** A server whose verdict is believed, and which saw DMARC pass. */
  readonly believed?: BelievedVerdict | undefined
}

export interface BelievedVerdict {
  /** `provider:<name>`, `authserv:<id>` */
  readonly issuer: string
  readonly coverage: Coverage
}

/** The author as agents see them, with the evidence. `context`: what all evidence of one mail shares. */
export function describeSender(
  author: Mailbox,
  { method, isVerified, signature, signedBy, voucher }: Authentication,
  context: { readonly audience: string; readonly issuedAt: string },
): Sender {
  const subject = `mailto:${formatMailbox(author)}`
  const identities: IdentityEvidence[] = []
  if (signature) {
    const shared = { ...context, subject, issuer: signature.domain, keyId: formatKeyId(signature) }
    // `address` only when DMARC passed: then the domain's policy covers its own users.
    identities.push(
      method === 'email-dmarc'
        ? mintTransportEvidence({ ...shared, method, assurance: 'address' })
        : mintTransportEvidence({ ...shared, method: 'email-dkim', assurance: 'domain' }),
    )
  }
  if (voucher) {
    // A third party that the operator believes reports it; no key of the author's domain was seen.
    const { issuer, keyId } = voucher
    identities.push(
      mintTransportEvidence({ ...context, method: 'email-dmarc', subject, issuer, assurance: 'domain', keyId }),
    )
  }
  for (const other of signedBy) {
    // A valid signature of another domain is evidence about that domain, never about the author.
    const shared = { ...context, subject: other.domain, issuer: other.domain, keyId: formatKeyId(other) }
    identities.push(mintTransportEvidence({ ...shared, method: 'email-dkim', assurance: 'domain' }))
  }
  return {
    address: formatAddress(author),
    ...(author.name && { display_name: author.name, profile: { display_name: author.name } }),
    auth_method: method,
    verified: isVerified,
    ...(signature && { key_id: formatKeyId(signature) }),
    ...(voucher && { key_id: voucher.keyId }),
    ...(identities.length > 0 && { identities }),
  }
}
