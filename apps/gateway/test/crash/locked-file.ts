// Locks a database file from another process.
import { spawn } from 'node:child_process'
import { once } from 'node:events'

const program = `
  const { DatabaseSync } = require('node:sqlite')
  const [, path, mode] = process.argv
  const db = new DatabaseSync(path, { timeout: 10_000 })
  db.exec('BEGIN ' + mode)
  console.log('held')
  process.stdin.once('end', () => { db.exec('ROLLBACK'); db.close() }).resume()
`

/** Locks the file from another process. @returns a function that releases the lock */
export async function lockFile(path: string, mode: 'IMMEDIATE' | 'EXCLUSIVE'): Promise<() => Promise<void>> {
  const child = spawn(process.execPath, ['-e', program, path, mode], { stdio: ['pipe', 'pipe', 'inherit'] })
  await once(child.stdout, 'data')
  return async () => {
    const exited = once(child, 'exit')
    child.stdin.end()
    await exited
  }
}
