// Opens the whole simulation: DNS, fediverse, mail and A2A on loopback, with real keys.
import type { SimA2a } from './a2a/a2a.ts'
import { openSimA2a } from './a2a/a2a.ts'
import type { SimDns } from './dns/dns.ts'
import { openSimDns } from './dns/dns.ts'
import type { SimFediverse } from './fediverse/fediverse.ts'
import { openSimFediverse } from './fediverse/fediverse.ts'
import type { ConnectedGateway, GatewayReference } from './gateway-link.ts'
import { requireGateway } from './gateway-link.ts'
import type { SimMail } from './mail/mail.ts'
import { openSimMail } from './mail/mail.ts'
import type { LoopbackFetch } from './net/loopback-fetch.ts'
import { createLoopbackFetch } from './net/loopback-fetch.ts'
import type { LoopbackServer } from './net/loopback-server.ts'
import { openLoopbackServer } from './net/loopback-server.ts'
import type { InboxItem } from './persona-inbox.ts'
import { listInbox } from './persona-inbox.ts'
import type { SendRequest, SendResult } from './send.ts'
import { fullAddress, sendVia } from './send.ts'

/** A small network on loopback. Every key is real, every message is signed, and nothing leaves the machine. */
export interface Simulation {
  /** The settings of a gateway in this simulation. */
  readonly network: {
    readonly dns: readonly string[]
    /** The port of each host, which gets `https://host/…` as plain HTTP. */
    readonly loopback: Readonly<Record<string, number>>
  }
  /** Connects the gateway under test, and makes its host known to every peer and to DNS. */
  connectGateway(gateway: ConnectedGateway): void
  readonly dns: SimDns
  readonly fediverse: SimFediverse
  readonly mail: SimMail
  readonly a2a: SimA2a
  /** The simulation's HTTP client, for tests that send their own requests. */
  readonly loopback: LoopbackFetch
  /** Lists everything that reached an account of the fediverse or a mailbox, in order. @throws Error for a persona without an inbox */
  listInbox(persona: string): Promise<readonly InboxItem[]>
  /** Makes an account of the fediverse follow an agent, and waits until the agent accepts. @throws Error if it does not */
  follow(persona: string, agent: string): Promise<void>
  /** Sends a message to an agent as a peer, and waits for the reply. */
  send(request: SendRequest): Promise<SendResult>
  close(): Promise<void>
}

interface SimulationOptions {
  /** Returns the time for every peer. Default: the machine's clock. */
  now?(): number
}

export async function openSimulation({ now = Date.now }: SimulationOptions = {}): Promise<Simulation> {
  const ports = new Map<string, number>()
  const link: GatewayReference = { gateway: undefined }
  const loopback = createLoopbackFetch(ports)
  const dns = await openSimDns()
  const [handleServer, fediverse, mail, a2a] = await Promise.all([
    openHandleHost(link),
    openSimFediverse({ loopback, now }),
    openSimMail({ dns, loopback, link, now }),
    openSimA2a({ loopback, link, now }),
  ])
  for (const { hosts, port } of [fediverse, a2a]) {
    for (const host of hosts) ports.set(host, port)
  }
  return {
    network: { dns: [dns.address], loopback: Object.fromEntries(ports) },
    connectGateway(gateway) {
      const { host, hostname } = new URL(gateway.origin)
      link.gateway = gateway
      ports.set(host, gateway.port)
      const { handleHost = hostname } = gateway
      if (handleHost !== hostname) ports.set(handleHost, handleServer.port)
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
    listInbox: persona => listInbox(persona, { fediverse, mail, loopback }),
    follow: (persona, agent) => fediverse.follow(persona, `@${fullAddress(agent, link)}`),
    send: request => sendVia(request, { fediverse, mail, a2a, loopback, link }),
    async close() {
      await Promise.all([handleServer.close(), fediverse.close(), mail.close(), a2a.close(), dns.close()])
    },
  }
}

const redirectedPaths: ReadonlySet<string> = new Set(['/.well-known/webfinger', '/.well-known/host-meta'])

/** Serves the domain of agents that live on another host. It redirects their discovery there and serves nothing else. */
function openHandleHost(link: GatewayReference): Promise<LoopbackServer> {
  return openLoopbackServer(async ({ path, target }) =>
    redirectedPaths.has(path)
      ? { status: 302, headers: { location: `${requireGateway(link).origin}${target}` } }
      : { status: 404 },
  )
}
