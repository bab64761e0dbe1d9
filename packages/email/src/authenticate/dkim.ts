import { Rejection, toAsciiDomain } from '@postern/core'
import type { MailLimits } from '../config.ts'
import type { HeaderBlock, HeaderField } from '../header-scan.ts'
import type { SignatureReport, TxtAnswer } from '../mime-job.ts'
import { couldAlign } from './alignment.ts'
import type { ChainPlan } from './chain.ts'
import { chainFields } from './chain.ts'
import type { DnsBudget } from './mail-dns.ts'

/** How one signature came out. Only `pass` proves anything. */
export type SignatureVerdict =
  | 'pass'
  | 'fail'
  | 'weak'
  | 'expired'
  | 'not_yet'
  | 'undersized'
  | 'testing'
  | 'malformed'
  | 'no_key'
  | 'dns_trouble'
  | 'not_from'
  /** The way to us may have damaged what was good. */
  | 'unverifiable'

/** One DKIM signature, judged by our rules. */
export interface DkimSignature extends SignatureReport {
  readonly verdict: SignatureVerdict
}

/** Which signatures of a message are judged, and with which keys. */
interface SignaturePlan {
  readonly keyNames: readonly string[]
  readonly ignored: readonly (readonly [start: number, end: number])[]
  readonly isSigned: boolean
  readonly flags: readonly string[]
}

interface SignaturePlanning {
  readonly limits: MailLimits
  readonly chain: ChainPlan
}

/** A 4096-bit signature over every field there is takes half of it; white space beyond that only costs time. */
const maxSignatureOctets = 4096

/** Seconds a signer's clock may be ahead. */
const clockSkew = 600

/**
 * Chooses before any crypto and any question: a few signatures are all judged; of many only the first that could speak
 * for the author.
 * @throws Rejection when there are absurdly many
 */
export function planSignatures(header: HeaderBlock, authorDomain: string, planning: SignaturePlanning): SignaturePlan {
  const { limits, chain } = planning
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
  const keyNames = new Set([...judged].flatMap(field => keyNameOf(field) ?? []))
  return {
    keyNames: [...keyNames, ...chain.keyNames.filter(name => !keyNames.has(name))],
    ignored: header.fields.filter(isIgnored).map(({ start, end }) => [start, end]),
    isSigned: judged.size > 0,
    flags: isCrowded ? ['too_many_signatures'] : [],
  }
}

/** Looks up every key of the plan. An error is an answer too. */
export async function fetchKeys(
  { keyNames }: SignaturePlan,
  { resolve }: DnsBudget,
): Promise<Readonly<Record<string, TxtAnswer>>> {
  const answers = await Promise.all(keyNames.map(async name => [name, await askKey(name, resolve)] as const))
  return Object.fromEntries(answers)
}

interface SignatureJudging {
  /** ms */
  readonly now: number
  /** Shorter RSA keys prove nothing. */
  readonly minKeyBits: number
  /** The body may not be what was signed, through no fault of its author. */
  readonly isDamaged: boolean
}

/** Our own verdict on what the library reports. */
export function classifySignature(report: SignatureReport, judging: SignatureJudging): DkimSignature {
  const isBodyHash = report.result === 'fail' && /body hash/i.test(report.comment)
  return { ...report, verdict: isBodyHash && judging.isDamaged ? 'unverifiable' : verdictOf(report, judging) }
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

function verdictOf(report: SignatureReport, judging: SignatureJudging): SignatureVerdict {
  if (report.result === 'pass') return passVerdict(report, judging)
  return otherVerdicts[report.result] ?? neutralVerdicts[report.comment] ?? 'malformed'
}

/** A signature may be right and still prove nothing about the whole message now. */
function passVerdict(
  { uncovered, isTesting, signedAt, covers, algorithm, bits }: SignatureReport,
  { now, minKeyBits }: SignatureJudging,
): SignatureVerdict {
  if (uncovered > 0) return 'undersized'
  if (isTesting) return 'testing'
  if (signedAt !== undefined && signedAt > now / 1000 + clockSkew) return 'not_yet'
  if (algorithm.startsWith('rsa') && bits !== undefined && bits < minKeyBits) return 'weak'
  return covers.includes('from') ? 'pass' : 'not_from'
}

/** Whether a signature might speak for the author, by its `d=`. */
export function couldSignFor(field: HeaderField, authorDomain: string): boolean {
  const domain = toAsciiDomain(readTag(field, 'd'))
  return domain !== undefined && couldAlign(domain, authorDomain)
}

/** Where the key of a signature or seal is. */
export function keyNameOf(field: HeaderField): string | undefined {
  const [domain, selector] = [toAsciiDomain(readTag(field, 'd')), readTag(field, 's').toLowerCase()]
  return domain && /^[a-z0-9._-]{1,200}$/.test(selector) ? `${selector}._domainkey.${domain}` : undefined
}

/** RFC 6376 §3.2; a name given twice makes the signature invalid later on. */
export function readTag({ value }: HeaderField, name: string): string {
  const tag = value.split(';').find(text => text.slice(0, text.indexOf('=')).trim() === name)
  return tag ? tag.slice(tag.indexOf('=') + 1).replace(/\s+/g, '') : ''
}
