import type { GuardedFetch, Rehearsal, RehearsedCall } from '@postern/core'
import { Rejection, randomHex, Unavailable, Undeliverable } from '@postern/core'
import { createOwnKeyRing } from '../keys/own-keys.ts'
import type { A2aClientDeps } from './agent-client.ts'
import { findCard, readInterface } from './cards/find.ts'
import { CallerRefused, exchangeUnary } from './exchange/exchange.ts'
import { isTaskNotFound } from './follow-task.ts'
import { createTokenSigner } from './peer-credentials.ts'

const timeoutMs = 8_000

/**
 * Asks an agent of ours for a task that does not exist (`GetTask`), by its public card: with a token of ours, which is answered with TaskNotFound,
 * and with the same token and a spoilt signature, which is refused.
 */
export async function rehearseCall(address: string, fetch: GuardedFetch, deps: A2aClientDeps): Promise<Rehearsal> {
  const platform = { ...deps.platform, fetch }
  const [agent = ''] = address.replace(/^@/, '').split('@')
  let endpoint = address
  try {
    const to = readInterface(await findCard(address, platform), () => false)
    endpoint = to.url
    const signToken = createTokenSigner(createOwnKeyRing({ ...deps, platform }), deps, platform)
    const token = await signToken({ agent, audience: [new URL(to.url).origin, to.url] })
    const ask = (bearer: string) => {
      const credentials = async () => ({ authorization: `Bearer ${bearer}` })
      const signal = AbortSignal.timeout(timeoutMs)
      const line = { to, platform, credentials, signal, maxBytes: 65_536, timeoutMs }
      return exchangeUnary('GetTask', { id: `rehearsal-${randomHex(platform, 8)}` }, line)
    }
    const [proven, forged] = await Promise.all([
      hear(ask(token), isTaskNotFound),
      hear(ask(spoilToken(token)), error => error instanceof CallerRefused),
    ])
    return { endpoint, proven, forged }
  } catch (error) {
    const failed = { isRight: false, answer: describeFault(error) }
    return { endpoint, proven: failed, forged: failed }
  }
}

/** Both calls are right only if they end with an error. */
async function hear(call: Promise<unknown>, isRight: (error: unknown) => boolean): Promise<RehearsedCall> {
  try {
    await call
    return { isRight: false, answer: 'it answers with a task that does not exist' }
  } catch (error) {
    return { isRight: isRight(error), answer: describeFault(error) }
  }
}

/** @throws whatever is no fault of the endpoint */
function describeFault(error: unknown): string {
  if (error instanceof Unavailable || error instanceof Undeliverable || error instanceof Rejection)
    return error.message.replace(/^Cannot call agent: /, '')
  throw error
}

/** Still base64url, and of the right length. */
function spoilToken(token: string): string {
  const at = token.lastIndexOf('.') + 1
  return `${token.slice(0, at)}${token[at] === 'A' ? 'B' : 'A'}${token.slice(at + 1)}`
}
