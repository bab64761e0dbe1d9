// Remembers which routes a path matches, because matching it again takes longer than reading the request.
import type { Result, Router } from 'hono/router'

/** Peers ask for the same few paths over and over. Paths that they make up may be long, and new each time. */
const [maxMatches, maxPathChars] = [1_000, 200]

export function memoizeMatches<T>(router: Router<T>): Router<T> {
  const matches = new Map<string, Result<T>>()
  return {
    name: router.name,
    add(method, path, handler) {
      matches.clear()
      router.add(method, path, handler)
    },
    match(method, path) {
      const key = `${method} ${path}`
      const knownResult = matches.get(key)
      if (knownResult) return knownResult
      const result = router.match(method, path)
      if (matches.size >= maxMatches) matches.clear()
      if (path.length <= maxPathChars) matches.set(key, result)
      return result
    },
  }
}
