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
    .onError(error => toProblem(error, routing.gateway.platform.log))
    .get(path, async context => writePage(await readLink(context, routing)))
    .post(path, async context => takeRequest(context.req.raw, await readLink(context, routing), routing))
}

/** @throws Rejection `no_recipient` */
async function readLink(context: Context, { openTokens }: UnsubscribeRouting): Promise<Unsubscription> {
  const { agent = '', token = '' } = context.req.param()
  const found = (await openTokens()).readUnsubscription(agent, token)
  if (!found) throw new Rejection('no_recipient', 'Cannot unsubscribe: this link was not written here')
  return found
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

function writePage({ agent, mailbox }: Unsubscription): Response {
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
