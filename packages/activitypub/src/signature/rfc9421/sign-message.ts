import { sign } from 'node:crypto'
import { promisify } from 'node:util'
import type { OutgoingRequest, SigningKey } from '../sign.ts'
import { formatContentDigest } from './content-digest.ts'
import { buildSignatureBase } from './signature-base.ts'
import { formatInnerList } from './structured-field.ts'

const signInThreadpool = promisify(sign)

/**
 * The headers that sign an outgoing request by RFC 9421, in the one form that Mastodon accepts. It has one signature
 * with `created`; it covers method, target and content; the algorithm is rsa-v1_5-sha256.
 */
export async function signMessage(
  { method, url, now, body }: OutgoingRequest,
  { id, privateKey }: SigningKey,
): Promise<Record<string, string>> {
  const { origin, pathname, search } = new URL(url)
  const sent = body && { 'content-digest': formatContentDigest(body.bytes), 'content-type': body.type }
  const covered = ['@method', '@target-uri', ...(body ? ['content-digest'] : [])]
  const parameters = formatInnerList({
    items: covered.map(value => ({ value, parameters: new Map() })),
    parameters: new Map<string, string | number>([
      ['created', Math.floor(now / 1_000)],
      ['keyid', id],
      ['alg', 'rsa-v1_5-sha256'],
    ]),
  })
  const request = { method, target: pathname + search, origin, headers: new Headers(sent) }
  const base = Buffer.from(buildSignatureBase({ covered, parameters }, request))
  const signature = await signInThreadpool('sha256', base, privateKey)
  return {
    date: new Date(now).toUTCString(),
    ...sent,
    'signature-input': `sig1=${parameters}`,
    signature: `sig1=:${signature.toString('base64')}:`,
  }
}
