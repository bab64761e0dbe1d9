// Signs requests by RFC 9421, with mistakes if a test wants them.
import { createHash, createPrivateKey, sign } from 'node:crypto'
import type { ActivityPubGateway } from './gateway.ts'
import { origin } from './gateway.ts'
import type { PeerAccount } from './person.ts'

export interface SignatureOptions {
  readonly path?: string
  readonly method?: 'GET' | 'POST'
  readonly coveredComponents?: readonly string[]
  /** The parameters after the list of components. By default they are correct. The value `undefined` omits a parameter. */
  readonly parameters?: Readonly<Record<string, string | number | undefined>>
  /** Replacements for correct component values. */
  readonly values?: Readonly<Record<string, string>>
  readonly label?: string
  readonly keyPem?: string
  readonly contentDigest?: string
}

/** Signs by RFC 9421 with node:crypto alone, so that a test can get anything wrong on purpose. */
export function signMessageHeaders(
  gateway: Pick<ActivityPubGateway, 'system'>,
  signer: Pick<PeerAccount, 'keyId' | 'key'>,
  body: string | undefined,
  options: SignatureOptions = {},
): Record<string, string> {
  const { path = '/agents/echo/inbox', label = 'sig1', method = body === undefined ? 'GET' : 'POST' } = options
  const contentDigest =
    options.contentDigest ??
    `sha-256=:${createHash('sha256')
      .update(body ?? '')
      .digest('base64')}:`
  const coveredComponents = options.coveredComponents ?? [
    '@method',
    '@target-uri',
    ...(body === undefined ? [] : ['content-digest']),
  ]
  const parameters = { created: Math.floor(gateway.system.now() / 1_000), keyid: signer.keyId, ...options.parameters }
  const values: Record<string, string> = {
    '@method': method,
    '@target-uri': origin + path,
    '@authority': new URL(origin).host,
    '@path': path.replace(/\?.*/, ''),
    '@query': path.includes('?') ? path.slice(path.indexOf('?')) : '?',
    'content-digest': contentDigest,
    ...options.values,
  }
  const signatureParams = `(${coveredComponents.map(name => `"${name}"`).join(' ')})${Object.entries(parameters).map(writeParameter).join('')}`
  const signatureBase = [
    ...coveredComponents.map(name => `"${name}": ${values[name]}`),
    `"@signature-params": ${signatureParams}`,
  ].join('\n')
  const key = createPrivateKey(options.keyPem ?? signer.key.privatePem)
  const signature = sign(key.asymmetricKeyType === 'rsa' ? 'sha256' : null, Buffer.from(signatureBase), key)
  return {
    'signature-input': `${label}=${signatureParams}`,
    signature: `${label}=:${signature.toString('base64')}:`,
    ...(body !== undefined && { 'content-digest': contentDigest }),
  }
}

function writeParameter([name, value]: [string, string | number | undefined]): string {
  if (value === undefined) return ''
  return typeof value === 'number' ? `;${name}=${value}` : `;${name}="${value}"`
}
