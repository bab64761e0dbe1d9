// Caches the routes that a path matches, because matching takes longer than reading the request.
import type { Result, Router } from 'hono/router'

/** The limits of the cache. Peers request the same few paths again and again. Paths that they invent may be long and different each time. */
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
      const cachedResult = matches.get(key)
      if (cachedResult) return cachedResult
      const result = router.match(method, path)
      if (matches.size >= maxMatches) matches.clear()
      if (path.length <= maxPathChars) matches.set(key, result)
      return result
    },
  }
}
