import type { FetchRequest, GuardedFetch } from '@postern/core'

const methods = ['GET', 'POST', 'HEAD'] as const
const bodiless = new Set([204, 205, 304])
const redirectsFollowed = 3

/**
 * The guarded fetch in the shape libraries expect. Answers are read whole, so streams do not pass;
 * `redirect: 'follow'` follows three hops, each checked, `'manual'` hands a redirect over.
 * @throws Unavailable, Undeliverable; the signal's reason when it aborts
 */
export function toStandardFetch(fetch: GuardedFetch): typeof globalThis.fetch {
  return async (input, init) => {
    const request = new Request(input, init)
    // A Request's own copy of the signal may be collected before it fires.
    const signal = init?.signal ?? (input instanceof Request ? input.signal : undefined)
    const answer = await fetch(request.url, await toFetchRequest(request, signal)).catch(error => {
      signal?.throwIfAborted()
      throw error
    })
    const { status, headers, url } = answer
    if (request.redirect === 'error' && isRedirect(status)) throw new TypeError('redirect is not allowed here')
    const response = new Response(bodiless.has(status) ? null : new Uint8Array(answer.body), { status, headers })
    return Object.defineProperty(response, 'url', { value: url })
  }
}

async function toFetchRequest(request: Request, signal: AbortSignal | undefined): Promise<FetchRequest> {
  const method = methods.find(name => name === request.method)
  if (!method) throw new TypeError(`the method ${request.method} is not supported here`)
  return {
    method,
    headers: Object.fromEntries(request.headers),
    redirects: request.redirect === 'follow' ? redirectsFollowed : 0,
    ...(signal && { signal }),
    ...(request.body && { body: new Uint8Array(await request.arrayBuffer()) }),
  }
}

function isRedirect(status: number): boolean {
  return status >= 300 && status < 400 && status !== 304
}
