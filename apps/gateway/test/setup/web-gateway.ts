// Opens a gateway for two people in the web chat, and checks its streams.
import { hash } from 'node:crypto'
import type { BaseEvent } from '@ag-ui/client'
import { HttpAgent } from '@ag-ui/client'
import { PROTOCOL_VERSION } from '@ag-ui/core'
import { EventSchema } from '@ag-ui/core/schemas'
import type { Simulation } from '@postern/simulation'
import { expect, vi } from 'vitest'
import type { TestGateway } from './gateway.ts'
import { gatewayOrigin, openTestGateway } from './gateway.ts'

/** A gateway whose chat is open to two people, whom it knows by their tokens. */
export interface WebGateway {
  readonly gateway: TestGateway
  requestAs(path: string, init?: RequestInit & { as?: ChatPerson }): Promise<Response>
  /** Sends a request with a JSON body. Returns the answer's status and JSON. */
  requestJson(
    method: string,
    path: string,
    body?: unknown,
    as?: ChatPerson,
  ): Promise<{ status: number; json: JsonAnswer }>
  postRun(body: object | string | Uint8Array, headers?: Record<string, string>, as?: ChatPerson): Promise<Response>
  /** Sends one message of a person's, in a thread of its own unless `ids` names one. */
  runChat(content: unknown, ids?: RunIds): Promise<BaseEvent[]>
  readHistory(threadId: string, query?: string): Promise<readonly HistoryRow[]>
  upload(bytes: Uint8Array, fields?: { fileName?: string; threadId?: string }): Promise<UploadedFile>
  /** Returns the address at which a test can reach a URL of the gateway. */
  local(url: string): string
  close(): Promise<void>
}

type ChatPerson = 'ann' | 'bob'
// biome-ignore lint/suspicious/noExplicitAny: answers of many routes, looked at by assertions alone
export type JsonAnswer = any

export interface RunIds {
  readonly threadId?: string
  readonly runId?: string
  readonly id?: string
  readonly [member: string]: unknown
}

interface HistoryRow {
  readonly id: string
  readonly seq: number
  readonly role: string
  readonly content: string
  readonly metadata: Readonly<Record<string, JsonAnswer>>
  readonly timestamp: string
}

interface UploadedFile {
  readonly bucket: string
  readonly path: string
  readonly mime_type: string
  readonly url: string
  readonly expires_at: string
}

const tokenOf = (person: ChatPerson) => `token-of-${person}-for-the-tests`
/** Settings in addition to the chat's own, or a function that returns them and may add hosts to the simulation. */
export type Overrides = Record<string, unknown> | ((simulation: Simulation) => Record<string, unknown>)
const chatter = { agents: { chat: { use: '../agents/chat/chatter.ts' } }, default_agent: 'chat' }

let count = 0
/** Returns a unique name, in a form that no test writes itself: tests write `thread-123`. */
export const uniqueName = (label: string) => `${label}-no-${++count}`

export async function openWebGateway(web: object = {}, overrides: Overrides = {}): Promise<WebGateway> {
  const people = ['ann', 'bob'] as const
  const tokens = people.map(person => ({ name: person, sha256: hash('sha256', tokenOf(person)) }))
  const gateway = await openTestGateway(simulation => {
    const settings = typeof overrides === 'function' ? overrides(simulation) : overrides
    return { web: { enabled: true, auth: { tokens }, ...web }, ...chatter, ...settings }
  })

  const requestAs: WebGateway['requestAs'] = (path, { as = 'ann', ...init } = {}) => {
    const headers = new Headers(init.headers)
    headers.set('authorization', `Bearer ${tokenOf(as)}`)
    return fetch(`${gateway.url()}${path}`, { ...init, headers })
  }
  const postRun: WebGateway['postRun'] = (body, headers = {}, as = 'ann') => {
    const isRaw = typeof body === 'string' || body instanceof Uint8Array
    const bytes = isRaw ? body : JSON.stringify({ protocolVersion: PROTOCOL_VERSION, ...body })
    return requestAs('/api/v1/agent/runs', { as, method: 'POST', headers, body: bytes as BodyInit })
  }
  return {
    gateway,
    requestAs,
    async requestJson(method, path, body, as = 'ann') {
      const response = await requestAs(path, { as, method, ...(body !== undefined && { body: JSON.stringify(body) }) })
      return { status: response.status, json: await response.json() }
    },
    postRun,
    async runChat(
      content,
      { threadId = uniqueName('thread'), runId = uniqueName('run'), id = uniqueName('msg'), ...members } = {},
    ) {
      const messages = [{ id, role: 'user', content }]
      return readEvents(await postRun({ threadId, runId, messages, ...members }))
    },
    async readHistory(threadId, query = '') {
      const response = await requestAs(`/api/v1/agent/history?threadId=${encodeURIComponent(threadId)}${query}`)
      expect(response.status).toBe(200)
      return ((await response.json()) as { messages: readonly HistoryRow[] }).messages
    },
    async upload(bytes, { fileName = 'img.jpg', threadId = uniqueName('thread') } = {}) {
      const form = new FormData()
      form.set('file', new File([new Uint8Array(bytes)], fileName))
      form.set('threadId', threadId)
      const response = await requestAs('/api/v1/agent/attachments', { method: 'POST', body: form })
      expect(response.status).toBe(200)
      return (await response.json()) as UploadedFile
    },
    local: url => url.replace(gatewayOrigin, gateway.url()),
    close: () => gateway.close(),
  }
}

/** Returns the events of a stream as they arrived, after a check of each with the schemas of AG-UI 1.0, and of all with the real client. */
export async function readEvents(response: Response): Promise<BaseEvent[]> {
  expect(response.status).toBe(200)
  const text = await response.text()
  const events = parseEvents(text)
  await checkEventStream(text, events)
  return events
}

/** Checks a stream with the real client (C-13), which rejects one that breaks a rule, and warns about the parts that it has left out. */
export async function checkEventStream(text: string, events: readonly BaseEvent[]): Promise<void> {
  const { threadId, runId } = events[0] as unknown as { readonly threadId: string; readonly runId: string }
  const headers = { 'content-type': 'text/event-stream' }
  const client = new HttpAgent({
    url: 'http://judge.test/',
    threadId,
    fetch: async () => new Response(text, { headers }),
  })
  const requestTexts: string[] = []
  await withoutWarnings(() =>
    client.runAgent({ runId }, { onEvent: ({ event }) => void requestTexts.push(event.type) }),
  )
  expect(requestTexts).toEqual(typesOf(events))
}

/** Runs a client (C-13), and expects no warnings about the stream that it follows, such as about parts that it has left out. */
export async function withoutWarnings<Result>(action: () => Promise<Result>): Promise<Result> {
  const warnings = [vi.spyOn(console, 'warn'), vi.spyOn(console, 'error')]
  const result = await action()
  for (const { mock } of warnings) expect(mock.calls).toEqual([])
  return result
}

export function parseEvents(text: string): BaseEvent[] {
  const lines = text.split('\n\n').filter(line => line.startsWith('data: '))
  return lines.map(line => EventSchema.parse(JSON.parse(line.slice(6))) as BaseEvent)
}

export const typesOf = (events: readonly BaseEvent[]) => events.map(({ type }) => type as string)

/** Returns the event types of a run with one chunk of text, and its end. */
export const typesOfSpokenRun = (endType: 'RUN_FINISHED' | 'RUN_ERROR') => [
  'RUN_STARTED',
  'STEP_STARTED',
  'TEXT_MESSAGE_START',
  'TEXT_MESSAGE_CONTENT',
  'TEXT_MESSAGE_END',
  'STEP_FINISHED',
  endType,
]

export const findEvent = (events: readonly BaseEvent[], type: string): JsonAnswer =>
  events.find(event => event.type === type)

export const jpeg = Buffer.from('ffd8ffe000104a46494600010100000100010000ffd9', 'hex')
