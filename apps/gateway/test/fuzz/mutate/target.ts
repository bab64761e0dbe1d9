// Fills in and changes the path and query of a request at random.
import { makeOddText } from '../values/odd-values.ts'
import type { Random } from '../values/random.ts'

/** Segments of a path. They are already encoded, so that odd ones are sent unchanged. */
const oddPieces: readonly string[] = [
  '%',
  '%00',
  '%ff',
  '%2e%2e%2f',
  '%C3%28',
  '%ED%A0%80',
  '/',
  '//',
  '/../',
  ';a=b',
  '?',
  '?a[]=b&a[__proto__]=c',
  '?limit=-1',
  '?limit=1e9&cursor=AAAA',
  '?limit=99999999999999999999',
  '?cursor=eyJhIjpbXX0',
  '?page=x&min_id=%00&max_id=%ff',
  '?resource=acct:%F0%9F%98%80@agents.test',
  '?threadId=%ud800',
  '?&&==&%=%',
  '&x=1',
  '#x',
  '\\',
  '"<>',
]

const names = ['echo', 'help', 'chat', 'nobody', 'ECHO', '__proto__', 'constructor', 'agents']

/** Fills in each parameter of the router's path. */
export function fillPath(path: string, random: Random, ids: readonly string[]): string {
  return path
    .replaceAll('*', () => fill(random, ids))
    .replace(/:(\w+)(?:\{([^}]*)\})?/g, (_, name: string, pattern?: string) => {
      const choices = pattern && /^\w+(\|\w+)*$/.test(pattern) ? pattern.split('|') : undefined
      if (choices && random.chance(0.9)) return random.pick(choices)
      return name === 'agent' && random.chance(0.9) ? random.pick(names) : fill(random, ids)
    })
}

function fill(random: Random, ids: readonly string[]): string {
  if (ids.length > 0 && random.chance(0.6)) return encodeURIComponent(random.pick(ids).toWellFormed())
  return encodeURIComponent(makeOddText(random).toWellFormed()).slice(0, 4_000)
}

/** Inserts a segment that does not belong there, or adds an odd value to the query. */
export function mutateTarget(target: string, random: Random, ids: readonly string[]): string {
  const position = 1 + random.integerBelow(target.length)
  if (random.chance(0.5)) return target.slice(0, position) + random.pick(oddPieces) + target.slice(position)
  if (target.includes('=')) return target.replace(/=[^&]*/, () => `=${fill(random, ids)}`)
  const name = random.pick(['id', 'limit', 'cursor', 'after', 'before', 'agent', 'thread', 'threadId', 'q', 'resource'])
  return `${target}?${name}=${fill(random, ids)}`
}
