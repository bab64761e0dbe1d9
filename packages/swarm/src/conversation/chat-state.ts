import type { SwarmNavigation } from './navigation.ts'

/** The state of a swarm that a chat shows (`STATE_SNAPSHOT` of AG-UI). */
type SwarmState = {
  readonly activeAgent: string
  readonly navigationStack: readonly string[]
}

/** RFC 6902 §4.3 */
type SwarmStateChange = {
  readonly op: 'replace'
  readonly path: `/${keyof SwarmState}`
  readonly value: string | readonly string[]
}

export function readSwarmState({ active, stack }: Pick<SwarmNavigation, 'active' | 'stack'>): SwarmState {
  return { activeAgent: active, navigationStack: [...stack] }
}

/** The changes as a `STATE_DELTA`; empty when nothing changed. */
export function diffSwarmState(before: SwarmState, after: SwarmState): readonly SwarmStateChange[] {
  const names = ['activeAgent', 'navigationStack'] as const
  const changed = names.filter(name => JSON.stringify(before[name]) !== JSON.stringify(after[name]))
  return changed.map(name => ({ op: 'replace', path: `/${name}`, value: after[name] }))
}
