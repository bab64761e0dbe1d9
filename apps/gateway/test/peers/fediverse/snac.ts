// Runs a snac server, and reads its data.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { appendFileSync, existsSync, linkSync, mkdirSync, readdirSync, readFileSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { canConnect, waitUntil } from '../eventually.ts'
import { ports, snacHost, snacOrigin } from '../names.ts'
import { runCommand } from '../run-command.ts'

export type SnacDocument = Readonly<Record<string, unknown>> & { readonly id: string; readonly type: string }

/** A snac server with one user, alice. */
export interface Snac {
  readonly actor: string
  /** Runs one of snac's commands on its own data and, if the command needs a user, as alice. */
  run(command: string, ...parameters: readonly string[]): Promise<string>
  /** Submits a form of alice's web page: like, delete or edit. */
  press(form: 'action' | 'note', fields: Readonly<Record<string, string>>): Promise<void>
  /** Returns everything that it stores: its own posts and those that peers have sent. */
  documents(): readonly SnacDocument[]
  /** Returns the posts in alice's timeline. */
  timeline(): readonly SnacDocument[]
  /** Returns the reactions among `like` and `boost` that snac counts for this actor. */
  reactionsOf(object: string, actor: string): readonly string[]
  /** Returns the key of an actor that it has stored. */
  keyOf(actor: string): unknown
  /** Makes its copy of an actor old enough to be fetched again. */
  letActorGrowOld(actor: string): void
  /** Returns true if the other side has confirmed that alice follows the actor. */
  isFollowing(actor: string): boolean
  /** Records that `actor` follows alice: our agents follow nobody, and snac sends a Delete only to followers. */
  enterFollower(actor: string): void
  /** Returns all that snac wrote to its log. */
  log(): string
  close(): void
}

/** Sets up and starts `program` on `directory`. */
export async function openSnac(program: string, directory: string): Promise<Snac> {
  await runCommand(program, ['init', directory], { input: `127.0.0.1\n${ports.snac}\n${snacHost}\n\n\n` })
  const password = /password is (\S+)/.exec(await runCommand(program, ['adduser', directory, 'alice']))?.[1]
  const server = spawn(program, ['httpd', directory], { env: { ...process.env, DEBUG: '1' } })
  let log = ''
  server.stderr.on('data', chunk => {
    log += String(chunk)
  })
  server.stdout.resume()
  await waitUntil('snac listens', () => canConnect(ports.snac))
  const credentials = Buffer.from(`alice:${password}`).toString('base64')
  return {
    actor: `${snacOrigin}/alice`,
    run: (command, ...parameters) => runCommand(program, [command, directory, ...parameters]),
    async press(form, fields) {
      const address = `http://127.0.0.1:${ports.snac}/alice/admin/${form}`
      // snac does not recognize the type if a charset follows it.
      const headers = { authorization: `Basic ${credentials}`, 'content-type': 'application/x-www-form-urlencoded' }
      const body = new URLSearchParams(fields).toString()
      const { status } = await fetch(address, { method: 'POST', headers, body, redirect: 'manual' })
      if (status !== 303) throw new Error(`snac answered its own form "${form}" with ${status}`)
    },
    documents: () => readDocuments(join(directory, 'object')),
    timeline: () => readDocuments(join(directory, 'user/alice/private')),
    reactionsOf: (object, actor) => readReactions(directory, object, actor),
    keyOf: actor => readDocuments(join(directory, 'object')).find(({ id }) => id === actor)?.publicKey,
    letActorGrowOld(actor) {
      const longAgo = Date.now() / 1_000 - 37 * 3_600
      utimesSync(pathOf(directory, actor), longAgo, longAgo)
    },
    isFollowing: actor => readDocuments(join(directory, 'user/alice/following')).some(isAcceptBy(actor)),
    enterFollower: actor => enterFollower(directory, actor),
    log: () => log,
    close: () => server.kill('SIGTERM'),
  }
}

/** Enters a follower like snac's own `follower_add`: an MD5 name in the index, and a link to the stored actor. */
function enterFollower(directory: string, actor: string): void {
  const name = nameOf(actor)
  const user = join(directory, 'user/alice')
  mkdirSync(join(user, 'followers'), { recursive: true })
  linkSync(pathOf(directory, actor), join(user, 'followers', `${name}.json`))
  appendFileSync(join(user, 'followers.idx'), `${name}\n`)
}

const nameOf = (id: string) => createHash('md5').update(id).digest('hex')

function pathOf(directory: string, id: string, ending = '.json'): string {
  const name = nameOf(id)
  return join(directory, 'object', name.slice(0, 2), `${name}${ending}`)
}

/** Next to an object there are lists of those who like and boost it; an actor who has undone it is struck out. */
function readReactions(directory: string, object: string, actor: string): readonly string[] {
  const isIn = (ending: string) => {
    const path = pathOf(directory, object, ending)
    return existsSync(path) && readFileSync(path, 'utf8').split('\n').includes(nameOf(actor))
  }
  return [...(isIn('_l.idx') ? ['like'] : []), ...(isIn('_a.idx') ? ['boost'] : [])]
}

/** A file that is being written at the moment is read the next time. */
function readDocuments(directory: string): readonly SnacDocument[] {
  return listFiles(directory).flatMap(file => {
    try {
      return [JSON.parse(readFileSync(file, 'utf8')) as SnacDocument]
    } catch {
      return []
    }
  })
}

function listFiles(directory: string): readonly string[] {
  try {
    return readdirSync(directory, { recursive: true, encoding: 'utf8' })
      .filter(name => name.endsWith('.json'))
      .map(name => join(directory, name))
  } catch {
    return []
  }
}

function isAcceptBy(actor: string): (document: SnacDocument) => boolean {
  return document => document.type === 'Accept' && document.actor === actor
}
