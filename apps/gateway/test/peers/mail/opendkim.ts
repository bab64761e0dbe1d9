// Verifies DKIM with OpenDKIM.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { PublishedKey } from '@postern/pipeline'
import { runCommand } from '../run-command.ts'
import { describePrograms } from './find-mail-programs.ts'
import { stagePath } from './names.ts'

/** A third implementation of DKIM: OpenDKIM's filter, which mail servers use, in its test mode. */
export interface OpenDkim {
  /** Returns one line for each signature of the mail: `agents.test ed25519-sha256 True`. */
  judge(mail: string): Promise<readonly string[]>
}

const configPath = join(stagePath, 'opendkim.conf')
const keysPath = join(stagePath, 'opendkim.keys')
const mailPath = join(stagePath, 'opendkim.eml')

/** Opens the filter. Its resolver knows only the public DNS, so it gets the published records directly. */
export function openOpenDkim(packageRoot: string, keys: readonly PublishedKey[]): OpenDkim {
  const records = keys.flatMap(({ dns }) => (dns ? [`${dns.name} ${dns.value}\n`] : []))
  writeFileSync(keysPath, records.join(''))
  writeFileSync(configPath, `Mode v\nSyslog no\nTestPublicKeys ${keysPath}\n`)
  const library = `LD_LIBRARY_PATH=${describePrograms(packageRoot).libraries}`
  const command = [library, join(packageRoot, 'usr/sbin/opendkim'), '-x', configPath, '-vv', '-t', mailPath]
  return {
    async judge(mail) {
      writeFileSync(mailPath, mail, 'latin1')
      return readResults(await runCommand('env', command))
    },
  }
}

/** Reads the results in the Authentication-Results field (RFC 8601) that OpenDKIM would put on top. */
function readResults(text: string): readonly string[] {
  const results = text.matchAll(/\bdkim=(\w+)[^;]*?\bheader\.d=(\S+)[^;]*?\bheader\.a=(\S+)/g)
  return Array.from(results, ([, result, domain, algorithm]) => {
    return `${domain} ${algorithm} ${result === 'pass' ? 'True' : 'False'}`
  }).toSorted()
}
