// Describes the gateway that a simulation is connected to.

/** The addresses of the gateway under test. */
export interface ConnectedGateway {
  /** The origin, such as `https://agents.test`. */
  readonly origin: string
  /** The host of the agents' addresses, if it differs from the origin's host. The simulation redirects WebFinger from it. */
  readonly handleHost?: string | undefined
  /** The gateway's HTTP port on 127.0.0.1. */
  readonly port: number
  readonly smtpPort?: number | undefined
  /** The bearer token of `POST /email/inbound`. */
  readonly intakeSecret?: string | undefined
}

/** A reference to the gateway. It is empty until the gateway has started, because the gateway needs the simulation's ports first. */
export interface GatewayReference {
  gateway: ConnectedGateway | undefined
}

/** Returns the connected gateway. @throws Error if no gateway is connected yet */
export function requireGateway({ gateway }: GatewayReference): ConnectedGateway {
  if (!gateway) throw new Error('No gateway is connected to the simulation: call connectGateway() first')
  return gateway
}
