import { isPostgresUrl } from '@postern/store'
import type { DoctorDeps } from './deps.ts'
import { canReachOrigin } from './network/reach.ts'

type FindReason = (deps: DoctorDeps) => string | undefined | Promise<string | undefined>

/** Why a check cannot be asked where one is absent; undefined where it is there. */
const reasons = {
  gateway: ({ gateway }) => (gateway ? undefined : 'the gateway cannot be opened; see gateway.opens'),
  running: ({ isRunning }) => (isRunning ? undefined : 'no gateway is running'),
  outside: ({ config }) => (config.dev ? 'dev mode: nobody outside can reach this gateway' : undefined),
  peers: async deps => {
    if (deps.config.dev) return undefined
    if (!deps.isRunning) return 'no gateway is running that peers could ask'
    return (await canReachOrigin(deps)) ? undefined : `${deps.config.origin} cannot be reached; see network.origin`
  },
  postgres: ({ config }) => (isPostgresUrl(config.store) ? undefined : 'the store is a file in the data folder'),
  sqlite: ({ config }) => (isPostgresUrl(config.store) ? 'the store is PostgreSQL' : undefined),
} as const satisfies Readonly<Record<string, FindReason>>

export type Need = keyof typeof reasons

/** What is missing for a check, as a reason to skip it: the first one that is. */
export async function findMissingNeed(needs: readonly Need[], deps: DoctorDeps): Promise<string | undefined> {
  for (const need of needs) {
    const reason = await reasons[need](deps)
    if (reason !== undefined) return reason
  }
  return undefined
}
