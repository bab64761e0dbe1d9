import type { Channel, ChannelContext, Json } from '@postern/core'
import { isJsonObject } from '@postern/core'
import type { A2aConfig } from './config.ts'
import type { Call } from './endpoint/call.ts'
import { findAddressee, parseCallBody } from './endpoint/call.ts'
import { readLegacyRequest } from './legacy/read-params.ts'
import type { CallArrival } from './normalize.ts'
import { normalizeMessage, restoreCall } from './normalize.ts'
import { resolveMessage } from './resolve.ts'
import { readRpcRequest } from './rpc/json-rpc.ts'
import { readProtoNames } from './validate/params.ts'

/**
 * Reads a stored call again. Its credential is not kept, so the caller is the one whom it proved then, and so is what further credentials in
 * the message proved.
 */
export function createCallReplay(config: A2aConfig, context: ChannelContext): NonNullable<Channel['replay']> {
  return async ({ agent, arrival, raw, target }, moment) => {
    const gateway = { ...context, ...moment }
    const kept = restoreCall(arrival)
    const task = readTask(target)
    if (!kept || !task) return undefined
    const document = parseCallBody(raw)
    const call = {
      caller: kept.caller,
      agent: findAddressee(agent, gateway),
      from: '',
      params: readParams[kept.binding](document, kept.version),
      document,
      bytes: raw,
      binding: kept.binding,
      version: kept.version,
      lastEventId: undefined,
      canReplay: false,
    } as Call
    const resolved = await resolveMessage(call, { config, gateway }, { ...kept, task })
    return normalizeMessage(resolved, gateway.agents.domain)
  }
}

const readParams: Readonly<Record<Call['binding'], (document: unknown, version: CallArrival['version']) => unknown>> = {
  JSONRPC(document, version) {
    const { method, params } = readRpcRequest(document)
    return version === '0.3' ? readLegacyRequest(method, params)?.params : readProtoNames(params)
  },
  'HTTP+JSON': readProtoNames,
  GRPC(document) {
    if (!isJsonObject(document)) return document
    const { tenant: _, ...params } = document
    return params
  },
}

function readTask(target: Json): { readonly id: string; readonly context: string } | undefined {
  const { id, context } = isJsonObject(target) ? target : {}
  return typeof id === 'string' && typeof context === 'string' ? { id, context } : undefined
}
