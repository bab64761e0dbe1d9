import { hash, sign } from 'node:crypto'
import { promisify } from 'node:util'
import { formatRequest } from '../http/load.ts'
import type { TrafficSender } from './fediverse.ts'

/** In the thread pool, so that preparing a round uses what cores there are. */
const signInPool = promisify(sign)

interface SignedDeliveryTarget {
  readonly host: string
  readonly path: string
}

/** A POST signed as Mastodon does it: draft-cavage-12. */
export async function signDelivery(
  sender: TrafficSender,
  target: SignedDeliveryTarget,
  json: string,
): Promise<Uint8Array> {
  const body = Buffer.from(json)
  const headers = await signCavageHeaders(sender, target, formatDigestField(body))
  return formatRequest(target.path, { ...headers, accept: '*/*', 'user-agent': 'Mastodon/4.5 (bench)' }, body)
}

/** `Digest`, as draft-cavage-12 covers it. */
export function formatDigestField(body: Uint8Array): string {
  return `SHA-256=${hash('sha256', body, 'base64')}`
}

/** The header fields of a POST with its `Signature`: draft-cavage-12, rsa-sha256 over target, host, date, digest and content type. */
export async function signCavageHeaders(
  { keyId, privateKey }: TrafficSender,
  { host, path }: SignedDeliveryTarget,
  digest: string,
) {
  const signed = { host, date: new Date().toUTCString(), digest, 'content-type': 'application/activity+json' }
  const lines = Object.entries({ '(request-target)': `post ${path}`, ...signed }).map(
    ([name, value]) => `${name}: ${value}`,
  )
  const value = await signInPool('sha256', Buffer.from(lines.join('\n')), privateKey)
  const covered = `(request-target) ${Object.keys(signed).join(' ')}`
  return {
    ...signed,
    signature: `keyId="${keyId}",algorithm="rsa-sha256",headers="${covered}",signature="${value.toString('base64')}"`,
  }
}

/** By type of key: the name on the wire, and how node:crypto calls the digest. */
const algorithms: Readonly<Record<string, { readonly name: string; readonly digest: string | null }>> = {
  rsa: { name: 'rsa-v1_5-sha256', digest: 'sha256' },
  ed25519: { name: 'ed25519', digest: null },
}

/** A POST signed as Mastodon signs by RFC 9421: method, whole target and content. */
export async function signMessageDelivery(
  { keyId, privateKey }: TrafficSender,
  { host, path }: SignedDeliveryTarget,
  json: string,
): Promise<Uint8Array> {
  const body = Buffer.from(json)
  const { name, digest } = algorithms[privateKey.asymmetricKeyType ?? ''] ?? { name: '', digest: null }
  const contentDigest = `sha-256=:${hash('sha256', body, 'base64')}:`
  const created = Math.floor(Date.now() / 1000)
  const parameters = `("@method" "@target-uri" "content-digest");created=${created};keyid="${keyId}";alg="${name}"`
  const lines = [
    '"@method": POST',
    `"@target-uri": https://${host}${path}`,
    `"content-digest": ${contentDigest}`,
    `"@signature-params": ${parameters}`,
  ]
  const value = await signInPool(digest, Buffer.from(lines.join('\n')), privateKey)
  const headers = {
    host,
    date: new Date().toUTCString(),
    'content-type': 'application/activity+json',
    'content-digest': contentDigest,
    accept: '*/*',
    'user-agent': 'Mastodon/4.5 (bench)',
    'signature-input': `sig1=${parameters}`,
    signature: `sig1=:${value.toString('base64')}:`,
  }
  return formatRequest(path, headers, body)
}
