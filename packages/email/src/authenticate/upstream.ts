// Reads the verdict that a trusted mail server wrote into `Authentication-Results` (RFC 8601).
import type { Proof } from '@postern/message'
import { toAsciiDomain } from '@postern/message'
import type { MailTrust } from '../config/trust.ts'
import type { HeaderBlock, HeaderField } from '../mail/header.ts'
import type { RelayEndpoint } from '../mail/raw-mail.ts'

/** The verdict that a mail server in front of this one wrote on top of the mail. */
export interface UpstreamVerdict {
  readonly authservId: string
  /** The DMARC result for the author's domain, or `none` if it is missing. */
  readonly dmarc: string
  /** True if DMARC passed by a signature, or by SPF alone if that is enough. */
  readonly isProven: boolean
  /** True if the server reports that no signature of the author passed. */
  readonly isBySpf: boolean
  /** True if the server reports that the mail came to it from the author's own servers. */
  readonly isFromAuthorServers: boolean
  readonly field: HeaderField
}

interface UpstreamOptions {
  /** The endpoint of the mail, if its clients speak for others. */
  readonly endpoint: RelayEndpoint | undefined
  readonly authorDomain: string
  readonly trust: Pick<MailTrust, 'upstreams' | 'spf_only'>
}

export const resultsFieldName = 'authentication-results'

/**
 * Reads the verdict of a server in front of this one. Only the first `Authentication-Results` counts. It must be from a server that the operator has
 * named for this endpoint, and above all fields except that server's own `Received` (RFC 8601 §5). Fields further down were already in the mail.
 */
export function readUpstream(
  { fields }: HeaderBlock,
  { endpoint, authorDomain, trust }: UpstreamOptions,
): UpstreamVerdict | undefined {
  const authservIds = trust.upstreams
    .filter(upstream => upstream.endpoint === endpoint)
    .map(({ authserv_id }) => authserv_id)
  const index = fields.findIndex(({ name }) => name === resultsFieldName)
  const field = authservIds.length > 0 ? fields[index] : undefined
  const parsedField = field && readResultsField(field.value)
  if (!field || !parsedField || !authservIds.includes(parsedField.authservId)) return undefined
  if (fields.slice(0, index).filter(({ name }) => name === 'received').length > 1) return undefined
  const { authservId, results } = parsedField
  const dmarc = readDmarc(results, authorDomain)
  const isBySpf = isOnlyBySpf(results, authorDomain)
  const isProven = dmarc === 'pass' && (trust.spf_only || !isBySpf)
  return {
    authservId,
    dmarc,
    isProven,
    isBySpf,
    isFromAuthorServers: isSentByAuthorServers(results, authorDomain),
    field,
  }
}

/** Returns the DMARC result. Two different results, or one about another domain, count as none. */
function readDmarc(results: readonly MethodResult[], authorDomain: string): string {
  const claims = results.filter(({ method }) => method === 'dmarc')
  const isOfAuthor = claims.every(({ properties }) => isSameDomain(properties.get('header.from'), authorDomain))
  return (claims.length === 1 && isOfAuthor && claims[0]?.result) || 'none'
}

/** Returns true if DMARC passed by SPF alone. The server need not give its reasons. */
function isOnlyBySpf(results: readonly MethodResult[], authorDomain: string): boolean {
  const signatures = results.filter(({ method }) => method === 'dkim')
  const hasSpfPass = results.some(({ method, result }) => method === 'spf' && result === 'pass')
  if (signatures.length === 0) return hasSpfPass
  return !signatures.some(({ result, properties }) => {
    const signer = properties.get('header.d') ?? properties.get('header.i')?.replace(/^.*@/, '')
    return result === 'pass' && isRelatedDomain(signer, authorDomain)
  })
}

/** Returns true if SPF passed for an envelope sender of the author's domain or of a domain below it. */
function isSentByAuthorServers(results: readonly MethodResult[], authorDomain: string): boolean {
  const claims = results.filter(({ method }) => method === 'spf')
  const [{ result, properties } = { result: 'none', properties: new Map<string, string>() }] = claims
  const sender = toAsciiDomain(properties.get('smtp.mailfrom')?.replace(/^.*@/, '') ?? '')
  if (claims.length !== 1 || result !== 'pass' || sender === undefined) return false
  return sender === authorDomain || sender.endsWith(`.${authorDomain}`)
}

function isSameDomain(text: string | undefined, domain: string): boolean {
  return text !== undefined && toAsciiDomain(text) === domain
}

/** Returns true if two names seem to belong to one organization. The server has already decided that. */
function isRelatedDomain(text: string | undefined, domain: string): boolean {
  const signer = text === undefined ? undefined : toAsciiDomain(text)
  return signer !== undefined && (signer === domain || signer.endsWith(`.${domain}`) || domain.endsWith(`.${signer}`))
}

/** A method of an `Authentication-Results` field and its result, all in lower case. */
interface MethodResult {
  readonly method: string
  readonly result: string
  /** Properties such as `header.from`. */
  readonly properties: ReadonlyMap<string, string>
}

const quotedString = String.raw`"(?:[^"\\]|\\.)*"`
const idPattern = /^\s*([^\s;="()]+)(?:\s+1)?\s*;/
const methodPattern = /^\s*([a-z][\w-]*)(?:\s*\/\s*1)?\s*=\s*([a-z]+)(?=\s|$)/i
const propertyPattern = new RegExp(String.raw`\s*([\w.-]+)\s*=\s*((?:${quotedString}|[^\s"])+)(?=\s|$)`, 'y')
const piecePattern = new RegExp(`(?:${quotedString}|[^;"])+`, 'g')
const outsideCommentPattern = new RegExp(String.raw`${quotedString}|[^"()\\]+|\(`, 'y')
const insideCommentPattern = /\\.|[^()\\]+|[()]/y
const depthChanges: Readonly<Record<string, number>> = { '(': 1, ')': -1 }
/** The longest field that is read. */
const maxFieldChars = 16 * 1024

/**
 * Reads a field (RFC 8601 §2.2, version 1), and returns undefined for any other form. The identifier must be literal: the named server might not
 * recognize an identifier in quotes or with comments as its own, and might leave it in a mail.
 */
export function readResultsField(value: string) {
  if (value.length > maxFieldChars) return undefined
  const id = idPattern.exec(value)?.[1]
  const plainValue = withoutComments(value)
  if (id === undefined || plainValue === undefined) return undefined
  const [, ...pieces] = plainValue.match(piecePattern) ?? []
  const methodTexts = pieces.filter(text => text.trim() !== '' && text.trim().toLowerCase() !== 'none')
  const results = methodTexts.flatMap(text => readMethod(text) ?? [])
  if (results.length < methodTexts.length) return undefined
  return { authservId: id, results }
}

function readMethod(text: string): MethodResult | undefined {
  const [match = '', method = '', result = ''] = methodPattern.exec(text) ?? []
  if (!match) return undefined
  const properties = new Map<string, string>()
  propertyPattern.lastIndex = match.length
  let end = match.length
  for (let match = propertyPattern.exec(text); match; match = propertyPattern.exec(text)) {
    const [, name = '', value = ''] = match
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

/** Makes each comment a space. It returns undefined if a comment or a quoted string has no end. */
function withoutComments(value: string): string | undefined {
  let [depth, position, plainText] = [0, 0, '']
  while (position < value.length) {
    const pattern = depth > 0 ? insideCommentPattern : outsideCommentPattern
    pattern.lastIndex = position
    const piece = pattern.exec(value)?.[0]
    if (!piece) return undefined
    position += piece.length
    depth += depthChanges[piece] ?? 0
    if (depth === 0) plainText += piece === ')' ? ' ' : piece
  }
  return depth === 0 ? plainText : undefined
}

/** Describes the verdict as a proof. A pass that does not count names the reason. */
export function proofOfUpstream({ authservId, dmarc, isProven }: UpstreamVerdict, domain: string): Proof {
  const verdict = isProven ? 'pass' : dmarc === 'pass' ? 'policy' : dmarc === 'fail' ? 'fail' : 'none'
  const reason = verdict === 'policy' ? 'by SPF alone' : undefined
  return { kind: 'authentication-results', verdict, reason, domain, key_id: `authserv:${authservId}` }
}
