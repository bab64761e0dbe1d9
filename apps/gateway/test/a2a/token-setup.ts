// Opens a gateway whose A2A endpoint and web chat trust the same token issuers, and mints their tokens.
import { hash, randomUUID } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import type { TestGateway } from '../setup/gateway.ts'
import { gatewayOrigin, openTestGateway } from '../setup/gateway.ts'
import { openFakeHost } from '../setup/open-fake-host.ts'
import type { JwsKey } from '../setup/sign-jws.ts'
import { makeJwsKey, signJws } from '../setup/sign-jws.ts'

/** A gateway whose A2A endpoint and web chat trust the same issuers. Each rule is configured at only one of the two channels. */
export interface TokenGateway {
  readonly gateway: TestGateway
  close(): Promise<void>
}

/** The rules of each issuer, and the channel whose configuration has them. */
const rules = {
  plain: {},
  access: { require_at_jwt: true },
  scoped: { require_scopes: true },
  bound: { require_dpop: true },
  single: { single_use: true },
} as const

type IssuerName = keyof typeof rules

const issuerKey = makeJwsKey()
const hostOf = (name: string) => `${name}-login.test`
const issuerOf = (name: string) => `https://${hostOf(name)}`

const shop = {
  use: fileURLToPath(new URL('../agents/asking/shopkeeper.ts', import.meta.url)),
  name: 'The shop',
  description: 'Asks before it acts',
}

/** Opens the gateway. `callers` holds further members of `a2a.auth`. */
export async function openTokenGateway(strict: 'a2a' | 'web', callers: object = {}): Promise<TokenGateway> {
  const keys = { keys: [{ ...issuerKey.jwk, kid: 'k1', alg: 'ES256', use: 'sig' }] }
  const host = await openFakeHost(() => ({ '/keys': { body: keys } }))
  const list = (channel: string) =>
    Object.entries(rules).map(([name, rule]) => ({
      issuer: issuerOf(name),
      jwks: `${issuerOf(name)}/keys`,
      audience: gatewayOrigin,
      algorithms: ['ES256'],
      ...(channel === strict && rule),
    }))
  const loopback = Object.fromEntries(Object.keys(rules).map(name => [hostOf(name), host.port]))
  const gateway = await openTestGateway(() => ({
    agents: { shop },
    network: { loopback },
    a2a: { auth: { issuers: list('a2a'), ...callers } },
    web: { enabled: true, auth: { issuers: list('web') } },
  }))
  return {
    gateway,
    async close() {
      await gateway.close()
      await host.close()
    },
  }
}

const seconds = () => Math.floor(Date.now() / 1000)

export interface TokenDraft {
  readonly from?: IssuerName
  readonly claims?: Readonly<Record<string, unknown>>
  readonly header?: Readonly<Record<string, unknown>>
}

/** Mints an honest token, except for the changes in the draft; `undefined` removes a member. */
export function mintFor(sub: string, { from = 'plain', claims = {}, header = {} }: TokenDraft = {}): string {
  const issuedAt = seconds()
  const honest = { iss: issuerOf(from), aud: gatewayOrigin, sub, iat: issuedAt, exp: issuedAt + 300, jti: randomUUID() }
  return signJws({ typ: 'at+jwt', kid: 'k1', ...header }, { ...honest, ...claims }, issuerKey)
}

/** A key for proofs of possession. */
interface ProofKey extends JwsKey {
  /** The thumbprint of the key (RFC 7638). */
  readonly thumbprint: string
}

export function makeProofKey(): ProofKey {
  const key = makeJwsKey()
  const { crv, kty, x, y } = key.jwk as Readonly<Record<string, string>>
  return { ...key, thumbprint: hash('sha256', JSON.stringify({ crv, kty, x, y }), 'base64url') }
}

export interface TokenCallTarget {
  readonly method: string
  readonly path: string
}

/** Creates a DPoP proof (RFC 9449 §4.2) for a request to this target. */
export function prove(token: string, { method, path }: TokenCallTarget, key: ProofKey, claims: object = {}): string {
  const ath = hash('sha256', token, 'base64url')
  const honest = { jti: randomUUID(), htm: method, htu: gatewayOrigin + path.split('?')[0], iat: seconds(), ath }
  return signJws({ typ: 'dpop+jwt', jwk: key.jwk }, { ...honest, ...claims }, key)
}

export interface TokenEndpoint extends TokenCallTarget {
  readonly name: string
  readonly body?: () => string
}

/** The endpoints of both channels that accept a token. */
export const endpoints: readonly TokenEndpoint[] = [
  {
    name: 'the JSON-RPC endpoint of A2A',
    method: 'POST',
    path: '/agents/shop/a2a',
    body: () => JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ListTasks', params: {} }),
  },
  { name: 'the HTTP+JSON endpoint of A2A', method: 'GET', path: '/agents/shop/a2a/rest/tasks' },
  { name: 'the threads of the web chat', method: 'GET', path: '/api/v1/agent/threads' },
  { name: 'a run of the web chat', method: 'POST', path: '/api/v1/agent/runs', body: () => describeRun('hello') },
  { name: 'the sessions of the web chat', method: 'GET', path: '/v1/sessions' },
]

export function describeRun(content: string | undefined, overrides: object = {}): string {
  const messages = content === undefined ? [] : [{ id: randomUUID(), role: 'user', content }]
  return JSON.stringify({ threadId: randomUUID(), runId: randomUUID(), messages, ...overrides })
}

export interface TokenCallOutcome {
  readonly status: number
  /** The `error` of the challenge; undefined if it has none. */
  readonly error: string | undefined
  readonly scope: string | undefined
  readonly nonce: string | undefined
  readonly text: string
}

/** Sends one request with these credentials. */
export async function callWith(
  { gateway }: TokenGateway,
  { method, path, body }: TokenEndpoint,
  headers: Readonly<Record<string, string>>,
): Promise<TokenCallOutcome> {
  const response = await fetch(gateway.url() + path, {
    method,
    headers: { 'a2a-version': '1.0', ...(body && { 'content-type': 'application/json' }), ...headers },
    ...(body && { body: body() }),
  })
  const challenge = response.headers.get('www-authenticate') ?? ''
  return {
    status: response.status,
    error: /error="([^"]*)"/.exec(challenge)?.[1],
    nonce: response.headers.get('dpop-nonce') ?? undefined,
    scope: /scope="([^"]*)"/.exec(challenge)?.[1],
    text: await response.text(),
  }
}
