import { join } from 'node:path'
import type { BackupManifest } from '@postern/store'
import { backupSqlite, checkBackup, isPostgresUrl, restoreSqlite } from '@postern/store'
import { writeBackupTime } from '../../platform/backup-time.ts'
import { CommandError } from '../client.ts'
import type { DataLocation, Output } from '../context.ts'

export interface RestoreOptions {
  readonly check?: boolean
  readonly replace?: boolean
}

export async function backUp({ store, directory }: DataLocation, output: Output, folder: string): Promise<void> {
  refuseServer(store, url => `pg_dump --format=custom --schema=postern --file=postern.dump ${url}`)
  const manifest = await backupSqlite({ path: databaseIn(directory), folder, now: Date.now })
  writeBackupTime(directory, manifest.created_at)
  if (output.json) return output.print(JSON.stringify(manifest, null, 2))
  output.print(
    `Backed up to ${folder}: ${describe(manifest)}.\nIt holds the keys that peers know you by: keep it as secret as the data folder. The configuration and its secrets are not in it.`,
  )
}

export async function restore(
  { store, directory }: DataLocation,
  output: Output,
  { folder, check, replace }: RestoreOptions & { readonly folder: string },
): Promise<void> {
  if (check) {
    const manifest = await checkBackup(folder)
    return output.print(output.json ? JSON.stringify(manifest, null, 2) : `${folder} is whole: ${describe(manifest)}.`)
  }
  refuseServer(
    store,
    url => `pg_restore --clean --if-exists --exit-on-error --single-transaction --dbname=${url} postern.dump`,
  )
  const path = databaseIn(directory)
  const { manifest, replaced } = await restoreSqlite({
    folder,
    path,
    isReplacing: replace === true,
    now: Date.now,
  })
  if (output.json) return output.print(JSON.stringify({ ...manifest, replaced }, null, 2))
  const aside = replaced === undefined ? '' : `\nThe database that was there is in ${replaced}.`
  output.print(`Restored to ${directory}: ${describe(manifest)}.${aside}\nStart the gateway.`)
}

const databaseIn = (directory: string) => join(directory, 'postern.db')

/** @throws CommandError with the command of PostgreSQL's own that does it */
function refuseServer(store: string, describeCommand: (url: string) => string): void {
  if (store === 'sqlite') return
  if (!isPostgresUrl(store)) throw new CommandError('"store" is no store: use "sqlite" or "postgres://…"')
  throw new CommandError(
    `the store is PostgreSQL, whose own programs do it:\n  ${describeCommand(withoutPassword(store))}\nThey ask for the password, or read it from PGPASSWORD. For a restore, stop all gateways first.`,
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
