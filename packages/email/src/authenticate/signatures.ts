import { isAscii } from 'node:buffer'
import type { DnsResolver, Proof } from '@postern/core'
import { Rejection, toAsciiDomain } from '@postern/core'
import type { MailLimits } from '../config/limits.ts'
import type { DkimFault, SignatureReport, TxtAnswer } from '../dkim/report.ts'
import { parseSignature } from '../dkim/verify.ts'
import type { MailAddresses } from '../mail/addresses.ts'
import type { HeaderBlock, HeaderField } from '../mail/octets.ts'
import { fieldValues, findField, toBuffer } from '../mail/octets.ts'
import type { RawMail } from '../mail/raw.ts'

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
export interface JudgedSignature extends SignatureReport {
  readonly verdict: SignatureVerdict
}

/** Seconds a signer's clock may be ahead. */
const clockSkew = 600

interface SignatureJudging {
  /** ms */
  readonly now: number
  /** Shorter RSA keys prove nothing. */
  readonly minKeyBits: number
  /** The body may not be what was signed, through no fault of its author. */
  readonly isDamaged: boolean
}

/** Our own verdict on a signature that was computed. */
export function classifySignature(report: SignatureReport, judging: SignatureJudging): JudgedSignature {
  const isUnsure = report.fault === 'body hash did not verify' && judging.isDamaged
  return { ...report, verdict: isUnsure ? 'unverifiable' : verdictOf(report, judging) }
}

const faultVerdicts: Readonly<Record<DkimFault, SignatureVerdict>> = {
  'signature syntax error': 'malformed',
  'signature missing required tag': 'malformed',
  'incompatible version': 'malformed',
  'unknown algorithm': 'malformed',
  'unknown canonicalization': 'malformed',
  'unsupported query method': 'malformed',
  'domain mismatch': 'malformed',
  'inappropriate key algorithm': 'malformed',
  'invalid expiration': 'expired',
  expired: 'expired',
  'From field not signed': 'not_from',
  'weak-algorithm': 'weak',
  'weak-key': 'weak',
  'no key': 'no_key',
  'invalid public key': 'no_key',
  'unknown key version': 'no_key',
  'unknown key type': 'no_key',
  'key not for email': 'no_key',
  'inappropriate hash algorithm': 'no_key',
  'DNS failure': 'dns_trouble',
  'body hash did not verify': 'fail',
  'bad signature': 'fail',
}

/** A valid signature may still prove nothing about the whole message now. */
function verdictOf(
  { fault, uncovered, isTesting, signedAt, bits, covers }: SignatureReport,
  { now, minKeyBits }: SignatureJudging,
): SignatureVerdict {
  if (fault) return faultVerdicts[fault]
  if (uncovered > 0) return 'undersized'
  if (isTesting) return 'testing'
  if (signedAt !== undefined && signedAt > now / 1000 + clockSkew) return 'not_yet'
  if (bits !== undefined && bits < minKeyBits) return 'weak'
  return covers.includes('from') ? 'pass' : 'not_from'
}

const replacement = Buffer.from('\ufffd')

/**
 * Whether octets may have changed between the author's server and this one. That needs a path that is known to lose
 * some, and something to lose: octets beyond ASCII, or the mark of lost ones.
 */
export function mayBeDamaged({ raw, header }: { readonly raw: RawMail; readonly header: HeaderBlock }): boolean {
  if (!raw.envelope.source?.isLossy) return false
  const body = toBuffer(raw.octets).subarray(header.bodyStart)
  const isDeclared = /^\s*(8bit|binary)\b/i.test(findField(header, 'content-transfer-encoding') ?? '')
  return isDeclared || !isAscii(body) || body.includes(replacement)
}

/**
 * Lower-case names of the fields that a proof covers, each as often as it covers one, counted from the bottom (RFC 6376 §5.4.2). `all`: the server
 * that brought the mail is the proof, or there is none.
 */
export type Coverage = readonly string[] | 'all'

/** The header without the fields that others may have added or changed under the proof. */
export function keepCovered(header: HeaderBlock, coverage: Coverage): HeaderBlock {
  if (coverage === 'all') return header
  const isCovered = takeFrom(coverage)
  const fields = header.fields.toReversed().filter(({ name }) => isCovered(name))
  return { ...header, fields: fields.toReversed() }
}

/** Fields that say where a mail belongs, what it is about and how it is read. */
const coverable = [
  ...['to', 'cc', 'subject', 'date', 'message-id', 'reply-to', 'in-reply-to', 'references'],
  ...['content-type', 'content-transfer-encoding'],
]

/**
 * The header fields that nobody can have added or changed under the proof of the author; all of it where the author is
 * not proven. A signed mail stays signed when a field is added that the signature does not name: such fields must decide
 * nothing.
 */
export function readCovered(header: HeaderBlock, { to, cc }: Pick<MailAddresses, 'to' | 'cc'>, coverage: Coverage) {
  const covered = keepCovered(header, coverage)
  const has = (name: string) => findField(covered, name) !== undefined
  const uncovered = coverable.filter(name => fieldValues(covered, name).length < fieldValues(header, name).length)
  return {
    covered,
    /** The people whom the mail names there. */
    named: { to: has('to') ? to : [], cc: has('cc') ? cc : [] },
    /** `unsigned_to` and the like: fields that are there and are not covered. */
    flags: uncovered.map(name => `unsigned_${name.replaceAll('-', '_')}`),
  }
}

export const dayMs = 86_400_000
/** As long as a server tries to forward a mail (RFC 5321 §4.5.4.1), and the possible error of the author's clock. */
const [oldestMs, aheadMs] = [5 * dayMs, 3_600_000]

/** Whether it was written just now, by a `Date` that is covered. `now` in ms. */
export function isRecent({ covered }: { readonly covered: HeaderBlock }, now: number): boolean {
  const age = now - Date.parse(findField(covered, 'date') ?? '')
  return age < oldestMs && age > -aheadMs
}

/**
 * The fields that every possible signature of the author covers (`h=`), verified or not; undefined where there is none.
 * It serves verdicts that do not name their signature. `isSealed`: the message signatures of an ARC chain may prove the
 * author, too.
 */
export function readSharedCoverage(
  header: HeaderBlock,
  authorDomain: string,
  isSealed = false,
): readonly string[] | undefined {
  const seals = isSealed ? header.fields.filter(({ name }) => name === 'arc-message-signature') : []
  const lists = [...listCandidates(header, authorDomain), ...seals].map(field =>
    readTag(field, 'h').toLowerCase().split(':'),
  )
  return lists.length === 0 ? undefined : lists.reduce((left, right) => left.filter(takeFrom(right)))
}

/** Whether one of these signatures leaves the end of the body open (`l=`): others may have added to it. */
export function leavesEndOpen(header: HeaderBlock, authorDomain: string): boolean {
  return listCandidates(header, authorDomain).some(field => readTag(field, 'l') !== '')
}

function listCandidates({ fields }: HeaderBlock, authorDomain: string): readonly HeaderField[] {
  return fields.filter(field => field.name === 'dkim-signature' && couldSignFor(field, authorDomain))
}

/** Whether a name is left among `names`: each is taken as often as it is there. */
function takeFrom(names: readonly string[]): (name: string) => boolean {
  const left = new Map<string, number>()
  for (const name of names) left.set(name, (left.get(name) ?? 0) + 1)
  return name => {
    const count = left.get(name) ?? 0
    left.set(name, count - 1)
    return count > 0
  }
}

/** Whether a signature might speak for the author, by its `d=`. */
function couldSignFor(field: HeaderField, authorDomain: string): boolean {
  const domain = toAsciiDomain(readTag(field, 'd'))
  return domain !== undefined && couldAlign(domain, authorDomain)
}

/** RFC 6376 §3.2; a name given twice makes the signature invalid later on. */
export function readTag({ value }: HeaderField, name: string): string {
  const tag = value.split(';').find(text => text.slice(0, text.indexOf('=')).trim() === name)
  return tag ? tag.slice(tag.indexOf('=') + 1).replace(/\s+/g, '') : ''
}

/** Whether the two may belong to one organization. Cheap; it errs only by saying yes. */
function couldAlign(domain: string, authorDomain: string): boolean {
  return domain === authorDomain || lastLabels(domain) === lastLabels(authorDomain)
}

function lastLabels(domain: string): string {
  return domain.split('.').slice(-2).join('.')
}

/** A 4096-bit signature over every known field needs half of it; white space beyond that only costs time. */
const maxSignatureOctets = 4096

/** RFC 1035 §2.3.4. A resolver reports a longer name as trouble, as if it might exist tomorrow. */
const maxNameChars = 253

/**
 * The signatures of a message that are verified, and their keys. Chosen before any crypto and any question: a few
 * signatures are all judged; of many only the first that could speak for the author.
 * @throws Rejection when there are absurdly many
 */
export function planSignatures(
  header: HeaderBlock,
  authorDomain: string,
  { limits, chain }: { readonly limits: MailLimits; readonly chain: ChainPlan },
) {
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
    ignored: header.fields.filter(isIgnored).map(({ start, end }) => [start, end] as const),
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
  { keyNames }: Pick<ChainPlan, 'keyNames'>,
  { resolve }: { readonly resolve: DnsResolver },
): Promise<Readonly<Record<string, TxtAnswer>>> {
  const answers = await Promise.all(keyNames.map(async name => [name, await askKey(name, resolve)] as const))
  return Object.fromEntries(answers)
}

async function askKey(name: string, resolve: DnsResolver): Promise<TxtAnswer> {
  try {
    const records = (await resolve(name, 'TXT')) as readonly (readonly string[])[]
    // RFC 6376 §3.6.2.2: with several records the result is undefined. For us it is none.
    return records.length === 1 ? { records } : { code: 'ENODATA' }
  } catch (error) {
    return { code: (error as { code?: string }).code ?? 'ESERVFAIL' }
  }
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

/** `d=<domain>/s=<selector>`: how a signature's key is named everywhere. */
export function formatKeyId({ domain, selector }: Pick<JudgedSignature, 'domain' | 'selector'>): string {
  return `d=${domain}/s=${selector}`
}

export function proofOfSignature(signature: JudgedSignature, aligned: boolean): Proof {
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

/** The part of an ARC chain that is verified, and the keys. */
export interface ChainPlan {
  readonly keyNames: readonly string[]
  readonly isSealed: boolean
}

/** No signature covers them (RFC 8617 §4.1.2), so fields outside the verified part are removed. */
export const chainFields: ReadonlySet<string> = new Set([
  'arc-seal',
  'arc-message-signature',
  'arc-authentication-results',
])
