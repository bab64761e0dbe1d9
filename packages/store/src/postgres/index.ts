// Exports the store on PostgreSQL. Only gateways with a configured server load it, because it needs the library `pg`.
export { openPostgresStore, type PostgresStoreOptions } from './open-store.ts'
export type { PostgresStanding } from './prepare.ts'
export { inspectPostgres, maxSkewMs } from './prepare.ts'
