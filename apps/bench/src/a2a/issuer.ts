import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { gatewayHost } from '../ours/describe.ts'
import type { Site } from '../servers/site.ts'
import { openSite } from '../servers/site.ts'

const host = 'issuer.test'
const keyId = 'bench-1'
const lifeSeconds = 6 * 3600

/** Who vouches for the callers: an ES256 key behind a JWKS address. */
export interface Issuer {
  readonly host: string
  readonly port: number
  /** As the gateway's configuration names it. */
  readonly trusted: object
  /** One token for each of `count` callers, good for hours. */
  readonly mintTokens: (count: number) => readonly string[]
  close(): void
}

/** The JSON-RPC endpoint of the agent that is called. */
export const path = '/agents/brief/a2a'

/** The one that vouches for its callers. */
export function openAgentIssuer(): Promise<Issuer> {
  return openIssuer(`https://${gatewayHost}${path}`)
}

async function openIssuer(audience: string): Promise<Issuer> {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid: keyId, alg: 'ES256', use: 'sig' }
  const document = { type: 'application/json', text: JSON.stringify({ keys: [jwk] }) }
  const site: Site = await openSite(new Map([[`${host}/jwks`, document]]))
  const issuer = `https://${host}`
  return {
    host,
    port: site.port,
    trusted: { issuer, jwks: `${issuer}/jwks`, audience, algorithms: ['ES256'] },
    mintTokens: count =>
      Array.from({ length: count }, (_, index) =>
        mintToken(privateKey, { iss: issuer, aud: audience, sub: `caller-${index}` }),
      ),
    close: site.close,
  }
}

function mintToken(key: KeyObject, claims: object): string {
  const iat = Math.floor(Date.now() / 1000)
  const head = encode({ alg: 'ES256', kid: keyId, typ: 'JWT' })
  const payload = encode({ ...claims, iat, nbf: iat, exp: iat + lifeSeconds })
  const signature = sign('sha256', Buffer.from(`${head}.${payload}`), { key, dsaEncoding: 'ieee-p1363' })
  return `${head}.${payload}.${signature.toString('base64url')}`
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}
