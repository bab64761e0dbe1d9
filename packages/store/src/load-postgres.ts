// Loads the PostgreSQL store only for gateways whose configuration names a server.
import { loadOptional } from '@postern/message'

/** Loads the store on PostgreSQL. @throws ConfigError if the library of PostgreSQL is not installed */
export function loadPostgres(): Promise<typeof import('./postgres/index.ts')> {
  return loadOptional(() => import('./postgres/index.ts'), { key: 'store', libraries: ['pg'] })
}
