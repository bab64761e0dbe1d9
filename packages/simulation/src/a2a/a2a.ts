// Opens the simulated A2A side: a token issuer, a calling client and a remote agent.
import type { Client } from '@a2a-js/sdk/client'
import {
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from '@a2a-js/sdk/client'
import type { GatewayReference } from '../gateway-link.ts'
import { requireGateway } from '../gateway-link.ts'
import type { Disturbance } from '../net/disturbance.ts'
import { createDisturbances } from '../net/disturbance.ts'
import type { LoopbackFetch } from '../net/loopback-fetch.ts'
import { openLoopbackServer } from '../net/loopback-server.ts'
import type { A2aDelivery, A2aReceipt } from './deliver.ts'
import { deliverA2a } from './deliver.ts'
import type { SimPeer } from './peer.ts'
import { createPeer } from './peer.ts'
import type { IssuerConfig, TokenIssuer, TokenPlan } from './token.ts'
import { createTokenIssuer, mintToken } from './token.ts'

/** A simulated issuer of access tokens, and a peer that calls with them. */
export interface SimA2a {
  readonly port: number
  readonly hosts: readonly string[]
  /** The issuer for the gateway's configuration, which still needs its audience. */
  readonly issuerConfig: IssuerConfig
  /** A trusted issuer whose keys cannot be fetched, for the fault `key_host_down`. */
  readonly deadIssuerConfig: IssuerConfig
  /** A remote agent that repeats each message. */
  readonly peer: Pick<SimPeer, 'cardUrl' | 'tokens'>
  /** Makes the issuer sign with a new key. The old key stays published, unless `forget` is set. */
  readonly rotate: TokenIssuer['rotate']
  token(plan?: TokenPlan): Promise<string>
  /** Opens the official client for the agent of this card. */
  client(cardUrl: string, token: string | undefined, options?: A2aClientOptions): Promise<Client>
  /** Sends one hand-made JSON-RPC request. */
  deliver(delivery: A2aDelivery): Promise<A2aReceipt>
  /** Starts a disturbance of a host. Returns the function that ends the disturbance. */
  disturb(host: string, disturbance: Disturbance): () => void
  close(): Promise<void>
}

interface A2aSystem {
  readonly loopback: LoopbackFetch
  readonly link: GatewayReference
  now(): number
}

export async function openSimA2a({ loopback, link, now }: A2aSystem): Promise<SimA2a> {
  const issuer = createTokenIssuer('issuer.test')
  const deadIssuer = createTokenIssuer('dead-issuer.test')
  const peer = createPeer('peer.test')
  const hosts = new Map<string, Pick<TokenIssuer, 'answer'>>([
    ['issuer.test', issuer],
    ['dead-issuer.test', deadIssuer],
    ['peer.test', peer],
  ])
  const activeDisturbances = createDisturbances()
  activeDisturbances.disturb('dead-issuer.test', { drop: true })
  const server = await openLoopbackServer(request =>
    activeDisturbances.pass(request, async () => hosts.get(request.host)?.answer(request) ?? { status: 404 }),
  )
  const mintDeps = { issuer, deadIssuer, defaultAudience: () => `${requireGateway(link).origin}/a2a`, now }
  return {
    port: server.port,
    hosts: [...hosts.keys()],
    issuerConfig: issuer.config,
    deadIssuerConfig: deadIssuer.config,
    peer,
    rotate: issuer.rotate,
    token: (plan = {}) => mintToken(plan, mintDeps),
    client: (cardUrl, token, options) => openA2aClient(cardUrl, token, loopback, options),
    deliver: delivery => deliverA2a(delivery, { mint: mintDeps, loopback }),
    disturb: activeDisturbances.disturb,
    async close() {
      activeDisturbances.close()
      await server.close()
    },
  }
}

interface A2aClientOptions {
  /** The transport. Default: `JSONRPC`. */
  readonly transport?: 'JSONRPC' | 'HTTP+JSON' | undefined
}

/** Opens the official client, which reads the card at `cardUrl` and calls with this token through the simulation's own hosts. */
async function openA2aClient(
  cardUrl: string,
  token: string | undefined,
  loopback: LoopbackFetch,
  { transport = 'JSONRPC' }: A2aClientOptions = {},
): Promise<Client> {
  const fetchImpl: typeof fetch = (input, init) => {
    const request = new Request(input, init)
    if (token) request.headers.set('authorization', `Bearer ${token}`)
    return loopback.fetch(request, { signal: init?.signal ?? null })
  }
  const factory = new ClientFactory({
    transports: [new JsonRpcTransportFactory({ fetchImpl }), new RestTransportFactory({ fetchImpl })],
    cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
    preferredTransports: [transport],
  })
  return factory.createFromUrl(cardUrl, '')
}
