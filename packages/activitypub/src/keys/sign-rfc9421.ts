// Signs outgoing HTTP requests by RFC 9421.
import { buildSignatureBase, formatContentDigest } from '../signature/rfc9421/message-signature.ts'
import { formatInnerList } from '../signature/rfc9421/structured-field.ts'
import type { SigningKey } from './key-generations.ts'
import type { OutgoingRequest } from './send-signed.ts'
import { signInThreadpool } from './send-signed.ts'

/**
 * Returns the headers that sign an outgoing request by RFC 9421, in the one form that Mastodon accepts: one signature with `created`, over
 * method, target and content, with the algorithm rsa-v1_5-sha256.
 */
export async function signRfc9421Request(
  { method, url, now, body }: OutgoingRequest,
  { id, privateKey }: SigningKey,
): Promise<Record<string, string>> {
  const { origin, pathname, search } = new URL(url)
  const contentHeaders = body && { 'content-digest': formatContentDigest(body.bytes), 'content-type': body.type }
  const coveredComponents = ['@method', '@target-uri', ...(body ? ['content-digest'] : [])]
  const parameters = formatInnerList({
    items: coveredComponents.map(value => ({ value, parameters: new Map() })),
    parameters: new Map<string, string | number>([
      ['created', Math.floor(now / 1_000)],
      ['keyid', id],
      ['alg', 'rsa-v1_5-sha256'],
    ]),
  })
  const request = { method, target: pathname + search, origin, headers: new Headers(contentHeaders) }
  const base = Buffer.from(buildSignatureBase({ coveredNames: coveredComponents, parameters }, request))
  const signature = await signInThreadpool('sha256', base, privateKey)
  return {
    date: new Date(now).toUTCString(),
    ...contentHeaders,
    'signature-input': `sig1=${parameters}`,
    signature: `sig1=:${signature.toString('base64')}:`,
  }
}
