import type { House } from '@postern/core'
import { peerAddress } from '@postern/http'
import type { Context } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type { Headers } from '../answer-fault.ts'
import { faultHeaders, openFault, renderStatus } from '../answer-fault.ts'
import type { EnteredCall } from '../door.ts'
import { findOperation } from '../operations/operation.ts'
import type { RouteRooms } from '../routes.ts'
import type { RestKnock } from './enter-rest.ts'
import { enterRest } from './enter-rest.ts'
import { MethodNotAllowed } from './find-route.ts'
import { chooseRestType } from './media.ts'

const endpoint = /^(?:\/agents\/[^/]+)?\/a2a\/rest/

/** The HTTP+JSON binding (A2A §11) of one agent, at every path behind its endpoint. */
export function createRestAnswer(rooms: RouteRooms) {
  return async (c: Context): Promise<Response> => {
    const url = new URL(c.req.url)
    const knock: RestKnock = {
      request: c.req.raw,
      agent: c.req.param('agent'),
      path: url.pathname.replace(endpoint, ''),
      query: url.searchParams,
      versionQuery: c.req.query('A2A-Version'),
      from: peerAddress(c.env),
    }
    try {
      const entered = await enterRest(knock, rooms)
      const operation = findOperation(entered.name, rooms.operations)
      return c.body(JSON.stringify(await operation(entered.call)), 200, headersFor(c, entered))
    } catch (error) {
      return answerRestFault(c, error, rooms.house)
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

function answerRestFault(c: Context, error: unknown, house: House): Response {
  const fault = openFault(error, house)
  const allow: Headers = error instanceof MethodNotAllowed ? { allow: error.allow } : {}
  const headers = { 'content-type': chooseRestType(c.req.raw), 'cache-control': 'no-store' }
  const all = { ...headers, ...faultHeaders(fault), ...allow }
  return c.body(JSON.stringify(renderStatus(fault)), fault.row.http as ContentfulStatusCode, all)
}
