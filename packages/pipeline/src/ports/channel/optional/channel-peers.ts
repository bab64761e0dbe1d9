// Declares the queries and decisions about single people and servers on a channel.

/** The relations of agents to people and servers on the other side. All members are optional. */
export interface ChannelPeers {
  /** Finds the principal of an address, if each confirms the other; otherwise undefined. @throws Unavailable, Undeliverable, Rejection */
  findPrincipal?(address: string): Promise<string | undefined>
  /** Accepts or refuses a request to follow an agent. Returns false if this peer has no open request. */
  decideFollow?(agent: string, peer: string, isAccepted: boolean): Promise<boolean>
  /** Lets an agent write again to a peer that was `suppressed`. Returns false if it was not. */
  liftSuppression?(agent: string, peer: string): Promise<boolean>
}
