export { openSqliteDesk, type SqliteDeskOptions } from './desk.ts'
