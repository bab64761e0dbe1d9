import { isJsonObject } from '@postern/core'
import type { Binding } from './agent-interface.ts'
import type { ClientOperation, WireBinding, WireRequest } from './binding.ts'
import { legacyBinding } from './legacy-binding.ts'
import { refuseAgent } from './refusals.ts'
import { readRpcResult, refuseErrorCode } from './rpc-result.ts'

export const wireBindings: Readonly<Record<Binding, WireBinding>> = {
  'JSONRPC 0.3': legacyBinding,
  JSONRPC: {
    version: '1.0',
    describe: (method, params, { url, tenant }) => ({
      method: 'POST',
      url,
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, ...(tenant && { tenant }) } }),
    }),
    readResult: readRpcResult,
  },
  'HTTP+JSON': {
    version: '1.0',
    describe(operation, params, { url, tenant }) {
      const base = url.replace(/\/$/, '') + (tenant ? `/${toSegment(tenant)}` : '')
      return restRequests[operation](base, params)
    },
    readResult(document) {
      if (isJsonObject(document.error)) throw refuseErrorCode(document.error.code)
      return document
    },
  },
}

/** Encodes a stranger's text as one segment of a path. @throws Undeliverable */
function toSegment(text: string): string {
  if (/^\.\.?$/.test(text) || !text.isWellFormed()) throw refuseAgent('it names something that leads elsewhere')
  return encodeURIComponent(text)
}

type RestRequest = (base: string, params: Readonly<Record<string, unknown>>) => WireRequest

const taskPath = (base: string, { id }: Readonly<Record<string, unknown>>) => `${base}/tasks/${toSegment(String(id))}`
const post = (url: string, body: unknown): WireRequest => ({ method: 'POST', url, body: JSON.stringify(body) })

const restRequests: Readonly<Record<ClientOperation, RestRequest>> = {
  SendMessage: (base, params) => post(`${base}/message:send`, params),
  SendStreamingMessage: (base, params) => post(`${base}/message:stream`, params),
  GetTask: (base, params) => ({ method: 'GET', url: `${taskPath(base, params)}?historyLength=0`, body: undefined }),
  CancelTask: (base, params) => post(`${taskPath(base, params)}:cancel`, {}),
}
