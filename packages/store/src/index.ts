export { openSqliteDesk, type SqliteDesk, type SqliteDeskOptions } from './desk.ts'
