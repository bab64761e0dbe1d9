import type { ChannelContext } from '@postern/core'
import { createIntakeSteps } from '@postern/core'
import { peerAddress, sseHeaders, toSseJson } from '@postern/http'
import type { Context } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type { Headers } from '../endpoint/answer-fault.ts'
import { faultHeaders, jsonHeaders, openFault } from '../endpoint/answer-fault.ts'
import { extensionHeaders } from '../endpoint/extensions.ts'
import type { EnteredCall } from '../endpoint/incoming.ts'
import { recordFailure } from '../endpoint/refusals.ts'
import type { OperationName } from '../format/operation-names.ts'
import type { ProtocolVersion } from '../format/version.ts'
import { writeLegacyEvent, writeLegacyResult } from '../legacy/write-results.ts'
import type { BindingDeps } from '../operations/binding-deps.ts'
import { findOperation } from '../operations/operation.ts'
import { listenerKeyOf } from '../operations/subscribe-to-task.ts'
import { EventStream } from '../streams/event-stream.ts'
import type { EventWriter, SseFormat } from '../streams/sse.ts'
import { createEventWriter, renderSse, writePlainEvent } from '../streams/sse.ts'
import type { RpcCall } from './enter.ts'
import { enterRpc } from './enter.ts'
import { renderRpcError, renderRpcResult } from './envelope.ts'

/** The JSON-RPC binding (A2A §9) of one agent. */
export function createRpcAnswer(deps: BindingDeps) {
  return async (c: Context): Promise<Response> => {
    const incoming: RpcCall = {
      request: c.req.raw,
      agent: c.req.param('agent'),
      versionQuery: c.req.queries('A2A-Version')?.join(),
      from: peerAddress(c.env),
      steps: createIntakeSteps(deps.gateway.platform),
      id: null,
    }
    try {
      const entered = await enterRpc(incoming, deps)
      const result = await findOperation(entered.name, deps.operations)(entered.call)
      if (result instanceof EventStream) {
        const format = formatFor(incoming.id, entered, deps.gateway)
        return c.body(renderSse(result, format), 200, { ...headersFor(entered), ...sseHeaders })
      }
      const text = JSON.stringify(renderRpcResult(incoming.id, inVersionOf(entered, result)))
      const { body, headers } = deps.largeAnswers.open(text, listenerKeyOf(entered.call))
      // By itself: `c.body` copies headers into an object of `Headers`, to be taken out of it again.
      return new Response(body, { headers: { ...headersFor(entered), ...headers } })
    } catch (error) {
      recordFailure(error, { ...incoming, binding: 'JSONRPC' }, deps.gateway)
      return answerRpcFault(c, incoming.id, error, deps.gateway)
    }
  }
}

const eventWriters: Readonly<Record<ProtocolVersion, EventWriter>> = {
  '1.0': writePlainEvent,
  '0.3': createEventWriter(writeLegacyEvent),
}

/** Each event is a complete JSON-RPC response (A2A §9.4.2). */
function formatFor(id: RpcCall['id'], { call, version }: EnteredCall, gateway: ChannelContext): SseFormat {
  return {
    writeEvent: eventWriters[version],
    frame: [`{"jsonrpc":"2.0","id":${toSseJson(id)},"result":`, '}'],
    formatError: error => toSseJson(renderRpcError(id, openFault(error, gateway))),
    withIds: call.canReplay,
  }
}

function inVersionOf({ version, name }: EnteredCall, result: object): unknown {
  return version === '0.3' ? writeLegacyResult(name as OperationName, result) : result
}

function headersFor({ extensions, version }: EnteredCall): Record<string, string> {
  return extensions.length > 0 ? { ...jsonHeaders, [extensionHeaders[version]]: extensions.join(', ') } : jsonHeaders
}

export function answerRpcFault(
  c: Context,
  id: RpcCall['id'],
  error: unknown,
  gateway: ChannelContext,
  extra: Headers = {},
): Response {
  const fault = openFault(error, gateway)
  const { isTransport, http } = fault.row
  const headers = { ...jsonHeaders, ...faultHeaders(fault), ...extra }
  return c.body(JSON.stringify(renderRpcError(id, fault)), (isTransport ? http : 200) as ContentfulStatusCode, headers)
}
