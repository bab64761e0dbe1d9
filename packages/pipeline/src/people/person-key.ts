// Makes the key by which an agent knows a person, whatever address the person writes from.
import { hash } from 'node:crypto'
import type { NormalizedMessage } from '@postern/message'
import type { ChannelDescriptor } from '../ports/channel/channel-descriptor.ts'
import type { AgentPerson, Person, PersonAddress } from '../ports/records/people/person.ts'
import type { Turn } from '../ports/records/work/turn.ts'
import { readPersonIdentity } from './person-identity.ts'

type SentMessage = Pick<NormalizedMessage, 'sender' | 'received_via'>

type Channels = readonly { readonly descriptor: Pick<ChannelDescriptor, 'name' | 'speaker'> }[]

/** A digest, so that no agent takes a key for an address: a key stays the same when the address is written in another way. */
function formatKey(words: readonly string[]): string {
  return hash('sha256', JSON.stringify(words), 'hex').slice(0, 32)
}

/** Returns the key of whoever the principal of an address is. An address is known by itself where its principal is not known yet. */
export function keyOfPerson(agent: string, { via, address, subject }: PersonAddress): string {
  return formatKey([agent, 'person', via, subject ?? address])
}

/** Shows a person as events and forgetting name them. */
export function showPerson(agent: string, { founder, addresses }: Pick<Person, 'founder' | 'addresses'>) {
  return { id: keyOfPerson(agent, founder), addresses: addresses.map(({ via, address }) => ({ via, address })) }
}

/**
 * Describes the sender of a message by the address that they speak from, without other addresses of theirs; undefined when nothing is proven. A
 * message whose proof is not the sender's own word, such as one by a mailing list or a program, has another key than the person.
 */
export function describeSender(
  { agent, content, flags }: Pick<Turn, 'agent' | 'flags'> & { readonly content: SentMessage },
  channels: Channels,
): AgentPerson | undefined {
  const identity = readPersonIdentity(content, flags, channels)
  if (identity) return showPerson(agent, { founder: identity, addresses: [identity] })
  const words = readOtherProof(content)
  const { sender, received_via: via } = content
  return words && { id: formatKey([agent, ...words]), addresses: [{ via, address: sender.address }] }
}

/** A domain that vouches for its users as a whole proves the address; anybody else is who their issuer says. */
function readOtherProof({ sender, received_via: via }: SentMessage): readonly string[] | undefined {
  const proven = sender.verified ? sender.identities?.find(({ proof }) => proof.type === 'transport') : undefined
  if (!proven) return undefined
  const { assurance, issuer, subject } = proven
  return assurance === 'domain' ? ['sender', via, sender.address.toLowerCase()] : ['sender', via, issuer, subject]
}
