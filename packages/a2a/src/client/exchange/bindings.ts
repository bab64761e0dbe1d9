// Formats requests and reads results in the bindings and versions that other agents support.
import { isJsonObject } from '@postern/message'
import type { WireMessage } from '../../format/wire.ts'
import { readLegacyMessage, readLegacyPart } from '../../legacy/read-params.ts'
import { writeLegacyMessage } from '../../legacy/write-results.ts'
import { ErrorAnswer, refuseAgent, refuseAnswer } from './fetch-document.ts'

export type Binding = 'JSONRPC' | 'HTTP+JSON' | 'JSONRPC 0.3'

/** The members of a card that a call needs. The other members of the card are untrusted text and are not used. */
export interface AgentInterface {
  readonly url: string
  readonly binding: Binding
  /** The tenant of the interface, which every request must repeat (A2A §8.3). It does not identify the caller. */
  readonly tenant: string | undefined
  readonly canStream: boolean
  /** True if callers must authenticate. */
  readonly needsCredential: boolean
  /** The token endpoint for client credentials (A2A §4.5.4). Absent if the card names none. */
  readonly tokenUrl?: string | undefined
  /** The media types that the agent accepts, in lower case. Empty if the card names none. */
  readonly inputModes: readonly string[]
}

interface WireRequest {
  readonly method: 'GET' | 'POST'
  readonly url: string
  readonly body: string | undefined
}

/** One binding to an agent (A2A §9, §11). */
interface WireBinding {
  /** The value of `A2A-Version` in its requests. */
  readonly version: string
  formatRequest(
    operation: ClientOperation,
    params: Readonly<Record<string, unknown>>,
    agentInterface: AgentInterface,
  ): WireRequest
  /** Reads the result in a response or in one event of a stream. @throws Undeliverable if the peer reports an error or the result is invalid */
  readResult(document: Readonly<Record<string, unknown>>, operation: ClientOperation): unknown
}

export type ClientOperation = 'SendMessage' | 'SendStreamingMessage' | 'GetTask' | 'CancelTask'

type WireObject = Readonly<Record<string, unknown>>

const legacyMethods: Readonly<Record<ClientOperation, string>> = {
  SendMessage: 'message/send',
  SendStreamingMessage: 'message/stream',
  GetTask: 'tasks/get',
  CancelTask: 'tasks/cancel',
}

/** The binding for A2A 0.3 over JSON-RPC, which many agents still use. It converts between the types of 1.0 and the wire format of 0.3. */
const legacyBinding: WireBinding = {
  version: '0.3',
  formatRequest: (operation, params, { url }) => ({
    method: 'POST',
    url,
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: legacyMethods[operation],
      params: writeLegacyParams(params),
    }),
  }),
  readResult(document, operation) {
    const event = readLegacyEvent(readRpcResult(document))
    return operation === 'GetTask' ? event.task : event
  },
}

function writeLegacyParams({ message, ...members }: WireObject): object {
  if (message === undefined) return members
  return { ...members, message: writeLegacyMessage(message as WireMessage), configuration: { blocking: true } }
}

const legacyEventReaders: Readonly<Record<string, (value: WireObject) => WireObject>> = {
  message: value => ({ message: readLegacyMessage(value) }),
  task: ({ status, artifacts, ...task }) => ({
    task: {
      ...task,
      status: readLegacyStatus(status),
      ...(Array.isArray(artifacts) && { artifacts: artifacts.map(readLegacyArtifact) }),
    },
  }),
  'status-update': ({ status, ...update }) => ({ statusUpdate: { ...update, status: readLegacyStatus(status) } }),
  'artifact-update': ({ artifact, ...update }) => ({
    artifactUpdate: { ...update, artifact: readLegacyArtifact(artifact) },
  }),
}

/** Reads an event of A2A 0.3. An event of an unknown kind becomes an empty object, which the validator of 1.0 rejects. */
function readLegacyEvent(result: unknown): WireObject {
  if (!isJsonObject(result) || typeof result.kind !== 'string') return {}
  return Object.hasOwn(legacyEventReaders, result.kind) ? (legacyEventReaders[result.kind]?.(result) ?? {}) : {}
}

/** Converts a status of A2A 0.3. For example, `input-required` becomes `TASK_STATE_INPUT_REQUIRED`. */
function readLegacyStatus(status: unknown): unknown {
  if (!isJsonObject(status)) return status
  const { state, message, ...members } = status
  const name = typeof state === 'string' ? `TASK_STATE_${state.toUpperCase().replaceAll('-', '_')}` : state
  return { ...members, state: name, ...(isJsonObject(message) && { message: readLegacyMessage(message) }) }
}

function readLegacyArtifact(artifact: unknown): unknown {
  if (!isJsonObject(artifact) || !Array.isArray(artifact.parts)) return artifact
  return { ...artifact, parts: artifact.parts.map(readLegacyPart) }
}

/** Returns the result of a JSON-RPC response (JSON-RPC 2.0 §5). @throws Undeliverable if the peer reports an error or the result is missing */
function readRpcResult({ jsonrpc, id, result, error }: Readonly<Record<string, unknown>>): unknown {
  if (jsonrpc !== '2.0') throw refuseAnswer('it is not JSON-RPC')
  if (isJsonObject(error)) throw createErrorAnswer(error.code)
  if (id !== 1 || result === undefined) throw refuseAnswer('it answers something else')
  return result
}

/** Creates an error that keeps only the code, because the peer's message is untrusted text. */
function createErrorAnswer(code: unknown): ErrorAnswer {
  return new ErrorAnswer(code, `error ${Number.isSafeInteger(code) ? code : 'without code'}`)
}

export const wireBindings: Readonly<Record<Binding, WireBinding>> = {
  'JSONRPC 0.3': legacyBinding,
  JSONRPC: {
    version: '1.0',
    formatRequest: (method, params, { url, tenant }) => ({
      method: 'POST',
      url,
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, ...(tenant && { tenant }) } }),
    }),
    readResult: readRpcResult,
  },
  'HTTP+JSON': {
    version: '1.0',
    formatRequest(operation, params, { url, tenant }) {
      const base = url.replace(/\/$/, '') + (tenant ? `/${toSegment(tenant)}` : '')
      return restRequests[operation](base, params)
    },
    readResult(document) {
      if (isJsonObject(document.error)) throw createErrorAnswer(document.error.code)
      return document
    },
  },
}

/** Encodes a text of the peer as one segment of a path. @throws Undeliverable if it would change the path */
function toSegment(text: string): string {
  if (/^\.\.?$/.test(text) || !text.isWellFormed())
    throw refuseAgent('it names a tenant or a task that would change the path')
  return encodeURIComponent(text)
}

type CreateRestRequest = (base: string, params: Readonly<Record<string, unknown>>) => WireRequest

const taskUrlOf = (base: string, { id }: Readonly<Record<string, unknown>>) => `${base}/tasks/${toSegment(String(id))}`
const createPost = (url: string, body: unknown): WireRequest => ({ method: 'POST', url, body: JSON.stringify(body) })

const restRequests: Readonly<Record<ClientOperation, CreateRestRequest>> = {
  SendMessage: (base, params) => createPost(`${base}/message:send`, params),
  SendStreamingMessage: (base, params) => createPost(`${base}/message:stream`, params),
  GetTask: (base, params) => ({ method: 'GET', url: `${taskUrlOf(base, params)}?historyLength=0`, body: undefined }),
  CancelTask: (base, params) => createPost(`${taskUrlOf(base, params)}:cancel`, {}),
}
