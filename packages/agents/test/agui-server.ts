// Runs an AG-UI server on loopback that answers from a script.
import type { Complete, ModelReply } from './model-server.ts'
import { openModelServer } from './model-server.ts'

/** The input of a run in the form in which the agent posts it. */
export interface RunInput {
  readonly threadId: string
  readonly runId: string
  readonly state: unknown
  readonly messages: readonly { readonly id: string; readonly role: string; readonly content: string }[]
  readonly context: readonly { readonly description: string; readonly value: string }[]
  readonly resume?: readonly { readonly interruptId: string; readonly status: string; readonly payload: unknown }[]
  readonly [member: string]: unknown
}

type Answer = (input: RunInput, index: number) => ModelReply

export async function openAguiServer(answer: Answer) {
  const complete: Complete = ({ body }, index) => answer(body as unknown as RunInput, index)
  const { baseUrl, requests, ...server } = await openModelServer(complete)
  return {
    ...server,
    url: `${baseUrl}/run`,
    requests,
    inputs: () => requests.map(({ text }) => JSON.parse(text) as RunInput),
  }
}

/** Returns a run of these events, with its beginning and end. */
export const runOf = (...events: readonly object[]): ModelReply =>
  eventsOf({ type: 'RUN_STARTED', threadId: 't', runId: 'r' }, ...events, finished())

export const eventsOf = (...events: readonly object[]): ModelReply => ({
  pieces: events.map(event => `data: ${JSON.stringify(event)}\n\n`),
})

export const finished = (overrides: object = {}) => ({ type: 'RUN_FINISHED', threadId: 't', runId: 'r', ...overrides })

export const textEvent = (delta: string, messageId = 'a1') => ({ type: 'TEXT_MESSAGE_CONTENT', messageId, delta })
