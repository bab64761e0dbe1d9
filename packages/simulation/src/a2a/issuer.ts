import { randomUUID } from 'node:crypto'
import type { JWK } from 'jose'
import { exportJWK, generateKeyPair } from 'jose'
import type { SimAnswer, SimRequest } from '../net/loopback-server.ts'
import { answerJson } from '../net/loopback-server.ts'

interface IssuerSigningKey {
  readonly kid: string
  readonly privateKey: CryptoKey
  readonly publicJwk: JWK
}

/** What a gateway is told about an issuer; the audience is its own business. */
export interface IssuerConfig {
  readonly issuer: string
  readonly jwks: string
  readonly algorithms: readonly string[]
}

/** Somebody who signs access tokens (ES256) and publishes the keys. */
export interface TokenIssuer {
  readonly config: IssuerConfig
  /** The key that signs now. */
  key(): Promise<IssuerSigningKey>
  /** A key nobody publishes, made once. */
  strangerKey(): Promise<IssuerSigningKey>
  /** Signs with a new key from now on; the old one stays published unless `forget`. */
  rotate(options?: { readonly forget?: boolean }): Promise<void>
  answer(request: SimRequest): Promise<SimAnswer>
}

export function createTokenIssuer(host: string): TokenIssuer {
  const issuer = `https://${host}`
  const config = { issuer, jwks: `${issuer}/.well-known/jwks.json`, algorithms: ['ES256'] }
  let published: Promise<readonly IssuerSigningKey[]> | undefined
  let stranger: Promise<IssuerSigningKey> | undefined
  const listKeys = () => {
    published ??= makeSigningKey().then(key => [key])
    return published
  }
  return {
    config,
    key: async () => (await listKeys())[0] as IssuerSigningKey,
    strangerKey() {
      stranger ??= makeSigningKey()
      return stranger
    },
    async rotate({ forget = false } = {}) {
      const [key, before] = await Promise.all([makeSigningKey(), listKeys()])
      published = Promise.resolve([key, ...(forget ? [] : before)])
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

async function makeSigningKey(): Promise<IssuerSigningKey> {
  const { privateKey, publicKey } = await generateKeyPair('ES256')
  const kid = randomUUID()
  return { kid, privateKey, publicJwk: { ...(await exportJWK(publicKey)), kid, alg: 'ES256', use: 'sig' } }
}
