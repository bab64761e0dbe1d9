// Tests an agent's public endpoint by calling it with a valid and with a forged token.
import type { GuardedFetch } from '@postern/message'
import { Rejection, randomHex, Unavailable, Undeliverable } from '@postern/message'
import type { SelfTestCall, SelfTestFetches, SelfTestResult } from '@postern/pipeline'
import { createOwnKeyRing } from '../keys/own-keys.ts'
import type { A2aClientDeps } from './agent-client.ts'
import { findCard, readInterface } from './cards/find.ts'
import { CallerRefusal, exchangeUnary } from './exchange/exchange.ts'
import { isTaskNotFound } from './follow-task.ts'
import { createTokenSigner } from './peer-credentials.ts'

const timeoutMs = 8_000

/**
 * Asks one of our agents for a task that does not exist (`GetTask`), by its public card. A call with a valid token must get TaskNotFound, and a
 * call with the same token and an invalid signature must be rejected.
 */
export async function rehearseCall(
  address: string,
  fetches: SelfTestFetches,
  deps: A2aClientDeps,
): Promise<SelfTestResult> {
  const system = { ...deps.system, fetch: fetches.proven }
  const [agent = ''] = address.replace(/^@/, '').split('@')
  let endpoint = address
  try {
    const agentInterface = readInterface(await findCard(address, system), () => false)
    endpoint = agentInterface.url
    const signToken = createTokenSigner(createOwnKeyRing({ ...deps, system }), deps, system)
    const token = await signToken({ agent, audience: [new URL(agentInterface.url).origin, agentInterface.url] })
    const requestTask = (bearer: string, fetch: GuardedFetch) => {
      const credentials = async () => ({ authorization: `Bearer ${bearer}` })
      const signal = AbortSignal.timeout(timeoutMs)
      const exchangeDeps = {
        agentInterface,
        system: { ...system, fetch },
        credentials,
        signal,
        maxBytes: 65_536,
        timeoutMs,
      }
      return exchangeUnary('GetTask', { id: `rehearsal-${randomHex(system, 8)}` }, exchangeDeps)
    }
    const [validCall, forgedCall] = await Promise.all([
      expectError(requestTask(token, fetches.proven), isTaskNotFound),
      expectError(requestTask(alterSignature(token), fetches.forged), error => error instanceof CallerRefusal),
    ])
    return { endpoint, proven: validCall, forged: forgedCall }
  } catch (error) {
    const failedCall = { isExpected: false, answer: describeEndpointError(error) }
    return { endpoint, proven: failedCall, forged: failedCall }
  }
}

/** Awaits a call that must end with an error, and returns whether the error is the expected one. */
async function expectError(
  call: Promise<unknown>,
  isExpectedError: (error: unknown) => boolean,
): Promise<SelfTestCall> {
  try {
    await call
    return { isExpected: false, answer: 'it answers with a task that does not exist' }
  } catch (error) {
    return { isExpected: isExpectedError(error), answer: describeEndpointError(error) }
  }
}

/** Describes an error of the endpoint. @throws any error that does not come from the endpoint */
function describeEndpointError(error: unknown): string {
  if (error instanceof Unavailable || error instanceof Undeliverable || error instanceof Rejection)
    return error.message.replace(/^Cannot call agent: /, '')
  throw error
}

/** Returns the token with a changed signature, which is still base64url and has the same length. */
function alterSignature(token: string): string {
  const start = token.lastIndexOf('.') + 1
  return `${token.slice(0, start)}${token[start] === 'A' ? 'B' : 'A'}${token.slice(start + 1)}`
}
