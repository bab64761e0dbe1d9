import { isObject } from '../validate/shape.ts'
import type { AgentInterface, Binding } from './read-card.ts'
import { refuseAgent, refuseAnswer } from './trust.ts'

export interface WireRequest {
  readonly method: 'GET' | 'POST'
  readonly url: string
  readonly body: string | undefined
}

/** One way to say the same to an agent (A2A §9, §11). */
export interface WireBinding {
  describe(operation: ClientOperation, params: Readonly<Record<string, unknown>>, to: AgentInterface): WireRequest
  /** The result in an answer or in one event of a stream. @throws Undeliverable when it tells an error, or is none */
  readResult(document: Readonly<Record<string, unknown>>): unknown
}

export type ClientOperation = 'SendMessage' | 'SendStreamingMessage' | 'GetTask' | 'CancelTask'

export const wireBindings: Readonly<Record<Binding, WireBinding>> = {
  JSONRPC: {
    describe: (method, params, { url, tenant }) => ({
      method: 'POST',
      url,
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, ...(tenant && { tenant }) } }),
    }),
    readResult({ jsonrpc, id, result, error }) {
      if (jsonrpc !== '2.0') throw refuseAnswer('it is not JSON-RPC')
      if (isObject(error)) throw refuseError(error.code)
      if (id !== 1 || result === undefined) throw refuseAnswer('it answers something else')
      return result
    },
  },
  'HTTP+JSON': {
    describe(operation, params, { url, tenant }) {
      const base = url.replace(/\/$/, '') + (tenant ? `/${encodeURIComponent(tenant)}` : '')
      return restRequests[operation](base, params)
    },
    readResult(document) {
      if (isObject(document.error)) throw refuseError(document.error.code)
      return document
    },
  },
}

type RestRequest = (base: string, params: Readonly<Record<string, unknown>>) => WireRequest

const taskPath = (base: string, { id }: Readonly<Record<string, unknown>>) =>
  `${base}/tasks/${encodeURIComponent(String(id))}`
const post = (url: string, body: unknown): WireRequest => ({ method: 'POST', url, body: JSON.stringify(body) })

const restRequests: Readonly<Record<ClientOperation, RestRequest>> = {
  SendMessage: (base, params) => post(`${base}/message:send`, params),
  SendStreamingMessage: (base, params) => post(`${base}/message:stream`, params),
  GetTask: (base, params) => ({ method: 'GET', url: `${taskPath(base, params)}?historyLength=0`, body: undefined }),
  CancelTask: (base, params) => post(`${taskPath(base, params)}:cancel`, {}),
}

/** Its code alone: what else a stranger's error says stays outside. */
function refuseError(code: unknown) {
  return refuseAgent(`it answered with error ${Number.isSafeInteger(code) ? code : 'without code'}`)
}
