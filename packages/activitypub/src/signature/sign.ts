import type { KeyObject } from 'node:crypto'
import { sign } from 'node:crypto'
import { promisify } from 'node:util'
import { formatDigest } from './digest.ts'

const signInThreadpool = promisify<string, Buffer, KeyObject, Buffer>(sign)

export interface SigningKey {
  /** IRI of the public half in its actor's document. */
  readonly id: string
  readonly privateKey: KeyObject
}

export interface OutgoingRequest {
  readonly method: 'GET' | 'POST'
  readonly url: string
  /** Milliseconds. */
  readonly now: number
  readonly body?: { readonly bytes: Uint8Array; readonly type: string } | undefined
}

/**
 * The headers that sign an outgoing request by draft-cavage-12 with rsa-sha256, which every server of this network
 * reads. `host` is signed, and the HTTP client sends it.
 */
export async function signRequest(
  { method, url, now, body }: OutgoingRequest,
  { id, privateKey }: SigningKey,
): Promise<Record<string, string>> {
  const { host, pathname, search } = new URL(url)
  const sent = {
    date: new Date(now).toUTCString(),
    ...(body && { digest: formatDigest(body.bytes), 'content-type': body.type }),
  }
  const signed = { '(request-target)': `${method.toLowerCase()} ${pathname}${search}`, host, ...sent }
  const lines = Object.entries(signed).map(([name, value]) => `${name}: ${value}`)
  const signature = await signInThreadpool('sha256', Buffer.from(lines.join('\n')), privateKey)
  const covered = Object.keys(signed).join(' ')
  return {
    ...sent,
    signature: `keyId="${id}",algorithm="rsa-sha256",headers="${covered}",signature="${signature.toString('base64')}"`,
  }
}
