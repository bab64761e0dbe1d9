import { hash } from 'node:crypto'
import { matchesEtag } from '@postern/http'
import { Hono } from 'hono'
import type { OwnKeyRing } from './ring.ts'

/** The path of the gateway's public keys, and the `jku` of its cards. */
export const ownKeySetPath = '/.well-known/jwks.json'

const cacheControl = 'public, max-age=300'

/** The keys that our cards and tokens verify by (RFC 7517 §5). */
export function createKeySetRoute(keys: OwnKeyRing): Hono {
  return new Hono().get(ownKeySetPath, async c => {
    const text = JSON.stringify({ keys: await keys.published() })
    const etag = `"${hash('sha256', text, 'base64url').slice(0, 27)}"`
    const headers = { etag, 'cache-control': cacheControl, 'access-control-allow-origin': '*' }
    if (matchesEtag(c.req.header('if-none-match'), etag)) return c.body(null, 304, headers)
    return c.body(text, 200, { ...headers, 'content-type': 'application/json' })
  })
}
