// Describes the sender to agents in other processes, and stores the person state that their replies contain.
import type { Json } from '@postern/message'
import type { AgentContext, AgentPerson } from '@postern/pipeline'

/** The person as JSON. `state` is present only if the agent may set one. */
interface PersonData extends Pick<AgentPerson, 'id' | 'addresses'> {
  readonly state?: Json
}

/** Returns the members that describe the person; none if nothing is proven. */
export async function describePerson({
  person,
}: Pick<AgentContext, 'person'>): Promise<{ readonly person?: PersonData | undefined }> {
  if (!person) return {}
  const { id, addresses, state } = person
  return { person: { id, addresses, ...(state && { state: (await state.get()) ?? null }) } }
}

const noStateText =
  'the "person_state" of a reply is not kept: the sender has linked no other address, others read the conversation, ' +
  'or "people.share" of the agent is not "history+state"'

/** Sets the state of the person that a reply contains. If there is no state to set, the answer is still valid. */
export function setPersonState(state: Json | undefined, { person, log }: Pick<AgentContext, 'person' | 'log'>): void {
  if (state === undefined) return
  if (person?.state) person.state.set(state)
  else log.warn({}, noStateText)
}
