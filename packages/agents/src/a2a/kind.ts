// Lets a remote A2A agent answer under a local name; each local thread is one context at the remote agent.
import type { Part } from '@postern/message'
import { parseDuration, parseIfAddress, Unavailable } from '@postern/message'
import type { Agent, AgentCallAnswer, AgentCallOptions, PeerOptions } from '@postern/pipeline'
import { z } from 'zod'
import type { AgentFileDeps } from '../kind/agent-files.ts'
import { AgentFileFetcher } from '../kind/agent-files.ts'
import { commonAgentSchema, defineAgentKind } from '../kind/agent-kind.ts'

const secretSchema = z.string().min(1)

/** The options of a call: streaming, and the credentials for the peer. Without credentials, the gateway sends its own token. */
const peerConfigShape = {
  /** True if the answer arrives piece by piece from a peer that can stream. */
  stream: z.boolean().default(true),
  /** A bearer token that the peer gave. */
  token: secretSchema.optional(),
  /** A key that the peer gave. */
  api_key: z
    .strictObject({
      /** Header that carries the key. */
      header: z.string().regex(/^[a-z0-9-]{1,64}$/i, 'must be the name of a header'),
      /** The key itself. */
      key: secretSchema,
    })
    .optional(),
  /** Client credentials (OAuth 2.0), for the token endpoint that the peer's card names. */
  oauth2: z
    .strictObject({
      /** Id of the client. */
      client_id: z.string().min(1),
      /** Secret of the client. */
      client_secret: secretSchema,
      /** Scopes to ask for; default: those that the endpoint gives. */
      scopes: z
        .array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,128}$/, 'must be the name of a scope (RFC 6749 §3.3)'))
        .optional(),
    })
    .optional(),
}

export const a2aAgentSchema = commonAgentSchema
  .extend({
    /** Address of the remote agent's A2A card; either this or `address`. */
    card: z.url({ protocol: /^https?$/ }).optional(),
    /** Address of the remote agent, `@name@domain`; either this or `card`. */
    address: z.string().refine(isAddress, 'must be an address such as "@name@agents.example"').optional(),
  })
  .extend(peerConfigShape)
  .refine(
    ({ token, api_key, oauth2 }) => [token, api_key, oauth2].filter(Boolean).length < 2,
    'needs at most one of "token", "api_key" and "oauth2"',
  )
  .refine(({ card, address }) => (card === undefined) !== (address === undefined), 'needs either "card" or "address"')

export function isAddress(text: string): boolean {
  return parseIfAddress(text) !== undefined
}

/** The share of the deadline for the call. In the remaining time, the agent can report that the peer did not answer. */
const shareOfDeadline = 0.95

/** A remote A2A agent that answers here under a name of this gateway. */
export const a2aKind = defineAgentKind({
  useNotation: '"a2a" (with card or address)',
  usePattern: /^a2a$/,
  schema: a2aAgentSchema,
  open: async ({ card, address, deadline, stream, token, api_key, oauth2 }, { system }) => {
    const timeoutMs = parseDuration(deadline) * shareOfDeadline
    const peer = { withinMs: timeoutMs, streams: stream, token, api_key, oauth2 }
    if (card === undefined) return { agent: createA2aAgent(address ?? '', peer) }
    const fetch = system.fetchFor(new URL(card).origin)
    const fileDeps = { url: card, fetch, timeoutMs, now: () => system.now() }
    return { agent: createA2aAgent(card, peer, fileDeps) }
  },
})

type Continuation = Pick<AgentCallOptions, 'contextId' | 'taskId'>

const unreachableText = 'The agent that should answer cannot be reached at the moment. Please try again later.'

/**
 * Returns an agent that maps each local thread to one context at the remote agent. An answer to a question of the remote agent continues the task
 * of that question. `fileDeps` fetch from the remote agent's origin. They are absent if the operator has not named that origin.
 */
function createA2aAgent(target: string, peer: PeerOptions, fileDeps?: AgentFileDeps): Agent {
  return {
    async *handle(message, context) {
      const { parts, phase_id: phaseId, previous_phase_id: previousPhaseId } = message
      const continuation = ((await context.state.get()) ?? {}) as Continuation
      const { partialAnswers, answerPromise } = streamPartialAnswers(onPiece =>
        context.call(target, parts, { ...continuation, phaseId, previousPhaseId, peer, onPiece }),
      )
      const fileFetcher = fileDeps && new AgentFileFetcher(fileDeps, context, message)
      for await (const piece of partialAnswers) yield { parts: (await fileFetcher?.attachToParts(piece)) ?? [...piece] }
      const answer = await answerPromise.catch(error => {
        if (!(error instanceof Unavailable) || context.signal.aborted) throw error
        context.log.warn({ err: error, peer: target }, 'the agent elsewhere cannot be reached')
      })
      if (!answer) {
        yield { status: 'failed', parts: [{ kind: 'text', mime: 'text/plain', content: unreachableText }] }
        return
      }
      context.state.set(createContinuation(answer))
      const { status, rest: remainingParts = answer.parts } = answer
      if (status !== 'completed' || remainingParts.length > 0)
        yield { parts: (await fileFetcher?.attachToParts(remainingParts)) ?? [...remainingParts], status }
    },
  }
}

/** Turns the callback of a call into a stream of partial answers, which ends with the call. A reader may leave the stream earlier. */
function streamPartialAnswers(call: (onPiece: (parts: readonly Part[]) => void) => Promise<AgentCallAnswer>) {
  const { promise: answerPromise, resolve } = Promise.withResolvers<AgentCallAnswer>()
  answerPromise.catch(() => undefined)
  let isRead = true
  const partialAnswers = new ReadableStream<readonly Part[]>({
    start(controller) {
      const callResult = call(piece => {
        if (isRead) controller.enqueue(piece)
      })
      resolve(callResult)
      const close = () => {
        if (isRead) controller.close()
      }
      callResult.then(close, close)
    },
    cancel() {
      isRead = false
    },
  })
  return { partialAnswers, answerPromise }
}

function createContinuation({ contextId, taskId, status }: AgentCallAnswer): { readonly [name: string]: string } {
  return {
    ...(contextId !== undefined && { contextId }),
    ...(taskId !== undefined && (status === 'input_required' || status === 'auth_required') && { taskId }),
  }
}
