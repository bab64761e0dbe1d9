// Serves a remote A2A agent with the official SDK, which repeats each message.
import { randomUUID } from 'node:crypto'
import type { Part, SendMessageResult } from '@a2a-js/sdk'
import { AgentCard, Message, SendMessageRequest, TaskState } from '@a2a-js/sdk'
import type { AgentExecutor, JsonRpcTransportHandler } from '@a2a-js/sdk/server'
import type { SimAnswer, SimRequest } from '../net/loopback-server.ts'
import { answerJson } from '../net/loopback-server.ts'
import type { SentPart } from '../sent-part.ts'
import { listSentParts, renderA2aPart } from '../sent-part.ts'

/** A remote agent, served by the official SDK, that repeats each message. */
export interface SimPeer {
  readonly cardUrl: string
  /** The bearer tokens of its calls, in order. A call without a token has an empty text. */
  readonly tokens: readonly string[]
  answer(request: SimRequest): Promise<SimAnswer>
}

export function createPeer(host: string): SimPeer {
  const origin = `https://${host}`
  const tokens: string[] = []
  let handlerPromise: Promise<JsonRpcTransportHandler> | undefined
  const handler = () => {
    handlerPromise ??= openHandler(describeCard(origin))
    return handlerPromise
  }
  return {
    cardUrl: `${origin}/.well-known/agent-card.json`,
    tokens,
    async answer({ method, path, headers, body }) {
      if (method === 'GET' && path === '/.well-known/agent-card.json') {
        return answerJson(AgentCard.toJSON(describeCard(origin)))
      }
      if (method !== 'POST' || path !== '/a2a') return { status: 404 }
      tokens.push(String(headers.authorization ?? '').replace(/^Bearer /, ''))
      const { ServerCallContext } = await import('@a2a-js/sdk/server')
      const context = new ServerCallContext({ requestedVersion: String(headers['a2a-version'] ?? '1.0') })
      const answer = await (await handler()).handle(body.toString(), context)
      return Symbol.asyncIterator in answer ? answerStream(answer) : answerJson(answer)
    },
  }
}

/** Loads the server part of the SDK at the first call, because few simulations need it. */
async function openHandler(card: AgentCard): Promise<JsonRpcTransportHandler> {
  const sdk = await import('@a2a-js/sdk/server')
  const executor: AgentExecutor = {
    async execute({ userMessage, contextId }, bus) {
      bus.publish(sdk.AgentEvent.message(composeEcho(userMessage, contextId)))
      bus.finished()
    },
    cancelTask: async () => undefined,
  }
  return new sdk.JsonRpcTransportHandler(new sdk.DefaultRequestHandler(card, new sdk.InMemoryTaskStore(), executor))
}

function composeEcho(message: Message, contextId: string): Message {
  const parts = [renderA2aPart({ kind: 'text', content: `You said: ${listTexts(message.parts).join('\n')}` })]
  return Message.fromJSON({ messageId: randomUUID(), contextId, role: 'ROLE_AGENT', parts })
}

async function answerStream(events: AsyncIterable<unknown>): Promise<SimAnswer> {
  const lines: string[] = []
  for await (const event of events) lines.push(`data: ${JSON.stringify(event)}\n\n`)
  return { status: 200, headers: { 'content-type': 'text/event-stream' }, body: lines.join('') }
}

function describeCard(origin: string): AgentCard {
  return AgentCard.fromJSON({
    name: 'Peer',
    description: 'An agent of the simulation that says back what it was told.',
    supportedInterfaces: [{ url: `${origin}/a2a`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    version: '1.0.0',
    capabilities: { streaming: true, pushNotifications: false, extendedAgentCard: false },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [{ id: 'echo', name: 'Echo', description: 'Says it again', tags: ['test'] }],
  })
}

interface MessageMembers extends Partial<Record<'messageId' | 'contextId' | 'taskId', string | undefined>> {
  /** Parts in addition to the text. */
  readonly parts?: readonly SentPart[] | undefined
}

/** Describes a user's message as the request of the official client. */
export function describeSendRequest(
  text: string,
  { messageId = randomUUID(), contextId = '', taskId = '', parts }: MessageMembers = {},
): SendMessageRequest {
  const a2aParts = listSentParts({ text, parts }).map(renderA2aPart)
  return SendMessageRequest.fromJSON({ message: { messageId, contextId, taskId, role: 'ROLE_USER', parts: a2aParts } })
}

interface SendOutcome {
  readonly text: string
  /** The state of the task, such as `completed` or `working`. It is `completed` for a message without a task. */
  readonly state: string
  readonly contextId: string
  readonly taskId: string | undefined
}

/** Reads the text and state of a result of `SendMessage`. The text has the artifacts and then the question or refusal of the status message. */
export function readSendResult(result: SendMessageResult): SendOutcome {
  if ('messageId' in result) {
    const { parts, contextId, taskId } = result
    return { text: listTexts(parts).join('\n\n'), state: 'completed', contextId, taskId: taskId || undefined }
  }
  const { id, contextId, artifacts, status } = result
  const parts = [...artifacts.flatMap(artifact => artifact.parts), ...(status?.message?.parts ?? [])]
  const state = TaskState[status?.state ?? TaskState.TASK_STATE_UNSPECIFIED] ?? ''
  const text = listTexts(parts).join('\n\n')
  return { text, state: state.replace('TASK_STATE_', '').toLowerCase(), contextId, taskId: id }
}

function listTexts(parts: readonly Part[]): readonly string[] {
  return parts.flatMap(({ content }) => (content?.$case === 'text' ? [content.value] : []))
}
