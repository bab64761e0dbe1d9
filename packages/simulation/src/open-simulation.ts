import type { SimA2a } from './a2a/a2a.ts'
import { openSimA2a } from './a2a/a2a.ts'
import type { SimDns } from './dns/dns.ts'
import { openSimDns } from './dns/dns.ts'
import type { SimFediverse } from './fediverse/fediverse.ts'
import { openSimFediverse } from './fediverse/fediverse.ts'
import type { GatewayLink, SimGateway } from './gateway-link.ts'
import { requireGateway } from './gateway-link.ts'
import type { SimMail } from './mail/mail.ts'
import { openSimMail } from './mail/mail.ts'
import type { LoopbackFetch } from './net/loopback-fetch.ts'
import { createLoopbackFetch } from './net/loopback-fetch.ts'
import type { LoopbackServer } from './net/loopback-server.ts'
import { openLoopbackServer } from './net/loopback-server.ts'
import type { SendRequest, SendResult } from './send.ts'
import { sendVia } from './send.ts'

/** A small real world on loopback: every key is real, every message is signed, nothing leaves the machine. */
export interface Simulation {
  /** What a gateway needs in its configuration to live in this world. */
  readonly network: {
    readonly dns: readonly string[]
    /** Port of each host; `https://host/…` is sent there as plain HTTP. */
    readonly loopback: Readonly<Record<string, number>>
  }
  /** Names the gateway under examination: makes its host known to every peer and to the DNS. */
  connectGateway(gateway: SimGateway): void
  readonly dns: SimDns
  readonly fediverse: SimFediverse
  readonly mail: SimMail
  readonly a2a: SimA2a
  /** The world's own way out, for tests that speak for themselves. */
  readonly loopback: LoopbackFetch
  /** Speaks to an agent as a peer and waits for its reply. */
  send(request: SendRequest): Promise<SendResult>
  close(): Promise<void>
}

export async function openSimulation(): Promise<Simulation> {
  const ports = new Map<string, number>()
  const link: GatewayLink = { gateway: undefined }
  const loopback = createLoopbackFetch(ports)
  const dns = await openSimDns()
  const [handles, fediverse, mail, a2a] = await Promise.all([
    openHandleHost(link),
    openSimFediverse(loopback),
    openSimMail({ dns, loopback, link }),
    openSimA2a({ loopback, link }),
  ])
  for (const { hosts, port } of [fediverse, a2a]) {
    for (const host of hosts) ports.set(host, port)
  }
  return {
    network: { dns: [dns.address], loopback: Object.fromEntries(ports) },
    connectGateway(connected) {
      const { host, hostname } = new URL(connected.origin)
      link.gateway = connected
      ports.set(host, connected.port)
      const { handleHost = hostname } = connected
      if (handleHost !== hostname) ports.set(handleHost, handles.port)
      for (const name of new Set([hostname, handleHost])) {
        dns.set(name, { ...dns.find(name), A: ['127.0.0.1'], MX: [{ priority: 10, exchange: hostname }] })
      }
      fediverse.forgetRecipients()
    },
    dns,
    fediverse,
    mail,
    a2a,
    loopback,
    send: request => sendVia(request, { fediverse, mail, a2a, link }),
    async close() {
      await Promise.all([handles.close(), fediverse.close(), mail.close(), a2a.close(), dns.close()])
    },
  }
}

const redirected: ReadonlySet<string> = new Set(['/.well-known/webfinger', '/.well-known/host-meta'])

/** The site of a domain whose agents live on another host: nothing of it is known but where to ask for them. */
function openHandleHost(link: GatewayLink): Promise<LoopbackServer> {
  return openLoopbackServer(async ({ path, target }) =>
    redirected.has(path)
      ? { status: 302, headers: { location: `${requireGateway(link).origin}${target}` } }
      : { status: 404 },
  )
}
