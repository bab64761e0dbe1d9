import type { Json } from '../format/notations.ts'
import type { AgentState } from '../ports/agent/agent-state.ts'
import type { HistoryPolicy } from '../ports/agent/history-policy.ts'
import type { RunningAgent, TurnContext } from '../ports/agent/turn-context.ts'
import { findChannel } from '../ports/channel.ts'
import type { AgentPerson, Person, PersonAddress, PersonIdentity, PrivateScope } from '../ports/records/people.ts'
import type { Entry } from '../ports/records/transcript.ts'
import type { Turn } from '../ports/records/work.ts'
import { beginningOf } from '../ports/records/work.ts'
import type { Store } from '../ports/store.ts'
import { findRules, readPersonIdentity } from './person-identity.ts'

/** Whether the conversation is between the agent and this one alone: an answer reaches nobody else. */
export async function isAlone(turn: Turn, identity: PersonIdentity, turnContext: TurnContext): Promise<boolean> {
  const { via } = turn
  const subjects = via === identity.via ? [identity.subject] : await listSubjects(turn, identity, turnContext)
  const actual = await turnContext.store.readThreadScope(turn.thread)
  const channel = findChannel(turnContext.channels, via)
  const ignoresCase = channel?.descriptor.speaker.ignoresCase === true
  return subjects.some(subject => {
    const scope = channel?.privateScope?.(subject)
    return scope === actual || (ignoresCase && scope?.toLowerCase() === actual.toLowerCase())
  })
}

/** What a person says in a chat may be part of a conversation from another address of theirs. */
async function listSubjects({ agent, via }: Turn, identity: PersonIdentity, { store }: TurnContext) {
  const person = await store.findPerson(agent, identity)
  return (person?.addresses ?? []).flatMap(address => (address.via === via ? (address.subject ?? []) : []))
}

/** Who is speaking in a turn, where it may be known what they said elsewhere. */
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
  turnContext: TurnContext,
  { people }: RunningAgent,
): Promise<TurnPerson | undefined> {
  if (!people?.link || people.share === 'none') return undefined
  const identity = readPersonIdentity(turn.content, turn.flags, turnContext.channels)
  const person = identity && (await turnContext.store.findPerson(turn.agent, identity))
  if (!person || !(await isAlone(turn, identity, turnContext))) return undefined
  const scopes = listScopes(person.addresses, turnContext)
  const state = people.share === 'history+state' ? createPersonState(turn, person, turnContext.store) : undefined
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

function listScopes(addresses: readonly PersonAddress[], { channels }: TurnContext): readonly PrivateScope[] {
  return addresses.flatMap(({ via, subject }): PrivateScope[] => {
    const scope = subject === undefined ? undefined : findChannel(channels, via)?.privateScope?.(subject)
    return scope === undefined ? [] : [{ via, scope }]
  })
}

function createPersonState(
  { agent }: Turn,
  { id }: Person,
  store: Pick<Store, 'readPersonState'>,
): AgentState & { changed(): Json | undefined } {
  let written: Json | undefined
  return {
    get: async () => (written === undefined ? store.readPersonState(agent, id) : written),
    set: value => {
      written = value
    },
    changed: () => written,
  }
}

/** Whose past a turn may be given. */
export interface TurnSpeaker {
  readonly known: TurnPerson | undefined
  /** The person's principals: before others only the one they speak as. */
  readonly speakers: readonly string[]
  /** They speak from their chat in a conversation that is no longer theirs: it was unlinked meanwhile. */
  readonly isStranger: boolean
}

export async function findSpeaker(
  turn: Turn,
  turnContext: TurnContext,
  known: TurnPerson | undefined,
): Promise<TurnSpeaker> {
  const { agent, content, via, thread } = turn
  const identity = readPersonIdentity(content, turn.flags, turnContext.channels)
  if (!identity) return { known, speakers: [], isStranger: false }
  const person = await turnContext.store.findPerson(agent, identity)
  const addresses = person?.addresses ?? [identity]
  const subjects = addresses.flatMap(({ subject }) => subject ?? [])
  if (await isAlone(turn, identity, turnContext)) return { known, speakers: subjects, isStranger: false }
  if (!findRules(turnContext.channels, content.received_via)?.isChat) return { known, speakers: [], isStranger: false }
  const isJoined = via !== content.received_via
  const own =
    isJoined &&
    (await turnContext.store.findOwnThread({ agent, scopes: listScopes(addresses, turnContext), subjects }, thread))
  return { known, speakers: [identity.subject], isStranger: isJoined && !own }
}

/** What went before: in this conversation, and where the person is known, in all of theirs. */
export async function readPast(
  turn: Turn,
  { reach }: HistoryPolicy,
  store: Pick<Store, 'readHistory' | 'readPersonHistory'>,
  { known, speakers, isStranger }: TurnSpeaker,
): Promise<readonly Entry[]> {
  const window = { before: beginningOf(turn), ...reach, speakers }
  const { agent, thread } = turn
  if (isStranger) return []
  if (!known) return store.readHistory({ thread, ...window })
  return store.readPersonHistory({ agent, thread, scopes: known.scopes, ...window })
}
