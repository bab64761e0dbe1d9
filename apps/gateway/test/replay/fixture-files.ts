// Reads the messages of all fixtures.
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export type FixtureDocument = Readonly<Record<string, unknown>>

/** A request of `fixtures/fuzz/http`. */
export interface SeedRequest {
  readonly method: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly json?: unknown
}

const root = fileURLToPath(new URL('../../../../fixtures/', import.meta.url))

/** Returns the paths of all files below a folder of `fixtures`, in order. */
function listFiles(folder: string): readonly string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .toSorted()
    .map(name => join(root, folder, name))
    .filter(path => statSync(path).isFile())
}

const readJson = <Value>(path: string): Value => JSON.parse(readFileSync(path, 'utf8')) as Value

/** Returns the actors who speak in the payloads of ActivityPub, as their servers show them. */
export function readActors(): readonly FixtureDocument[] {
  const files = ['activitypub/shapes', 'activitypub/captures'].flatMap(listFiles)
  const snac = listFiles('activitypub/snac2').filter(path => /\/(?:actor|bob)\.json$/.test(path))
  return [
    ...files.filter(path => path.includes('/actors/')).map(path => readJson<FixtureDocument>(path)),
    ...snac.map(path => readBody(path)),
  ]
}

/** Returns the activities that these actors send, each conversation in its order. */
export function readActivities(): readonly FixtureDocument[] {
  const files = ['activitypub/shapes', 'activitypub/captures'].flatMap(listFiles)
  const payloads = files.filter(path => /\/activit(?:y|ies)\.json$/.test(path))
  const snac = listFiles('activitypub/snac2').filter(path => /\/\d\d-[^/]+\.json$/.test(path))
  return [
    ...payloads.flatMap(path => [readJson<FixtureDocument | FixtureDocument[]>(path)].flat()),
    ...snac.map(readBody),
  ]
}

/** Reads the body of a request from a capture. */
function readBody(path: string): FixtureDocument {
  return JSON.parse(readJson<{ readonly body: string }>(path).body) as FixtureDocument
}

/** Returns every mail of the fixtures, whatever it is an example of. */
export function readMails(): readonly Buffer[] {
  return ['email', 'fuzz/mail']
    .flatMap(listFiles)
    .filter(path => /\.(?:eml|msg)$/.test(path))
    .map(path => readFileSync(path))
}

export function readCalls(): readonly string[] {
  return listFiles('a2a')
    .filter(path => path.endsWith('/request.json'))
    .map(path => readFileSync(path, 'utf8'))
}

/** Returns the requests of the fuzz run's seeds, each with ids of its own. */
export function readSeedRequests(name: 'a2a' | 'a2a-0.3' | 'web'): readonly SeedRequest[] {
  let count = 0
  const text = readFileSync(join(root, `fuzz/http/${name}.json`), 'utf8').replace(/\{new\}/g, () => {
    count += 1
    return `fixture-${name}-${count}`
  })
  return JSON.parse(text) as SeedRequest[]
}
