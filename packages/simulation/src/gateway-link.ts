/** The addresses of the gateway under examination. */
export interface SimGateway {
  /** `https://agents.test` */
  readonly origin: string
  /** Host of its agents' addresses, when it is another one than the origin's; the world redirects WebFinger from there. */
  readonly handleHost?: string | undefined
  /** The gateway's HTTP port on 127.0.0.1. */
  readonly port: number
  readonly smtpPort?: number | undefined
  /** Bearer token of `POST /email/inbound`. */
  readonly intakeSecret?: string | undefined
}

/** Empty until the gateway has started: it needs the world's ports first. */
export interface GatewayLink {
  gateway: SimGateway | undefined
}

/** @throws Error when no gateway is connected yet */
export function requireGateway({ gateway }: GatewayLink): SimGateway {
  if (!gateway) throw new Error('No gateway is connected to the simulation: call connectGateway() first')
  return gateway
}
