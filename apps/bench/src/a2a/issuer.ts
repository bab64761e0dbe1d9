// Opens a token issuer for the callers of an agent.
import { openSimulation } from '@postern/simulation'
import { gatewayHost } from '../ours/open.ts'

/** The number of callers, each of whom has a token. */
const callerCount = 8

/** The JSON-RPC endpoint of the agent that is called, unless a measurement names another one. */
export const briefEndpoint = '/agents/brief/a2a'

const lifetimeSeconds = 6 * 3600

/** The party that vouches for the callers: an ES256 key behind a JWKS address. */
export interface Issuer extends AsyncDisposable {
  /** The loopback port of each simulated host, by host name. */
  readonly loopback: Readonly<Record<string, number>>
  /** The issuer as the gateway's configuration names it. */
  readonly issuerConfig: object
  /** The tokens, one for each caller, valid for hours. */
  readonly tokens: readonly string[]
  close(): Promise<void>
}

/** Opens the simulation's issuer for the agent that is called. */
export async function openAgentIssuer(): Promise<Issuer> {
  const { a2a, network, close } = await openSimulation()
  const audience = `https://${gatewayHost}${briefEndpoint}`
  const mintToken = (_: unknown, index: number) => a2a.token({ sub: `caller-${index}`, audience, lifetimeSeconds })
  return {
    loopback: network.loopback,
    issuerConfig: { ...a2a.issuerConfig, audience },
    tokens: await Promise.all(Array.from({ length: callerCount }, mintToken)),
    close,
    [Symbol.asyncDispose]: close,
  }
}
