// Tracks which agent of a swarm is active and how the conversation reached it.
import { Rejection } from '@postern/message'
import type { RecordKey } from '@postern/transcript'
import { z } from 'zod'
import type { SwarmDeps, SwarmSpec } from '../spec/swarm.ts'

const navigationSchema = z.object({ active: z.string(), stack: z.array(z.string()), visited: z.array(z.string()) })
type Navigation = Readonly<z.infer<typeof navigationSchema>>

/** The active agent of a client and the path to it. Both survive restarts. */
export interface SwarmNavigation {
  readonly active: string
  /** The last hundred agents of the path, oldest first, without the default agent, with which every path begins. */
  readonly stack: readonly string[]
  /** Begins the turn of a new user message, in which every agent may be visited again. */
  beginTurn(): Promise<void>
  /**
   * Changes to an agent. Returns false if the agent is unknown, or for a recursion that does not throw. @throws Rejection forbidden for a recursion
   */
  changeToAgent(agentName: string): Promise<boolean>
  changeToDefault(): Promise<boolean>
  /** Changes to the previous agent, which is never a recursion. Returns false if there is none. */
  changeToPrevious(): Promise<boolean>
}

/** The maximum length of the path, because a conversation may last for years. */
const maxStackLength = 100

const recordKind = 'swarm-navigation'

interface NavigationState {
  readonly spec: SwarmSpec
  readonly deps: SwarmDeps
  readonly clientId: string
  readonly names: ReadonlySet<string>
  readonly key: RecordKey
  navigation: Navigation
}

export async function openNavigation(spec: SwarmSpec, deps: SwarmDeps, clientId: string): Promise<SwarmNavigation> {
  const { swarmName, defaultAgent, agents } = spec
  const names = new Set(agents.map(({ agentName }) => agentName))
  const key = { kind: recordKind, owner: deps.owner, key: JSON.stringify([swarmName, clientId]) }
  const storedNavigation = navigationSchema.safeParse((await deps.records.get(key))?.value).data
  const currentState =
    storedNavigation && names.has(storedNavigation.active)
      ? { ...storedNavigation, stack: storedNavigation.stack.filter(name => names.has(name)) }
      : { active: defaultAgent, stack: [], visited: [] }
  const state: NavigationState = { spec, deps, clientId, names, key, navigation: currentState }
  return {
    get active() {
      return state.navigation.active
    },
    get stack() {
      return state.navigation.stack
    },
    beginTurn: () => clearVisits(state),
    changeToAgent: agentName => changeToAgent(agentName, state),
    changeToDefault: () => changeToAgent(defaultAgent, state),
    changeToPrevious: () => changeToPrevious(state),
  }
}

async function clearVisits(state: NavigationState): Promise<void> {
  if (state.navigation.visited.length === 0) return
  state.navigation = { ...state.navigation, visited: [] }
  await state.deps.records.put(state.key, navigationSchema.parse(state.navigation))
}

async function changeToAgent(agentName: string, state: NavigationState): Promise<boolean> {
  const { swarmName, throwsOnRecursion = true } = state.spec
  if (!state.names.has(agentName)) {
    state.deps.system.log.warn({ swarmName }, 'an agent outside of the swarm was asked for')
    return false
  }
  if (state.navigation.visited.includes(agentName)) {
    if (throwsOnRecursion) throw new Rejection('forbidden', 'Cannot change agent: recursion within one turn')
    return false
  }
  const stack = [...state.navigation.stack, agentName].slice(-maxStackLength)
  await storeNavigation({ active: agentName, stack, visited: [...state.navigation.visited, agentName] }, state)
  return true
}

async function changeToPrevious(state: NavigationState): Promise<boolean> {
  const stack = state.navigation.stack.slice(0, -1)
  const active = stack.at(-1) ?? state.spec.defaultAgent
  if (state.navigation.stack.length === 0 && active === state.navigation.active) return false
  await storeNavigation({ ...state.navigation, active, stack }, state)
  return true
}

async function storeNavigation(navigation: Navigation, state: NavigationState): Promise<void> {
  const { names, key, clientId } = state
  const { records, bus } = state.deps
  const { swarmName } = state.spec
  await records.put(key, navigationSchema.parse(navigation))
  for (const agentName of names) {
    bus.emit({ type: 'commit-agent-change', source: 'agent-bus', clientId, context: { agentName, swarmName } })
  }
  state.navigation = navigation
  const { active: agentName } = navigation
  for (const type of ['set-agent-ref', 'set-agent-name']) {
    bus.emit({ type, source: 'swarm-bus', clientId, context: { agentName, swarmName }, input: { agentName } })
  }
}

/** The state of a swarm that a chat shows (`STATE_SNAPSHOT` of AG-UI). */
type SwarmState = {
  readonly activeAgent: string
  readonly navigationStack: readonly string[]
}

export function readSwarmState({ active, stack }: Pick<SwarmNavigation, 'active' | 'stack'>): SwarmState {
  return { activeAgent: active, navigationStack: [...stack] }
}
