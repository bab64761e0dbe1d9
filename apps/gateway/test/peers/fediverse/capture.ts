// Stores captured requests of snac as fixtures.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CapturedRequest } from '../captured.ts'
import { ourHost, snacHost } from '../names.ts'
import { snacActorPaths, snacFixtureFolder } from './snac-fixtures.ts'

/** Stores the requests that snac posted to us, in order, and the documents that verify them. */
export function captureFixtures(seenPath: string): void {
  const requests = JSON.parse(readFileSync(seenPath, 'utf8')) as readonly CapturedRequest[]
  rmSync(snacFixtureFolder, { recursive: true, force: true })
  mkdirSync(snacFixtureFolder, { recursive: true })
  const postedRequests = requests.filter(({ host, method }) => host === ourHost && method === 'POST')
  for (const [index, { answer: _, ...request }] of postedRequests.entries()) {
    const { type } = JSON.parse(request.body) as { type: string }
    writeJson(`${String(index + 1).padStart(2, '0')}-${type.toLowerCase()}.json`, request)
  }
  for (const [name, path] of Object.entries(snacActorPaths)) {
    writeJson(
      name,
      findAnswer(requests, target => target === path),
    )
  }
  writeJson(
    'webfinger.json',
    findAnswer(requests, target => target.startsWith('/.well-known/webfinger')),
  )
}

function findAnswer(requests: readonly CapturedRequest[], matches: (target: string) => boolean): unknown {
  const request = requests.find(
    ({ host, target, answer }) => host === snacHost && matches(target) && answer.status === 200,
  )
  return request?.answer
}

function writeJson(name: string, value: unknown): void {
  writeFileSync(join(snacFixtureFolder, name), `${JSON.stringify(value, null, 2)}\n`)
}
