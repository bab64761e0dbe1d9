export type { StoreDesk } from './assemble.ts'
export { openSqliteDesk, type SqliteDeskOptions } from './desk.ts'
export { openPostgresDesk, type PostgresDeskOptions } from './postgres/open-postgres-desk.ts'
export { isPostgresUrl } from './postgres/settings.ts'
