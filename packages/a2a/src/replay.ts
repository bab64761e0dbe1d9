// Reads stored calls again, for example after an update of the gateway.
import type { Json } from '@postern/message'
import { isJsonObject } from '@postern/message'
import type { ChannelContext, ChannelDiagnostics } from '@postern/pipeline'
import type { A2aConfig } from './config.ts'
import type { Call } from './endpoint/call.ts'
import { findAddressee } from './endpoint/call.ts'
import { parseCallBody } from './endpoint/call-body.ts'
import { readLegacyRequest } from './legacy/read-params.ts'
import type { CallArrival } from './normalize.ts'
import { normalizeMessage, restoreCall } from './normalize.ts'
import { normalizeCancel } from './operations/cancel-event.ts'
import { resolveMessage } from './resolve.ts'
import { readRpcRequest } from './rpc/json-rpc.ts'
import { readProtoNames } from './validate/proto-names.ts'

/**
 * Creates the function that reads a stored call again. Credentials are not stored, so the function uses the caller and the evidence that were verified
 * when the call arrived.
 */
export function createCallReplay(
  config: A2aConfig,
  context: ChannelContext,
): NonNullable<ChannelDiagnostics['replay']> {
  return async ({ agent, arrival, raw, target }, replayTime) => {
    const gateway = { ...context, ...replayTime }
    const storedCall = restoreCall(arrival)
    const task = readTaskIds(target)
    if (!storedCall || !task) return undefined
    const { question } = storedCall
    const document = parseCallBody(raw)
    const call = {
      caller: storedCall.caller,
      agent: findAddressee(agent, gateway),
      from: '',
      params: question === undefined ? readParams[storedCall.binding](document, storedCall.version) : task,
      document,
      bytes: raw,
      binding: storedCall.binding,
      version: storedCall.version,
      lastEventId: undefined,
      canReplay: false,
    } as Call
    if (question !== undefined) {
      const cancelIntake = normalizeCancel(
        { call, ...task, question, canceledAt: gateway.system.now() },
        gateway.agents.domain,
      )
      return { ...cancelIntake, duplicateKey: cancelIntake.message.id }
    }
    const resolvedMessage = await resolveMessage(call, { config, gateway }, { ...storedCall, task })
    return normalizeMessage(resolvedMessage, gateway.agents.domain)
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

function readTaskIds(target: Json): { readonly id: string; readonly context: string } | undefined {
  const { id, context } = isJsonObject(target) ? target : {}
  return typeof id === 'string' && typeof context === 'string' ? { id, context } : undefined
}
