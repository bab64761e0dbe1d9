import type { FetchRequest, GuardedFetch } from '@postern/core'

const methods = ['GET', 'POST', 'HEAD'] as const
const bodiless = new Set([204, 205, 304])
const followed = 3

/**
 * The guarded fetch in the shape libraries expect. Answers are read whole, so streams do not pass;
 * `redirect: 'follow'` follows a few hops, each checked.
 */
export function toStandardFetch(fetch: GuardedFetch): typeof globalThis.fetch {
  return async (input, init) => {
    const request = new Request(input, init)
    const answer = await fetch(request.url, await toFetchRequest(request)).catch(error => {
      request.signal.throwIfAborted()
      throw error
    })
    const { status, headers } = answer
    if (request.redirect === 'error' && headers.has('location')) throw new TypeError('redirect is not allowed here')
    const response = new Response(bodiless.has(status) ? null : new Uint8Array(answer.body), { status, headers })
    return Object.defineProperty(response, 'url', { value: answer.url })
  }
}

async function toFetchRequest(request: Request): Promise<FetchRequest> {
  const method = methods.find(name => name === request.method)
  if (!method) throw new TypeError(`the method ${request.method} is not supported here`)
  return {
    method,
    headers: Object.fromEntries(request.headers),
    signal: request.signal,
    redirects: request.redirect === 'follow' ? followed : 0,
    ...(request.body && { body: new Uint8Array(await request.arrayBuffer()) }),
  }
}
