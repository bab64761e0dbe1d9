// Lets the console chat with agents as the operator, through the chat's own routes.
import { Rejection } from '@postern/message'
import type { Channel } from '@postern/pipeline'
import type { Context, MiddlewareHandler } from 'hono'
import { Hono } from 'hono'

interface ChatRouteOptions {
  readonly operatorOnly: MiddlewareHandler
  readonly channels: readonly Pick<Channel, 'endpoint'>[]
  readonly token: string
  fetch(request: Request, env: unknown): Response | Promise<Response>
}

const noChat = 'Cannot chat: no channel of this gateway has a chat. Set "enabled" of the chat to true.'
/** The paths that the console needs. Everything else is at the chat’s own address. */
const forwardedPaths =
  /^(runs|runs\/[^/]{1,200}\/(cancel|events)|history|threads|threads\/[^/]{1,200}\/events|attachments)$/

/** Forwards requests of a signed-in console to the chat’s own routes, with the operator token, which stays hidden from pages. */
export function createConsoleChatRoutes({ operatorOnly, channels, token, fetch }: ChatRouteOptions): Hono {
  const forwardRequest = (context: Context, path: string) => {
    const [chatPath] = channels.flatMap(channel => channel.endpoint.chatPage?.path ?? [])
    if (chatPath === undefined || !forwardedPaths.test(path)) throw new Rejection('no_recipient', noChat)
    const basePath = chatPath.split('/').slice(0, -2).join('/')
    const agent = encodeURIComponent(context.req.param('agent') ?? '')
    const agentPath = path === 'attachments' ? 'agent' : `agents/${agent}`
    const { method, url, headers, body } = context.req.raw
    const target = new URL(`${basePath}/${agentPath}/${path}${new URL(url).search}`, url)
    const forwardedHeaders = new Headers({ authorization: `Bearer ${token}` })
    for (const name of ['content-type', 'accept', 'content-length']) {
      const value = headers.get(name)
      if (value !== null) forwardedHeaders.set(name, value)
    }
    return fetch(
      new Request(target, { method, headers: forwardedHeaders, body, ...(body && { duplex: 'half' }) }),
      context.env,
    )
  }
  const methods = ['GET', 'POST', 'DELETE']
  return new Hono()
    .on(methods, '/operator/chat/agents/:agent/:path{.+}', operatorOnly, context =>
      forwardRequest(context, context.req.param('path')),
    )
    .on(methods, '/operator/chat/agent/attachments', operatorOnly, context => forwardRequest(context, 'attachments'))
}
