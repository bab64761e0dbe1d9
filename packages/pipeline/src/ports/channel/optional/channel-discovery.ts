// Declares the entries of a channel in agent cards, the directory, WebFinger and the agent's page.
import type { AgentProfile } from '../../agent/agent-profile.ts'
import type { PublicProfile, WebLink } from './public-profile.ts'

/** The entries of a channel in everything by which peers find an agent. All members are optional. */
export interface ChannelDiscovery {
  /** Returns the members that the channel adds to an agent's card (Mentionable, agent card). */
  describeAgent?(
    agent: AgentProfile,
    options: { readonly extensions: readonly object[] },
  ): Readonly<Record<string, object>>
  /** Returns the members that the channel adds to an agent's entry in the directory (schema.org ContactPoint). */
  describeContact?(agent: string): Readonly<Record<string, string>>
  /** Renders the way in which people reach an agent over this channel, as safe HTML for the agent's page. */
  renderInvitation?(agent: string): string
  /** Returns the links that the channel adds to an agent's WebFinger answer. */
  links?(agent: string): readonly WebLink[]
  /** The links of the gateway's own account (`acct:HOST@HOST`), if it has one. */
  readonly gatewayLinks?: readonly WebLink[] | undefined
  /** Reads the public profile of an agent, on a channel where agents have one. @throws Rejection `no_recipient` */
  readProfile?(agent: string): Promise<PublicProfile>
  /** Returns true if there was an agent with this name that has been removed. */
  isFormerAgent?(name: string): Promise<boolean>
}
