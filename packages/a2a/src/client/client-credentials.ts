// Fetches access tokens by OAuth 2.0 client credentials (RFC 6749 §4.4) for calls agentInterface other agents.
import { createExpiringMap } from '@postern/limits'
import type { System } from '@postern/message'
import { parseUrl } from '@postern/message'
import type { OAuthClient } from '@postern/pipeline'
import type { AgentInterface } from './exchange/bindings.ts'
import { CallerRefusal } from './exchange/exchange.ts'
import { checkAvailable, readPeerObject, refuseAgent } from './exchange/fetch-document.ts'

const bounds = { timeoutMs: 10_000, maxBytes: 64 * 1024, redirects: 0 } as const
const maxTokens = 100
/** The lifetime of a token without `expires_in`, in seconds. */
const defaultLifetimeSeconds = 300
/** The last seconds of a token's lifetime in which it is not used. */
const expiryMarginSeconds = 30

export type ClientTokens = ReturnType<typeof createClientTokens>

/** Creates the source of tokens, which caches each token until shortly before it expires. */
export function createClientTokens(system: Pick<System, 'fetch' | 'now'>) {
  const tokens = createExpiringMap<string>(maxTokens, () => system.now())
  const tokenKeyOf = ({ tokenUrl }: AgentInterface, { client_id, scopes = [] }: OAuthClient) =>
    JSON.stringify([tokenUrl, client_id, scopes])
  return {
    /**
     * Finds a valid token in the cache or at the token endpoint.
     * @throws CallerRefusal if the endpoint rejects the client; Undeliverable if the card names no endpoint; Unavailable
     */
    async find(agentInterface: AgentInterface, client: OAuthClient): Promise<string> {
      const cachedToken = tokens.get(tokenKeyOf(agentInterface, client))
      if (cachedToken !== undefined) return cachedToken
      const { token, seconds } = await fetchToken(agentInterface, client, system)
      if (seconds > expiryMarginSeconds)
        tokens.set(tokenKeyOf(agentInterface, client), token, (seconds - expiryMarginSeconds) * 1000)
      return token
    },
    /** Deletes a token that the peer has rejected, so that the next call fetches another one. */
    forget: (agentInterface: AgentInterface, client: OAuthClient) => tokens.delete(tokenKeyOf(agentInterface, client)),
  }
}

async function fetchToken({ tokenUrl }: AgentInterface, client: OAuthClient, system: Pick<System, 'fetch' | 'now'>) {
  const url = tokenUrl === undefined ? undefined : parseUrl(tokenUrl)
  if (!url) throw refuseAgent('its card names no token endpoint for client credentials')
  let response = await requestToken(url.href, client, 'header', system)
  // Some servers accept the secret only in the body (RFC 6749 §2.3.1).
  if (response.status === 400 || response.status === 401)
    response = await requestToken(url.href, client, 'body', system)
  checkAvailable(response, { problem: 'its token endpoint answered', url: response.url }, system.now())
  if (response.status !== 200)
    throw new CallerRefusal(`Cannot call agent: its token endpoint refuses the client (${response.status})`)
  const { access_token: token, expires_in: expiresInSeconds } = readPeerObject(
    response.body,
    'the answer of its token endpoint',
  )
  if (typeof token !== 'string' || !/^[\x21-\x7e]{1,16384}$/.test(token))
    throw refuseAgent('its token endpoint gave no token')
  return {
    token,
    seconds:
      typeof expiresInSeconds === 'number' && expiresInSeconds >= 0
        ? Math.min(expiresInSeconds, 86_400)
        : defaultLifetimeSeconds,
  }
}

function requestToken(
  url: string,
  { client_id: id, client_secret: secret, scopes = [] }: OAuthClient,
  secretLocation: 'header' | 'body',
  { fetch }: Pick<System, 'fetch'>,
) {
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    ...(scopes.length > 0 && { scope: scopes.join(' ') }),
  })
  if (secretLocation === 'body')
    for (const [name, value] of [
      ['client_id', id],
      ['client_secret', secret],
    ] as const)
      form.set(name, value)
  const basic = Buffer.from(`${encodeForm(id)}:${encodeForm(secret)}`).toString('base64')
  const headers = {
    accept: 'application/json',
    'content-type': 'application/x-www-form-urlencoded',
    ...(secretLocation === 'header' && { authorization: `Basic ${basic}` }),
  }
  return fetch(url, { ...bounds, method: 'POST', headers, body: form.toString(), isRepeatable: true })
}

/** Encodes a text for a form (RFC 6749 §2.3.1, appendix B). */
function encodeForm(text: string): string {
  return new URLSearchParams({ '': text }).toString().slice(1)
}
