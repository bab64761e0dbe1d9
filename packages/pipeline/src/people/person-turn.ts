// Finds the linked person who wrote a message, and the part of their past that an agent may see.
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

/** Returns true if only the agent and this person take part in the conversation, so that nobody else can read an answer. */
export async function isPrivateConversation(
  turn: Turn,
  identity: PersonIdentity,
  turnContext: TurnContext,
): Promise<boolean> {
  const { via } = turn
  const subjects = via === identity.via ? [identity.subject] : await listSubjects(turn, identity, turnContext)
  const threadScope = await turnContext.store.readThreadScope(turn.thread)
  const channel = findChannel(turnContext.channels, via)
  const ignoresCase = channel?.descriptor.speaker.ignoresCase === true
  return subjects.some(subject => {
    const scope = channel?.conversations?.privateScope?.(subject)
    return scope === threadScope || (ignoresCase && scope?.toLowerCase() === threadScope.toLowerCase())
  })
}

/** Lists the person's principals on the channel of the turn. From a chat, a person can continue a conversation of another address of theirs. */
async function listSubjects({ agent, via }: Turn, identity: PersonIdentity, { store }: TurnContext) {
  const person = await store.findPerson(agent, identity)
  return (person?.addresses ?? []).flatMap(address => (address.via === via ? (address.subject ?? []) : []))
}

/** The speaker of a turn, if the agent may know their other conversations. */
export interface TurnPerson {
  readonly person: Person
  readonly scopes: readonly PrivateScope[]
  /** The person as the agent sees them. */
  readonly agentPerson: AgentPerson
  /** Computes the new state from the current one and the agent's changes, for the commit of the answer; undefined if nothing changes. */
  computeChange(): Promise<ChangedPersonState | undefined>
}

/** Finds the person if the configuration shares conversations, the sender is proven and linked, and nobody else reads this conversation. */
export async function findTurnPerson(
  turn: Turn,
  turnContext: TurnContext,
  { people }: RunningAgent,
): Promise<TurnPerson | undefined> {
  if (!people?.link || people.share === 'none') return undefined
  const identity = readPersonIdentity(turn.content, turn.flags, turnContext.channels)
  const person = identity && (await turnContext.store.findPerson(turn.agent, identity))
  if (!person || !(await isPrivateConversation(turn, identity, turnContext))) return undefined
  const scopes = listScopes(person.addresses, turnContext)
  const state = people.share === 'history+state' ? createPersonState(turn, person, turnContext.store) : undefined
  return {
    person,
    scopes,
    agentPerson: { ...showPerson(turn.agent, person), ...(state && { state }) },
    computeChange: async () => state?.computeChange(),
  }
}

/** Describes the speaker without their other addresses. The key is still the linked person's, if the configuration allows links. */
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

type StateChange = (state: Json | undefined) => Json | undefined | Promise<Json | undefined>

/** Creates the person's state for a turn. The changes of the agent are collected in order, and applied whenever the state is read. */
function createPersonState(
  { agent }: Turn,
  { id: person }: Person,
  store: Pick<Store, 'readPersonState'>,
): PersonState & Pick<TurnPerson, 'computeChange'> {
  let replacement: Json | undefined
  let changes: readonly StateChange[] = []
  const readStoredState = async () => (replacement === undefined ? store.readPersonState(agent, person) : replacement)

  async function applyChanges(initialState: Json | undefined): Promise<Json | undefined> {
    let state = initialState
    // A change function may modify its argument.
    for (const applyChange of changes) {
      const changedState = await applyChange(structuredClone(state))
      if (changedState !== undefined) state = toWellFormed(changedState)
    }
    return state
  }

  return {
    get: async () => applyChanges(await readStoredState()),
    set(change) {
      if (typeof change === 'function') {
        changes = [...changes, change]
      } else {
        replacement = toWellFormed(change)
        changes = []
      }
    },
    async computeChange() {
      if (replacement === undefined && changes.length === 0) return undefined
      const previousState = await readStoredState()
      const state = await applyChanges(previousState)
      if (state === undefined) return undefined
      return { person, state, ...(replacement === undefined && { replaces: { state: previousState } }) }
    },
  }
}

/** The speaker whose past a turn may see. */
export interface TurnSpeaker {
  readonly turnPerson: TurnPerson | undefined
  /** The person's principals whose chat messages the history may contain. If others can read the conversation, the list has at most the principal that speaks. */
  readonly speakers: readonly string[]
  /** True if the person speaks from a chat, in a conversation of an address that is no longer linked with theirs. */
  readonly isUnlinked: boolean
}

export async function findSpeaker(
  turn: Turn,
  turnContext: TurnContext,
  turnPerson: TurnPerson | undefined,
): Promise<TurnSpeaker> {
  const { agent, content, via, thread } = turn
  const identity = readPersonIdentity(content, turn.flags, turnContext.channels)
  if (!identity) return { turnPerson, speakers: [], isUnlinked: false }
  const person = await turnContext.store.findPerson(agent, identity)
  const addresses = person?.addresses ?? [identity]
  const subjects = addresses.flatMap(({ subject }) => subject ?? [])
  if (await isPrivateConversation(turn, identity, turnContext))
    return { turnPerson, speakers: subjects, isUnlinked: false }
  if (!findRules(turnContext.channels, content.received_via)?.isChat)
    return { turnPerson, speakers: [], isUnlinked: false }
  const isJoined = via !== content.received_via
  const ownThread =
    isJoined &&
    (await turnContext.store.findOwnThread({ agent, scopes: listScopes(addresses, turnContext), subjects }, thread))
  return { turnPerson, speakers: [identity.subject], isUnlinked: isJoined && !ownThread }
}

/** Reads the history of this conversation, or of all the person's conversations if the agent may know them. */
export async function readPast(
  turn: Turn,
  { reach }: HistoryPolicy,
  store: Pick<Store, 'readHistory' | 'readPersonHistory'>,
  { turnPerson, speakers, isUnlinked }: TurnSpeaker,
): Promise<readonly Entry[]> {
  const window = { beforeMessage: beginningOf(turn), ...reach, speakers }
  const { agent, thread } = turn
  if (isUnlinked) return []
  if (!turnPerson) return store.readHistory({ thread, ...window })
  return store.readPersonHistory({ agent, thread, scopes: turnPerson.scopes, ...window })
}
