import { toAsciiDomain } from '@postern/core'
import type { MailTrust } from '../../config/trust.ts'
import type { HeaderBlock, HeaderField } from '../../mail/header-scan.ts'
import { toBuffer, withoutRanges } from '../../mail/header-scan.ts'
import type { RelayEndpoint } from '../../mail/raw.ts'
import type { MethodResult } from './results-field.ts'
import { readResultsField } from './results-field.ts'

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

const fieldName = 'authentication-results'

/**
 * Only the first `Authentication-Results` counts. A server that the operator has named for this endpoint must have
 * written it, above everything but its own `Received` (RFC 8601 §5). Fields further down came with the mail.
 */
export function readUpstream(
  { fields }: HeaderBlock,
  { endpoint, authorDomain, trust }: UpstreamReading,
): UpstreamVerdict | undefined {
  const named = trust.upstreams.filter(upstream => upstream.endpoint === endpoint).map(({ authserv_id }) => authserv_id)
  const at = fields.findIndex(({ name }) => name === fieldName)
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

/** The mail without verdicts that others wrote: a reader must not take them for ours. */
export function withoutForeignResults(
  message: Uint8Array,
  { fields }: HeaderBlock,
  trusted: HeaderField | undefined,
): Uint8Array {
  const foreign = fields.filter(field => field.name === fieldName && field !== trusted)
  return withoutRanges(
    toBuffer(message),
    foreign.map(({ start, end }) => [start, end]),
  )
}
