import { hash } from 'node:crypto'
import type {
  AgentCallAnswer,
  AgentCallOptions,
  AgentChain,
  CallAgent,
  LookupStore,
  Part,
  Platform,
} from '@postern/core'
import { nextHop, randomHex } from '@postern/core'
import type { A2aConfig } from '../config.ts'
import { toCanonicalJson } from '../endpoint/call.ts'
import { createOwnKeyRing } from '../keys/own-keys.ts'
import { renderPhase } from '../message/mentionable.ts'
import { writeParts } from '../render.ts'
import { createCardCache } from './cards/cache.ts'
import { CallerRefused } from './exchange/exchange.ts'
import { openCallDeadline } from './exchange/fetch-document.ts'
import type { FollowTaskDeps } from './follow-task.ts'
import { followTask } from './follow-task.ts'
import { createPeerCredentials, createTokenSigner } from './peer-credentials.ts'

/** Lets our agents call other agents: find and verify the card, authenticate, send, and follow the task to its end. */
export function createAgentCaller(options: A2aClientDeps): CallAgent {
  const { platform } = options
  const { client, limits } = options.config
  const findAgent = createCardCache(options)
  const signToken = createTokenSigner(createOwnKeyRing(options), options, platform)
  const credentialsFor = createPeerCredentials(client.peers, signToken)
  const timeoutMs = client.call_seconds * 1000

  async function callWithin(address: string, parts: readonly Part[], options: CallWithin): Promise<AgentCallAnswer> {
    const { signal, taskId, as, traceparent } = options
    const { to, card, signedBy } = await findAgent(address, signal)
    const message = renderCall(nameCall(address, parts, options) ?? randomHex(platform, 16), parts, options)
    const { initial, full } = credentialsFor(to, as)
    const line: FollowTaskDeps = {
      to,
      platform,
      signal,
      maxBytes: client.answer_bytes,
      timeoutMs,
      credentials: initial,
      ...(traceparent !== undefined && { traceparent }),
    }
    const answer = await followTask(message, line, taskId).catch(error => {
      // If the card asks for no credential but the agent refuses without one, the second call has one. The card may be outdated.
      if (!(error instanceof CallerRefused) || initial === full) throw error
      return followTask(message, { ...line, credentials: full }, taskId)
    })
    return { ...answer, source: { address, card, ...(signedBy && { signedBy }) } }
  }

  return async (address, parts, options) => {
    const chain = nextHop(options.chain, limits.max_hops)
    const { signal, clear } = openCallDeadline(timeoutMs, options.signal, platform)
    try {
      return await callWithin(address, parts, { ...options, chain, signal })
    } finally {
      clear()
    }
  }
}

interface CallWithin extends AgentCallOptions {
  readonly chain: AgentChain
  readonly signal: AbortSignal
}

function renderCall(messageId: string, parts: readonly Part[], options: CallWithin): object {
  const { contextId, taskId, chain } = options
  return {
    messageId,
    role: 'ROLE_USER',
    parts: writeParts(parts),
    ...(contextId && { contextId }),
    ...(taskId && { taskId }),
    metadata: { mentionable: { agent_chain: chain, ...renderPhase(options) } },
  }
}

/** A repeated turn sends the same content under the same id and gets no second answer. Other content is another call. */
function nameCall(address: string, parts: readonly Part[], { as, retryKey }: AgentCallOptions): string | undefined {
  if (retryKey === undefined) return undefined
  return hash('sha256', toCanonicalJson([retryKey, as, address, parts])).slice(0, 32)
}

export interface A2aClientDeps {
  readonly config: A2aConfig
  readonly platform: Pick<Platform, 'fetch' | 'openStream' | 'now' | 'randomBytes' | 'sleep' | 'log'>
  readonly store: Pick<LookupStore, 'secret' | 'hasSecret'>
  /** Our issuer: the https origin without a slash at the end. */
  readonly origin: string
}
