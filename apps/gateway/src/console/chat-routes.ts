import type { Channel } from '@postern/core'
import { Rejection } from '@postern/core'
import type { Context, MiddlewareHandler } from 'hono'
import { Hono } from 'hono'

interface ChatRouteOptions {
  readonly operatorOnly: MiddlewareHandler
  readonly channels: readonly Pick<Channel, 'entrance'>[]
  readonly token: string
  fetch(request: Request, env: unknown): Response | Promise<Response>
}

const closed = 'Cannot chat: no channel of this gateway has a chat. Set "enabled" of the chat to true.'
/** What a chat needs; everything else is asked for at the chat's own address. */
const open = /^(runs|runs\/[^/]{1,200}\/cancel|history|threads|attachments)$/

/**
 * The chat with an agent for the console, whose session stands for the operator: the same routes as everybody's, asked with the operator
 * token, which no page gets to see.
 */
export function createConsoleChatRoutes({ operatorOnly, channels, token, fetch }: ChatRouteOptions): Hono {
  const forward = (context: Context, path: string) => {
    const [entrance] = channels.flatMap(channel => channel.entrance?.path ?? [])
    if (entrance === undefined || !open.test(path)) throw new Rejection('no_recipient', closed)
    const base = entrance.split('/').slice(0, -2).join('/')
    const agent = encodeURIComponent(context.req.param('agent') ?? '')
    const place = path === 'attachments' ? 'agent' : `agents/${agent}`
    const { method, url, headers, body } = context.req.raw
    const target = new URL(`${base}/${place}/${path}${new URL(url).search}`, url)
    const kept = new Headers({ authorization: `Bearer ${token}` })
    for (const name of ['content-type', 'accept', 'content-length']) {
      const value = headers.get(name)
      if (value !== null) kept.set(name, value)
    }
    return fetch(new Request(target, { method, headers: kept, body, ...(body && { duplex: 'half' }) }), context.env)
  }
  const methods = ['GET', 'POST', 'DELETE']
  return new Hono()
    .on(methods, '/operator/chat/agents/:agent/:path{.+}', operatorOnly, context =>
      forward(context, context.req.param('path')),
    )
    .on(methods, '/operator/chat/agent/attachments', operatorOnly, context => forward(context, 'attachments'))
}
