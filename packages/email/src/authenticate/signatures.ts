import { isAscii } from 'node:buffer'
import { createRequire } from 'node:module'
import type { Platform } from '@postern/core'
import { toAsciiDomain } from '@postern/core'
import { lazy } from '@postern/core/lazy'
import { createExpiringMap } from '@postern/limits'
import type { DkimFault, SignatureReport } from '../dkim/report.ts'
import type { MailAddresses } from '../mail/header-values.ts'
import type { RawMail } from '../mail/raw.ts'
import type { HeaderBlock, HeaderField } from '../mail/scan.ts'
import { fieldValues, findField, toBuffer } from '../mail/scan.ts'

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
  const left = countNames(coverage)
  const isCovered = (name: string) => {
    const count = left.get(name) ?? 0
    left.set(name, count - 1)
    return count > 0
  }
  const fields = header.fields.toReversed().filter(({ name }) => isCovered(name))
  return { ...header, fields: fields.toReversed() }
}

/**
 * The header fields that nobody can have added or changed under the proof of the author; all of it where the author is
 * not proven.
 */
interface CoveredMail {
  readonly covered: HeaderBlock
  /** The people whom the mail names there. */
  readonly named: Pick<MailAddresses, 'to' | 'cc'>
  /** `unsigned_to` and the like: fields that are there and are not covered. */
  readonly flags: readonly string[]
}

/** Fields that say where a mail belongs, what it is about and how it is read. */
const coverable = [
  ...['to', 'cc', 'subject', 'date', 'message-id', 'reply-to', 'in-reply-to', 'references'],
  ...['content-type', 'content-transfer-encoding'],
]

/** A signed mail stays signed when a field is added that the signature does not name: such fields must decide nothing. */
export function readCovered(
  header: HeaderBlock,
  { to, cc }: Pick<MailAddresses, 'to' | 'cc'>,
  coverage: Coverage,
): CoveredMail {
  const covered = keepCovered(header, coverage)
  const has = (name: string) => findField(covered, name) !== undefined
  const uncovered = coverable.filter(name => fieldValues(covered, name).length < fieldValues(header, name).length)
  return {
    covered,
    named: { to: has('to') ? to : [], cc: has('cc') ? cc : [] },
    flags: uncovered.map(name => `unsigned_${name.replaceAll('-', '_')}`),
  }
}

const dayMs = 86_400_000
/** As long as a server tries to forward a mail (RFC 5321 §4.5.4.1), and the possible error of the author's clock. */
const [oldestMs, aheadMs] = [5 * dayMs, 3_600_000]

/** Whether it was written just now, by a `Date` that is covered. `now` in ms. */
export function isRecent({ covered }: Pick<CoveredMail, 'covered'>, now: number): boolean {
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
  return lists.length === 0 ? undefined : lists.reduce<readonly string[]>(intersect, lists[0] ?? [])
}

/** Whether one of these signatures leaves the end of the body open (`l=`): others may have added to it. */
export function leavesEndOpen(header: HeaderBlock, authorDomain: string): boolean {
  return listCandidates(header, authorDomain).some(field => readTag(field, 'l') !== '')
}

function listCandidates({ fields }: HeaderBlock, authorDomain: string): readonly HeaderField[] {
  return fields.filter(field => field.name === 'dkim-signature' && couldSignFor(field, authorDomain))
}

function intersect(left: readonly string[], right: readonly string[]): readonly string[] {
  const counts = countNames(right)
  return left.filter(name => {
    const count = counts.get(name) ?? 0
    counts.set(name, count - 1)
    return count > 0
  })
}

function countNames(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}

/** Whether a signature might speak for the author, by its `d=`. */
export function couldSignFor(field: HeaderField, authorDomain: string): boolean {
  const domain = toAsciiDomain(readTag(field, 'd'))
  return domain !== undefined && couldAlign(domain, authorDomain)
}

/** The DNS name of the key of a signature or seal. */
export function keyNameOf(field: HeaderField): string | undefined {
  const [domain, selector] = [toAsciiDomain(readTag(field, 'd')), readTag(field, 's').toLowerCase()]
  return domain && /^[a-z0-9._-]{1,200}$/.test(selector) ? `${selector}._domainkey.${domain}` : undefined
}

/** RFC 6376 §3.2; a name given twice makes the signature invalid later on. */
export function readTag({ value }: HeaderField, name: string): string {
  const tag = value.split(';').find(text => text.slice(0, text.indexOf('=')).trim() === name)
  return tag ? tag.slice(tag.indexOf('=') + 1).replace(/\s+/g, '') : ''
}

const require = createRequire(import.meta.url)
/** The Public Suffix List in memory is larger than all the mail code. */
const suffixes = lazy(() => require('tldts') as typeof import('tldts'))

/**
 * Without a DMARC record it is unknown where an organization begins. A signature speaks for the author's own domain and
 * the names below it, because the holder of a zone controls those. It never speaks for a sibling or a parent. Names
 * under which strangers register (`co.uk`, `github.io`: the Public Suffix List) have no such holder.
 */
export function alignsWithoutPolicy(signingDomain: string, authorDomain: string): boolean {
  if (signingDomain === authorDomain) return true
  return authorDomain.endsWith(`.${signingDomain}`) && !isPublicSuffix(signingDomain)
}

function isPublicSuffix(domain: string): boolean {
  return suffixes().getPublicSuffix(domain, { allowPrivateDomains: true }) === domain
}

/** Whether the two may belong to one organization. Cheap; it errs only by saying yes. */
function couldAlign(domain: string, authorDomain: string): boolean {
  return domain === authorDomain || lastLabels(domain) === lastLabels(authorDomain)
}

function lastLabels(domain: string): string {
  return domain.split('.').slice(-2).join('.')
}

/** Remembers to whom a signature has come. A hint: a restart forgets it, and another gateway does not know of it. */
export interface SignatureReplays {
  /**
   * Flags for a signature that now comes to these agents: `replayed_signature` when it was here before and its header names
   * none of those who are new; `signature_flood` when that has happened too often in a day.
   */
  note(id: string, recipients: readonly ReplayRecipient[]): string[]
}

interface ReplayRecipient {
  readonly agent: string
  /** The header, which the signature covers, names it. */
  readonly isNamed: boolean
}

interface Seen {
  readonly agents: Set<string>
  unnamed: number
}

const [maxSignatures, maxUnnamed] = [50_000, 20]

/** One valid mail that others send on to many keeps its valid signature (DKIM replay). */
export function createSignatureReplays({ now }: Pick<Platform, 'now'>): SignatureReplays {
  const known = createExpiringMap<Seen>(maxSignatures, now)

  function find(id: string): Seen {
    const seen = known.get(id)
    if (seen) return seen
    const fresh: Seen = { agents: new Set(), unnamed: 0 }
    known.set(id, fresh, dayMs)
    return fresh
  }

  return {
    note(id, recipients) {
      const seen = find(id)
      const wasHere = seen.agents.size > 0
      const strangers = recipients.filter(({ agent, isNamed }) => !isNamed && !seen.agents.has(agent))
      for (const { agent } of recipients) seen.agents.add(agent)
      seen.unnamed += strangers.length
      return [
        ...(wasHere && strangers.length > 0 ? ['replayed_signature'] : []),
        ...(seen.unnamed > maxUnnamed ? ['signature_flood'] : []),
      ]
    },
  }
}
