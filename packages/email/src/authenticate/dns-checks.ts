import type { DnsResolver, OnceStore, Platform } from '@postern/core'
import { Rejection } from '@postern/core'
import { lazy } from '@postern/core/lazy'
import { createExpiringMap } from '@postern/limits'
import type { MailLimits } from '../config/limits.ts'
import type { TxtAnswer } from '../dkim/report.ts'
import { parseSignature } from '../dkim/verify.ts'
import type { MailEnvelopeIn } from '../mail/raw.ts'
import type { HeaderBlock, HeaderField } from '../mail/scan.ts'
import type { ChainPlan } from './arc-chain.ts'
import { chainFields } from './arc-chain.ts'
import type { JudgedSignature } from './signatures.ts'
import { couldSignFor } from './signatures.ts'

/** The questions one message may ask. */
interface DnsBudget {
  readonly resolve: DnsResolver
  /** True once more was asked than allowed: whatever failed then is the message's doing, not DNS trouble. */
  isExhausted(): boolean
}

export interface MailDns {
  openBudget(): DnsBudget
  /** Of these names those whose TXT records are remembered. */
  listKnown(names: readonly string[]): ReadonlySet<string>
}

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
export function createMailDns(platform: Pick<Platform, 'resolveDns' | 'now' | 'sleep'>, limits: MailLimits): MailDns {
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
    listKnown: names => new Set(names.filter(isKnown)),
    openBudget() {
      let asked = 0
      const until = platform.now() + limits.dns_timeout_ms * timeoutsPerBudget
      return {
        isExhausted: () => asked > limits.dns_questions,
        async resolve(name, type) {
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

/** The signatures of a message that are verified, and their keys. */
interface SignaturePlan {
  readonly keyNames: readonly string[]
  readonly ignored: readonly (readonly [start: number, end: number])[]
  readonly flags: readonly string[]
}

/** A 4096-bit signature over every known field needs half of it; white space beyond that only costs time. */
const maxSignatureOctets = 4096
/** RFC 1035 §2.3.4. A resolver reports a longer name as trouble, as if it might exist tomorrow. */
const maxNameChars = 253

/**
 * Chooses before any crypto and any question: a few signatures are all judged; of many only the first that could speak
 * for the author.
 * @throws Rejection when there are absurdly many
 */
export function planSignatures(
  header: HeaderBlock,
  authorDomain: string,
  { limits, chain }: { readonly limits: MailLimits; readonly chain: ChainPlan },
): SignaturePlan {
  const fields = header.fields.filter(({ name }) => name === 'dkim-signature')
  if (fields.length > limits.refused_signatures) {
    throw new Rejection('malformed', `Cannot verify mail: more than ${limits.refused_signatures} signatures`)
  }
  const isCrowded = fields.length > limits.signatures
  const sound = fields.filter(({ start, end }) => end - start <= maxSignatureOctets)
  const candidates = isCrowded ? sound.filter(field => couldSignFor(field, authorDomain)) : sound
  const judged = new Set(candidates.slice(0, limits.signatures))
  const isIgnored = (field: HeaderField) =>
    (chainFields.has(field.name) && !chain.isSealed) || (field.name === 'dkim-signature' && !judged.has(field))
  const keyNames = new Set([...judged].flatMap(listKeyName))
  return {
    keyNames: [...keyNames, ...chain.keyNames.filter(name => !keyNames.has(name))],
    ignored: header.fields.filter(isIgnored).map(({ start, end }) => [start, end]),
    flags: isCrowded ? ['too_many_signatures'] : [],
  }
}

/** The key of a signature that may verify: none is asked for where the field alone says that it cannot. */
function listKeyName(field: HeaderField): string[] {
  const { fault, domain, selector } = parseSignature(field)
  const name = `${selector}._domainkey.${domain}`
  return fault || name.length > maxNameChars ? [] : [name]
}

/** Looks up every key of the plan. An error is an answer too. */
export async function fetchKeys(
  { keyNames }: SignaturePlan,
  { resolve }: DnsBudget,
): Promise<Readonly<Record<string, TxtAnswer>>> {
  const answers = await Promise.all(keyNames.map(async name => [name, await askKey(name, resolve)] as const))
  return Object.fromEntries(answers)
}

async function askKey(name: string, resolve: DnsBudget['resolve']): Promise<TxtAnswer> {
  try {
    const records = (await resolve(name, 'TXT')) as readonly (readonly string[])[]
    // RFC 6376 §3.6.2.2: with several records the result is undefined. For us it is none.
    return records.length === 1 ? { records } : { code: 'ENODATA' }
  } catch (error) {
    return { code: (error as { code?: string }).code ?? 'ESERVFAIL' }
  }
}

type SpfResult = 'pass' | 'fail' | 'softfail' | 'neutral' | 'none' | 'permerror' | 'temperror'

/** The SPF verdict on the client (RFC 7208). */
export interface SpfCheck {
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
export interface DmarcCheck {
  readonly result: 'pass' | 'fail' | 'none' | 'temperror' | 'permerror'
  /** The policy to apply; undefined without a record. */
  readonly policy?: DmarcPolicy | undefined
  /** The author's Organizational Domain: nothing outside of it can align. Undefined where it is not known. */
  readonly organization?: string | undefined
  /** Signing domains that align, lower case. */
  readonly alignedSigners: ReadonlySet<string>
  readonly isSpfAligned: boolean
}

interface DmarcEvidence {
  readonly authorDomain: string
  readonly signatures: readonly JudgedSignature[]
  readonly spf: SpfCheck | undefined
}

/** The library, loaded once: naming it anew with each mail would be looked up anew. */
export const loadDmarc = lazy(() => import('mailauth/lib/dmarc/index.js'))

/** Asks for the author's policy and compares. Only signatures that are whole and in time count. */
export async function checkDmarc(evidence: DmarcEvidence, { resolve }: DnsBudget): Promise<DmarcCheck> {
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

/** Remembers since when a message is put off, so that it is not put off for ever. */
export interface Deferrals {
  /** May this message (by the digest of its content) still be put off? The first question starts its time. */
  canDefer(digest: string): Promise<boolean>
}

/** Longer than any server keeps a message. */
const rememberedMs = 14 * 86_400_000

/** `longestMs` from the first time a message came, whichever process it came to. */
export function createDeferrals(store: OnceStore, { now }: Pick<Platform, 'now'>, longestMs: number): Deferrals {
  return {
    async canDefer(digest) {
      const isNew = await store.consumeOnce(`mail put off ${digest}`, now() + rememberedMs)
      // Free again once its time is over, and from then on whenever it is asked for.
      const isOver = await store.consumeOnce(`mail may be put off ${digest}`, isNew ? now() + longestMs : now() - 1)
      return longestMs > 0 && (isNew || !isOver)
    },
  }
}
