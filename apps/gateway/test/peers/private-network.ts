// Creates the private network of an exam.
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { hostNames } from './names.ts'
import { runCommand } from './run-command.ts'

export interface PrivateNetwork {
  readonly certPath: string
  readonly keyPath: string
}

/** An address of the public Internet that leads to this machine in this network, because peers are reached only at public addresses. */
export const publicAddress = '45.0.0.1'

/**
 * Creates a network in the fresh namespace of this process, with loopback, names, and one authority that everybody here trusts. It changes no file of
 * the machine, and nothing can leave it.
 */
export async function openPrivateNetwork(directory: string): Promise<PrivateNetwork> {
  const trusted = join(directory, 'certs')
  mkdirSync(trusted, { recursive: true })
  const certPath = join(trusted, 'ca-certificates.crt')
  const keyPath = join(directory, 'key.pem')
  const hosts = join(directory, 'hosts')
  const resolver = join(directory, 'resolv.conf')
  writeFileSync(hosts, `127.0.0.1 localhost\n${publicAddress} ${hostNames.join(' ')}\n`)
  writeFileSync(resolver, 'nameserver 127.0.0.1\n')
  await runCommand('openssl', [
    ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=peers'],
    ...['-addext', `subjectAltName=${hostNames.map(name => `DNS:${name}`).join(',')}`],
    ...['-keyout', keyPath, '-out', certPath],
  ])
  await runCommand('ip', ['link', 'set', 'lo', 'up'])
  await runCommand('ip', ['addr', 'add', `${publicAddress}/32`, 'dev', 'lo'])
  await runCommand('mount', ['--bind', hosts, '/etc/hosts'])
  await runCommand('mount', ['--bind', resolver, '/etc/resolv.conf'])
  await openNameServer()
  await runCommand('mount', ['--bind', trusted, '/etc/ssl/certs'])
  return { certPath, keyPath }
}

/** Answers each query for an IPv4 address (RFC 1035 §4) with that of this network, and any other one with nothing. */
async function openNameServer(): Promise<void> {
  const server = createSocket('udp4')
  server.on('message', (query, { port, address }) => {
    const questionEnd = query.indexOf(0, 12) + 5
    const isAddress = query.readUInt16BE(questionEnd - 4) === 1
    const header = Buffer.from(query.subarray(0, 12))
    header.writeUInt16BE(0x8180, 2)
    header.writeUInt16BE(isAddress ? 1 : 0, 6)
    header.writeUInt32BE(0, 8)
    const record = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, ...publicAddress.split('.').map(Number)])
    server.send(Buffer.concat([header, query.subarray(12, questionEnd), ...(isAddress ? [record] : [])]), port, address)
  })
  server.bind(53, '127.0.0.1')
  await once(server, 'listening')
  server.unref()
}
