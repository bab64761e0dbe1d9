// Creates and runs a PostgreSQL server in a temporary folder for tests.
import type { ChildProcess } from 'node:child_process'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { findFreePort } from './free-port.ts'

export interface Cluster {
  readonly port: number
  /** The URL of its superuser `postern`, over TCP. */
  readonly url: string
  readonly directory: string
  start(): Promise<void>
  /** Stops the server. `fast` ends connections and writes all data to disk. `immediate` is like a power cut. */
  stop(mode?: 'fast' | 'immediate'): Promise<void>
  /** Stops the server and deletes all its files. */
  remove(): Promise<void>
}

/** Finds the folder of PostgreSQL's programs: the one in PATH, or else the newest that Debian's packages have installed below `root`. */
export function findPostgres(root = '/'): string | undefined {
  const folder = join(root, 'usr/lib/postgresql')
  const versions = existsSync(folder) ? readdirSync(folder).toSorted((a, b) => Number(b) - Number(a)) : []
  const links = root === '/' ? (process.env.PATH ?? '').split(delimiter).map(path => join(path, 'initdb')) : []
  const linkedFolders = links.filter(path => existsSync(path)).map(path => dirname(realpathSync(path)))
  return [...linkedFolders, ...versions.map(version => join(folder, version, 'bin'))].find(path =>
    existsSync(join(path, 'postgres')),
  )
}

interface ClusterPlan {
  /** The folder with `initdb` and `postgres`. */
  readonly programs: string
  /** Settings of the server, each as `name=value`. */
  readonly settings?: readonly string[]
  readonly initdb?: readonly string[]
}

export const password = 'p:ss/w?rd %@'

/** Creates a server on loopback and on a socket in a temporary folder, without starting it. Under root it runs as `postgres` or `nobody`. */
export async function createCluster({ programs, settings = [], initdb = [] }: ClusterPlan): Promise<Cluster> {
  const directory = mkdtempSync(join(tmpdir(), 'postern-pg-'))
  const [data, passwordFile] = [join(directory, 'data'), join(directory, 'password')]
  const user = findUser()
  writeFileSync(passwordFile, password)
  if (user) for (const path of [directory, passwordFile]) chownSync(path, user.uid, user.gid)
  chmodSync(directory, 0o700)
  const as = { cwd: directory, ...user, env: { PATH: process.env.PATH, LD_LIBRARY_PATH: process.env.LD_LIBRARY_PATH } }
  const basics = ['-U', 'postern', '-E', 'UTF8', '--auth=scram-sha-256', `--pwfile=${passwordFile}`, '--locale=C']
  execFileSync(join(programs, 'initdb'), ['-D', data, ...basics, ...initdb], { ...as, stdio: 'pipe' })
  const port = await findFreePort()
  const url = `postgres://postern:${encodeURIComponent(password)}@127.0.0.1:${port}/postgres`
  let server: ChildProcess | undefined

  async function startServer(): Promise<void> {
    const ownSettings = [
      'listen_addresses=127.0.0.1',
      `unix_socket_directories=${directory}`,
      `port=${port}`,
      ...settings,
    ]
    server = spawn(join(programs, 'postgres'), ['-D', data, ...ownSettings.flatMap(setting => ['-c', setting])], {
      ...as,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    await untilReady(server)
  }

  async function stop(mode: 'fast' | 'immediate' = 'fast'): Promise<void> {
    if (!server || server.exitCode !== null) return
    const exited = once(server, 'exit')
    server.kill(mode === 'fast' ? 'SIGINT' : 'SIGQUIT')
    await exited
  }

  return {
    port,
    url,
    directory,
    start: startServer,
    stop,
    async remove() {
      await stop('immediate')
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

/** Finds another user for PostgreSQL, which refuses to run as root. */
function findUser(): { readonly uid: number; readonly gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  for (const name of ['postgres', 'nobody']) {
    const idOf = (flag: string) => Number(execFileSync('id', [flag, name], { encoding: 'utf8', stdio: 'pipe' }))
    try {
      return { uid: idOf('-u'), gid: idOf('-g') }
    } catch {
      // This machine has no such user.
    }
  }
  throw new Error('there is no user to run a server as')
}

function untilReady(server: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let errorOutput = ''
    server.stderr?.on('data', (text: Buffer) => {
      errorOutput += text.toString()
      if (errorOutput.includes('ready to accept connections')) resolve()
    })
    server.once('exit', () => reject(new Error(`the server did not start: ${errorOutput}`)))
  })
}
