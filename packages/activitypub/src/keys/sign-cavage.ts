// Signs outgoing HTTP requests by draft-cavage-12.
import { parseUrl } from '@postern/message'
import { formatDigest } from '../signature/body-digest.ts'
import type { SigningKey } from './key-generations.ts'
import type { OutgoingRequest } from './send-signed.ts'
import { signInThreadpool } from './send-signed.ts'

/**
 * Returns the headers that sign an outgoing request by draft-cavage-12 with rsa-sha256, which every server of this
 * network reads. The signature covers `host`, which the HTTP client sends.
 */
export async function signCavageRequest(
  { method, url, now, body }: OutgoingRequest,
  { id, privateKey }: SigningKey,
): Promise<Record<string, string>> {
  const { host, pathname, search } = parseUrl(url) ?? new URL(url)
  const sentHeaders = {
    date: new Date(now).toUTCString(),
    ...(body && { digest: formatDigest(body.bytes), 'content-type': body.type }),
  }
  const signedComponents = { '(request-target)': `${method.toLowerCase()} ${pathname}${search}`, host, ...sentHeaders }
  const signingLines = Object.entries(signedComponents).map(([name, value]) => `${name}: ${value}`)
  const signature = await signInThreadpool('sha256', Buffer.from(signingLines.join('\n')), privateKey)
  const coveredNames = Object.keys(signedComponents).join(' ')
  return {
    ...sentHeaders,
    signature: `keyId="${id}",algorithm="rsa-sha256",headers="${coveredNames}",signature="${signature.toString('base64')}"`,
  }
}
