import { readFileSync, statSync } from 'node:fs'
import { failure, ok, warning } from '../../checks/finding.ts'
import type { CheckOutcome } from '../check.ts'
import { about, skip } from '../check.ts'
import type { DoctorDeps } from '../deps.ts'

/** Whoever can change the file can run code as the gateway; whoever can read it has the secrets that stand in it. */
export function checkConfigFile({ configPath, config }: Pick<DoctorDeps, 'configPath' | 'config'>): CheckOutcome {
  if (configPath === undefined) return skip('configuration file', 'there is none: all comes from the environment')
  if (process.platform === 'win32') return skip(configPath, 'this system has no modes of files')
  const found = statSync(configPath, { throwIfNoEntry: false })
  if (!found) return skip(configPath, 'the file is not there any more')
  const { mode } = found
  if ((mode & 0o022) !== 0)
    return about(configPath, failure('others on this machine may change the configuration', `chmod go-w ${configPath}`))
  const { operator_token: token } = config
  const holdsToken = token !== undefined && readFileSync(configPath, 'utf8').includes(token)
  if (!holdsToken || (mode & 0o004) === 0) return about(configPath, ok('nobody else may change the configuration'))
  const fix = `chmod 600 ${configPath}, or take the token from the environment: { "env": "OPERATOR_TOKEN" }`
  return about(configPath, warning('others on this machine may read the operator token in the configuration', fix))
}
