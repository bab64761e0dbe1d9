// Starts the proxies of deploy/ in front of our gateway.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { waitUntil } from '../eventually.ts'
import { ourHost, ports } from '../names.ts'
import type { PrivateNetwork } from '../private-network.ts'
import { requestThroughProxy } from './client.ts'

/** A server that ends TLS in front of our gateway, configured by a file of deploy/. */
export interface Proxy {
  readonly name: string
  log(): string
  stop(): Promise<void>
}

interface ProxyFolders {
  /** The folder that the programs are unpacked into. */
  readonly packageRoot: string
  readonly directory: string
  readonly network: PrivateNetwork
}

const resolveDeployPath = (path: string) => fileURLToPath(new URL(`../../../../../deploy/${path}`, import.meta.url))

/** Starts Caddy with an authority of its own instead of one of the Internet; everything else is as deployed. */
export function startCaddy({ packageRoot, directory }: ProxyFolders): Promise<Proxy> {
  const folder = join(directory, 'caddy')
  mkdirSync(folder)
  const path = join(folder, 'Caddyfile')
  writeFileSync(
    path,
    `{\n\tlocal_certs\n\tskip_install_trust\n\tadmin off\n}\nimport ${resolveDeployPath('caddy/Caddyfile')}\n`,
  )
  const env = { POSTERN_DOMAIN: ourHost, POSTERN_UPSTREAM: `127.0.0.1:${ports.gateway}` }
  const homes = { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder }
  const command = [join(packageRoot, 'usr/bin/caddy'), 'run', '--config', path, '--adapter', 'caddyfile']
  return startProxy('Caddy', command, { ...env, ...homes })
}

/** Starts nginx with the certificate of this network and our name; everything else is as deployed. */
export function startNginx({ packageRoot, directory, network }: ProxyFolders): Promise<Proxy> {
  const folder = join(directory, 'nginx')
  mkdirSync(folder)
  const server = readFileSync(resolveDeployPath('nginx/postern.conf'), 'utf8')
    .replaceAll(/(?<=ssl_certificate )\S+(?=;)/g, network.certPath)
    .replaceAll(/(?<=ssl_certificate_key )\S+(?=;)/g, network.keyPath)
    .replaceAll('agents.example', ourHost)
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    name => `${name}_temp_path ${folder}/${name};`,
  )
  const http = ['access_log off;', ...temporary, server].join('\n')
  const main = ['daemon off;', 'user root;', `pid ${folder}/pid;`, 'error_log stderr notice;', 'events {}']
  const path = join(folder, 'nginx.conf')
  writeFileSync(path, `${main.join('\n')}\nhttp {\n${http}\n}\n`)
  return startProxy('nginx', [join(packageRoot, 'usr/sbin/nginx'), '-c', path, '-p', folder], {})
}

/** Resolves to true once the proxy answers over TLS, because Caddy makes its certificate after it has begun to listen. */
async function isServing(): Promise<boolean> {
  const answer = await requestThroughProxy({ path: '/healthz' }).catch(() => undefined)
  return answer?.status === 200
}

async function startProxy(
  name: string,
  [program = '', ...parameters]: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<Proxy> {
  const child = spawn(program, parameters, { env: { ...process.env, ...env } })
  let log = ''
  for (const output of [child.stdout, child.stderr]) output.on('data', chunk => (log += String(chunk)))
  const exit = once(child, 'exit')
  await waitUntil(`${name} listens`, () => {
    if (child.exitCode !== null) throw new Error(`${name} ended: ${log}`)
    return isServing()
  })
  return {
    name,
    log: () => log,
    async stop() {
      child.kill('SIGTERM')
      await exit
    },
  }
}
