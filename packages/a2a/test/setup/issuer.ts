// Runs an issuer of access tokens.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { JWK } from 'jose'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'

export interface TestIssuerKey {
  readonly kid: string
  readonly privateKey: CryptoKey
  readonly publicJwk: JWK
}

/** An issuer of tokens whose keys are served on loopback. */
export interface TestIssuer {
  readonly host: string
  readonly issuer: string
  readonly jwks: string
  readonly port: number
  readonly audience: string
  /** The key that signs tokens. */
  key: TestIssuerKey
  /** The keys that are served. They may be changed. */
  keys: JWK[]
  /** The kind of answer to requests for the key set. Default: 200 with `keys`. `slow` sends the head and nothing after it. */
  answer: 'keys' | 'down' | 'garbage' | 'redirect' | 'huge' | 'slow'
  /** The number of requests for the keys. */
  fetches: number
  sign(
    claims?: Readonly<Record<string, unknown>>,
    header?: Readonly<Record<string, unknown>>,
    key?: TestIssuerKey,
  ): Promise<string>
  close(): Promise<void>
}

export async function makeIssuerKey(kid: string, alg = 'ES256'): Promise<TestIssuerKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  return { kid, privateKey, publicJwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } }
}

const answers: Readonly<Record<TestIssuer['answer'], (issuer: TestIssuer) => readonly [number, string]>> = {
  keys: ({ keys }) => [200, JSON.stringify({ keys })],
  down: () => [503, 'down'],
  garbage: () => [200, '<html>'],
  redirect: () => [302, ''],
  huge: () => [200, ' '.repeat(300 * 1024)],
  slow: () => [200, ''],
}

export async function openIssuer(now: () => number, host = 'issuer.test'): Promise<TestIssuer> {
  const first = await makeIssuerKey('key-1')
  const server = createServer((_, response) => {
    issuer.fetches += 1
    const [status, body] = answers[issuer.answer](issuer)
    response.writeHead(status, { 'content-type': 'application/json', location: 'https://evil.test/keys' })
    if (issuer.answer === 'slow') response.flushHeaders()
    else response.end(body)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const issuer: TestIssuer = {
    host,
    issuer: `https://${host}`,
    jwks: `https://${host}/keys`,
    port: (server.address() as AddressInfo).port,
    audience: 'https://agents.test/a2a',
    key: first,
    keys: [first.publicJwk],
    answer: 'keys',
    fetches: 0,
    async sign(claims = {}, header = {}, key = issuer.key) {
      const issuedAt = Math.floor(now() / 1000)
      const allClaims = {
        iss: issuer.issuer,
        aud: issuer.audience,
        sub: 'alice',
        iat: issuedAt,
        nbf: issuedAt,
        exp: issuedAt + 300,
        ...claims,
      }
      const presentClaims = Object.fromEntries(Object.entries(allClaims).filter(([, value]) => value !== undefined))
      return new SignJWT(presentClaims)
        .setProtectedHeader({ alg: 'ES256', kid: key.kid, ...header })
        .sign(key.privateKey)
    },
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return issuer
}
