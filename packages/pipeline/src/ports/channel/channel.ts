// Declares a protocol as the rest of the program sees it.

import type { ChannelName } from '@postern/message'
import type { Delivery } from '../records/work/delivery.ts'
import type { Addressing, AnsweredTurn, PreparedDelivery } from './addressing.ts'
import type { ChannelDescriptor } from './channel-descriptor.ts'
import type { ChannelEndpoint } from './channel-endpoint.ts'
import type { ChannelActions } from './optional/channel-actions.ts'
import type { ChannelConversations } from './optional/channel-conversations.ts'
import type { ChannelDiagnostics } from './optional/channel-diagnostics.ts'
import type { ChannelDiscovery } from './optional/channel-discovery.ts'
import type { ChannelKeys } from './optional/channel-keys.ts'
import type { ChannelPeers } from './optional/channel-peers.ts'

/**
 * A protocol as the rest of the program sees it, with hidden wire types. Every channel has the first four members. The other six are optional, and
 * a new channel can begin without them. `Routes` is the web framework's router.
 */
export interface Channel<Routes = unknown> {
  readonly descriptor: ChannelDescriptor
  readonly endpoint: ChannelEndpoint<Routes>
  /** Returns the deliveries that an answer causes. It has no side effects. */
  address(answered: AnsweredTurn): Addressing
  /** Renders a delivery now, and transmits it when the caller calls `transmit`. */
  prepare(delivery: Delivery): PreparedDelivery
  /** Posts, direct messages, broadcasts and calls. Absent on a channel by which agents only answer. */
  readonly actions?: ChannelActions | undefined
  /** Earlier messages of others, and answers in other conversations. Absent if a conversation consists only of the messages that arrived. */
  readonly conversations?: ChannelConversations | undefined
  /** The entries of this channel by which peers find agents. Absent if its configuration does not let peers elsewhere send over it. */
  readonly discovery?: ChannelDiscovery | undefined
  /** Followers, suppressed addresses and principals. Absent if nobody decides about single peers. */
  readonly peers?: ChannelPeers | undefined
  /** The keys and DNS records. Absent on a channel that has none. */
  readonly keys?: ChannelKeys | undefined
  /** Previews, replays and checks for operators. */
  readonly diagnostics?: ChannelDiagnostics | undefined
}

/** Finds the channel with this name; undefined if it is not in the list (any more). */
export function findChannel<SomeChannel extends Pick<Channel, 'descriptor'>>(
  channels: readonly SomeChannel[],
  name: ChannelName,
): SomeChannel | undefined {
  return channels.find(({ descriptor }) => descriptor.name === name)
}
