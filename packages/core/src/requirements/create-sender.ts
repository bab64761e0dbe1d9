import type { Channel, Outbound } from '../ports/channel.ts'
import { hasRequirements, hideRequirements } from './show-requirements.ts'

/** Closes over a protocol's wire type, so that differing protocols fit one list. */
export function createSender<Wire>(outbound: Outbound<Wire>): Pick<Channel, 'descriptor' | 'address' | 'prepare'> {
  return {
    descriptor: outbound.descriptor,
    address: answered => outbound.address(answered),
    prepare(delivery) {
      const wire = outbound.render(delivery)
      const described = outbound.describe(wire)
      const shown = hasRequirements(delivery.response?.parts ?? []) ? hideRequirements(described) : described
      return { wire: shown, transmit: () => outbound.deliver(wire, delivery) }
    },
  }
}
