import { loadOptional } from '@postern/core'

/** The store on PostgreSQL, loaded only where the configuration names a server. @throws ConfigError if its library is not installed */
export function loadPostgres(): Promise<typeof import('@postern/store/postgres')> {
  return loadOptional(() => import('@postern/store/postgres'), { key: 'store', libraries: ['pg'] })
}
