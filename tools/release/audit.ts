/** `npm run audit`: known vulnerabilities of what the gateway runs with. It fails from `moderate` on, and says so where the registry does not answer. */
import { spawnSync } from 'node:child_process'
import { readAudit } from './read-audit.ts'

const words = ['audit', '--omit=dev', '--json']
const { stdout } = spawnSync('npm', words, { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 })
const { line, isFailed } = readAudit(stdout)
console.log(line)
process.exitCode = isFailed ? 1 : 0
