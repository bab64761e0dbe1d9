import type { ChannelContext } from '@postern/core'
import { createIntakeSteps } from '@postern/core'
import { peerAddress, sseHeaders } from '@postern/http'
import type { Context } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type { Headers } from '../endpoint/answers.ts'
import { faultHeaders, openFault, renderStatus } from '../endpoint/answers.ts'
import type { EnteredCall } from '../endpoint/call.ts'
import { listenerKeyOf, recordFailure } from '../endpoint/call.ts'
import type { BindingDeps } from '../operations/operation.ts'
import { findOperation } from '../operations/operations.ts'
import { EventStream } from '../streams/event-stream.ts'
import type { SseFormat } from '../streams/sse.ts'
import { renderSse, writePlainEvent } from '../streams/sse.ts'
import type { RestCall } from './enter.ts'
import { enterRest } from './enter.ts'
import { MethodNotAllowed } from './find-route.ts'
import { chooseRestType } from './media.ts'

const endpoint = /^(?:\/agents\/[^/]+)?\/a2a\/rest/

/** The HTTP+JSON binding (A2A §11) of one agent, at every path behind its endpoint. */
export function createRestAnswer(deps: BindingDeps) {
  return async (c: Context): Promise<Response> => {
    const url = new URL(c.req.url)
    const incoming: RestCall = {
      request: c.req.raw,
      agent: c.req.param('agent'),
      path: url.pathname.replace(endpoint, ''),
      query: url.searchParams,
      versionQuery: c.req.queries('A2A-Version')?.join(),
      from: peerAddress(c.env),
      steps: createIntakeSteps(deps.gateway.platform),
    }
    try {
      const entered = await enterRest(incoming, deps)
      const result = await findOperation(entered.name, deps.operations)(entered.call)
      if (result instanceof EventStream)
        return c.body(renderSse(result, formatFor(entered)), 200, streamHeaders(entered))
      const { body, headers } = deps.largeAnswers.open(JSON.stringify(result), listenerKeyOf(entered.call))
      return c.body(body, 200, { ...headersFor(c, entered), ...headers })
    } catch (error) {
      recordFailure(error, { ...incoming, binding: 'HTTP+JSON' }, deps.gateway)
      return answerRestFault(c, error, deps.gateway)
    }
  }
}

function headersFor(c: Context, { extensions }: EnteredCall): Record<string, string> {
  return {
    'content-type': chooseRestType(c.req.raw),
    'cache-control': 'no-store',
    ...(extensions.length > 0 && { 'a2a-extensions': extensions.join(', ') }),
  }
}

/** Each event is a bare StreamResponse; what breaks a stream off is not told in it (A2A §11.7). */
function formatFor({ call }: EnteredCall): SseFormat {
  return { writeEvent: writePlainEvent, frame: ['', ''], formatError: () => undefined, withIds: call.canReplay }
}

function streamHeaders({ extensions }: EnteredCall): Record<string, string> {
  return { ...sseHeaders, ...(extensions.length > 0 && { 'a2a-extensions': extensions.join(', ') }) }
}

function answerRestFault(c: Context, error: unknown, gateway: ChannelContext): Response {
  const fault = openFault(error, gateway)
  const allow: Headers = error instanceof MethodNotAllowed ? { allow: error.allow } : {}
  const headers = { 'content-type': chooseRestType(c.req.raw), 'cache-control': 'no-store' }
  const all = { ...headers, ...faultHeaders(fault), ...allow }
  return c.body(JSON.stringify(renderStatus(fault)), fault.row.http as ContentfulStatusCode, all)
}
