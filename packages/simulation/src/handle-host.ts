import type { GatewayLink } from './gateway-link.ts'
import { requireGateway } from './gateway-link.ts'
import type { LoopbackServer } from './net/loopback-server.ts'
import { openLoopbackServer } from './net/loopback-server.ts'

const redirected: ReadonlySet<string> = new Set(['/.well-known/webfinger', '/.well-known/host-meta'])

/** The site of a domain whose agents live on another host: nothing of it is known but where to ask for them. */
export function openHandleHost(link: GatewayLink): Promise<LoopbackServer> {
  return openLoopbackServer(async ({ path, target }) =>
    redirected.has(path)
      ? { status: 302, headers: { location: `${requireGateway(link).origin}${target}` } }
      : { status: 404 },
  )
}
