// Finds the linked person behind a message, and the past of that person that an agent may see.
import type { Json } from '@postern/message'
import { toWellFormed } from '@postern/message'
import type { PersonState } from '../ports/agent/agent-state.ts'
import type { HistoryPolicy } from '../ports/agent/history-policy.ts'
import { findChannel } from '../ports/channel/channel.ts'
import type { PrivateScope } from '../ports/records/people/own-threads.ts'
import type { AgentPerson, Person, PersonAddress, PersonIdentity } from '../ports/records/people/person.ts'
import type { Entry } from '../ports/records/transcript.ts'
import type { ChangedPersonState } from '../ports/records/work/answer.ts'
import type { Turn } from '../ports/records/work/turn.ts'
import { beginningOf } from '../ports/records/work/turn.ts'
import type { Store } from '../ports/store/store.ts'
import type { RunningAgent } from '../ports/turn/running-agent.ts'
import type { TurnContext } from '../ports/turn/turn-context.ts'
import { findRules, readPersonIdentity } from './person-identity.ts'
import { describeSender, keyOfPerson, showPerson } from './person-key.ts'

/** Tells whether the conversation is between the agent and this person alone, so that an answer reaches nobody else. */
export async function isAlone(turn: Turn, identity: PersonIdentity, turnContext: TurnContext): Promise<boolean> {
  const { via } = turn
  const subjects = via === identity.via ? [identity.subject] : await listSubjects(turn, identity, turnContext)
  const actual = await turnContext.store.readThreadScope(turn.thread)
  const channel = findChannel(turnContext.channels, via)
  const ignoresCase = channel?.descriptor.speaker.ignoresCase === true
  return subjects.some(subject => {
    const scope = channel?.conversations?.privateScope?.(subject)
    return scope === actual || (ignoresCase && scope?.toLowerCase() === actual.toLowerCase())
  })
}

/** Lists the principals of a person. Their words in a chat may be part of a conversation from another address of theirs. */
async function listSubjects({ agent, via }: Turn, identity: PersonIdentity, { store }: TurnContext) {
  const person = await store.findPerson(agent, identity)
  return (person?.addresses ?? []).flatMap(address => (address.via === via ? (address.subject ?? []) : []))
}

/** The speaker of a turn, where the agent may know their words elsewhere. */
export interface TurnPerson {
  readonly person: Person
  readonly scopes: readonly PrivateScope[]
  /** Shown to the agent. */
  readonly shown: AgentPerson
  /** Computes what the agent has set from the state as it is now, to be committed with its answer. */
  changed(): Promise<ChangedPersonState | undefined>
}

/** Finds the person, if the configuration shares, the sender is proven and linked, and nobody else reads the conversation. */
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
  return {
    person,
    scopes,
    shown: { ...showPerson(turn.agent, person), ...(state && { state }) },
    changed: async () => state?.changed(),
  }
}

/** Describes whoever speaks to the agent, where nothing of their other addresses may be known. */
export async function findAgentPerson(
  turn: Turn,
  turnContext: TurnContext,
  { people }: Pick<RunningAgent, 'people'>,
): Promise<AgentPerson | undefined> {
  const { agent, content, flags } = turn
  const sender = describeSender(turn, turnContext.channels)
  const identity = people?.link ? readPersonIdentity(content, flags, turnContext.channels) : undefined
  const person = identity && (await turnContext.store.findPerson(agent, identity))
  return sender && person ? { ...sender, id: keyOfPerson(agent, person.founder) } : sender
}

function listScopes(addresses: readonly PersonAddress[], { channels }: TurnContext): readonly PrivateScope[] {
  return addresses.flatMap(({ via, subject }): PrivateScope[] => {
    const scope = subject === undefined ? undefined : findChannel(channels, via)?.conversations?.privateScope?.(subject)
    return scope === undefined ? [] : [{ via, scope }]
  })
}

type StateChange = (before: Json | undefined) => Json | undefined | Promise<Json | undefined>

/** The changes of a turn in their order, computed whenever the state is asked for. */
function createPersonState(
  { agent }: Turn,
  { id: person }: Person,
  store: Pick<Store, 'readPersonState'>,
): PersonState & Pick<TurnPerson, 'changed'> {
  let first: Json | undefined
  let changes: readonly StateChange[] = []
  const read = async () => (first === undefined ? store.readPersonState(agent, person) : first)

  async function change(before: Json | undefined): Promise<Json | undefined> {
    let state = before
    // A change may write into what it is given.
    for (const each of changes) {
      const next = await each(structuredClone(state))
      if (next !== undefined) state = toWellFormed(next)
    }
    return state
  }

  return {
    get: async () => change(await read()),
    set(given) {
      if (typeof given === 'function') {
        changes = [...changes, given]
      } else {
        first = toWellFormed(given)
        changes = []
      }
    },
    async changed() {
      if (first === undefined && changes.length === 0) return undefined
      const before = await read()
      const state = await change(before)
      if (state === undefined) return undefined
      return { person, state, ...(first === undefined && { replaces: { state: before } }) }
    },
  }
}

/** The speaker whose past a turn may see. */
export interface TurnSpeaker {
  readonly turnPerson: TurnPerson | undefined
  /** The person's principals: before others only the one they speak as. */
  readonly speakers: readonly string[]
  /** They speak from their chat in a conversation that is no longer theirs: it was unlinked meanwhile. */
  readonly isStranger: boolean
}

export async function findSpeaker(
  turn: Turn,
  turnContext: TurnContext,
  turnPerson: TurnPerson | undefined,
): Promise<TurnSpeaker> {
  const { agent, content, via, thread } = turn
  const identity = readPersonIdentity(content, turn.flags, turnContext.channels)
  if (!identity) return { turnPerson, speakers: [], isStranger: false }
  const person = await turnContext.store.findPerson(agent, identity)
  const addresses = person?.addresses ?? [identity]
  const subjects = addresses.flatMap(({ subject }) => subject ?? [])
  if (await isAlone(turn, identity, turnContext)) return { turnPerson, speakers: subjects, isStranger: false }
  if (!findRules(turnContext.channels, content.received_via)?.isChat)
    return { turnPerson, speakers: [], isStranger: false }
  const isJoined = via !== content.received_via
  const own =
    isJoined &&
    (await turnContext.store.findOwnThread({ agent, scopes: listScopes(addresses, turnContext), subjects }, thread))
  return { turnPerson, speakers: [identity.subject], isStranger: isJoined && !own }
}

/** Reads the past: of this conversation, and of all the person's conversations where the person is known. */
export async function readPast(
  turn: Turn,
  { reach }: HistoryPolicy,
  store: Pick<Store, 'readHistory' | 'readPersonHistory'>,
  { turnPerson, speakers, isStranger }: TurnSpeaker,
): Promise<readonly Entry[]> {
  const window = { before: beginningOf(turn), ...reach, speakers }
  const { agent, thread } = turn
  if (isStranger) return []
  if (!turnPerson) return store.readHistory({ thread, ...window })
  return store.readPersonHistory({ agent, thread, scopes: turnPerson.scopes, ...window })
}
