// Reads the proven address of a speaker, and the addresses that people name in words.
import type { NormalizedMessage } from '@postern/message'
import { formatAddress, isPersonal, parseIfAddress } from '@postern/message'
import type { ChannelDescriptor } from '../ports/channel/channel-descriptor.ts'
import type { PersonAddress, PersonIdentity } from '../ports/records/people/person.ts'

/** The channels whose people may link their addresses, in the order of the gateway's list. */
type Channels = readonly { readonly descriptor: Pick<ChannelDescriptor, 'name' | 'speaker'> }[]

/**
 * Returns the identity of the speaker if the channel has proven that the address itself is theirs: by a transport proof of the assurance that its
 * rules ask for. A domain that vouches for its users as a whole is not enough.
 */
export function readPersonIdentity(
  { sender, received_via: via }: Pick<NormalizedMessage, 'sender' | 'received_via'>,
  flags: readonly string[],
  channels: Channels,
): PersonIdentity | undefined {
  const rules = findRules(channels, via)
  if (!rules?.assurance || !sender.verified || !isPersonal(flags)) return undefined
  const proven = sender.identities?.find(
    ({ proof, assurance }) => proof.type === 'transport' && assurance === rules.assurance,
  )
  const address = proven && parseIfAddress(sender.address)
  if (!address || address.local.startsWith('~')) return undefined
  const subject = rules.identify?.(address, proven)
  return subject === undefined ? undefined : { via, address: formatAddress(address), subject }
}

/** An address as somebody names it: of a chat of ours, or else of the first channel that takes it for one of its own. `domain` is the gateway's own. */
export function readPersonAddress(text: string, channels: Channels, domain?: string): PersonAddress | undefined {
  const bare = text.replace(/^<(.*)>$/, '$1')
  for (const { descriptor } of channels.toSorted(byOwnHosts)) {
    const speaker = descriptor.speaker.readAddress?.(bare, domain)
    if (speaker) return { via: descriptor.name, ...speaker, address: formatAddress(speaker.address) }
  }
  return undefined
}

/** The same, of the channel `via`: there it is an address whether or not people may link it, with the sign at its front or without. */
export function readChannelAddress(
  text: string,
  via: string,
  channels: Channels,
  domain?: string,
): PersonAddress | undefined {
  const rules = findRules(channels, via)
  const read = rules && parseIfAddress(text)
  if (!read) return undefined
  const address = formatAddress(read)
  return { via, ...rules.readAddress?.(rules.showAddress?.(address) ?? address, domain), address }
}

/** Reads an address as every channel has it: `name@host` is a mailbox and an account alike. */
export function listChannelAddresses(text: string, channels: Channels, domain?: string): readonly PersonAddress[] {
  const bare = text.replace(/^<(.*)>$/, '$1')
  return channels.flatMap(({ descriptor }) => readChannelAddress(bare, descriptor.name, channels, domain) ?? [])
}

/** Hosts of those who chat are below our own domain: other channels would take their addresses for some of theirs. */
function byOwnHosts(left: Channels[number], right: Channels[number]): number {
  return Number(right.descriptor.speaker.isChat ?? false) - Number(left.descriptor.speaker.isChat ?? false)
}

/** Formats an address as people write it on its channel. */
export function showPersonAddress(
  { via, address }: Pick<PersonAddress, 'via' | 'address'>,
  channels: Channels,
): string {
  return findRules(channels, via)?.showAddress?.(address) ?? address
}

/** The rules of a channel; undefined where it is not in the list (any more). */
export function findRules(channels: Channels, via: string) {
  return channels.find(({ descriptor }) => descriptor.name === via)?.descriptor.speaker
}
