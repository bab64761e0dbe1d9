// Signs ActivityPub deliveries for the bench by draft-cavage-12 and RFC 9421.
import { hash, sign } from 'node:crypto'
import { promisify } from 'node:util'
import { formatRequest } from '../http/message.ts'
import type { TrafficSender } from './fediverse.ts'

/** Signs in the thread pool, so that preparing a round uses all available cores. */
const signInPool = promisify(sign)

interface DeliveryTarget {
  readonly host: string
  readonly path: string
}

/** Signs a POST as Mastodon does by draft-cavage-12. */
export async function signCavageDelivery(
  sender: TrafficSender,
  target: DeliveryTarget,
  json: string,
): Promise<Uint8Array> {
  const body = Buffer.from(json)
  const headers = await signCavageHeaders(sender, target, formatDigestField(body))
  return formatRequest(target.path, { ...headers, accept: '*/*', 'user-agent': 'Mastodon/4.5 (bench)' }, body)
}

/** Formats the `Digest` field that draft-cavage-12 covers. */
export function formatDigestField(body: Uint8Array): string {
  return `SHA-256=${hash('sha256', body, 'base64')}`
}

/**
 * Formats the header fields of a POST with its `Signature`: draft-cavage-12, rsa-sha256 over target, host, date, digest and content type.
 */
export async function signCavageHeaders(
  { keyId, privateKey }: TrafficSender,
  { host, path }: DeliveryTarget,
  digest: string,
) {
  const signedFields = { host, date: new Date().toUTCString(), digest, 'content-type': 'application/activity+json' }
  const signingLines = Object.entries({ '(request-target)': `post ${path}`, ...signedFields }).map(
    ([name, value]) => `${name}: ${value}`,
  )
  const value = await signInPool('sha256', Buffer.from(signingLines.join('\n')), privateKey)
  const coveredFields = `(request-target) ${Object.keys(signedFields).join(' ')}`
  return {
    ...signedFields,
    signature: `keyId="${keyId}",algorithm="rsa-sha256",headers="${coveredFields}",signature="${value.toString('base64')}"`,
  }
}

/** Algorithms by type of key: the name on the wire, and the digest in node:crypto. */
const algorithms: Readonly<Record<string, { readonly name: string; readonly digest: string | null }>> = {
  rsa: { name: 'rsa-v1_5-sha256', digest: 'sha256' },
  ed25519: { name: 'ed25519', digest: null },
}

/** Signs a POST as Mastodon does by RFC 9421: method, whole target and content. */
export async function signRfc9421Delivery(
  { keyId, privateKey }: TrafficSender,
  { host, path }: DeliveryTarget,
  json: string,
): Promise<Uint8Array> {
  const body = Buffer.from(json)
  const { name, digest } = algorithms[privateKey.asymmetricKeyType ?? ''] ?? { name: '', digest: null }
  const contentDigest = `sha-256=:${hash('sha256', body, 'base64')}:`
  const createdSeconds = Math.floor(Date.now() / 1000)
  const parameters = `("@method" "@target-uri" "content-digest");created=${createdSeconds};keyid="${keyId}";alg="${name}"`
  const signingLines = [
    '"@method": POST',
    `"@target-uri": https://${host}${path}`,
    `"content-digest": ${contentDigest}`,
    `"@signature-params": ${parameters}`,
  ]
  const value = await signInPool(digest, Buffer.from(signingLines.join('\n')), privateKey)
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
