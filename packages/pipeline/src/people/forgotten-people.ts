// Lists the persons whom agents with their own memory must forget, under the keys by which the agents know them.
import type { ForgottenPerson } from '../ports/agent/forgotten-person.ts'
import type { ChannelDescriptor } from '../ports/channel/channel-descriptor.ts'
import type { Spoken, SpokenRequest } from '../ports/records/people/forgetting.ts'
import type { Person, PersonAddress } from '../ports/records/people/person.ts'
import type { PeopleStore } from '../ports/store/people-store.ts'
import { readPersonIdentity } from './person-identity.ts'
import { describeSender, showPerson } from './person-key.ts'

interface ForgettingDeps {
  readonly store: Pick<PeopleStore, 'findSpoken'>
  readonly channels: readonly { readonly descriptor: Pick<ChannelDescriptor, 'name' | 'speaker'> }[]
  /** The agents that have their own memory, and delete from it themselves. */
  readonly agents: readonly string[]
}

/** One person of one agent. Accounts and mailboxes with the same name are separate persons until somebody links them. */
type AgentForgetting = ForgottenPerson & { readonly agent: string }

/** Returns the persons that each agent must forget. An agent to which the person never wrote has none. */
export async function listForgotten(
  request: SpokenRequest,
  { store, channels, agents }: ForgettingDeps,
): Promise<readonly AgentForgetting[]> {
  const { persons, words } = await store.findSpoken(request)
  const peopleByKey = new Map<string, Gathered>()
  for (const { agent, ...person } of persons) gather(peopleByKey, agent, showPerson(agent, person))
  for (const spoken of words)
    gather(peopleByKey, spoken.agent, describeSpeaker(spoken, persons, channels), spoken.thread)
  return [...peopleByKey.values()].flatMap(({ agent, person, addresses, threads }) =>
    agents.includes(agent)
      ? [{ agent, ...(person && { person }), addresses: [...addresses.values()], threads: [...threads] }]
      : [],
  )
}

interface Gathered {
  readonly agent: string
  readonly person: string | undefined
  readonly addresses: Map<string, Pick<PersonAddress, 'via' | 'address'>>
  readonly threads: Set<string>
}

interface Described {
  readonly id?: string | undefined
  readonly addresses: readonly Pick<PersonAddress, 'via' | 'address'>[]
}

function gather(
  peopleByKey: Map<string, Gathered>,
  agent: string,
  { id: person, addresses }: Described,
  thread?: string | undefined,
): void {
  const key = JSON.stringify([agent, person])
  const gathered = peopleByKey.get(key) ?? { agent, person, addresses: new Map(), threads: new Set() }
  for (const each of addresses) gathered.addresses.set(`${each.via} ${each.address.toLowerCase()}`, each)
  if (thread !== undefined) gathered.threads.add(thread)
  peopleByKey.set(key, gathered)
}

/** Describes the speaker of a message. Senders without proof have no key, so all their addresses are listed together. */
function describeSpeaker(
  { agent, via, sender, flags }: Spoken,
  persons: readonly (Person & { readonly agent: string })[],
  channels: ForgettingDeps['channels'],
): Described {
  const content = { sender, received_via: via }
  const identity = readPersonIdentity(content, flags, channels)
  const linked =
    identity &&
    persons.find(person => person.agent === agent && person.addresses.some(address => isSame(address, identity)))
  if (linked) return showPerson(agent, linked)
  return describeSender({ agent, content, flags }, channels) ?? { addresses: [{ via, address: sender.address }] }
}

function isSame(one: PersonAddress, other: PersonAddress): boolean {
  return one.via === other.via && one.address === other.address && (one.subject ?? other.subject) === other.subject
}
