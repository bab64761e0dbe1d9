import type { Client } from '@a2a-js/sdk/client'
import {
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from '@a2a-js/sdk/client'
import type { LoopbackFetch } from '../net/loopback-fetch.ts'

export interface A2aClientOptions {
  /** Default `JSONRPC`. */
  readonly transport?: 'JSONRPC' | 'HTTP+JSON' | undefined
}

/** The official client, reading the card at `cardUrl` and calling with this token through the world's own hosts. */
export async function openA2aClient(
  cardUrl: string,
  token: string | undefined,
  loopback: LoopbackFetch,
  { transport = 'JSONRPC' }: A2aClientOptions = {},
): Promise<Client> {
  const fetchImpl: typeof fetch = (input, init) => {
    const request = new Request(input, init)
    if (token) request.headers.set('authorization', `Bearer ${token}`)
    return loopback.fetch(request)
  }
  const factory = new ClientFactory({
    transports: [new JsonRpcTransportFactory({ fetchImpl }), new RestTransportFactory({ fetchImpl })],
    cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
    preferredTransports: [transport],
  })
  return factory.createFromUrl(cardUrl, '')
}
