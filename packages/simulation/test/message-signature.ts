// Signs and reads RFC 9421 signatures by hand.
import { createHash, createSign, createVerify } from 'node:crypto'
import type { SimRequest } from '../src/net/loopback-server.ts'

/** Computes the `Content-Digest` (RFC 9530) of a body. */
export function contentDigestOf(body: string | Uint8Array): string {
  return `sha-256=:${createHash('sha256').update(body).digest('base64')}:`
}

export interface MessageSignaturePlan {
  readonly keyId: string
  readonly privatePem: string
  readonly created?: Date
  readonly covered?: readonly string[]
}

/** Writes the signature fields of a POST (RFC 9421 §2.5) by hand. */
export function signMessageByHand(url: string, body: string, plan: MessageSignaturePlan): Record<string, string> {
  const covered = plan.covered ?? ['@method', '@target-uri', 'content-digest']
  const created = Math.floor((plan.created ?? new Date()).getTime() / 1_000)
  const parameters = `(${covered.map(name => `"${name}"`).join(' ')});created=${created};keyid="${plan.keyId}"`
  const values = { '@method': 'POST', '@target-uri': url, 'content-digest': contentDigestOf(body) }
  const signature = createSign('RSA-SHA256')
    .update(writeBase(values, covered, parameters))
    .sign(plan.privatePem)
  return {
    'content-type': 'application/activity+json',
    'content-digest': values['content-digest'],
    'signature-input': `sig1=${parameters}`,
    signature: `sig1=:${signature.toString('base64')}:`,
  }
}

/** Rebuilds the signature base of a request by hand. */
export function readSignatureByHand({ method, host, target, headers }: SimRequest) {
  const parameters = String(headers['signature-input']).replace(/^sig1=/, '')
  const covered = [...(parameters.match(/^\(([^)]*)\)/)?.[1] ?? '').matchAll(/"([^"]+)"/g)].map(
    ([, name]) => name ?? '',
  )
  const values = {
    '@method': method,
    '@target-uri': `https://${host}${target}`,
    'content-digest': String(headers['content-digest']),
  }
  const signature = Buffer.from(String(headers.signature).match(/^sig1=:(.*):$/)?.[1] ?? '', 'base64')
  return {
    covered,
    keyId: parameters.match(/;keyid="([^"]*)"/)?.[1],
    created: Number(parameters.match(/;created=(\d+)/)?.[1]) * 1_000,
    holds: (publicPem: string) =>
      createVerify('RSA-SHA256')
        .update(writeBase(values, covered, parameters))
        .verify(publicPem, signature),
  }
}

function writeBase(values: Readonly<Record<string, string>>, covered: readonly string[], parameters: string): string {
  return [...covered.map(name => `"${name}": ${values[name]}`), `"@signature-params": ${parameters}`].join('\n')
}
