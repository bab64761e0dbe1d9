// Calls other agents over A2A.
import { hash } from 'node:crypto'
import type { AgentChain, Part, System, Unavailable } from '@postern/message'
import {
  canonicalizeJson,
  nextHop,
  openConfiguredOrigins,
  parseAddress,
  randomHex,
  toWellFormed,
} from '@postern/message'
import type { AgentCallOptions, CallAgent, LookupStore } from '@postern/pipeline'
import type { A2aConfig } from '../config.ts'
import type { WirePart } from '../format/wire.ts'
import { createOwnKeyRing } from '../keys/own-keys.ts'
import { renderCalledBy } from '../message/called-by.ts'
import { renderPhase } from '../message/mentionable.ts'
import { readKnownBytes, writeParts } from '../render.ts'
import { createCardCache } from './cards/cache.ts'
import { createClientTokens } from './client-credentials.ts'
import type { AgentInterface } from './exchange/bindings.ts'
import { CallerRefusal } from './exchange/exchange.ts'
import { openCallDeadline } from './exchange/fetch-document.ts'
import type { FollowTaskDeps } from './follow-task.ts'
import { followTask } from './follow-task.ts'
import { createPeerCredentials, createTokenSigner } from './peer-credentials.ts'
import { callWithRetries, wasNotAccepted } from './retry.ts'

/**
 * Creates the function by which our agents call other agents. It finds and verifies the card, authenticates, sends the message, and follows the
 * task to its end.
 */
export function createAgentCaller(deps: A2aClientDeps): CallAgent {
  const { system: clientSystem, store, origin } = deps
  const { client, limits } = deps.config
  const signToken = createTokenSigner(createOwnKeyRing(deps), deps, clientSystem)
  const publicCallDeps = openPeerCallDeps(deps, signToken)
  const findConfiguredCallDeps = createConfiguredCallDeps(deps, signToken)

  async function callOnce(address: string, parts: readonly Part[], options: BoundedCallOptions) {
    const { signal, taskId, traceparent, timeoutMs, peer, onPiece, onSend } = options
    const { system, findAgent, credentialsFor } = peer ? findConfiguredCallDeps(address) : publicCallDeps
    const { agentInterface, cardUrl, signedBy } = await findAgent(address, signal)
    const files = parts.filter(part => acceptsBytes(part, agentInterface))
    const bytesByDigest = files.length > 0 ? await readKnownBytes(store, files, maxSentBytes) : undefined
    const calledBy = renderCalledBy(options, { card: cardUrl, origin })
    const message = renderCall(writeParts(parts, bytesByDigest), options, calledBy)
    const { initial, fallback } = credentialsFor(agentInterface, options)
    const followDeps: FollowTaskDeps = {
      agentInterface: peer?.streams === false ? { ...agentInterface, canStream: false } : agentInterface,
      ...(onPiece && { onPiece }),
      isOnlyCall: peer !== undefined,
      system,
      signal,
      maxBytes: client.answer_bytes,
      timeoutMs,
      credentials: initial,
      ...(traceparent !== undefined && { traceparent }),
    }
    onSend()
    const answer = await followTask(message, followDeps, taskId).catch(error => {
      // The second call has another credential, because the card or the token may be outdated. For example, the card requires no credential, but the
      // agent rejects calls without a credential.
      if (!(error instanceof CallerRefusal) || !fallback) throw error
      return followTask(message, { ...followDeps, credentials: fallback }, taskId)
    })
    const { remainingParts, ...finishedAnswer } = answer
    const source = { address, card: cardUrl, ...(signedBy && { signedBy }) }
    return { ...finishedAnswer, ...(onPiece && { rest: remainingParts }), source }
  }

  return async (address, parts, options) => {
    const chain = nextHop(options.chain, limits.max_hops)
    const timeoutMs = options.peer?.withinMs ?? client.call_seconds * 1000
    const { signal, clear } = openCallDeadline(timeoutMs, options.signal, clientSystem)
    // The id is the same in every attempt, so that the peer answers only once.
    const messageId = deriveMessageId(address, parts, options) ?? randomHex(clientSystem, 16)
    const { beginAttempt, mayHaveActed, ...watch } = watchCall(options)
    const callOptions = { ...options, ...watch, chain, signal, timeoutMs, messageId }
    const call = () => {
      beginAttempt()
      return callOnce(address, parts, callOptions)
    }
    try {
      return await (options.peer ? callWithRetries(call, { signal, system: clientSystem, mayHaveActed }) : call())
    } finally {
      clear()
    }
  }
}

type PeerCallDeps = ReturnType<typeof openPeerCallDeps>

function openPeerCallDeps({ config, system, store }: A2aClientDeps, signToken: ReturnType<typeof createTokenSigner>) {
  const tokens = createClientTokens(system)
  const credentialsFor = createPeerCredentials(config.client.peers, { signToken, tokens })
  return { system, findAgent: createCardCache({ config, system, store }), credentialsFor }
}

/**
 * Creates the function that returns the dependencies of calls to a configured peer. Private addresses are allowed only at the origin of the peer's
 * address and at the allowed origins, because the peer itself names all other addresses.
 */
function createConfiguredCallDeps(deps: A2aClientDeps, signToken: ReturnType<typeof createTokenSigner>) {
  const callDepsByOrigin = new Map<string, PeerCallDeps>()
  return (address: string): PeerCallDeps => {
    const origin = originOf(address)
    const cachedCallDeps = callDepsByOrigin.get(origin)
    if (cachedCallDeps) return cachedCallDeps
    const system = openConfiguredOrigins(deps.system, [origin, ...deps.config.client.allowed_origins])
    const callDeps = openPeerCallDeps({ ...deps, system }, signToken)
    callDepsByOrigin.set(origin, callDeps)
    return callDeps
  }
}

/** Returns the origin that a card's URL or an address names. @throws Rejection `malformed` */
function originOf(address: string): string {
  return /^https?:\/\//i.test(address) ? new URL(address).origin : `https://${parseAddress(address).domain}`
}

/** Records the progress of each attempt of a call. */
function watchCall({ onPiece }: AgentCallOptions) {
  let [hasSent, hasPassedPiece] = [false, false]
  return {
    beginAttempt(): void {
      hasSent = false
    },
    onSend(): void {
      hasSent = true
    },
    ...(onPiece && {
      onPiece(piece: readonly Part[]): void {
        hasPassedPiece = true
        onPiece(piece)
      },
    }),
    mayHaveActed: (error: Unavailable) => hasPassedPiece || (hasSent && !wasNotAccepted(error)),
  }
}

interface BoundedCallOptions extends AgentCallOptions {
  readonly chain: AgentChain
  readonly signal: AbortSignal
  readonly timeoutMs: number
  readonly messageId: string
  /** Records that the message is about to be sent. */
  onSend(): void
}

/** The most bytes of all files in one message. Many servers accept no more than 4 MiB, and base64 needs a third more. */
const maxSentBytes = 2 * 1024 * 1024

/** Returns true if the peer accepts a file of this type as bytes. Otherwise the peer gets the address of the file. */
function acceptsBytes(part: Part, { inputModes }: AgentInterface): boolean {
  if (part.kind !== 'file' && part.kind !== 'artifact') return false
  if (part.bytes_ref.kind !== 'content_addressed') return false
  const type = part.mime?.toLowerCase().split(';')[0]?.trim() || 'application/octet-stream'
  const modes = [type, `${type.split('/')[0]}/*`, '*/*', '*']
  return inputModes.length === 0 || modes.some(mode => inputModes.includes(mode))
}

function renderCall(parts: readonly WirePart[], options: BoundedCallOptions, calledBy: object): object {
  const { messageId, contextId, taskId, chain } = options
  return {
    messageId,
    role: 'ROLE_USER',
    parts,
    ...(contextId && { contextId }),
    ...(taskId && { taskId }),
    metadata: { mentionable: { agent_chain: chain, ...renderPhase(options), ...calledBy } },
  }
}

/**
 * Returns the id of a message, which is the same when the turn is repeated. A peer answers the same content with the same id only once, and other
 * content is another call.
 */
function deriveMessageId(
  address: string,
  parts: readonly Part[],
  { callerName: as, retryKey }: AgentCallOptions,
): string | undefined {
  if (retryKey === undefined) return undefined
  return hash('sha256', canonicalizeJson(toWellFormed([retryKey, as, address, parts]))).slice(0, 32)
}

export interface A2aClientDeps {
  readonly config: A2aConfig
  readonly system: Pick<System, 'fetch' | 'openStream' | 'configuredFor' | 'now' | 'randomBytes' | 'sleep' | 'log'>
  readonly store: Pick<LookupStore, 'readOrCreateSecret' | 'hasSecret' | 'findBlob'>
  /** The issuer of our tokens: the https origin of this gateway without a slash at the end. */
  readonly origin: string
}
