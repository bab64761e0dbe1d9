// Lists the persons whom agents with their own memory must forget, under the keys by which the agents know them.
import type { ForgottenPerson } from '../ports/agent/forgotten-person.ts'
import type { ChannelDescriptor } from '../ports/channel/channel-descriptor.ts'
import type { PersonMessage, PersonMessagesRequest } from '../ports/records/people/forgetting.ts'
import type { Person, PersonAddress } from '../ports/records/people/person.ts'
import type { PeopleStore } from '../ports/store/people-store.ts'
import { readPersonIdentity } from './person-identity.ts'
import { describeSender, showPerson } from './person-key.ts'

interface ForgettingDeps {
  readonly store: Pick<PeopleStore, 'findPersonMessages'>
  readonly channels: readonly { readonly descriptor: Pick<ChannelDescriptor, 'name' | 'speaker'> }[]
  /** The agents that have their own memory, and delete from it themselves. */
  readonly agents: readonly string[]
}

/** One person of one agent. Accounts and mailboxes with the same name are separate persons until somebody links them. */
type AgentForgetting = ForgottenPerson & { readonly agent: string }

/** Returns the persons that each agent must forget. An agent to which the person never wrote has none. */
export async function listForgotten(
  request: PersonMessagesRequest,
  { store, channels, agents }: ForgettingDeps,
): Promise<readonly AgentForgetting[]> {
  const { persons: people, messages } = await store.findPersonMessages(request)
  const peopleByKey = new Map<string, CollectedPerson>()
  for (const { agent, ...person } of people) addPerson(peopleByKey, { agent, ...showPerson(agent, person) })
  for (const message of messages)
    addPerson(peopleByKey, {
      agent: message.agent,
      thread: message.thread,
      ...describeSpeaker(message, people, channels),
    })
  return [...peopleByKey.values()].flatMap(({ agent, person, addresses, threads }) =>
    agents.includes(agent)
      ? [{ agent, ...(person && { person }), addresses: [...addresses.values()], threads: [...threads] }]
      : [],
  )
}

interface CollectedPerson {
  readonly agent: string
  readonly person: string | undefined
  readonly addresses: Map<string, Pick<PersonAddress, 'via' | 'address'>>
  readonly threads: Set<string>
}

interface SenderDescription {
  readonly id?: string | undefined
  readonly addresses: readonly Pick<PersonAddress, 'via' | 'address'>[]
}

interface DescribedSender extends SenderDescription {
  readonly agent: string
  readonly thread?: string | undefined
}

function addPerson(
  peopleByKey: Map<string, CollectedPerson>,
  { agent, id: person, addresses, thread }: DescribedSender,
): void {
  const key = JSON.stringify([agent, person])
  const collectedPerson = peopleByKey.get(key) ?? { agent, person, addresses: new Map(), threads: new Set() }
  for (const address of addresses)
    collectedPerson.addresses.set(`${address.via} ${address.address.toLowerCase()}`, address)
  if (thread !== undefined) collectedPerson.threads.add(thread)
  peopleByKey.set(key, collectedPerson)
}

/** Describes the speaker of a message. Senders without proof have no key, so all their addresses are listed together. */
function describeSpeaker(
  { agent, via, sender, flags }: PersonMessage,
  people: readonly (Person & { readonly agent: string })[],
  channels: ForgettingDeps['channels'],
): SenderDescription {
  const content = { sender, received_via: via }
  const identity = readPersonIdentity(content, flags, channels)
  const linkedPerson =
    identity &&
    people.find(person => person.agent === agent && person.addresses.some(address => isSameAddress(address, identity)))
  if (linkedPerson) return showPerson(agent, linkedPerson)
  return describeSender({ agent, content, flags }, channels) ?? { addresses: [{ via, address: sender.address }] }
}

function isSameAddress(left: PersonAddress, right: PersonAddress): boolean {
  return left.via === right.via && left.address === right.address && (left.subject ?? right.subject) === right.subject
}
