import { isPostgresUrl } from '@postern/store'
import type { DoctorDeps } from './deps.ts'

/** Why a check cannot be asked where one is absent; undefined where it is there. */
const reasons = {
  gateway: ({ gateway }) => (gateway ? undefined : 'the gateway cannot be opened; see gateway.opens'),
  running: ({ isRunning }) => (isRunning ? undefined : 'no gateway is running'),
  outside: ({ config }) => (config.dev ? 'dev mode: nobody outside can reach this gateway' : undefined),
  peers: ({ config, isRunning }) =>
    config.dev || isRunning ? undefined : 'no gateway is running that peers could ask',
  postgres: ({ config }) => (isPostgresUrl(config.store) ? undefined : 'the store is a file in the data folder'),
  sqlite: ({ config }) => (isPostgresUrl(config.store) ? 'the store is PostgreSQL' : undefined),
} as const satisfies Readonly<Record<string, (deps: DoctorDeps) => string | undefined>>

export type Need = keyof typeof reasons

/** What is missing for a check, as a reason to skip it. */
export function findMissingNeed(needs: readonly Need[], deps: DoctorDeps): string | undefined {
  return needs.map(need => reasons[need](deps)).find(reason => reason !== undefined)
}
