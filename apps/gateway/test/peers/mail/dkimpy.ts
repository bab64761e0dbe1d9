// Signs and verifies DKIM with dkimpy.
import { generateKeyPairSync } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runCommand } from '../run-command.ts'
import { describePrograms } from './find-mail-programs.ts'
import { peopleHost, stagePath } from './names.ts'

/** Another implementation of DKIM, which signs alice's mail and judges ours. */
export interface Dkimpy {
  /** The key record that people.test publishes. */
  readonly record: { readonly name: string; readonly value: string }
  sign(mail: string): Promise<string>
  /** Returns one line for each signature of the mail: `agents.test ed25519-sha256 True`. */
  judge(mail: string): Promise<readonly string[]>
}

const selector = 'people'
const judgeScript = fileURLToPath(new URL('./judge-signatures.py', import.meta.url))

/** Opens dkimpy, which looks up keys at the DNS server at `dnsAddress`. */
export function openDkimpy(packageRoot: string, dnsAddress: string): Dkimpy {
  const { libraries, python } = describePrograms(packageRoot)
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
  const keyPath = join(stagePath, 'people.pem')
  writeFileSync(keyPath, privateKey.export({ type: 'pkcs1', format: 'pem' }))
  const run = (parameters: readonly string[], input: string) =>
    runCommand(
      'env',
      [`LD_LIBRARY_PATH=${libraries}`, `PYTHONPATH=${python.path}`, python.program, '-W', 'ignore', ...parameters],
      { input },
    )
  return {
    record: {
      name: `${selector}._domainkey.${peopleHost}`,
      value: `v=DKIM1; k=rsa; p=${publicKey.export({ type: 'spki', format: 'der' }).toString('base64')}`,
    },
    sign: mail => run(['-m', 'dkim.dkimsign', selector, peopleHost, keyPath], mail),
    judge: async mail => (await run([judgeScript, ...dnsAddress.split(':')], mail)).trim().split('\n').toSorted(),
  }
}
