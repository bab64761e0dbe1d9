import type { SwarmHistory } from '../conversation/history.ts'
import { openSwarmHistory } from '../conversation/history.ts'
import type { SwarmNavigation } from '../conversation/navigation.ts'
import { openNavigation } from '../conversation/navigation.ts'
import type { SwarmDeps, SwarmSpec } from '../spec/swarm.ts'

/** What there is once of a client, however many use it. */
export interface SwarmClientState {
  readonly clientId: string
  readonly history: SwarmHistory
  readonly navigation: SwarmNavigation
  /** Of the answer that is being made. */
  life: AbortController | undefined
  /** Whether what is still to be called in that answer is left undone. */
  readonly calls: { areStopped: boolean }
  /** One after the other; a turn that failed does not hold up the next. */
  queue<Result>(run: () => Promise<Result>): Promise<Result>
}

export async function openSwarmClientState(
  spec: SwarmSpec,
  deps: SwarmDeps,
  clientId: string,
): Promise<SwarmClientState> {
  let last: Promise<unknown> = Promise.resolve()
  return {
    clientId,
    history: await openSwarmHistory(deps, spec.swarmName, clientId),
    navigation: await openNavigation(spec, deps, clientId),
    life: undefined,
    calls: { areStopped: false },
    queue(run) {
      const done = last.then(run)
      last = done.catch(() => {})
      return done
    },
  }
}
