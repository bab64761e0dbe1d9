import { toAsciiDomain } from '@postern/core'

const prefix = 'did:web:'
/** Idchars (DID Core §3.1) without percent-encoded ones, and no segment that climbs: one DID has one address. */
const segmentPattern = /^(?!\.\.?$)[A-Za-z0-9._-]+$/
const portPattern = /^(.+)%3[Aa]([1-9]\d{0,4})$/

/**
 * Where the document of a `did:web` is: `did:web:host` at `/.well-known/did.json`, `did:web:host:path` at `/path/did.json`; a port is
 * written `host%3A8443`. Undefined for any other text. The guarded fetch decides whether it may be fetched.
 */
export function locateDidDocument(did: string): string | undefined {
  if (!did.startsWith(prefix) || did.length > 512) return undefined
  const [authority = '', ...path] = did.slice(prefix.length).split(':')
  const [, host = authority, port] = portPattern.exec(authority) ?? []
  if (toAsciiDomain(host) !== host || Number(port ?? 0) > 65_535) return undefined
  if (!path.every(segment => segmentPattern.test(segment))) return undefined
  const origin = `https://${host}${port === undefined ? '' : `:${port}`}`
  return path.length === 0 ? `${origin}/.well-known/did.json` : `${origin}/${path.join('/')}/did.json`
}
