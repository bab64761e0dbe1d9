import type { AgentState } from './agent.ts'
import type { Desk } from './desk.ts'
import type { HistoryPolicy } from './history.ts'
import type { Json } from './json.ts'
import type { AgentPerson, Person, PersonIdentity, PrivateScope } from './people.ts'
import { readPersonIdentity } from './person-identity.ts'
import type { Entry } from './transcript.ts'
import type { Turn } from './work.ts'
import { beginningOf } from './work.ts'
import type { RunningAgent, Working } from './working.ts'

/** Whether the conversation is between the agent and this one alone: an answer reaches nobody else. */
export async function isAlone(turn: Turn, identity: PersonIdentity, working: Working): Promise<boolean> {
  const { via } = turn
  const subjects = via === identity.via ? [identity.subject] : await listSubjects(turn, identity, working)
  const actual = await working.desk.readThreadScope(turn.thread)
  return subjects.some(subject => {
    const scope = working.findChannel(via)?.privateScope?.(subject)
    return (
      scope !== undefined && (scope === actual || (via === 'email' && scope.toLowerCase() === actual.toLowerCase()))
    )
  })
}

/** What he says in a chat may be part of a conversation that he has from another address. */
async function listSubjects({ agent, via }: Turn, identity: PersonIdentity, { desk }: Working) {
  const person = await desk.findPerson(agent, identity)
  return (person?.addresses ?? []).flatMap(address => (address.via === via ? (address.subject ?? []) : []))
}

/** Who is speaking in a turn, where it may be known what he said elsewhere. */
export interface TurnPerson {
  readonly person: Person
  readonly scopes: readonly PrivateScope[]
  /** Shown to the agent. */
  readonly shown: AgentPerson
  /** What the agent wrote, to be committed with its answer. */
  changed(): { readonly person: string; readonly state: Json } | undefined
}

/** Undefined unless the configuration shares, the sender is proven and linked, and nobody else reads the conversation. */
export async function findTurnPerson(
  turn: Turn,
  working: Working,
  { people }: RunningAgent,
): Promise<TurnPerson | undefined> {
  if (!people?.link || people.share === 'none') return undefined
  const identity = readPersonIdentity(turn.content, turn.flags)
  const person = identity && (await working.desk.findPerson(turn.agent, identity))
  if (!person || !(await isAlone(turn, identity, working))) return undefined
  const scopes = person.addresses.flatMap(({ via, subject }): PrivateScope[] => {
    const scope = subject === undefined ? undefined : working.findChannel(via)?.privateScope?.(subject)
    return scope === undefined ? [] : [{ via, scope }]
  })
  const state = people.share === 'history+state' ? createPersonState(turn, person, working.desk) : undefined
  const addresses = person.addresses.map(({ via, address }) => ({ via, address }))
  return {
    person,
    scopes,
    shown: { addresses, ...(state && { state }) },
    changed() {
      const written = state?.changed()
      return written === undefined ? undefined : { person: person.id, state: written }
    },
  }
}

function createPersonState(
  { agent }: Turn,
  { id }: Person,
  desk: Pick<Desk, 'readPersonState'>,
): AgentState & { changed(): Json | undefined } {
  let written: Json | undefined
  return {
    get: async () => (written === undefined ? desk.readPersonState(agent, id) : written),
    set: value => {
      written = value
    },
    changed: () => written,
  }
}

/** What went before: in this conversation, and where the person is known, in all of his. */
export function readPast(
  turn: Turn,
  { reach }: HistoryPolicy,
  desk: Pick<Desk, 'readHistory' | 'readPersonHistory'>,
  known: TurnPerson | undefined,
): Promise<readonly Entry[]> {
  const window = { before: beginningOf(turn), ...reach }
  const { agent, thread, content } = turn
  const chat = content.received_via === 'web' ? readPersonIdentity(content, turn.flags)?.subject : undefined
  if (!known) return desk.readHistory({ thread, ...window, chat })
  return desk.readPersonHistory({ agent, thread, scopes: known.scopes, ...window })
}
