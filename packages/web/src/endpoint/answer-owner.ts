import { isJsonObject, Rejection } from '@postern/core'
import { parseBoundedJson, toProblem } from '@postern/http'
import type { Context } from 'hono'
import type { WebDeps } from '../deps.ts'
import type { WebOwner } from '../identity/speaker.ts'

const noStore = { 'cache-control': 'no-store' }

/** A route for callers with a credential. It answers JSON, or 404 when `handle` finds nothing. */
export function answerOwner(
  { verifyOwner, gateway, responseSemaphore }: Pick<WebDeps, 'verifyOwner' | 'gateway' | 'responseSemaphore'>,
  handle: (c: Context, owner: WebOwner) => Promise<object | undefined>,
) {
  return async (c: Context): Promise<Response> => {
    try {
      const owner = await verifyOwner(c.req.raw)
      return await responseSemaphore.pass(owner.owner, c.env, async () => {
        const found = await handle(c, owner)
        if (!found) throw new Rejection('no_recipient', 'Cannot answer: there is no such thing of yours')
        return c.json(found, 200, noStore)
      })
    } catch (error) {
      return toProblem(error, gateway.platform.log)
    }
  }
}

/** The JSON object of a body. @throws Rejection malformed, too_large */
export async function readJsonBody(c: Context, { openBody, config }: WebDeps): Promise<Record<string, unknown>> {
  const request = await openBody(c.req.raw, config.limits.run_bytes)
  const document = parseBoundedJson(new Uint8Array(await request.arrayBuffer()), { what: 'body' })
  if (!isJsonObject(document)) throw new Rejection('malformed', 'Cannot read body: it is no JSON object')
  return document
}

/** A whole number of a query; undefined when it is not there. @throws Rejection malformed */
export function readNumberQuery(c: Context, name: string): number | undefined {
  const text = c.req.query(name)
  if (text === undefined) return undefined
  if (!/^\d{1,9}$/.test(text)) throw new Rejection('malformed', `Cannot read query: ${name} is not a whole number`)
  return Number(text)
}

/** A text member of a body, where it is there. @throws Rejection malformed */
export function readTextMember(body: Record<string, unknown>, name: string): string | undefined {
  const value = body[name]
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'string' || value.length > 1024) {
    throw new Rejection('malformed', `Cannot read body: ${name} is not a text`, {
      violations: [{ field: name, description: 'must be a text of at most 1024 characters' }],
    })
  }
  return value
}

export function readCount(c: Context, name: string): number | undefined {
  const text = c.req.query(name)
  if (text === undefined) return undefined
  if (!/^\d{1,12}$/.test(text)) throw new Rejection('malformed', `Cannot read history: ${name} is not a number`)
  return Number(text)
}
