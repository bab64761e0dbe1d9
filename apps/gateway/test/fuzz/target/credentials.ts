// Authenticates the requests of the fuzzer.
import type { Simulation } from '@postern/simulation'
import type { CredentialName, HttpCase } from '../cases/case.ts'
import { providerPassword } from './describe-providers.ts'

/** A function that returns the header fields that authenticate a request. */
export type Credentials = (
  name: CredentialName,
  request?: Pick<HttpCase, 'method' | 'target' | 'body'>,
) => Promise<Readonly<Record<string, string>>>

interface KnownSecrets {
  readonly origin: string
  readonly operatorToken: string
  readonly chatToken: string
  readonly intakeSecret: string
}

const signers = ['alice@mastodon.test', 'alice@gotosocial.test', 'alice@snac.test'] as const

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

export function createCredentials(simulation: Simulation, secrets: KnownSecrets): Credentials {
  const basic = Buffer.from(`fuzz:${providerPassword}`).toString('base64')
  return async (name, request) => {
    if (name === 'operator') return bearer(secrets.operatorToken)
    if (name === 'chat') return bearer(secrets.chatToken)
    if (name === 'intake') return bearer(secrets.intakeSecret)
    if (name === 'a2a') return bearer(await simulation.a2a.token())
    if (name === 'postmark') return { authorization: `Basic ${basic}` }
    return name === 'signed' && request ? sign(simulation, request, secrets.origin) : {}
  }
}

/** Signs a request. A request that cannot be signed gets no header fields. */
async function sign(
  { fediverse }: Simulation,
  { method, target, body }: Pick<HttpCase, 'method' | 'target' | 'body'>,
  origin: string,
): Promise<Readonly<Record<string, string>>> {
  const url = `${origin}${target}`
  const isPlain = URL.canParse(url) && new URL(url).href === url
  if (!isPlain || (method !== 'POST' && method !== 'GET')) return {}
  const signer = signers.find(name => body.includes(`https://${name.split('@')[1]}/`)) ?? signers[0]
  const headers = await fediverse.sign({ method, url, ...(method === 'POST' && { body }) }, signer)
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}
