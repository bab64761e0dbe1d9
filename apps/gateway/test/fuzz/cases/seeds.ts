// Reads the valid requests that the fuzzer starts from.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const fixtures = fileURLToPath(new URL('../../../../../fixtures/', import.meta.url))

/** A valid HTTP request that the fuzzer starts from. Absent members are left out of the request. */
export interface HttpSeed {
  readonly method: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  /** The body, sent as JSON. */
  readonly json?: unknown
  /** The body, sent unchanged. */
  readonly text?: string
}

/** A field of a protobuf message: its number, and a text, a number, or the fields of a nested message. */
export type WireField = readonly [field: number, value: string | number | readonly WireField[]]

export interface GrpcSeed {
  readonly method: string
  readonly fields: readonly WireField[]
}

export interface Seeds {
  readonly http: readonly HttpSeed[]
  readonly grpc: readonly GrpcSeed[]
  readonly mails: readonly Buffer[]
}

/** Reads our own small seeds, and those fixtures of other tests that an endpoint accepts. */
export function readSeeds(): Seeds {
  const ownSeeds = listFiles('fuzz/http', '.json').flatMap(path => readJson(path) as HttpSeed[])
  return {
    http: [...ownSeeds, ...readActivities(), ...readA2aCases()],
    grpc: readJson('fuzz/grpc.json') as GrpcSeed[],
    mails: [...listFiles('fuzz/mail', '.eml'), ...listFiles('email/personal', '.eml')].map(path =>
      readFileSync(join(fixtures, path)),
    ),
  }
}

function readActivities(): HttpSeed[] {
  const documents = listFiles('activitypub/captures', '.json').filter(path => path.endsWith('activity.json'))
  return documents.map(path => ({ method: 'POST', path: '/inbox', json: readJson(path) }))
}

function readA2aCases(): HttpSeed[] {
  const documents = listFiles('a2a', '.json').filter(path => path.endsWith('request.json'))
  const headers = { 'a2a-version': '1.0' }
  return documents.map(path => ({ method: 'POST', path: '/agents/echo/a2a', headers, json: readJson(path) }))
}

function listFiles(folder: string, ending: string): string[] {
  const names = readdirSync(join(fixtures, folder), { recursive: true, encoding: 'utf8' }).sort()
  return names.filter(name => name.endsWith(ending)).map(name => join(folder, name))
}

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(join(fixtures, path), 'utf8'))
}
