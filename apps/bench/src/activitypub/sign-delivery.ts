import { hash, sign } from 'node:crypto'
import { promisify } from 'node:util'
import { formatRequest } from '../http/message.ts'
import type { TrafficSender } from './senders.ts'

/** In the thread pool, so that preparing a round uses what cores there are. */
const signInPool = promisify(sign)

export interface SignedDeliveryTarget {
  readonly host: string
  readonly path: string
}

/** A POST signed as Mastodon does it: draft-cavage-12, rsa-sha256 over target, host, date, digest and content type. */
export async function signDelivery(
  sender: TrafficSender,
  { host, path }: SignedDeliveryTarget,
  json: string,
): Promise<Uint8Array> {
  const body = Buffer.from(json)
  const signed = {
    host,
    date: new Date().toUTCString(),
    digest: `SHA-256=${hash('sha256', body, 'base64')}`,
    'content-type': 'application/activity+json',
  }
  const lines = [
    `(request-target): post ${path}`,
    ...Object.entries(signed).map(([name, value]) => `${name}: ${value}`),
  ]
  const value = await signInPool('sha256', Buffer.from(lines.join('\n')), sender.privateKey)
  const names = ['(request-target)', ...Object.keys(signed)].join(' ')
  const signature = `keyId="${sender.keyId}",algorithm="rsa-sha256",headers="${names}",signature="${value.toString('base64')}"`
  return formatRequest(path, { ...signed, accept: '*/*', 'user-agent': 'Mastodon/4.5 (bench)', signature }, body)
}
