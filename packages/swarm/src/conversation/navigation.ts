import { Rejection } from '@postern/core'
import { z } from 'zod'
import type { SwarmDeps, SwarmSpec } from '../spec/swarm.ts'

const navigationSchema = z.object({ active: z.string(), stack: z.array(z.string()), visited: z.array(z.string()) })
type Navigation = Readonly<z.infer<typeof navigationSchema>>

/** Which agent speaks to a client, and how the conversation came to it. Kept over restarts. */
export interface SwarmNavigation {
  readonly active: string
  /** The agents handed over to, oldest first, the last hundred of them; the default one lies beneath. */
  readonly stack: readonly string[]
  /** A new message of the user: every agent may be gone to again. */
  beginTurn(): Promise<void>
  /** False where there is no such agent, or (if so configured) for a recursion. @throws Rejection forbidden for a recursion */
  changeToAgent(agentName: string): Promise<boolean>
  changeToDefault(): Promise<boolean>
  /** Never refused as a recursion; false when there is nothing to go back to. */
  changeToPrevious(): Promise<boolean>
}

/** Farther back nobody goes; a conversation may go on for years. */
const maxStack = 100

const recordKind = 'swarm-navigation'

export async function openNavigation(
  spec: SwarmSpec,
  { records, bus, owner, platform }: SwarmDeps,
  clientId: string,
): Promise<SwarmNavigation> {
  const { swarmName, defaultAgent, agents, throwsOnRecursion = true } = spec
  const names = new Set(agents.map(({ agentName }) => agentName))
  const place = { kind: recordKind, owner, key: JSON.stringify([swarmName, clientId]) }
  const stored = navigationSchema.safeParse((await records.get(place))?.value).data
  let state: Navigation =
    stored && names.has(stored.active)
      ? { ...stored, stack: stored.stack.filter(name => names.has(name)) }
      : { active: defaultAgent, stack: [], visited: [] }

  async function move(next: Navigation): Promise<void> {
    await records.put(place, navigationSchema.parse(next))
    for (const agentName of names) {
      bus.emit({ type: 'commit-agent-change', source: 'agent-bus', clientId, context: { agentName, swarmName } })
    }
    state = next
    const { active: agentName } = next
    for (const type of ['set-agent-ref', 'set-agent-name']) {
      bus.emit({ type, source: 'swarm-bus', clientId, context: { agentName, swarmName }, input: { agentName } })
    }
  }

  async function changeToAgent(agentName: string): Promise<boolean> {
    if (!names.has(agentName)) {
      platform.log.warn({ swarmName }, 'an agent outside of the swarm was asked for')
      return false
    }
    if (state.visited.includes(agentName)) {
      if (throwsOnRecursion) throw new Rejection('forbidden', 'Cannot change agent: recursion within one turn')
      return false
    }
    const stack = [...state.stack, agentName].slice(-maxStack)
    await move({ active: agentName, stack, visited: [...state.visited, agentName] })
    return true
  }

  return {
    get active() {
      return state.active
    },
    get stack() {
      return state.stack
    },
    async beginTurn() {
      if (state.visited.length === 0) return
      state = { ...state, visited: [] }
      await records.put(place, navigationSchema.parse(state))
    },
    changeToAgent,
    changeToDefault: () => changeToAgent(defaultAgent),
    async changeToPrevious() {
      const stack = state.stack.slice(0, -1)
      const active = stack.at(-1) ?? defaultAgent
      if (state.stack.length === 0 && active === state.active) return false
      await move({ ...state, active, stack })
      return true
    },
  }
}
