/** Where the gateway under examination listens. */
export interface SimGateway {
  /** `https://agents.test` */
  readonly origin: string
  /** Of the addresses of its agents, when it is another host than the origin's; the world redirects WebFinger from there. */
  readonly handleHost?: string | undefined
  /** Its HTTP port on 127.0.0.1. */
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
