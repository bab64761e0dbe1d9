// Copies the embedded store to a backup, and restores it from one.
import { join } from 'node:path'
import type { BackupManifest } from '@postern/store'
import { backupSqlite, checkBackup, isPostgresUrl, restoreSqlite } from '@postern/store'
import { writeBackupTime } from '../../backup-time.ts'
import { CommandError } from '../../client/client.ts'
import type { CommandContext, Output } from '../context.ts'

type DataAccess = Pick<CommandContext, 'findData'>

interface BackupOptions {
  readonly folder: string
}

interface RestoreOptions extends BackupOptions {
  readonly check?: boolean
  readonly replace?: boolean
}

export async function backUp(output: Output, { folder }: BackupOptions, { findData }: DataAccess): Promise<void> {
  const { store, directory } = await findData()
  refuseServer(store, url => `pg_dump --format=custom --schema=postern --file=postern.dump ${url}`)
  const manifest = await backupSqlite({ path: databaseIn(directory), folder, now: Date.now })
  writeBackupTime(directory, manifest.created_at)
  if (output.json) return output.print(JSON.stringify(manifest, null, 2))
  output.print(
    `Backed up to ${folder}: ${describe(manifest)}.\nThe backup holds the keys of your agents: keep it as secret as the data folder. It does not hold the configuration and its secrets.`,
  )
}

export async function restore(
  output: Output,
  { folder, check, replace }: RestoreOptions,
  { findData }: DataAccess,
): Promise<void> {
  const { store, directory } = await findData()
  if (check) {
    const manifest = await checkBackup(folder)
    return output.print(
      output.json ? JSON.stringify(manifest, null, 2) : `${folder} is complete: ${describe(manifest)}.`,
    )
  }
  refuseServer(
    store,
    url => `pg_restore --clean --if-exists --exit-on-error --single-transaction --dbname=${url} postern.dump`,
  )
  const path = databaseIn(directory)
  const { manifest, replacedFolder: replaced } = await restoreSqlite({
    folder,
    path,
    isReplacing: replace === true,
    now: Date.now,
  })
  if (output.json) return output.print(JSON.stringify({ ...manifest, replaced }, null, 2))
  const replacedNote = replaced === undefined ? '' : `\nThe former database is in ${replaced}.`
  output.print(`Restored to ${directory}: ${describe(manifest)}.${replacedNote}\nStart the gateway.`)
}

const databaseIn = (directory: string) => join(directory, 'postern.db')

/** Refuses a PostgreSQL store. @throws CommandError that names PostgreSQL’s own command for the task */
function refuseServer(store: string, describeCommand: (url: string) => string): void {
  if (store === 'sqlite') return
  if (!isPostgresUrl(store)) throw new CommandError('"store" is not a store: use "sqlite" or "postgres://…"')
  throw new CommandError(
    `the store is PostgreSQL; use its own program:\n  ${describeCommand(withoutPassword(store))}\nIt asks for the password, or reads it from PGPASSWORD. For a restore, stop all gateways first.`,
  )
}

function withoutPassword(store: string): string {
  const url = new URL(store)
  url.password = ''
  return `'${url.href}'`
}

function describe({ created_at, files }: BackupManifest): string {
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0)
  const count = files.length === 1 ? 'one file' : `${files.length} files`
  return `${count}, ${(bytes / 1024 / 1024).toFixed(1)} MiB, as of ${created_at}`
}
