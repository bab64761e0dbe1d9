// Copies the browser libraries of the console from node_modules.
/**
 * `npm run vendor`: copies the console's libraries from node_modules, at the versions of the lockfile and with their licences. Without
 * `--write` it only lists the files that differ, and then exits with 1.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describeVendored } from './vendored.ts'

const root = join(import.meta.dirname, '../..')
const folder = join(root, 'packages/console/public')
const isWriting = process.argv.includes('--write')

const staleFiles = [...describeVendored(root)].filter(([name, text]) => {
  const path = join(folder, name)
  if (existsSync(path) && readFileSync(path, 'utf8') === text) return false
  if (isWriting) mkdirSync(dirname(path), { recursive: true })
  if (isWriting) writeFileSync(path, text)
  return true
})
for (const [name] of staleFiles) console.log(`${isWriting ? 'wrote' : 'differs'}: ${name}`)
process.exitCode = staleFiles.length > 0 && !isWriting ? 1 : 0
