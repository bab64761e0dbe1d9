// Serves the one-click unsubscribe links of unasked mail (RFC 8058).
import { readBody, toProblem } from '@postern/http'
import { Rejection } from '@postern/message'
import { escapeHtml } from '@postern/message/html-characters'
import type { ChannelContext } from '@postern/pipeline'
import type { Context } from 'hono'
import { Hono } from 'hono'
import { unsubscribe } from '../outgoing/suppression.ts'
import type { AddressTokens } from '../tokens/address-tokens.ts'
import type { Unsubscription } from '../tokens/unsubscription.ts'

interface UnsubscribeRouting {
  readonly gateway: Pick<ChannelContext, 'admission' | 'store' | 'system' | 'agents'>
  openTokens(): Promise<AddressTokens>
}

/** The largest body in octets. The form has one field. */
const maxBodyBytes = 4096
/** The page has no scripts and no pictures, and no other page may frame it. */
const contentSecurityPolicy = "default-src 'none'; form-action 'self'; frame-ancestors 'none'"

/**
 * Creates the routes `/email/unsubscribe/{agent}/{token}`. A POST unsubscribes at once (RFC 8058). A GET only asks for
 * confirmation, because link scanners send GETs.
 */
export function createUnsubscribeRoutes(routing: UnsubscribeRouting): Hono {
  const path = '/email/unsubscribe/:agent/:token'
  return new Hono()
    .onError(error => toProblem(error, routing.gateway.system.log))
    .get(path, async context => renderQuestion(await readLink(context, routing)))
    .post(path, async context => acceptRequest(context.req.raw, await readLink(context, routing), routing))
}

/** Reads the link of a request. @throws Rejection `no_recipient` */
async function readLink(context: Context, { openTokens }: UnsubscribeRouting): Promise<Unsubscription> {
  const { agent = '', token = '' } = context.req.param()
  const unsubscription = (await openTokens()).readUnsubscription(agent, token)
  if (!unsubscription) throw new Rejection('no_recipient', 'Cannot unsubscribe: this link was not written here')
  return unsubscription
}

/** Accepts a request with a form or a multipart body (RFC 8058 §3.2). */
async function acceptRequest(
  request: Request,
  unsubscription: Unsubscription,
  { gateway }: UnsubscribeRouting,
): Promise<Response> {
  const body = Buffer.from(await readBody(request, maxBodyBytes)).toString()
  if (!/List-Unsubscribe(?:=|"\s+)One-Click/i.test(body)) {
    throw new Rejection('malformed', 'Cannot unsubscribe: the body must be List-Unsubscribe=One-Click')
  }
  await unsubscribe(unsubscription, gateway)
  return renderPage(
    `<p>${escapeHtml(unsubscription.agent)} will not write to ${escapeHtml(unsubscription.mailbox)} again unless asked.</p>`,
  )
}

function renderQuestion({ agent, mailbox }: Unsubscription): Response {
  return renderPage(
    `<p>${escapeHtml(agent)} writes to ${escapeHtml(mailbox)}. Shall it stop?</p><form method="post"><button name="List-Unsubscribe" value="One-Click">Unsubscribe</button></form>`,
  )
}

function renderPage(content: string): Response {
  const html = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="robots" content="noindex"><title>Unsubscribe</title>${content}</html>`
  const headers = {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': contentSecurityPolicy,
    'cache-control': 'no-store',
  }
  return new Response(html, { headers })
}
