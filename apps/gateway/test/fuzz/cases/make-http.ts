import { mutateBytes } from '../mutate/bytes.ts'
import { changeHeaders } from '../mutate/headers.ts'
import { mutateJson } from '../mutate/json.ts'
import { fillPath, mutateTarget } from '../mutate/target.ts'
import type { Random } from '../values/random.ts'
import type { CredentialName, HttpCase } from './case.ts'
import type { HttpEndpoint } from './endpoints.ts'
import type { CasePlace } from './place.ts'
import type { HttpSeed } from './seeds.ts'

/** Which credential opens what: most of the code lies behind it. */
const usual: readonly (readonly [start: RegExp, name: CredentialName])[] = [
  [/^\/operator\/api/, 'operator'],
  [/^\/api\/v1\/operator/, 'operator'],
  [/^\/(api\/v1|v1|storage)\//, 'chat'],
  [/a2a/, 'a2a'],
  [/^\/email\/inbound\/(postmark|cloudmailin)/, 'postmark'],
  [/^\/email\/inbound/, 'intake'],
  [/inbox$/, 'signed'],
]

const all: readonly CredentialName[] = ['none', 'operator', 'chat', 'a2a', 'intake', 'postmark', 'signed']

const bare: readonly HttpSeed[] = [
  { method: 'POST', path: '', json: {} },
  { method: 'POST', path: '', json: { id: 'x', agent: 'echo', peer: 'alice@mastodon.test', text: 'hello' } },
  { method: 'POST', path: '', headers: { 'content-type': 'application/x-www-form-urlencoded' }, text: 'a=b&c=%64' },
]

export function makeHttpCase(endpoint: HttpEndpoint, random: Random, place: CasePlace): HttpCase {
  const seed = pickSeed(endpoint, random, place)
  const method = pickMethod(endpoint, seed, random)
  const path = seed.path || fillPath(endpoint.path, random, place.ids)
  const target = random.chance(0.4) ? mutateTarget(path, random, place.ids) : path
  const body = method === 'GET' && random.chance(0.95) ? Buffer.alloc(0) : makeBody(seed, random, place)
  const known = usual.find(([start]) => start.test(path))?.[1] ?? 'none'
  const credential = random.chance(0.85) ? known : random.pick(all)
  const type = seed.json === undefined ? undefined : 'application/json'
  const headers = { host: 'agents.test', ...(type && { 'content-type': type }), ...seed.headers }
  const changed = changeHeaders(headers, body.length, random)
  return { kind: 'http', endpoint: endpoint.name, credential, method, target, body, ...changed }
}

function pickSeed({ method, seeds }: HttpEndpoint, random: Random, { seeds: every }: CasePlace): HttpSeed {
  if (seeds.length > 0 && random.chance(0.9)) return random.pick(seeds)
  // A body of somebody else's.
  if (random.chance(0.3)) return { ...random.pick(every.http), path: '' }
  return method === 'GET' ? { method, path: '' } : random.pick(bare)
}

function pickMethod(endpoint: HttpEndpoint, seed: HttpSeed, random: Random): string {
  if (random.chance(0.04))
    return random.pick(['HEAD', 'OPTIONS', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'QUERY', 'PROPFIND'])
  return endpoint.method === 'ALL' ? seed.method : endpoint.method
}

/** Honest ones, too: what follows an honest request is worth an attack of its own. */
function makeBody(seed: HttpSeed, random: Random, place: CasePlace): Buffer {
  if (seed.json === undefined) return change(Buffer.from(seed.text ?? ''), random)
  const renewed = renew(seed.json, random, place)
  if (random.chance(0.12)) return Buffer.from(JSON.stringify(renewed))
  const text = Buffer.from(mutateJson(renewed, random))
  return random.chance(0.15) ? mutateBytes(text, random) : text
}

const change = (bytes: Buffer, random: Random) => (random.chance(0.85) ? mutateBytes(bytes, random) : bytes)

/** `{new}` becomes an id that nobody has seen, `{known}` one that the server told, `{mail}` a mail, `{now}` the time. */
function renew(json: unknown, random: Random, { ids, seeds, now }: CasePlace): unknown {
  const known = () => (ids.length > 0 ? random.pick(ids) : 'x')
  const mail = () => (random.chance(0.8) ? mutateBytes(random.pick(seeds.mails), random) : random.pick(seeds.mails))
  return JSON.parse(JSON.stringify(json), (_, value) => {
    if (typeof value !== 'string') return value
    if (value === '{mail}') return mail().toString('latin1')
    if (value === '{mail64}') return mail().toString('base64')
    return value
      .replaceAll('{new}', () => `n${random.int(2 ** 31)}`)
      .replaceAll('{known}', known)
      .replaceAll('{now}', () => new Date(now).toISOString())
  })
}
