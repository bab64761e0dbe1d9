// Checks the libraries of the gateway for known vulnerabilities (`npm run audit`). It fails for `moderate` and higher severities. If the
// registry does not answer, it reports a skipped check.
import { spawnSync } from 'node:child_process'
import { readAudit } from './read-audit.ts'

const auditArguments = ['audit', '--omit=dev', '--json']
const { stdout } = spawnSync('npm', auditArguments, { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 })
const { line, isFailed } = readAudit(stdout)
console.log(line)
process.exitCode = isFailed ? 1 : 0
