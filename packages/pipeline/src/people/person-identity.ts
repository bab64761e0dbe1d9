// Reads the proven address of a speaker, and addresses that people write in text.
import type { NormalizedMessage } from '@postern/message'
import { formatAddress, isPersonal, parseIfAddress } from '@postern/message'
import type { ChannelDescriptor } from '../ports/channel/channel-descriptor.ts'
import type { PersonAddress, PersonIdentity } from '../ports/records/people/person.ts'

/** The channels whose people may link their addresses, in the order of the gateway's list. */
type Channels = readonly { readonly descriptor: Pick<ChannelDescriptor, 'name' | 'speaker'> }[]

/**
 * Returns the identity of the speaker if the channel has proven that the address itself is theirs, by a transport proof with the assurance that
 * its rules demand. Proof of a whole domain is not enough.
 */
export function readPersonIdentity(
  { sender, received_via: via }: Pick<NormalizedMessage, 'sender' | 'received_via'>,
  flags: readonly string[],
  channels: Channels,
): PersonIdentity | undefined {
  const rules = findRules(channels, via)
  if (!rules?.assurance || !sender.verified || !isPersonal(flags)) return undefined
  const assurances = [rules.assurance].flat()
  const provenIdentity = sender.identities?.find(
    ({ proof, assurance }) => proof.type === 'transport' && assurances.includes(assurance),
  )
  const address = provenIdentity && parseIfAddress(sender.address)
  if (!address || address.local.startsWith('~')) return undefined
  const subject = rules.identify?.(address, provenIdentity)
  return subject === undefined ? undefined : { via, address: formatAddress(address), subject }
}

/** Reads an address from text. Our own chats come first; after them, the first channel that accepts the address. `domain` is the gateway's own. */
export function readPersonAddress(text: string, channels: Channels, domain?: string): PersonAddress | undefined {
  const addressText = text.replace(/^<(.*)>$/, '$1')
  for (const { descriptor } of channels.toSorted(byOwnHosts)) {
    const readResult = descriptor.speaker.readAddress?.(addressText, domain)
    if (readResult) return { via: descriptor.name, ...readResult, address: formatAddress(readResult.address) }
  }
  return undefined
}

/** Reads an address of the channel `via`, with or without its leading `@`. It need not be an address that people may link. */
export function readChannelAddress(
  text: string,
  via: string,
  channels: Channels,
  domain?: string,
): PersonAddress | undefined {
  const rules = findRules(channels, via)
  const parsedAddress = rules && parseIfAddress(text)
  if (!parsedAddress) return undefined
  const address = formatAddress(parsedAddress)
  return { via, ...rules.readAddress?.(rules.showAddress?.(address) ?? address, domain), address }
}

/** Reads an address as each channel would: `name@host` can be a mailbox and an account. */
export function listChannelAddresses(text: string, channels: Channels, domain?: string): readonly PersonAddress[] {
  const addressText = text.replace(/^<(.*)>$/, '$1')
  return channels.flatMap(({ descriptor }) => readChannelAddress(addressText, descriptor.name, channels, domain) ?? [])
}

/** Sorts chats first. Chat addresses have hosts below our own domain, so other channels would accept them, too. */
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

/** Finds the rules of a channel; undefined if the channel is not open (any more). */
export function findRules(channels: Channels, via: string) {
  return channels.find(({ descriptor }) => descriptor.name === via)?.descriptor.speaker
}
