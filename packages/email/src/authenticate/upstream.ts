import type { Proof } from '@postern/core'
import { toAsciiDomain } from '@postern/core'
import type { MailTrust } from '../config/trust.ts'
import type { HeaderBlock, HeaderField } from '../mail/octets.ts'
import type { RelayEndpoint } from '../mail/raw.ts'

/** The verdict that a mail server in front of this one wrote on top of the mail. */
export interface UpstreamVerdict {
  readonly authservId: string
  /** Of DMARC, for the author's domain; `none` where it is missing. */
  readonly dmarc: string
  /** DMARC passed, by a signature or where SPF alone is enough. */
  readonly isProven: boolean
  /** By its report, no signature of the author passed. */
  readonly isBySpf: boolean
  readonly field: HeaderField
}

interface UpstreamReading {
  /** The endpoint it came by, where who brings it there speaks for others. */
  readonly endpoint: RelayEndpoint | undefined
  readonly authorDomain: string
  readonly trust: Pick<MailTrust, 'upstreams' | 'spf_only'>
}

export const resultsFieldName = 'authentication-results'

/**
 * Only the first `Authentication-Results` counts. A server that the operator has named for this endpoint must have
 * written it, above everything but its own `Received` (RFC 8601 §5). Fields further down came with the mail.
 */
export function readUpstream(
  { fields }: HeaderBlock,
  { endpoint, authorDomain, trust }: UpstreamReading,
): UpstreamVerdict | undefined {
  const named = trust.upstreams.filter(upstream => upstream.endpoint === endpoint).map(({ authserv_id }) => authserv_id)
  const at = fields.findIndex(({ name }) => name === resultsFieldName)
  const field = named.length > 0 ? fields[at] : undefined
  const read = field && readResultsField(field.value)
  if (!field || !read || !named.includes(read.authservId)) return undefined
  if (fields.slice(0, at).filter(({ name }) => name === 'received').length > 1) return undefined
  const { authservId, results } = read
  const dmarc = readDmarc(results, authorDomain)
  const isBySpf = isBySpfAlone(results, authorDomain)
  return { authservId, dmarc, isProven: dmarc === 'pass' && (trust.spf_only || !isBySpf), isBySpf, field }
}

/** Two different verdicts, or one about another domain, count as none. */
function readDmarc(results: readonly MethodResult[], authorDomain: string): string {
  const found = results.filter(({ method }) => method === 'dmarc')
  const isOfAuthor = found.every(({ properties }) => isDomain(properties.get('header.from'), authorDomain))
  return (found.length === 1 && isOfAuthor && found[0]?.result) || 'none'
}

/** The server need not give its reasons. */
function isBySpfAlone(results: readonly MethodResult[], authorDomain: string): boolean {
  const signatures = results.filter(({ method }) => method === 'dkim')
  const isSpfTold = results.some(({ method, result }) => method === 'spf' && result === 'pass')
  if (signatures.length === 0) return isSpfTold
  return !signatures.some(({ result, properties }) => {
    const signer = properties.get('header.d') ?? properties.get('header.i')?.replace(/^.*@/, '')
    return result === 'pass' && isNear(signer, authorDomain)
  })
}

function isDomain(text: string | undefined, domain: string): boolean {
  return text !== undefined && toAsciiDomain(text) === domain
}

/** Of one organization as far as the names show; the server has already decided that. */
function isNear(text: string | undefined, domain: string): boolean {
  const signer = text === undefined ? undefined : toAsciiDomain(text)
  return signer !== undefined && (signer === domain || signer.endsWith(`.${domain}`) || domain.endsWith(`.${signer}`))
}

/** One method of an `Authentication-Results` field and what came of it. All in lower case. */
interface MethodResult {
  readonly method: string
  readonly result: string
  /** `header.from` and the like. */
  readonly properties: ReadonlyMap<string, string>
}

const quoted = String.raw`"(?:[^"\\]|\\.)*"`
const idPattern = /^\s*([^\s;="()]+)(?:\s+1)?\s*;/
const methodPattern = /^\s*([a-z][\w-]*)(?:\s*\/\s*1)?\s*=\s*([a-z]+)(?=\s|$)/i
const propertyPattern = new RegExp(String.raw`\s*([\w.-]+)\s*=\s*((?:${quoted}|[^\s"])+)(?=\s|$)`, 'y')
const piecePattern = new RegExp(`(?:${quoted}|[^;"])+`, 'g')
const outsidePattern = new RegExp(String.raw`${quoted}|[^"()\\]+|\(`, 'y')
const insidePattern = /\\.|[^()\\]+|[()]/y
const depthChanges: Readonly<Record<string, number>> = { '(': 1, ')': -1 }
/** More than a server has to say. */
const maxField = 16 * 1024

/**
 * Reads a field by RFC 8601 §2.2, version 1; undefined for any other form. The identifier is taken literally. In quotes
 * or with comments, the named server might not recognize it as its own and leave it in a mail.
 */
export function readResultsField(value: string) {
  if (value.length > maxField) return undefined
  const id = idPattern.exec(value)?.[1]
  const bare = withoutComments(value)
  if (id === undefined || bare === undefined) return undefined
  const [, ...rest] = bare.match(piecePattern) ?? []
  const written = rest.filter(text => text.trim() !== '' && text.trim().toLowerCase() !== 'none')
  const results = written.flatMap(text => readMethod(text) ?? [])
  if (results.length < written.length) return undefined
  return { authservId: id, results }
}

function readMethod(text: string): MethodResult | undefined {
  const [whole = '', method = '', result = ''] = methodPattern.exec(text) ?? []
  if (!whole) return undefined
  const properties = new Map<string, string>()
  propertyPattern.lastIndex = whole.length
  let end = whole.length
  for (let found = propertyPattern.exec(text); found; found = propertyPattern.exec(text)) {
    const [, name = '', value = ''] = found
    properties.set(name.toLowerCase(), unquote(value))
    end = propertyPattern.lastIndex
  }
  return text.slice(end).trim() === ''
    ? { method: method.toLowerCase(), result: result.toLowerCase(), properties }
    : undefined
}

function unquote(text: string): string {
  return (text.startsWith('"') ? text.slice(1, -1).replace(/\\(.)/g, '$1') : text).toLowerCase()
}

/** Each comment becomes a space; undefined where one has no end, or a quoted string has none. */
function withoutComments(value: string): string | undefined {
  let [depth, at, kept] = [0, 0, '']
  while (at < value.length) {
    const pattern = depth > 0 ? insidePattern : outsidePattern
    pattern.lastIndex = at
    const piece = pattern.exec(value)?.[0]
    if (!piece) return undefined
    at += piece.length
    depth += depthChanges[piece] ?? 0
    if (depth === 0) kept += piece === ')' ? ' ' : piece
  }
  return depth === 0 ? kept : undefined
}

/** A pass that does not count says why. */
export function proofOfUpstream({ authservId, dmarc, isProven }: UpstreamVerdict, domain: string): Proof {
  const verdict = isProven ? 'pass' : dmarc === 'pass' ? 'policy' : dmarc === 'fail' ? 'fail' : 'none'
  const reason = verdict === 'policy' ? 'by SPF alone' : undefined
  return { kind: 'authentication-results', verdict, reason, domain, key_id: `authserv:${authservId}` }
}
