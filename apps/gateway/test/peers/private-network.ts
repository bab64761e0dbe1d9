import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { chatAppHost, ourHost, pythonHost, snacHost } from './names.ts'
import { runCommand } from './run-command.ts'

export interface PrivateNetwork {
  readonly certPath: string
  readonly keyPath: string
}

/**
 * Makes a network of its own out of the fresh namespace this process runs in: loopback, names, and one authority that
 * everybody here trusts. No file of the machine is changed and nothing can leave it.
 */
export async function openPrivateNetwork(directory: string): Promise<PrivateNetwork> {
  const trusted = join(directory, 'certs')
  mkdirSync(trusted, { recursive: true })
  const certPath = join(trusted, 'ca-certificates.crt')
  const keyPath = join(directory, 'key.pem')
  const hosts = join(directory, 'hosts')
  writeFileSync(hosts, `127.0.0.1 localhost ${ourHost} ${snacHost} ${chatAppHost} ${pythonHost}\n`)
  await runCommand('openssl', [
    ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=peers'],
    ...[
      '-addext',
      `subjectAltName=DNS:${ourHost},DNS:${snacHost},DNS:${chatAppHost},DNS:${pythonHost}`,
      '-keyout',
      keyPath,
      '-out',
      certPath,
    ],
  ])
  await runCommand('ip', ['link', 'set', 'lo', 'up'])
  await runCommand('mount', ['--bind', hosts, '/etc/hosts'])
  await runCommand('mount', ['--bind', trusted, '/etc/ssl/certs'])
  return { certPath, keyPath }
}
