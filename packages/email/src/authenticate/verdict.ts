import type { Platform, Proof } from '@postern/core'
import { Rejection, Unavailable } from '@postern/core'
import { lazy } from '@postern/core/lazy'
import { createExpiringMap } from '@postern/limits'
import type { MailLimits } from '../config/limits.ts'
import type { MailEnvelopeIn } from '../mail/raw.ts'
import { alignsWithoutPolicy } from './alignment.ts'
import type { ChainReport } from './arc-chain.ts'
import { proofOfChain, vouchesFor } from './arc-chain.ts'
import type { Coverage, JudgedSignature } from './signatures.ts'
import { formatKeyId, proofOfSignature } from './signatures.ts'
import type { UpstreamVerdict } from './upstream.ts'
import { proofOfUpstream } from './upstream.ts'

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

/** The checks of a message as the operator sees them (EM-7.2). */
function listProofs(evidence: MailEvidence, isAligned: (signature: JudgedSignature) => boolean): Proof[] {
  const signatures = evidence.signatures.map(signature => proofOfSignature(signature, isAligned(signature)))
  const unsigned: Proof = { kind: 'dkim', verdict: 'none', reason: 'not signed' }
  const found = signatures.length > 0 ? signatures : [unsigned]
  return [
    ...found,
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

export type MailDns = ReturnType<typeof createMailDns>

/** The questions one message may ask. */
type DnsBudget = ReturnType<MailDns['openBudget']>

/**
 * The resolver hides the lifetimes of the records; these are short enough for everyone. An absence is soon checked
 * again.
 */
const [presentMs, absentMs, cacheEntries] = [30_000, 2_000, 2_000]
/** More than this in one answer is not meant for us. */
const [maxRecords, maxAnswerChars] = [100, 64 * 1024]

/** Questions in sequence share one time budget of so many timeouts, instead of one for each. */
const timeoutsPerBudget = 3

/**
 * The resolver as mail needs it: every question ends in time, answers are bounded and remembered for a minute, failures are
 * not. Errors carry `code`; `ENOTFOUND` and `ENODATA` mean absent, everything else means trouble.
 */
export function createMailDns(platform: Pick<Platform, 'resolveDns' | 'now' | 'sleep'>, limits: MailLimits) {
  const cache = createExpiringMap<Promise<unknown>>(cacheEntries, () => platform.now())

  function ask(name: string, type: string): Promise<unknown> {
    const key = `${type} ${name.toLowerCase()}`
    const known = cache.get(key)
    if (known) return known
    const answer = askOnce(platform, name, type, limits.dns_timeout_ms)
    cache.set(key, answer, presentMs)
    answer.catch(error => {
      if (cache.get(key) !== answer) return
      if (isAbsence(error)) cache.set(key, answer, absentMs)
      else cache.delete(key)
    })
    return answer
  }

  const isKnown = (name: string) => cache.get(`TXT ${name.toLowerCase()}`) !== undefined
  return {
    /** Of these names those whose TXT records are remembered. */
    listKnown: (names: readonly string[]): ReadonlySet<string> => new Set(names.filter(isKnown)),
    openBudget() {
      let asked = 0
      const until = platform.now() + limits.dns_timeout_ms * timeoutsPerBudget
      return {
        /** True once more was asked than allowed: whatever failed then is the message's doing, not DNS trouble. */
        isExhausted: () => asked > limits.dns_questions,
        async resolve(name: string, type: string): Promise<unknown> {
          asked += 1
          if (asked > limits.dns_questions) throw dnsError('EBUDGET', 'too many questions')
          if (platform.now() >= until) throw dnsError('ETIMEOUT', 'all questions together took too long')
          return ask(name, type)
        },
      }
    },
  }
}

function isAbsence(error: unknown): boolean {
  const { code } = (error ?? {}) as { readonly code?: string }
  return code === 'ENOTFOUND' || code === 'ENODATA'
}

async function askOnce(
  { resolveDns, sleep }: Pick<Platform, 'resolveDns' | 'sleep'>,
  name: string,
  type: string,
  timeoutMs: number,
): Promise<unknown> {
  const done = new AbortController()
  const expire = async () => {
    await sleep(timeoutMs, done.signal)
    throw dnsError('ETIMEOUT', 'no answer in time')
  }
  try {
    return checkSize(await Promise.race([resolveDns(name, type), expire()]))
  } finally {
    done.abort()
  }
}

/** An answer of absurd size counts as none at all. */
function checkSize(answer: unknown): unknown {
  const records = Array.isArray(answer) ? answer : [answer]
  const chars = records.reduce<number>((sum, record) => sum + JSON.stringify(record ?? null).length, 0)
  if (records.length > maxRecords || chars > maxAnswerChars) throw dnsError('ENODATA', 'answer too large')
  return answer
}

function dnsError(code: string, message: string): Error & { readonly code: string } {
  return Object.assign(new Error(message), { code })
}

type SpfResult = 'pass' | 'fail' | 'softfail' | 'neutral' | 'none' | 'permerror' | 'temperror'

/** The SPF verdict on the client (RFC 7208). */
interface SpfCheck {
  readonly result: SpfResult
  /** The domain of the policy: of MAIL FROM, or of HELO for the null sender. */
  readonly domain: string
  readonly ip: string
}

interface SpfOptions {
  readonly budget: DnsBudget
  /** Our own name, for macros. */
  readonly mta: string
  readonly timeoutMs: number
}

/** The library, loaded once: naming it anew with each mail would be looked up anew. */
export const loadSpf = lazy(() => import('mailauth/lib/spf/index.js'))

/** Checks the client's right to send for MAIL FROM. Undefined when the transport did not say enough. */
export async function checkSpf(envelope: MailEnvelopeIn, options: SpfOptions): Promise<SpfCheck | undefined> {
  const { ip, helo, from } = envelope
  if (!ip || from === undefined || !(from || helo)) return undefined
  const { spf } = await loadSpf()
  const { status, domain } = await spf({
    sender: from,
    ip,
    helo: helo ?? '',
    mta: options.mta,
    resolver: options.budget.resolve as (name: string, type: string) => Promise<string[][]>,
    strict: true,
    maxElapsedTime: options.timeoutMs,
  })
  // A policy that needs more questions than a message may ask is a broken policy, not DNS trouble.
  const isTooLong = status.result === 'temperror' && options.budget.isExhausted()
  return { result: isTooLong ? 'permerror' : (status.result as SpfResult), domain, ip }
}

type DmarcPolicy = 'none' | 'quarantine' | 'reject'

/** The DMARC policy of the author's domain (RFC 9989). */
interface DmarcCheck {
  readonly result: 'pass' | 'fail' | 'none' | 'temperror' | 'permerror'
  /** The policy to apply; undefined without a record. */
  readonly policy?: DmarcPolicy | undefined
  /** The author's Organizational Domain: nothing outside of it can align. Undefined where it is not known. */
  readonly organization?: string | undefined
  /** Signing domains that align, lower case. */
  readonly alignedSigners: ReadonlySet<string>
  readonly isSpfAligned: boolean
}

/** The library, loaded once: naming it anew with each mail would be looked up anew. */
export const loadDmarc = lazy(() => import('mailauth/lib/dmarc/index.js'))

/** Asks for the author's policy and compares. Only signatures that are whole and in time count. */
export async function checkDmarc(
  evidence: Pick<MailEvidence, 'authorDomain' | 'signatures' | 'spf'>,
  { resolve }: DnsBudget,
): Promise<DmarcCheck> {
  const { authorDomain, signatures, spf } = evidence
  const { evaluateDmarc } = await loadDmarc()
  const { response, dkimAligned } = await evaluateDmarc({
    headerFrom: [`author@${authorDomain}`],
    fromFields: 1,
    spfDomains: spf?.result === 'pass' ? [spf.domain] : [],
    dkimDomains: signatures.filter(({ verdict }) => verdict === 'pass').map(({ domain }) => ({ domain })),
    resolver: resolve as (name: string, type: string) => Promise<string[][]>,
    strict: true,
  })
  if (response === false) return { result: 'permerror', alignedSigners: new Set(), isSpfAligned: false }
  return {
    result: response.status.result as DmarcCheck['result'],
    policy: readPolicy(response.policy),
    organization: response.domain,
    alignedSigners: dkimAligned ?? new Set(),
    isSpfAligned: Boolean(response.alignment?.spf?.result),
  }
}

function readPolicy(policy: string | undefined): DmarcPolicy | undefined {
  return policy === 'reject' || policy === 'quarantine' || policy === 'none' ? policy : undefined
}
