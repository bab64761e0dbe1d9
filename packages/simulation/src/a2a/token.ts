// Issues valid and faulty access tokens (RFC 9068) for the simulation.
import { randomUUID } from 'node:crypto'
import type { JWK } from 'jose'
import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT } from 'jose'
import type { TokenOnlyFault } from '../fault.ts'
import type { SimAnswer, SimRequest } from '../net/loopback-server.ts'
import { answerJson } from '../net/loopback-server.ts'

export type TokenFault = TokenOnlyFault | 'tampered' | 'forged' | 'expired' | 'wrong_owner' | 'key_host_down'

export interface TokenPlan {
  /** The subject of the token, the caller. Default: `peer`. */
  readonly sub?: string | undefined
  readonly scope?: string | undefined
  /** The audience. Default: the gateway's `/a2a`. */
  readonly audience?: string | readonly string[] | undefined
  /** The lifetime in seconds. Default: 300. */
  readonly lifetimeSeconds?: number | undefined
  readonly claims?: Readonly<Record<string, unknown>> | undefined
  readonly fault?: TokenFault | undefined
}

export interface TokenMint {
  readonly issuer: TokenIssuer
  /** An issuer whose keys cannot be fetched. */
  readonly deadIssuer: TokenIssuer
  /** Returns the audience of tokens whose plan has none. */
  defaultAudience(): string
  now(): number
}

const hourSeconds = 3_600

/** The changes of the claims by fault, with times in seconds from now. */
const claimFaults: Partial<Record<TokenFault, { shiftSeconds?: number; issuer?: string; audience?: string }>> = {
  expired: { shiftSeconds: -2 * hourSeconds },
  not_yet: { shiftSeconds: 2 * hourSeconds },
  wrong_owner: { audience: 'https://another-service.test' },
  wrong_issuer: { issuer: 'https://evil.test' },
}

/** Mints an access token (RFC 9068), which is valid except for `fault`. */
export async function mintToken(plan: TokenPlan, mint: TokenMint): Promise<string> {
  const { fault, sub = 'peer', scope, lifetimeSeconds = 300, claims } = plan
  const issuer = fault === 'key_host_down' ? mint.deadIssuer : mint.issuer
  const claimChanges = (fault && claimFaults[fault]) ?? {}
  const iat = Math.floor(mint.now() / 1000) + (claimChanges.shiftSeconds ?? 0)
  const audience = claimChanges.audience ?? plan.audience ?? mint.defaultAudience()
  const { kid, privateKey } = await issuer.key()
  const payload = {
    ...{ client_id: sub, ...(scope && { scope }), ...claims },
    iss: claimChanges.issuer ?? issuer.config.issuer,
    aud: typeof audience === 'string' ? audience : [...audience],
    sub,
    ...{ iat, nbf: iat, exp: iat + lifetimeSeconds, jti: randomUUID() },
  }
  if (fault === 'alg_none') return new UnsecuredJWT(payload).encode()
  const signingKey = fault === 'forged' ? (await issuer.strangerKey()).privateKey : privateKey
  const token = await new SignJWT(payload).setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid }).sign(signingKey)
  return fault === 'tampered' ? alterSignature(token) : token
}

/** Alters a character in the middle of the signature, because the last characters have bits that decoders ignore. */
function alterSignature(token: string): string {
  const index = token.length - 40
  return token.slice(0, index) + (token[index] === 'A' ? 'B' : 'A') + token.slice(index + 1)
}

interface IssuerSigningKey {
  readonly kid: string
  readonly privateKey: CryptoKey
  readonly publicJwk: JWK
}

/** The part of an issuer's configuration that does not depend on the gateway. The audience is missing. */
export interface IssuerConfig {
  readonly issuer: string
  readonly jwks: string
  readonly algorithms: readonly string[]
}

/** A simulated party that signs access tokens (ES256) and publishes the keys. */
export interface TokenIssuer {
  readonly config: IssuerConfig
  /** Returns the current signing key. */
  key(): Promise<IssuerSigningKey>
  /** Returns a key that nobody publishes, created once. */
  strangerKey(): Promise<IssuerSigningKey>
  /** Starts to sign with a new key. The old key stays published, unless `forget` is set. */
  rotate(options?: { readonly forget?: boolean }): Promise<void>
  answer(request: SimRequest): Promise<SimAnswer>
}

export function createTokenIssuer(host: string): TokenIssuer {
  const issuer = `https://${host}`
  const config = { issuer, jwks: `${issuer}/.well-known/jwks.json`, algorithms: ['ES256'] }
  let publishedKeys: Promise<readonly IssuerSigningKey[]> | undefined
  let strangerKeyPromise: Promise<IssuerSigningKey> | undefined
  const listKeys = () => {
    publishedKeys ??= createSigningKey().then(key => [key])
    return publishedKeys
  }
  return {
    config,
    key: async () => (await listKeys())[0] as IssuerSigningKey,
    strangerKey() {
      strangerKeyPromise ??= createSigningKey()
      return strangerKeyPromise
    },
    async rotate({ forget = false } = {}) {
      const [key, previousKeys] = await Promise.all([createSigningKey(), listKeys()])
      publishedKeys = Promise.resolve([key, ...(forget ? [] : previousKeys)])
    },
    async answer({ path }) {
      if (path === '/.well-known/jwks.json') {
        const keys = (await listKeys()).map(({ publicJwk }) => publicJwk)
        return answerJson({ keys }, 'application/jwk-set+json')
      }
      const isMetadata = /^\/\.well-known\/(openid-configuration|oauth-authorization-server)$/.test(path)
      return isMetadata ? answerJson({ issuer, jwks_uri: config.jwks }) : { status: 404 }
    },
  }
}

async function createSigningKey(): Promise<IssuerSigningKey> {
  const { privateKey, publicKey } = await generateKeyPair('ES256')
  const kid = randomUUID()
  return { kid, privateKey, publicJwk: { ...(await exportJWK(publicKey)), kid, alg: 'ES256', use: 'sig' } }
}
