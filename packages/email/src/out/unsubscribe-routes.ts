import type { ChannelContext } from '@postern/core'
import { Rejection } from '@postern/core'
import { escapeHtml } from '@postern/core/html-characters'
import { readBody, toProblem } from '@postern/http'
import type { Context } from 'hono'
import { Hono } from 'hono'
import type { AddressTokens } from '../mail/addresses.ts'
import type { Unsubscription } from '../mail/read-tokens.ts'
import { unsubscribe } from './suppression.ts'

interface UnsubscribeRouting {
  readonly gateway: Pick<ChannelContext, 'admission' | 'store' | 'platform' | 'agents'>
  openTokens(): Promise<AddressTokens>
}

/** A form has one field. */
const maxBody = 4096
/** No script, no picture, no frame around it. */
const policy = "default-src 'none'; form-action 'self'; frame-ancestors 'none'"

/** `/email/unsubscribe/{agent}/{token}`: a POST ends unasked mail at once (RFC 8058); a GET, as link scanners send it, only asks. */
export function createUnsubscribeRoutes(routing: UnsubscribeRouting): Hono {
  const path = '/email/unsubscribe/:agent/:token'
  return new Hono()
    .get(path, context => answer(context, routing, ({ agent, mailbox }) => writePage(agent, mailbox)))
    .post(path, context => answer(context, routing, found => takeRequest(context.req.raw, found, routing)))
}

async function answer(
  context: Context,
  { gateway, openTokens }: UnsubscribeRouting,
  write: (found: Unsubscription) => Promise<Response> | Response,
): Promise<Response> {
  try {
    const found = (await openTokens()).readUnsubscription(
      context.req.param('agent') ?? '',
      context.req.param('token') ?? '',
    )
    if (!found) throw new Rejection('no_recipient', 'Cannot unsubscribe: this link was not written here')
    return await write(found)
  } catch (error) {
    return toProblem(error, gateway.platform.log)
  }
}

/** As a form or as multipart (RFC 8058 §3.2). */
async function takeRequest(
  request: Request,
  found: Unsubscription,
  { gateway }: UnsubscribeRouting,
): Promise<Response> {
  const body = Buffer.from(await readBody(request, maxBody)).toString()
  if (!/List-Unsubscribe(?:=|"\s+)One-Click/i.test(body)) {
    throw new Rejection('malformed', 'Cannot unsubscribe: the body must be List-Unsubscribe=One-Click')
  }
  await unsubscribe(found, gateway)
  return page(`<p>${escapeHtml(found.agent)} will not write to ${escapeHtml(found.mailbox)} again unless asked.</p>`)
}

function writePage(agent: string, mailbox: string): Response {
  return page(
    `<p>${escapeHtml(agent)} writes to ${escapeHtml(mailbox)}. Shall it stop?</p><form method="post"><button name="List-Unsubscribe" value="One-Click">Unsubscribe</button></form>`,
  )
}

function page(content: string): Response {
  const html = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="robots" content="noindex"><title>Unsubscribe</title>${content}</html>`
  const headers = {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': policy,
    'cache-control': 'no-store',
  }
  return new Response(html, { headers })
}
