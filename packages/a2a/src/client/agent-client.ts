import { hash } from 'node:crypto'
import type { AgentCallAnswer, AgentCallOptions, AgentChain, CallAgent, LookupDesk, Part, World } from '@postern/core'
import { randomHex } from '@postern/core'
import { createKeyRing } from '../auth/key-ring.ts'
import { toCanonicalJson } from '../canonical.ts'
import type { A2aConfig } from '../config.ts'
import { writeParts } from '../parts/write-parts.ts'
import type { AnswerState } from './answer-state.ts'
import { createAnswerState } from './answer-state.ts'
import { openCallDeadline } from './call-deadline.ts'
import { createCardBook } from './card-book.ts'
import type { Line } from './exchange.ts'
import { CallerRefused, exchangeStream, exchangeUnary } from './exchange.ts'
import { nextHop } from './next-hop.ts'
import { createOwnTokens } from './own-token.ts'
import type { PeerCredentials } from './peer-credentials.ts'
import { createPeerCredentials } from './peer-credentials.ts'
import { refuseAgent } from './trust.ts'

export interface A2aClientOptions {
  readonly config: A2aConfig
  readonly world: Pick<World, 'fetch' | 'openStream' | 'now' | 'randomBytes' | 'sleep' | 'log'>
  readonly desk: Pick<LookupDesk, 'secret' | 'hasSecret'>
  /** https origin without a slash at the end: who we are as an issuer. */
  readonly origin: string
}

export interface A2aClient {
  readonly call: CallAgent
}

/** Our agents' way to agents elsewhere: resolve, verify the card, say who we are, send, and follow the task to its end. */
export function createA2aClient(options: A2aClientOptions): A2aClient {
  const { config, world } = options
  const book = createCardBook(options)
  const tokens = createOwnTokens(createKeyRing(options), options, world)
  const timeoutMs = config.client.call_seconds * 1000
  const credentials = createPeerCredentials(config.client.peers, tokens)

  const call: CallAgent = async (address, parts, options) => {
    const chain = nextHop(options.chain, config.limits.max_hops)
    const deadline = openCallDeadline(timeoutMs, options.signal, world)
    try {
      return await callWithin(address, parts, { ...options, chain, signal: deadline.signal })
    } finally {
      deadline.clear()
    }
  }

  async function callWithin(address: string, parts: readonly Part[], options: CallWithin): Promise<AgentCallAnswer> {
    const { chain, signal } = options
    const { to, card, signedBy } = await book.look(address, signal)
    const { contextId, taskId } = options
    const message = {
      messageId: nameCall(address, parts, options) ?? randomHex(world, 16),
      role: 'ROLE_USER',
      parts: writeParts(parts),
      ...(contextId && { contextId }),
      ...(taskId && { taskId }),
      metadata: { mentionable: { agent_chain: chain } },
    }
    const line = { to, world, signal, maxBytes: config.client.answer_bytes, timeoutMs }
    const proof = credentials.for(to, options.as)
    const answer = await converse(message, { ...line, credentials: proof.initial }, proof, taskId)
    return { ...answer, source: { address, card, ...(signedBy && { signedBy }) } }
  }

  /** Who asked for no credential and is not content without gets one, once: the card may be older than the rule. */
  async function converse(message: object, line: Line, proof: ReturnType<PeerCredentials['for']>, taskId?: string) {
    try {
      return await follow(message, line, taskId)
    } catch (error) {
      if (!(error instanceof CallerRefused) || line.credentials === proof.full) throw error
      return follow(message, { ...line, credentials: proof.full }, taskId)
    }
  }

  async function follow(message: object, line: Line, taskId: string | undefined) {
    const state = createAnswerState({ taskId })
    const finish = () => state.finished()
    try {
      await hearFirst(message, line, state)
      await pollTask(line, state)
      const finished = finish()
      if (!finished) throw refuseAgent('it did not come to an end')
      return finished
    } catch (error) {
      const { aborted, reason } = line.signal
      if (!aborted) throw error
      if (isGivenUp(reason)) void cancelTask(line, state.taskId())
      throw reason
    }
  }

  async function hearFirst(message: object, line: Line, state: AnswerState): Promise<void> {
    if (!line.to.canStream || !world.openStream)
      return state.take(await exchangeUnary('SendMessage', { message }, line))
    for await (const event of exchangeStream('SendStreamingMessage', { message }, line)) {
      state.take(event)
      if (state.finished()) return
    }
  }

  /** A task that outlives its call or its stream is asked for, less and less often, until the time is up. */
  async function pollTask(line: Line, state: AnswerState): Promise<void> {
    const id = state.taskId()
    for (let pause = 250; !state.finished() && id !== undefined; pause = Math.min(pause * 2, 5_000)) {
      await world.sleep(pause, line.signal)
      line.signal.throwIfAborted()
      state.take({ task: await exchangeUnary('GetTask', { id, historyLength: 0 }, line) })
    }
  }

  /** Best effort: nobody waits for the answer any more. */
  async function cancelTask(line: Line, id: string | undefined): Promise<void> {
    if (id === undefined) return
    const { signal } = new AbortController()
    await exchangeUnary('CancelTask', { id }, { ...line, signal, timeoutMs: 5_000 }).catch(err =>
      world.log.debug({ err }, 'a task elsewhere could not be canceled'),
    )
  }

  return { call }
}

interface CallWithin extends AgentCallOptions {
  readonly chain: AgentChain
  readonly signal: AbortSignal
}

/** The turn was canceled or has run out of time. After a shutdown the call is made again, and finds its task as it left it. */
function isGivenUp(reason: unknown): boolean {
  return reason instanceof Error && (reason.message === 'canceled' || reason.name === 'TimeoutError')
}

/** A turn that is tried again says the same under the same id, and is not answered twice; other words are another call. */
function nameCall(address: string, parts: readonly Part[], { as, retryKey }: AgentCallOptions): string | undefined {
  if (retryKey === undefined) return undefined
  return hash('sha256', toCanonicalJson([retryKey, as, address, parts])).slice(0, 32)
}
