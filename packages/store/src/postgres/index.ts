// Loaded only where the configuration names a PostgreSQL server: it needs the library `pg`.
export { openPostgresStore, type PostgresStoreOptions } from './open.ts'
export type { PostgresStanding } from './prepare.ts'
export { inspectPostgres, mostSkewMs } from './prepare.ts'
