// Creates odd HTTP requests.
import { mutateBytes } from '../mutate/bytes.ts'
import { changeHeaders } from '../mutate/headers.ts'
import { mutateJson } from '../mutate/json.ts'
import { fillPath, mutateTarget } from '../mutate/target.ts'
import type { Random } from '../values/random.ts'
import type { CredentialName, HttpCase } from './case.ts'
import type { CaseContext } from './context.ts'
import type { HttpEndpoint } from './endpoints.ts'
import type { HttpSeed } from './seeds.ts'

/** The credential that each path needs, because most of the code runs only after authentication. */
const usual: readonly (readonly [start: RegExp, name: CredentialName])[] = [
  [/^\/operator\/api/, 'operator'],
  [/^\/api\/v1\/operator/, 'operator'],
  [/^\/(api\/v1|v1|storage)\//, 'chat'],
  [/a2a/, 'a2a'],
  [/^\/email\/inbound\/(postmark|cloudmailin)/, 'postmark'],
  [/^\/email\/inbound/, 'intake'],
  [/inbox$/, 'signed'],
]

const allCredentials: readonly CredentialName[] = ['none', 'operator', 'chat', 'a2a', 'intake', 'postmark', 'signed']

const unseededRequests: readonly HttpSeed[] = [
  { method: 'POST', path: '', json: {} },
  { method: 'POST', path: '', json: { id: 'x', agent: 'echo', peer: 'alice@mastodon.test', text: 'hello' } },
  { method: 'POST', path: '', headers: { 'content-type': 'application/x-www-form-urlencoded' }, text: 'a=b&c=%64' },
]

export function makeHttpCase(endpoint: HttpEndpoint, random: Random, context: CaseContext): HttpCase {
  const seed = pickSeed(endpoint, random, context)
  const method = pickMethod(endpoint, seed, random)
  const path = seed.path || fillPath(endpoint.path, random, context.ids)
  const target = random.chance(0.4) ? mutateTarget(path, random, context.ids) : path
  const body = method === 'GET' && random.chance(0.95) ? Buffer.alloc(0) : makeBody(seed, random, context)
  const usualCredential = usual.find(([pathPattern]) => pathPattern.test(path))?.[1] ?? 'none'
  const credential = random.chance(0.85) ? usualCredential : random.pick(allCredentials)
  const type = seed.json === undefined ? undefined : 'application/json'
  const headers = { host: 'agents.test', ...(type && { 'content-type': type }), ...seed.headers }
  const changedHeaders = changeHeaders(headers, body.length, random)
  return { kind: 'http', endpoint: endpoint.name, credential, method, target, body, ...changedHeaders }
}

function pickSeed({ method, seeds }: HttpEndpoint, random: Random, { seeds: every }: CaseContext): HttpSeed {
  if (seeds.length > 0 && random.chance(0.9)) return random.pick(seeds)
  // The body is meant for another endpoint.
  if (random.chance(0.3)) return { ...random.pick(every.http), path: '' }
  return method === 'GET' ? { method, path: '' } : random.pick(unseededRequests)
}

function pickMethod(endpoint: HttpEndpoint, seed: HttpSeed, random: Random): string {
  if (random.chance(0.04))
    return random.pick(['HEAD', 'OPTIONS', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'QUERY', 'PROPFIND'])
  return endpoint.method === 'ALL' ? seed.method : endpoint.method
}

/** Creates a body. Sometimes it is honest, because the code after an honest request deserves attacks, too. */
function makeBody(seed: HttpSeed, random: Random, context: CaseContext): Buffer {
  if (seed.json === undefined) return change(Buffer.from(seed.text ?? ''), random)
  const renewed = renew(seed.json, random, context)
  if (random.chance(0.12)) return Buffer.from(JSON.stringify(renewed))
  const text = Buffer.from(mutateJson(renewed, random))
  return random.chance(0.15) ? mutateBytes(text, random) : text
}

const change = (bytes: Buffer, random: Random) => (random.chance(0.85) ? mutateBytes(bytes, random) : bytes)

/** Fills in placeholders: `{new}` becomes an unused id, `{known}` one that the server returned, `{mail}` a mail, `{now}` the time. */
function renew(json: unknown, random: Random, { ids, seeds, now }: CaseContext): unknown {
  const existingId = () => (ids.length > 0 ? random.pick(ids) : 'x')
  const mail = () => (random.chance(0.8) ? mutateBytes(random.pick(seeds.mails), random) : random.pick(seeds.mails))
  return JSON.parse(JSON.stringify(json), (_, value) => {
    if (typeof value !== 'string') return value
    if (value === '{mail}') return mail().toString('latin1')
    if (value === '{mail64}') return mail().toString('base64')
    return value
      .replaceAll('{new}', () => `n${random.integerBelow(2 ** 31)}`)
      .replaceAll('{known}', existingId)
      .replaceAll('{now}', () => new Date(now).toISOString())
  })
}
