// Answers the challenge of a command that is about to send the operator's token.

import { Rejection } from '@postern/message'
import type { ListeningSocket } from '@postern/pipeline'
import { Hono } from 'hono'
import { ownRunSecret, proveRun, runProofPath } from '../system/run/run-proof.ts'

/** Creates the route. `listListening` returns the open sockets, the HTTP server's first. */
export function createRunProofRoutes(listListening: () => readonly ListeningSocket[]): Hono {
  return new Hono().get(runProofPath, context => {
    const nonce = context.req.query('nonce') ?? ''
    if (!/^[\w-]{43}$/.test(nonce))
      throw new Rejection('malformed', 'Cannot prove this gateway: "nonce" must be 32 bytes in base64url')
    const url = listListening()[0]?.description ?? ''
    return context.json({ proof: proveRun(ownRunSecret, { nonce, url }) }, 200, { 'cache-control': 'no-store' })
  })
}
