import type { Platform } from '@postern/core'
import { loadJose } from '@postern/http/tokens'

/** A place in the store of attachments. It is all that the gateway keeps of a signed URL. */
export interface ObjectPlace {
  readonly bucket: string
  readonly path: string
}

interface SignedUrl extends ObjectPlace {
  readonly origin: string
  readonly token: string
}

const urlPattern = /^(https?:\/\/[^/?#\\]+)\/storage\/v1\/object\/sign\/([^?#]+)\?(?:[^#]*&)?token=([\w.-]+)(?:[&#]|$)/

/**
 * `{origin}/storage/v1/object/sign/{bucket}/{path}?token={jwt}`. Each segment is decoded once. A segment that could lead elsewhere (empty,
 * `.`, `..`, controls, a backslash) makes the place invalid. Pure.
 */
export function parseSignedUrl(url: string): SignedUrl | undefined {
  const [, origin, raw, token] = urlPattern.exec(url) ?? []
  if (origin === undefined || raw === undefined || token === undefined) return undefined
  const place = parsePlace(raw.split('/').map(decodeSegment))
  return place && { origin: origin.toLowerCase(), ...place, token }
}

/** What a stored request keeps of a signed URL: its path without host and token. */
export function readStoredPlace(path: string): ObjectPlace | undefined {
  const [, raw] = /^\/storage\/v1\/object\/sign\/([^?#]+)$/.exec(path) ?? []
  return raw === undefined ? undefined : parsePlace(raw.split('/').map(decodeSegment))
}

/** `bucket` and `path` as they come in a query, already decoded. */
export function readObjectPlace(bucket: string, path: string): ObjectPlace | undefined {
  return parsePlace([bucket, ...path.split('/')])
}

/** With the segments encoded; what `parseSignedUrl` reads. */
export function formatPlace({ bucket, path }: ObjectPlace): string {
  return [bucket, ...path.split('/')].map(encodeURIComponent).join('/')
}

function parsePlace(segments: readonly (string | undefined)[]): ObjectPlace | undefined {
  const decoded = segments.flatMap(segment => segment?.split('/') ?? [undefined])
  if (decoded.length < 2 || decoded.some(isUnsafe)) return undefined
  const [bucket, ...rest] = decoded as string[]
  const path = rest.join('/')
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
  sign(place: ObjectPlace): Promise<{ readonly url: string; readonly expires_at: string }>
  /** Whether the token is for this place and has not expired. */
  holds(place: ObjectPlace, token: string): Promise<boolean>
}

interface SignerOptions {
  readonly origin: string
  readonly key: Uint8Array
  /** How long a URL works, ms. */
  readonly lifetime: number
  readonly now: Platform['now']
}

/** Signed URLs in the form of Supabase Storage: a JWT (HS256) over `url`, the place. */
export function createUrlSigner({ origin, key, lifetime, now }: SignerOptions): UrlSigner {
  return {
    async sign(place) {
      const { SignJWT } = await loadJose()
      const expires = Math.floor((now() + lifetime) / 1000)
      const claims = new SignJWT({ url: `${place.bucket}/${place.path}` }).setProtectedHeader({
        alg: 'HS256',
        typ: 'JWT',
      })
      const token = await claims
        .setIssuedAt(Math.floor(now() / 1000))
        .setExpirationTime(expires)
        .sign(key)
      const url = `${origin}/storage/v1/object/sign/${formatPlace(place)}?token=${token}`
      return { url, expires_at: new Date(expires * 1000).toISOString() }
    },
    holds: (place, token) => holdsToken(place, token, { key, now }),
  }
}

export async function holdsToken(
  { bucket, path }: ObjectPlace,
  token: string,
  { key, now }: Pick<SignerOptions, 'key' | 'now'>,
): Promise<boolean> {
  try {
    const { jwtVerify } = await loadJose()
    const options = { algorithms: ['HS256'], currentDate: new Date(now()), requiredClaims: ['exp'] }
    const { payload } = await jwtVerify(token, key, options)
    return payload.url === `${bucket}/${path}`
  } catch {
    return false
  }
}
