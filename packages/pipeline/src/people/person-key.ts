// Computes the key by which an agent knows a person, whatever address the person writes from.
import { hash } from 'node:crypto'
import type { NormalizedMessage } from '@postern/message'
import type { ChannelDescriptor } from '../ports/channel/channel-descriptor.ts'
import type { AgentPerson, Person, PersonAddress } from '../ports/records/people/person.ts'
import type { Turn } from '../ports/records/work/turn.ts'
import { readPersonIdentity } from './person-identity.ts'

type SentMessage = Pick<NormalizedMessage, 'sender' | 'received_via'>

type Channels = readonly { readonly descriptor: Pick<ChannelDescriptor, 'name' | 'speaker'> }[]

/** Computes a key as a digest, so that no agent mistakes it for an address. */
function computeKey(components: readonly string[]): string {
  return hash('sha256', JSON.stringify(components), 'hex').slice(0, 32)
}

/** Computes the key of the person who has an address: from the principal, or from the address itself while its principal is unknown. */
export function keyOfPerson(agent: string, { via, address, subject }: PersonAddress): string {
  return computeKey([agent, 'person', via, subject ?? address])
}

/** Returns the key and addresses of a person, in the form for agents. */
export function showPerson(agent: string, { founder, addresses }: Pick<Person, 'founder' | 'addresses'>) {
  return { id: keyOfPerson(agent, founder), addresses: addresses.map(({ via, address }) => ({ via, address })) }
}

/**
 * Describes the sender of a message by the address they write from, without their other addresses; undefined if nothing is proven. A message that
 * is not the sender's own word, such as one from a mailing list or a program, gets a different key than the person.
 */
export function describeSender(
  { agent, content, flags }: Pick<Turn, 'agent' | 'flags'> & { readonly content: SentMessage },
  channels: Channels,
): AgentPerson | undefined {
  const identity = readPersonIdentity(content, flags, channels)
  if (identity) return showPerson(agent, { founder: identity, addresses: [identity] })
  const components = listProofComponents(content)
  const { sender, received_via: via } = content
  return components && { id: computeKey([agent, ...components]), addresses: [{ via, address: sender.address }] }
}

/** Lists the components of the key for other proofs. With proof of a whole domain the address counts, and otherwise the subject at its issuer. */
function listProofComponents({ sender, received_via: via }: SentMessage): readonly string[] | undefined {
  const provenIdentity = sender.verified
    ? sender.identities?.find(({ proof }) => proof.type === 'transport')
    : undefined
  if (!provenIdentity) return undefined
  const { assurance, issuer, subject } = provenIdentity
  return assurance === 'domain' ? ['sender', via, sender.address.toLowerCase()] : ['sender', via, issuer, subject]
}
