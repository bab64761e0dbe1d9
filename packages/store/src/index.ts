export type { StoreDesk } from './assemble.ts'
export { openSqliteDesk, type SqliteDeskOptions } from './desk.ts'
