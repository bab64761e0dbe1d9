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
  /** True if DMARC passed by a signature, or by SPF alone where `trust.spf_only` allows that. */
  readonly isProven: boolean
  /** True if DMARC passed by SPF alone, because the server reports no valid signature of the author. */
  readonly isBySpfOnly: boolean
  /** True if the server reports that the mail came to it from the author's own servers. */
  readonly isFromAuthorServers: boolean
  readonly field: HeaderField
}

interface UpstreamOptions {
  /** The endpoint of the mail, if its clients forward mail for other servers. */
  readonly endpoint: RelayEndpoint | undefined
  readonly authorDomain: string
  readonly trust: Pick<MailTrust, 'upstreams' | 'spf_only'>
}

export const resultsFieldName = 'authentication-results'

/**
 * Reads the verdict of a server in front of this one. Only the first `Authentication-Results` counts. The operator must
 * have named its server for this endpoint. It must stand above all fields except that server's own `Received` (RFC 8601
 * §5). Fields further down were already in the mail.
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
  const isBySpfOnly = passesBySpfOnly(results, authorDomain)
  const isProven = dmarc === 'pass' && (trust.spf_only || !isBySpfOnly)
  return {
    authservId,
    dmarc,
    isProven,
    isBySpfOnly,
    isFromAuthorServers: isSentByAuthorServers(results, authorDomain),
    field,
  }
}

/**
 * Returns the DMARC result. It returns `none` if there are several results, or if the result is about another domain.
 */
function readDmarc(results: readonly MethodResult[], authorDomain: string): string {
  const claims = results.filter(({ method }) => method === 'dmarc')
  const areAboutAuthor = claims.every(({ properties }) => isSameDomain(properties.get('header.from'), authorDomain))
  return (claims.length === 1 && areAboutAuthor && claims[0]?.result) || 'none'
}

/** Returns true if DMARC can only have passed by SPF. The server need not say why DMARC passed. */
function passesBySpfOnly(results: readonly MethodResult[], authorDomain: string): boolean {
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

/**
 * Returns true if two domains are equal or one is below the other. The trusted server has already checked that they
 * align.
 */
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
  const plainValue = replaceComments(value)
  if (id === undefined || plainValue === undefined) return undefined
  const [, ...pieces] = plainValue.match(piecePattern) ?? []
  const methodTexts = pieces.filter(text => text.trim() !== '' && text.trim().toLowerCase() !== 'none')
  const results = methodTexts.flatMap(text => readMethod(text) ?? [])
  if (results.length < methodTexts.length) return undefined
  return { authservId: id, results }
}

function readMethod(text: string): MethodResult | undefined {
  const [methodText = '', method = '', result = ''] = methodPattern.exec(text) ?? []
  if (!methodText) return undefined
  const properties = new Map<string, string>()
  propertyPattern.lastIndex = methodText.length
  let propertiesEnd = methodText.length
  for (let match = propertyPattern.exec(text); match; match = propertyPattern.exec(text)) {
    const [, name = '', value = ''] = match
    properties.set(name.toLowerCase(), unquote(value))
    propertiesEnd = propertyPattern.lastIndex
  }
  return text.slice(propertiesEnd).trim() === ''
    ? { method: method.toLowerCase(), result: result.toLowerCase(), properties }
    : undefined
}

function unquote(text: string): string {
  return (text.startsWith('"') ? text.slice(1, -1).replace(/\\(.)/g, '$1') : text).toLowerCase()
}

/** Replaces each comment with a space. It returns undefined if a comment or a quoted string has no end. */
function replaceComments(value: string): string | undefined {
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

/** Describes the verdict as a proof. If a pass does not count, the proof has the reason. */
export function proofOfUpstream({ authservId, dmarc, isProven }: UpstreamVerdict, domain: string): Proof {
  const verdict = isProven ? 'pass' : dmarc === 'pass' ? 'policy' : dmarc === 'fail' ? 'fail' : 'none'
  const reason = verdict === 'policy' ? 'by SPF alone' : undefined
  return { kind: 'authentication-results', verdict, reason, domain, key_id: `authserv:${authservId}` }
}
