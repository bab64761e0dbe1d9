// Signs outgoing mail with OpenDKIM.
import { spawn } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { canConnect, waitUntil } from '../eventually.ts'
import { describePrograms } from './find-mail-programs.ts'
import { bea, mailPorts, peopleHost, stagePath } from './names.ts'

/** OpenDKIM as mail servers use it: a filter that signs the mail that passes through them. */
interface OpenDkimSigner {
  /** The key record that people.test publishes. */
  readonly record: { readonly name: string; readonly value: string }
  stop(): Promise<void>
}

const selector = 'filter'
const folder = join(stagePath, 'opendkim')
const [keyPath, keysPath, signersPath, configPath] = ['key.pem', 'keys', 'signers', 'conf'].map(name =>
  join(folder, name),
) as [string, string, string, string]

/** Starts a signer for bea alone, because alice's mail is signed before it reaches a server. */
export async function startOpenDkimSigner(packageRoot: string): Promise<OpenDkimSigner> {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
  mkdirSync(folder, { recursive: true })
  writeFileSync(keyPath, privateKey.export({ type: 'pkcs1', format: 'pem' }), { mode: 0o600 })
  writeFileSync(keysPath, `${selector} ${peopleHost}:${selector}:${keyPath}\n`)
  writeFileSync(signersPath, `${bea} ${selector}\n`)
  writeFileSync(
    configPath,
    [
      ...['Mode s', 'Syslog no', `Socket inet:${mailPorts.filter}@127.0.0.1`, 'OversignHeaders From'],
      ...[`KeyTable ${keysPath}`, `SigningTable refile:${signersPath}`, ''],
    ].join('\n'),
  )
  const env = { ...process.env, LD_LIBRARY_PATH: describePrograms(packageRoot).libraries }
  const child = spawn(join(packageRoot, 'usr/sbin/opendkim'), ['-f', '-x', configPath], { env, stdio: 'inherit' })
  const exit = once(child, 'exit')
  await waitUntil('OpenDKIM listens', () => {
    if (child.exitCode !== null) throw new Error('OpenDKIM ended')
    return canConnect(mailPorts.filter)
  })
  const value = `v=DKIM1; k=rsa; p=${publicKey.export({ type: 'spki', format: 'der' }).toString('base64')}`
  return {
    record: { name: `${selector}._domainkey.${peopleHost}`, value },
    async stop() {
      child.kill('SIGTERM')
      await exit
    },
  }
}
