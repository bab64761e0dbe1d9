// Creates, parses and verifies signed URLs of attachments.
import { loadJose } from '@postern/http/tokens'
import type { System } from '@postern/message'
import type { SecretRing } from '@postern/pipeline'

/** The location of an object in the store of attachments. The gateway stores no other part of a signed URL. */
export interface ObjectLocation {
  readonly bucket: string
  readonly path: string
}

interface SignedUrl extends ObjectLocation {
  readonly origin: string
  readonly token: string
}

const urlPattern = /^(https?:\/\/[^/?#\\]+)\/storage\/v1\/object\/sign\/([^?#]+)\?(?:[^#]*&)?token=([\w.-]+)(?:[&#]|$)/

/**
 * Parses `{origin}/storage/v1/object/sign/{bucket}/{path}?token={jwt}`. Each segment is decoded once. A segment that could lead elsewhere (empty,
 * `.`, `..`, controls, a backslash) makes the location invalid. This function is pure.
 */
export function parseSignedUrl(url: string): SignedUrl | undefined {
  const [, origin, encodedPath, token] = urlPattern.exec(url) ?? []
  if (origin === undefined || encodedPath === undefined || token === undefined) return undefined
  const location = parseLocation(encodedPath.split('/').map(decodeSegment))
  return location && { origin: origin.toLowerCase(), ...location, token }
}

/** Returns the origin of a URL that has the path of a signed URL, or the empty string for other URLs. The token may be missing or invalid. */
export function findSignedOrigin(url: string): string {
  const { origin = '', pathname = '' } = URL.parse(url) ?? {}
  return pathname.startsWith('/storage/v1/object/sign/') ? origin : ''
}

/** Parses the path of a signed URL, without host and token, as a stored request contains it. */
export function parseStoredLocation(path: string): ObjectLocation | undefined {
  const [, encodedPath] = /^\/storage\/v1\/object\/sign\/([^?#]+)$/.exec(path) ?? []
  return encodedPath === undefined ? undefined : parseLocation(encodedPath.split('/').map(decodeSegment))
}

/** Reads the decoded `bucket` and `path` of a query. */
export function readObjectLocation(bucket: string, path: string): ObjectLocation | undefined {
  return parseLocation([bucket, ...path.split('/')])
}

/** Formats a location with encoded segments, in the form that `parseSignedUrl` reads. */
export function formatLocation({ bucket, path }: ObjectLocation): string {
  return [bucket, ...path.split('/')].map(encodeURIComponent).join('/')
}

function parseLocation(segments: readonly (string | undefined)[]): ObjectLocation | undefined {
  const decodedSegments = segments.flatMap(segment => segment?.split('/') ?? [undefined])
  if (decodedSegments.length < 2 || decodedSegments.some(isUnsafe)) return undefined
  const [bucket, ...pathSegments] = decodedSegments as string[]
  const path = pathSegments.join('/')
  return bucket === undefined || bucket.length > 64 || path.length > 1024 ? undefined : { bucket, path }
}

function isUnsafe(segment: string | undefined): boolean {
  if (segment === undefined || segment === '' || segment === '.' || segment === '..') return true
  // Clients that fetch an address drop tabs and line ends.
  return /[\p{Cc}\\]/u.test(segment) || !segment.isWellFormed()
}

function decodeSegment(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment)
  } catch {
    return undefined
  }
}

export interface UrlSigner {
  sign(location: ObjectLocation): Promise<{ readonly url: string; readonly expires_at: string }>
  /** Returns true if the token is for this location and has not expired. */
  isValidToken(location: ObjectLocation, token: string): Promise<boolean>
}

interface SignerOptions {
  readonly origin: string
  readonly secret: SecretRing
  /** The time for which a URL works, ms. */
  readonly lifetimeMs: number
  readonly now: System['now']
}

/** Creates signed URLs in the form of Supabase Storage: a JWT (HS256) over `url`, the location. */
export function createUrlSigner({ origin, secret, lifetimeMs, now }: SignerOptions): UrlSigner {
  const listKeys = () => secret.list().map(text => Buffer.from(text, 'base64url'))
  return {
    async sign(location) {
      const { SignJWT } = await loadJose()
      const expirySeconds = Math.floor((now() + lifetimeMs) / 1000)
      const claims = new SignJWT({ url: `${location.bucket}/${location.path}` }).setProtectedHeader({
        alg: 'HS256',
        typ: 'JWT',
      })
      const token = await claims
        .setIssuedAt(Math.floor(now() / 1000))
        .setExpirationTime(expirySeconds)
        .sign(listKeys()[0] ?? new Uint8Array())
      const url = `${origin}/storage/v1/object/sign/${formatLocation(location)}?token=${token}`
      return { url, expires_at: new Date(expirySeconds * 1000).toISOString() }
    },
    isValidToken: (location, token) => isValidUrlToken(location, token, { keys: listKeys(), now }),
  }
}

interface TokenKeys {
  /** The keys that may have signed the token. */
  readonly keys: readonly Uint8Array[]
  readonly now: System['now']
}

export async function isValidUrlToken(
  location: ObjectLocation,
  token: string,
  { keys, now }: TokenKeys,
): Promise<boolean> {
  const matches = await Promise.all(keys.map(key => isSignedBy(key, { location, token, now })))
  return matches.includes(true)
}

interface SignedLocation extends Pick<TokenKeys, 'now'> {
  readonly location: ObjectLocation
  readonly token: string
}

async function isSignedBy(key: Uint8Array, { location, token, now }: SignedLocation): Promise<boolean> {
  try {
    const { jwtVerify } = await loadJose()
    const options = { algorithms: ['HS256'], currentDate: new Date(now()), requiredClaims: ['exp'] }
    const { payload } = await jwtVerify(token, key, options)
    return payload.url === `${location.bucket}/${location.path}`
  } catch {
    return false
  }
}
