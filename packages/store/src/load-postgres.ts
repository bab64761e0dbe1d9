// Loads the store on PostgreSQL on demand, because `pg` is an optional library.
import { loadOptionalLibrary } from '@postern/message'

/** Loads the store on PostgreSQL. @throws ConfigError if the library of PostgreSQL is not installed */
export function loadPostgres(): Promise<typeof import('./postgres/index.ts')> {
  return loadOptionalLibrary(() => import('./postgres/index.ts'), { key: 'store', libraries: ['pg'] })
}
