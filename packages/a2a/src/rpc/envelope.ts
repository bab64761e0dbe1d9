import type { Json } from '@postern/core'
import { isJsonObject } from '@postern/core'
import type { A2aFault } from '../format/errors.ts'
import { A2aRejection, toErrorDetails } from '../format/errors.ts'

export type RpcId = string | number | null

/** A request object of JSON-RPC 2.0 §4; `params` is not checked yet. */
export interface RpcRequest {
  readonly id: RpcId
  readonly method: string
  readonly params: unknown
}

const maxIdLength = 1024

/** The id of the answer: `null` unless the request has a valid one (JSON-RPC 2.0 §5). */
export function readRpcId(document: unknown): RpcId {
  const id = isJsonObject(document) ? document.id : undefined
  if (typeof id === 'string') return id.length <= maxIdLength ? id : null
  return typeof id === 'number' && Number.isFinite(id) ? id : null
}

/** Refuses notifications: every A2A operation has an answer, so a client that wants none is mistaken. @throws A2aRejection `invalidRequest` */
export function readRpcRequest(document: unknown): RpcRequest {
  if (Array.isArray(document)) throw invalidRequest('batches are not supported')
  if (!isJsonObject(document)) throw invalidRequest('body must be an object')
  if (document.jsonrpc !== '2.0') throw invalidRequest('jsonrpc must be "2.0"')
  if (document.id === undefined) throw invalidRequest('id is missing; notifications are not supported')
  const id = readRpcId(document)
  if (id === null) throw invalidRequest('id must be a short string or a number')
  if (typeof document.method !== 'string') throw invalidRequest('method must be a string')
  return { id, method: document.method, params: document.params ?? {} }
}

function invalidRequest(problem: string): A2aRejection {
  return new A2aRejection('invalidRequest', `Cannot read request: ${problem}`)
}

export function renderRpcResult(id: RpcId, result: unknown): object {
  return { jsonrpc: '2.0', id, result }
}

export function renderRpcError(id: RpcId, fault: A2aFault): Json {
  const { row, message } = fault
  return { jsonrpc: '2.0', id, error: { code: row.code, message, data: toErrorDetails(fault) as unknown as Json } }
}
