import type { SwarmHistory } from '../conversation/history.ts'
import { openSwarmHistory } from '../conversation/history.ts'
import type { SwarmNavigation } from '../conversation/navigation.ts'
import { openNavigation } from '../conversation/navigation.ts'
import type { SwarmDeps, SwarmSpec } from '../spec/swarm.ts'

/** The single state of a client, for all its users. */
export interface SwarmClientState {
  readonly clientId: string
  readonly history: SwarmHistory
  readonly navigation: SwarmNavigation
  /** Cancels the running answer. */
  life: AbortController | undefined
  /** Whether the further calls of the running answer are skipped. */
  readonly calls: { areStopped: boolean }
  /** Runs turns one after the other. A failed turn does not stop the next. */
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
