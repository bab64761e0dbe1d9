// Declares the steps of a channel from a response to deliveries: address, render and deliver.

import type { Json } from '@postern/message'
import { hasRequirements, hideRequirements } from '@postern/message'
import type { Delivery } from '../records/work/delivery.ts'
import type { Addressing, AnsweredTurn, TransmitResult } from './addressing.ts'
import type { Channel } from './channel.ts'
import type { ChannelDescriptor } from './channel-descriptor.ts'

/** The steps from message to wire. Functions that return no promise have no side effects. */
interface Outbound<Wire> {
  readonly descriptor: ChannelDescriptor
  /** Returns the deliveries that an answer causes. */
  address(answered: AnsweredTurn): Addressing
  /** Renders a delivery. */
  render(delivery: Delivery): Wire
  /** Returns a wire document as the operator sees it. */
  describe(wire: Wire): Json
  /** Signs the document, transmits it and classifies the reply. @throws Unavailable, Undeliverable */
  deliver(wire: Wire, delivery: Delivery): Promise<TransmitResult>
}

/** Creates the sending half of a channel. It hides the wire type of the protocol, so that different protocols fit in one list. */
export function createSender<Wire>(outbound: Outbound<Wire>): Pick<Channel, 'descriptor' | 'address' | 'prepare'> {
  return {
    descriptor: outbound.descriptor,
    address: answered => outbound.address(answered),
    prepare(delivery) {
      const wire = outbound.render(delivery)
      const description = outbound.describe(wire)
      const shownDescription = hasRequirements(delivery.response?.parts ?? [])
        ? hideRequirements(description)
        : description
      return { wire: shownDescription, transmit: () => outbound.deliver(wire, delivery) }
    },
  }
}
